# Installs the build in BUILD to a folder of its own, and builds and runs the project beside this file against it.
set(prefix "${BUILD}/test/package/prefix")
set(binary "${BUILD}/test/package/build")
file(REMOVE_RECURSE "${prefix}" "${binary}")
foreach(command IN ITEMS
    "${CMAKE_COMMAND};--install;${BUILD};--prefix;${prefix}"
    "${CMAKE_COMMAND};-S;${CMAKE_CURRENT_LIST_DIR};-B;${binary};-G;${GENERATOR};-DCMAKE_PREFIX_PATH=${prefix};-DCMAKE_BUILD_TYPE=Release"
    "${CMAKE_COMMAND};--build;${binary}"
    "${binary}/scale"
    "${prefix}/bin/lapidary;list")
  execute_process(COMMAND ${command} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${command}\n${output}")
  endif()
endforeach()
