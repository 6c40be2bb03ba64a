# Installs the build in BUILD to a folder of its own, and builds and runs the project beside this file against it. What is
# installed is what the program reads, and the program says there what it says where it was built.
cmake_minimum_required(VERSION 3.25)

set(prefix "${BUILD}/test/package/prefix")
set(binary "${BUILD}/test/package/build")
file(REMOVE_RECURSE "${prefix}" "${binary}")

function(run output)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE text ERROR_VARIABLE text)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${ARGN}\n${text}")
  endif()
  set(${output} "${text}" PARENT_SCOPE)
endfunction()

run(unused "${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${prefix}")
run(unused "${CMAKE_COMMAND}" -S "${CMAKE_CURRENT_LIST_DIR}" -B "${binary}" -G "${GENERATOR}"
  "-DCMAKE_PREFIX_PATH=${prefix}" -DCMAKE_BUILD_TYPE=Release)
run(unused "${CMAKE_COMMAND}" --build "${binary}")
run(unused "${binary}/scale")

file(GLOB_RECURSE installed RELATIVE "${prefix}/share/lapidary" "${prefix}/share/lapidary/*")
foreach(file IN LISTS installed)
  if(NOT file MATCHES "^data/(energy|gpus)\\.csv$|^data/shapes/[a-z]+\\.txt$|^results/compiled/[a-z0-9_]+/[^/]+\\.(ptx|sass)$" AND
     NOT file MATCHES "^results/[^/]+/(calibration|counters|kinds|ladder|predictions|tensor|times)\\.json$" AND
     NOT file MATCHES "^results/emulator/(mutants|[a-z0-9]+_cute)\\.json$")
    message(FATAL_ERROR "${file} is installed, and nothing reads it")
  endif()
endforeach()

# Pages are made of these. A test of the program reads them where it was built.
foreach(name IN ITEMS calibration counters kinds ladder predictions tensor times)
  if(NOT "results/h200/${name}.json" IN_LIST installed)
    message(FATAL_ERROR "results/h200/${name}.json is not installed")
  endif()
endforeach()
foreach(command IN ITEMS
    "list" "gpus" "asm;vectorized" "asm;vectorized;--ptx" "explain;wgmma_cluster;--beta" "explain;f16_padded;--gpu;a10"
    "check;--puzzle;--seed;7;--json" "occupancy;multistage" "roofline;--gpu;h200")
  run(there "${prefix}/bin/lapidary" ${command})
  run(here "${BUILD}/lapidary" ${command})
  if(NOT there STREQUAL here)
    message(FATAL_ERROR "${command} says something else where the program is installed:\n${there}\nin place of\n${here}")
  endif()
endforeach()
