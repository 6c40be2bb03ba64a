# lapidary_knows_commit(TARGET): TARGET finds lapidary_commit.hpp, which says which commit the sources are of, for the
# receipts of measurements, and whether those of the program differ from it: yes, no or unknown. Git is asked at every
# build.
#
# A checkout without its history, as a build machine may have, is told its commit by the environment variable
# LAPIDARY_COMMIT of the build.
if(NOT CMAKE_SCRIPT_MODE_FILE)
  function(lapidary_knows_commit target)
    set(folder "${PROJECT_BINARY_DIR}/commit")
    if(NOT TARGET lapidary_commit)
      add_custom_target(lapidary_commit
        COMMAND "${CMAKE_COMMAND}" -D "source=${PROJECT_SOURCE_DIR}" -D "header=${folder}/lapidary_commit.hpp"
          -P "${CMAKE_CURRENT_FUNCTION_LIST_FILE}"
        BYPRODUCTS "${folder}/lapidary_commit.hpp"
        VERBATIM)
    endif()
    target_include_directories(${target} PRIVATE "${folder}")
    add_dependencies(${target} lapidary_commit)
  endfunction()
  return()
endif()

cmake_minimum_required(VERSION 3.25)
set(id unknown)
set(modified unknown)
find_package(Git QUIET)
if(NOT "$ENV{LAPIDARY_COMMIT}" STREQUAL "")
  set(id "$ENV{LAPIDARY_COMMIT}")
elseif(GIT_FOUND AND EXISTS "${source}/.git")
  # git reads a repository that another user owns only if it is told that this one is safe.
  set(git "${GIT_EXECUTABLE}" --no-optional-locks -c "safe.directory=${source}" -C "${source}")
  execute_process(COMMAND ${git} rev-parse --verify HEAD
    RESULT_VARIABLE status OUTPUT_VARIABLE found ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(status EQUAL 0)
    set(id "${found}")
    execute_process(COMMAND ${git} status --porcelain -- CMakeLists.txt cmake include src
      RESULT_VARIABLE status OUTPUT_VARIABLE changes ERROR_QUIET)
    if(status EQUAL 0 AND changes STREQUAL "")
      set(modified no)
    elseif(status EQUAL 0)
      set(modified yes)
    endif()
  endif()
endif()
# Who includes it is compiled anew only where it says something else.
file(CONFIGURE OUTPUT "${header}" @ONLY CONTENT [[
#pragma once
#define LAPIDARY_COMMIT "@id@"
#define LAPIDARY_COMMIT_MODIFIED "@modified@"
]])
