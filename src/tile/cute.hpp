#pragma once
// CuTe, the layouts and tensors of CUTLASS, for the kernels that are written over it; needs CUTLASS and, also without
// nvcc, CUDA's headers (cmake/Cutlass.cmake). To be included before anything that knows the emulated machine, because
// for the host compiler CUDA's headers and the emulated machine define the same names:
//
//   - CUDA's vectors are renamed while its headers are read, and its keywords, which mean nothing there, are dropped.
//   - CuTe gets a name for each build (core/build.hpp), as everything else that kernels include.
#include "core/build.hpp"

#if defined(__CUDACC__)
#include <cudaTypedefs.h>  // which CuTe would include within its namespace

#include <cute/tensor.hpp>
#elif defined(threadIdx)
#error "include tile/cute.hpp first"
#else

#define LAPIDARY_OF_BUILD(name) LAPIDARY_JOIN_NAMES(name, LAPIDARY_BUILD)
#define LAPIDARY_JOIN_NAMES(name, build) LAPIDARY_JOIN_EXPANDED_NAMES(name, build)
#define LAPIDARY_JOIN_EXPANDED_NAMES(name, build) name##_##build
#define cute LAPIDARY_OF_BUILD(cute)
#define cutlass LAPIDARY_OF_BUILD(cutlass)
#define float2 cuda_float2
#define float4 cuda_float4
#define double2 cuda_double2
#define int2 cuda_int2
#define int4 cuda_int4
#define uint2 cuda_uint2
#define uint4 cuda_uint4
#define dim3 cuda_dim3
#include <cute/tensor.hpp>
#undef cute
#undef cutlass
#undef float2
#undef float4
#undef double2
#undef int2
#undef int4
#undef uint2
#undef uint4
#undef dim3
#undef __align__
#undef __device__
#undef __forceinline__
#undef __global__
#undef __grid_constant__
#undef __host__
#undef __launch_bounds__
#undef __shared__

namespace lapidary::inline LAPIDARY_BUILD {
namespace cute = LAPIDARY_OF_BUILD(::cute);
}
#endif
