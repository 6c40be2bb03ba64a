# lapidary_add_kernel(<target> <file>...)
#
# Makes an object library of kernel sources (.cuh), each compiled in every build that there is (src/core/build.hpp):
#
#   plain         by the host compiler
#   instrumented  by the host compiler, its loads and stores reported to the emulated machine
#   gpu           by nvcc, where the project that calls this has enabled CUDA
#
# What a file defines lives in `inline namespace LAPIDARY_BUILD`, so that the builds can be linked into one program and
# are called by their names: plain::f, instrumented::f, gpu::f. Link <target> to a program to get them.

# The optimiser must not merge or invent accesses: no vectorisation. Nor must a call at a kernel's end lose its line: no tail
# calls. Of debug information lines are read, and nothing else: -g1. The rest of -fsanitize=thread, its runtime, is not used;
# the emulated machine defines the functions that the instrumentation calls. There is a list for each compiler, as
# `lapidary try` compiles with the one that it finds, by the same list (src/trial/CMakeLists.txt).
set(LAPIDARY_INSTRUMENTED_OPTIONS_GNU -O2 -gdwarf-4 -g1
    -fsanitize=thread --param=tsan-instrument-func-entry-exit=0 -fno-tree-vectorize
    --param=tsan-distinguish-volatile=1 -fno-optimize-sibling-calls -fno-extern-tls-init -Wno-tsan)
set(LAPIDARY_INSTRUMENTED_OPTIONS_CLANG -O2 -gdwarf-4 -g1
    -fsanitize=thread -fno-vectorize -fno-slp-vectorize -fno-unroll-loops
    -fno-optimize-sibling-calls "SHELL:-mllvm -tsan-instrument-read-before-write=1"
    "SHELL:-mllvm -tsan-instrument-func-entry-exit=0" "SHELL:-mllvm -tsan-distinguish-volatile=1")
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(LAPIDARY_INSTRUMENTED_OPTIONS ${LAPIDARY_INSTRUMENTED_OPTIONS_GNU})
else()
  set(LAPIDARY_INSTRUMENTED_OPTIONS ${LAPIDARY_INSTRUMENTED_OPTIONS_CLANG})
endif()

# Kernels read memory as vectors of other types; nvcc does not optimise on the assumption that nobody does. A product and a
# sum are fused where a kernel calls fmaf, and nowhere else, whatever the processor. A loop that waits for another thread is
# not taken to end, and left out.
set(LAPIDARY_HOST_OPTIONS -fno-strict-aliasing -ffp-contract=off -fno-finite-loops)

# Of a kernel that a program loads while it runs. What the program has of the same name must not take the place of what the
# kernel has.
set(LAPIDARY_LOADED_OPTIONS_GNU -fPIC -fvisibility=hidden -fno-gnu-unique)
set(LAPIDARY_LOADED_OPTIONS_CLANG -fPIC -fvisibility=hidden)

function(lapidary_add_kernel target)
  add_library(${target} INTERFACE)
  set(builds plain)
  if(LAPIDARY_INSTRUMENTED)
    list(APPEND builds instrumented)
  endif()
  if(CMAKE_CUDA_COMPILER)
    list(APPEND builds gpu)
  endif()
  foreach(build IN LISTS builds)
    set(units)
    foreach(file IN LISTS ARGN)
      get_filename_component(path "${file}" ABSOLUTE)
      get_filename_component(name "${file}" NAME_WE)
      set(extension cpp)
      if(build STREQUAL "gpu")
        set(extension cu)
      endif()
      set(unit "${CMAKE_CURRENT_BINARY_DIR}/${target}_units/${build}/${name}.${extension}")
      file(CONFIGURE OUTPUT "${unit}" CONTENT "#include \"${path}\"\n" @ONLY)
      list(APPEND units "${unit}")
    endforeach()
    add_library(${target}_${build} OBJECT ${units})
    target_link_libraries(${target}_${build} PRIVATE lapidary::kernel)
    target_link_libraries(${target} INTERFACE ${target}_${build} $<TARGET_OBJECTS:${target}_${build}>)
    # Reports name files by their path below the root. A relative path would be taken for one below the build folder.
    # They have it from the debug information of the instrumented build; by that of the plain one a debugger finds the
    # sources.
    set(map -ffile-prefix-map)
    if(build STREQUAL "plain")
      set(map -fmacro-prefix-map)
    endif()
    target_compile_options(${target}_${build} PRIVATE "${map}=${PROJECT_SOURCE_DIR}/=/./")
    if(build STREQUAL "gpu")
      target_compile_options(${target}_${build} PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:-lineinfo;-Xfatbin=-compress-all>")
    else()
      # CUDA's pragmas mean nothing to GCC, and Clang cannot follow all of them. GCC has notes on how it passes structs that
      # are aligned as tensor maps. CUDA's vectors are assigned in a way of their own and copied in no such way.
      target_compile_options(${target}_${build} PRIVATE -Wno-unknown-pragmas -Wno-psabi -Wno-deprecated-copy
                             ${LAPIDARY_HOST_OPTIONS}
                             $<$<CXX_COMPILER_ID:Clang>:-Wno-pass-failed>)
    endif()
    if(build STREQUAL "instrumented")
      target_compile_definitions(${target}_${build} PRIVATE LAPIDARY_INSTRUMENTED)
      target_compile_options(${target}_${build} PRIVATE ${LAPIDARY_INSTRUMENTED_OPTIONS} $<$<CONFIG:Debug>:-g>)
    elseif(build STREQUAL "plain" AND NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
      target_compile_options(${target}_${build} PRIVATE -O3)
    endif()
  endforeach()
  target_link_libraries(${target} INTERFACE lapidary::machine)
endfunction()
