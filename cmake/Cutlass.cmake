# LAPIDARY_WITH_CUTLASS, and where it is on the target lapidary_cutlass: CuTe and CUTLASS, headers alone, for the kernels
# that are written over CuTe. They are optional: the package NvidiaCutlass, or else what LAPIDARY_CUTLASS_DIR names.
# LAPIDARY_CUTLASS_INCLUDE is their folder; script/compiled reads it from the cache.
#
# The host compiler needs CUDA's headers for them, and those of libcu++, which CUDA brings along. nvcc has its own.
set(LAPIDARY_CUTLASS_DIR "" CACHE PATH "A folder of CUTLASS that has include/cute/tensor.hpp or cute/tensor.hpp")
set(LAPIDARY_WITH_CUTLASS OFF)

find_package(NvidiaCutlass QUIET)
if(NOT TARGET nvidia::cutlass::cutlass AND LAPIDARY_CUTLASS_DIR)
  find_path(cutlass_include cute/tensor.hpp PATHS "${LAPIDARY_CUTLASS_DIR}" PATH_SUFFIXES include NO_CACHE NO_DEFAULT_PATH)
  if(NOT cutlass_include)
    message(FATAL_ERROR "LAPIDARY_CUTLASS_DIR is ${LAPIDARY_CUTLASS_DIR}, which has neither include/cute/tensor.hpp nor "
      "cute/tensor.hpp; it is a checkout of https://github.com/NVIDIA/cutlass, or the folder of its headers")
  endif()
  add_library(nvidia::cutlass::cutlass INTERFACE IMPORTED)
  target_include_directories(nvidia::cutlass::cutlass SYSTEM INTERFACE "${cutlass_include}")
endif()

unset(LAPIDARY_CUTLASS_INCLUDE CACHE)
if(TARGET nvidia::cutlass::cutlass)
  get_target_property(cutlass_include nvidia::cutlass::cutlass INTERFACE_INCLUDE_DIRECTORIES)
  set(LAPIDARY_CUTLASS_INCLUDE "${cutlass_include}" CACHE INTERNAL "")
  find_path(LAPIDARY_CUDA_INCLUDE cuda_fp16.h HINTS ${CUDAToolkit_INCLUDE_DIRS} PATHS /usr/local/cuda/include)
  find_path(LAPIDARY_LIBCUDACXX_INCLUDE cuda/std/utility
    HINTS "${LAPIDARY_CUDA_INCLUDE}" ${CUDAToolkit_INCLUDE_DIRS} PATHS /usr/local/cuda/include PATH_SUFFIXES cccl)
  if(LAPIDARY_CUDA_INCLUDE AND LAPIDARY_LIBCUDACXX_INCLUDE)
    set(LAPIDARY_WITH_CUTLASS ON)
    add_library(lapidary_cutlass INTERFACE)
    target_link_libraries(lapidary_cutlass INTERFACE nvidia::cutlass::cutlass)
    target_include_directories(lapidary_cutlass SYSTEM INTERFACE
      "$<$<COMPILE_LANGUAGE:CXX>:${LAPIDARY_LIBCUDACXX_INCLUDE};${LAPIDARY_CUDA_INCLUDE}>")
  else()
    message(STATUS "CUTLASS is there, but not CUDA's headers, which it includes: no kernels over CuTe. "
      "LAPIDARY_CUDA_INCLUDE names the folder of cuda_fp16.h, LAPIDARY_LIBCUDACXX_INCLUDE that of cuda/std/utility")
  endif()
endif()
