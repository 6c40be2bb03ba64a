# Installs the build in BUILD to a folder of its own, and builds and runs the projects beside this file against it. What
# is installed is what the program reads, and the program says there what it says where it was built.
cmake_minimum_required(VERSION 3.25)

unset(ENV{LAPIDARY_ROOT})  # both programs would read what is there
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

# Configures a project against what is installed there, and nowhere else.
set(with "${CMAKE_COMMAND}" -G "${GENERATOR}" "-DCMAKE_PREFIX_PATH=${prefix}" -DCMAKE_BUILD_TYPE=Release)
function(build source folder)
  run(unused ${with} -S "${source}" -B "${folder}" ${ARGN})
  file(STRINGS "${folder}/CMakeCache.txt" found REGEX "^lapidary_DIR:")
  string(FIND "${found}" "=${prefix}/" at)
  if(at EQUAL -1)
    message(FATAL_ERROR "${source} is built against another lapidary: ${found}")
  endif()
  run(unused "${CMAKE_COMMAND}" --build "${folder}")
endfunction()

# A project that cannot be configured, and is told why.
function(refuse why source folder)
  execute_process(COMMAND ${with} -S "${source}" -B "${folder}" ${ARGN}
    RESULT_VARIABLE status OUTPUT_VARIABLE text ERROR_VARIABLE text)
  string(REGEX REPLACE "[ \n]+" " " words "${text}")  # lines are broken anywhere
  if(status EQUAL 0 OR NOT words MATCHES "${why}")
    message(FATAL_ERROR "${source} with ${ARGN} ends with ${status}, and not because \"${why}\":\n${text}")
  endif()
endfunction()

# What a program is loaded with says which files it was linked with.
function(expect_library program needs without)
  run(needed objdump -p "${program}")
  if(NOT needed MATCHES "NEEDED +${needs}" OR needed MATCHES "NEEDED +lib(${without})")
    message(FATAL_ERROR "${program} needs ${needs}, and none of ${without}:\n${needed}")
  endif()
endfunction()

run(unused "${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${prefix}")
set(examples "${prefix}/share/lapidary/examples")
set(outside "${CMAKE_CURRENT_LIST_DIR}")
cmake_path(SET sources NORMALIZE "${outside}/../..")
build("${outside}" "${binary}" "-DEXAMPLES=${examples}")
run(unused "${binary}/scale")
run(unused "${binary}/halved")
refuse("fmt is not found" "${outside}" "${binary}/without_fmt" "-DEXAMPLES=${examples}"
  -DCMAKE_DISABLE_FIND_PACKAGE_fmt=ON)

# Without C++, where what the archives are linked with is installed: C everywhere, and CUDA where the build has it.
file(STRINGS "${BUILD}/CMakeCache.txt" nvcc REGEX "^CMAKE_CUDA_COMPILER:[A-Z]+=.*nvcc")
file(STRINGS "${BUILD}/CMakeCache.txt" cuda REGEX "^LAPIDARY_CUDA:[A-Z]+=(ON|on|1|TRUE|true|YES|yes)$")
set(languages C)
if(nvcc AND cuda)
  string(REGEX REPLACE "^[^=]+=(.*)$" "-DCMAKE_CUDA_COMPILER=\\1" nvcc "${nvcc}")
  list(APPEND languages CUDA)
endif()
set(commands)
foreach(language IN LISTS languages)
  set(of_C)
  set(of_CUDA "${nvcc}" -DCMAKE_CUDA_ARCHITECTURES=90)
  set(project "${outside}/one_language" "${binary}/${language}" -DLANGUAGE=${language} "-DEXAMPLES=${examples}"
    ${of_${language}})
  build(${project})
  expect_library("${binary}/${language}/gemm" "liblapidary\\.so" "fmt|boost")
  list(APPEND commands "${binary}/${language}/gemm")
  refuse("the language CXX is not enabled" ${project} -DCOMPONENTS=static)
endforeach()

# The examples, from C, C++ and, by nothing but the installed file, Python; and without CMake. They need none of what
# the library is made of, and the programs that were linked with the archive do not need the library.
file(GLOB library "${prefix}/lib*/liblapidary.so" "${prefix}/lib/*/liblapidary.so")
build("${examples}" "${binary}/examples"
  -DCMAKE_DISABLE_FIND_PACKAGE_Boost=ON -DCMAKE_DISABLE_FIND_PACKAGE_fmt=ON)
