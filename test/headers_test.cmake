# Every header of the sources compiles alone. Those that their own .cpp includes first are left to the build, and those
# that need what is not there are left out.
#
#   cmake -DCXX=<compiler> -DSOURCE=<folder> "-DINCLUDE=<folders of other projects>" "-DWITHOUT=<headers>" -P headers_test.cmake
cmake_minimum_required(VERSION 3.25)

list(TRANSFORM INCLUDE PREPEND "-I")
file(GLOB_RECURSE headers RELATIVE "${SOURCE}" "${SOURCE}/*.hpp")
list(REMOVE_ITEM headers ${WITHOUT})
set(compiled 0)
set(failed)
foreach(header IN LISTS headers)
  string(REGEX REPLACE "hpp$" "cpp" own "${SOURCE}/${header}")
  if(EXISTS "${own}")
    file(STRINGS "${own}" includes REGEX "^#include")
    list(GET includes 0 first)
    if(first STREQUAL "#include \"${header}\"")
      continue()
    endif()
  endif()
  math(EXPR compiled "${compiled} + 1")
  execute_process(COMMAND "${CXX}" -std=c++20 -fsyntax-only "-I${SOURCE}" "-I${SOURCE}/../include" ${INCLUDE} -include "${header}" -x c++ /dev/null
    RESULT_VARIABLE result)
  if(result)
    list(APPEND failed "${header}")
  endif()
endforeach()
if(failed OR compiled EQUAL 0)
  message(FATAL_ERROR "of ${compiled} headers these do not compile alone: ${failed}")
endif()
