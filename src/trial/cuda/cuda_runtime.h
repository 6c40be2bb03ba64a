#pragma once
// CUDA's header for kernels that `lapidary try` compiles with the host compiler. The runtime's types and functions are
// declared so that host code of the same file compiles; it never runs, so nothing is defined.
#include <cassert>
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

LAPIDARY_WRAPPER void __trap() { ::lapidary::emulator::abi::trap(); }

LAPIDARY_WRAPPER float __fmaf_rn(float a, float b, float c) { return lapidary_fma(a, b, c); }
// Rounded each, as the compiler contracts nothing (cmake/LapidaryKernels.cmake).
LAPIDARY_WRAPPER float __fadd_rn(float a, float b) { return a + b; }
LAPIDARY_WRAPPER float __fsub_rn(float a, float b) { return a - b; }
LAPIDARY_WRAPPER float __fmul_rn(float a, float b) { return a * b; }
/// The lower 32 bits of the product of the lower 24.
LAPIDARY_WRAPPER int __mul24(int a, int b) {
  const auto low = [](int x) { return static_cast<int>(static_cast<unsigned>(x) << 8) >> 8; };
  return static_cast<int>(std::int64_t{low(a)} * low(b));
}
// Of a signed and an unsigned number: both are taken as unsigned ones.
LAPIDARY_WRAPPER unsigned min(int a, unsigned b) { return min(static_cast<unsigned>(a), b); }
LAPIDARY_WRAPPER unsigned min(unsigned a, int b) { return min(a, static_cast<unsigned>(b)); }
LAPIDARY_WRAPPER unsigned max(int a, unsigned b) { return max(static_cast<unsigned>(a), b); }
LAPIDARY_WRAPPER unsigned max(unsigned a, int b) { return max(a, static_cast<unsigned>(b)); }
