#pragma once
// CUDA C++ for kernels: nvcc's own, or for the host compiler the emulated machine's.
#include "core/build.hpp"
#if defined(__CUDACC__)
#include <cuda_runtime.h>
#else
#include "emulator/cuda.hpp"
#endif

// A function that only kernels call; always inlined, so that it costs what its body costs.
#define LAPIDARY_DEVICE __device__ __forceinline__
