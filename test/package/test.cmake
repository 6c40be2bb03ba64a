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

# The examples, from C, C++ and, by nothing but the installed file, Python; and without CMake.
file(GLOB library "${prefix}/lib*/liblapidary.so" "${prefix}/lib/*/liblapidary.so")
set(examples "${CMAKE_CURRENT_LIST_DIR}/../../examples")
run(unused "${CMAKE_COMMAND}" -S "${examples}" -B "${binary}/examples" -G "${GENERATOR}"
  "-DCMAKE_PREFIX_PATH=${prefix}" -DCMAKE_BUILD_TYPE=Release)
run(unused "${CMAKE_COMMAND}" --build "${binary}/examples")
set(commands "${binary}/examples/gemm_c" "${binary}/examples/gemm_cpp")
find_program(python python3)
if(python)
  list(APPEND commands "${python}\;${examples}/gemm.py\;${library}")
endif()
foreach(command IN LISTS commands)
  run(said ${command})
  if(NOT said MATCHES "^5 6 7\n13 14 15\n")
    message(FATAL_ERROR "${command} says\n${said}")
  endif()
endforeach()
find_program(pkg_config pkg-config)
if(pkg_config)
  cmake_path(GET library PARENT_PATH folder)
  set(ENV{PKG_CONFIG_PATH} "${folder}/pkgconfig")
  run(flags "${pkg_config}" --define-prefix --cflags --libs lapidary)
  separate_arguments(flags UNIX_COMMAND "${flags}")
  run(unused cc -std=c99 -Wall -Wextra -Wpedantic -Werror "${examples}/gemm.c" ${flags} "-Wl,-rpath,${folder}" -o "${binary}/c")
  run(unused "${binary}/c")
endif()

# What the library lets programs see is what is on record: what is gone breaks them, and what came is promised to stay.
execute_process(COMMAND nm -DC --defined-only "${library}" OUTPUT_VARIABLE symbols)
string(REGEX REPLACE "[0-9a-f]* +[A-Z] ([^\n]*)@@LAPIDARY_0" "\\1" symbols "${symbols}")
string(REGEX REPLACE "[^\n]* A LAPIDARY_0\n" "" symbols "${symbols}")
string(REPLACE ";" "," symbols "${symbols}")
string(REGEX MATCHALL "[^\n]+" symbols "${symbols}")
list(SORT symbols)
list(REMOVE_DUPLICATES symbols)
list(JOIN symbols "\n" symbols)
set(record "${CMAKE_CURRENT_LIST_DIR}/symbols.txt")
if(DEFINED ENV{LAPIDARY_RENEW})
  file(WRITE "${record}" "${symbols}\n")
endif()
file(READ "${record}" known)
if(NOT known STREQUAL "${symbols}\n")
  message(FATAL_ERROR "the library exports\n${symbols}\nin place of what test/package/symbols.txt says, which "
    "LAPIDARY_RENEW=1 writes anew")
endif()

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