foreach(program IN ITEMS gemm_c gemm_cpp)
  expect_library("${binary}/examples/${program}" "liblapidary\\.so" "fmt|boost")
  list(APPEND commands "${binary}/examples/${program}")
endforeach()
foreach(program IN ITEMS gemm_static gemm_c_static)
  expect_library("${binary}/${program}" "libc\\.so" "lapidary")
  list(APPEND commands "${binary}/${program}")
endforeach()
find_program(python python3)
if(python)
  list(APPEND commands "${python}\;${examples}/gemm.py\;${library}")
else()
  message(STATUS "not tested: the example in Python, which is not found")
endif()
find_program(pkg_config pkg-config)
if(pkg_config)
  cmake_path(GET library PARENT_PATH folder)
  set(ENV{PKG_CONFIG_PATH} "${folder}/pkgconfig")
  foreach(module IN ITEMS lapidary lapidary_static)
    run(flags "${pkg_config}" --cflags --libs ${module})
    separate_arguments(flags UNIX_COMMAND "${flags}")
    run(unused cc -std=c99 -Wall -Wextra -Wpedantic -Werror "${examples}/gemm.c" ${flags} "-Wl,-rpath,${folder}"
      -o "${binary}/${module}")
    list(APPEND commands "${binary}/${module}")
  endforeach()
  expect_library("${binary}/lapidary" "liblapidary\\.so" "fmt|boost")
  expect_library("${binary}/lapidary_static" "libc\\.so" "lapidary")
else()
  message(STATUS "not tested: lapidary.pc and lapidary_static.pc, as pkg-config is not found")
endif()
foreach(command IN LISTS commands)
  run(said ${command})
  if(NOT said MATCHES "^5 6 7\n13 14 15\n")
    message(FATAL_ERROR "${command} says\n${said}")
  endif()
endforeach()
include("${outside}/cubins.cmake")

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
  if(NOT file MATCHES "^examples/|^data/gpus\\.csv$|^data/shapes/[a-z]+\\.txt$|^results/compiled/[a-z0-9_]+/[^/]+\\.(ptx|sass)$" AND
     NOT file MATCHES "^results/[^/]+/(calibration|counters|f32|kinds|ladder|power|predictions|tensor|times)\\.json$" AND
     NOT file MATCHES "^results/emulator/(mutants|[a-z0-9]+_cute)\\.json$")
    message(FATAL_ERROR "${file} is installed, and nothing reads it")
  endif()
endforeach()

# Pages are made of these, which a test of the program reads where it was built; and GPUs are timed over the lists of
# problems.
file(GLOB read RELATIVE "${sources}" "${sources}/data/shapes/*.txt")
foreach(name IN ITEMS calibration counters f32 kinds ladder power predictions tensor times)
  list(APPEND read results/h200/${name}.json)
endforeach()
foreach(file IN LISTS read)
  if(NOT file IN_LIST installed)
    message(FATAL_ERROR "${file} is not installed")
  endif()
endforeach()
# All of it where the build has all rungs.
file(READ "${BUILD}/src/kernels/rungs.def" rungs)
foreach(command IN ITEMS
    "list" "gpus" "asm;vectorized" "asm;vectorized;--ptx" "explain;wgmma_cluster;--beta" "explain;f16_padded;--gpu;a10"
    "check;--puzzle;--seed;7;--json" "occupancy;multistage" "roofline;--gpu;h200"
    "try;${sources}/test/try/naive.cu;--grid;ceil_div(M, 32), ceil_div(N, 32);--block;32, 32")
  if(command MATCHES "^(asm|explain|occupancy);([a-z0-9_]+)")
    if(NOT rungs MATCHES ", ${CMAKE_MATCH_2}\\)")
      continue()
    endif()
  endif()
  run(there "${prefix}/bin/lapidary" ${command})
  run(here "${BUILD}/lapidary" ${command})
  if(NOT there STREQUAL here)
    message(FATAL_ERROR "${command} says something else where the program is installed:\n${there}\nin place of\n${here}")
  endif()
endforeach()
