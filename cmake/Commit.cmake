# LAPIDARY_COMMIT_ID and LAPIDARY_COMMIT_MODIFIED: which commit the sources are of, for the receipts of measurements, and
# whether those of the program differ from it: yes, no or unknown.
#
# A checkout without its history, as a build machine may have, is told its commit by the environment variable
# LAPIDARY_COMMIT.
set(LAPIDARY_COMMIT_ID unknown)
set(LAPIDARY_COMMIT_MODIFIED unknown)
find_package(Git QUIET)
if(NOT "$ENV{LAPIDARY_COMMIT}" STREQUAL "")
  set(LAPIDARY_COMMIT_ID "$ENV{LAPIDARY_COMMIT}")
elseif(GIT_FOUND AND EXISTS "${PROJECT_SOURCE_DIR}/.git")
  # git reads a repository that another user owns only if it is told that this one is safe.
  set(git "${GIT_EXECUTABLE}" -c "safe.directory=${PROJECT_SOURCE_DIR}" -C "${PROJECT_SOURCE_DIR}")
  execute_process(COMMAND ${git} rev-parse --verify HEAD
    RESULT_VARIABLE status OUTPUT_VARIABLE id ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(status EQUAL 0)
    set(LAPIDARY_COMMIT_ID "${id}")
    execute_process(COMMAND ${git} status --porcelain -- CMakeLists.txt cmake include src
      RESULT_VARIABLE status OUTPUT_VARIABLE changes ERROR_QUIET)
    if(status EQUAL 0 AND changes STREQUAL "")
      set(LAPIDARY_COMMIT_MODIFIED no)
    elseif(status EQUAL 0)
      set(LAPIDARY_COMMIT_MODIFIED yes)
    endif()
  endif()
endif()
