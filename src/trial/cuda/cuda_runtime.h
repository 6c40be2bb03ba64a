#pragma once
// CUDA's header for kernels that `lapidary try` compiles with the host compiler. The runtime's types and functions are
// declared so that host code of the same file compiles; it never runs, so nothing is defined.
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>

#include "emulator/assertion.hpp"
#include "emulator/cuda.hpp"
#include "trial/cuda/inline_ptx.hpp"
#include "trial/cuda/shared.hpp"

#undef __shared__  // rewritten before the file is compiled; what is left is named by the compiler
#define __constant__
#define __managed__
#define __noinline__ __attribute__((noinline))
#define __restrict__ __restrict
#define cudaSuccess (cudaError_t{})

using uint = unsigned int;
using uchar = unsigned char;
using ushort = unsigned short;

struct cudaError_t {
  int code = 0;
  friend bool operator==(cudaError_t, cudaError_t) = default;
};
using cudaStream_t = struct CUstream_st*;
using cudaEvent_t = struct CUevent_st*;
struct cudaDeviceProp;
const char* cudaGetErrorString(cudaError_t);
const char* cudaGetErrorName(cudaError_t);
cudaError_t cudaGetLastError();
cudaError_t cudaDeviceSynchronize();

// What assert() of <cassert> calls; that of the C library would end the program instead of the kernel.
extern "C" __attribute__((noinline, noreturn, no_sanitize("thread"))) inline void __assert_fail(const char* condition,
                                                                                                const char*, unsigned,
                                                                                                const char*) noexcept {
  ::lapidary::emulator::abi::assertion_failed(condition, reinterpret_cast<std::uintptr_t>(__builtin_return_address(0)));
}

#define LAPIDARY_VECTOR(Name, Element, bytes, ...) \
  struct alignas(bytes) Name {                     \
    Element __VA_ARGS__;                           \
  };
LAPIDARY_VECTOR(char2, signed char, 2, x, y)
LAPIDARY_VECTOR(char4, signed char, 4, x, y, z, w)
LAPIDARY_VECTOR(uchar2, unsigned char, 2, x, y)
LAPIDARY_VECTOR(uchar4, unsigned char, 4, x, y, z, w)
LAPIDARY_VECTOR(float3, float, 4, x, y, z)
LAPIDARY_VECTOR(int3, int, 4, x, y, z)
#undef LAPIDARY_VECTOR

LAPIDARY_WRAPPER float __fmaf_rn(float a, float b, float c) { return lapidary_fma(a, b, c); }
LAPIDARY_WRAPPER float __fadd_rn(float a, float b) { return a + b; }
LAPIDARY_WRAPPER float __fmul_rn(float a, float b) { return a * b; }
LAPIDARY_WRAPPER int __mul24(int a, int b) { return a * b; }
LAPIDARY_WRAPPER int min(int a, unsigned b) { return a < static_cast<int>(b) ? a : static_cast<int>(b); }
LAPIDARY_WRAPPER int min(unsigned a, int b) { return min(b, a); }
LAPIDARY_WRAPPER int max(int a, unsigned b) { return a > static_cast<int>(b) ? a : static_cast<int>(b); }
LAPIDARY_WRAPPER int max(unsigned a, int b) { return max(b, a); }
