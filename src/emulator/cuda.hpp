#pragma once
// The part of CUDA C++ that kernels use, for the host compiler. Nothing of the CUDA toolkit is needed.
//
// Names and meanings are those of the CUDA C++ Programming Guide, "C++ Language Extensions"; what follows are the
// choices that the emulated machine needs.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <source_location>
#include <type_traits>

#include "core/build.hpp"
#include "emulator/abi.hpp"
#include "emulator/call_site.hpp"

// `artificial` gives the code of a wrapper to the line that calls it.
#define LAPIDARY_WRAPPER inline __attribute__((always_inline, artificial))

#define __global__ __attribute__((noinline))
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
// What launch_bounds() counts. Clang takes no number that depends on template arguments.
#if defined(__clang__)
#define __launch_bounds__(...)
#else
#define __launch_bounds__(threads, ...) __attribute__((patchable_function_entry((threads), (threads))))
#endif
#define __grid_constant__
#define __align__(bytes) __attribute__((aligned(bytes)))
// A block runs on one host thread. At block scope `thread_local` implies `static`. Unless it is told not to, GCC
// initialises arrays of vectors when they are first come to; what is not initialised is no constant for Clang.
#if defined(__clang__)
#define __shared__ thread_local
#else
#define __shared__ constinit thread_local
#endif

// Macros, because a global variable would be a load that the instrumentation reports.
#define threadIdx (::lapidary::emulator::abi::thread_index())
#define blockIdx (::lapidary::emulator::abi::block_index())
#define blockDim (::lapidary::emulator::abi::block_extent())
#define gridDim (::lapidary::emulator::abi::grid_extent())

inline namespace LAPIDARY_BUILD {

constexpr int warpSize = 32;

// CUDA's vectors (CUDA C++ Programming Guide, "Built-in Vector Types"): aggregates that are constructed and destroyed
// by doing nothing, so that unions and __shared__ variables may have them. Those of 2 and 4 elements a GPU moves by
// instructions of up to 16 bytes, and the machine has to see as many accesses, where an optimiser would load those
// elements that are used, each by itself. In the instrumented build, therefore, a vector is assigned by pieces of such
// widths. They are neither split nor made a call of memcpy, also where one side is an array in registers. What a vector
// is initialised with is read whole: by GCC, as a type with a volatile member, which may be a bit-field of no bits, is
// never taken apart; for Clang, which does so, vectors are constructed as they are assigned, and are no aggregates.
#if defined(LAPIDARY_INSTRUMENTED)
template <std::size_t bytes>
struct lapidary_piece {
  typedef float type __attribute__((vector_size(bytes), may_alias));
};
template <>
struct lapidary_piece<4> {
  typedef std::uint32_t type __attribute__((may_alias));
};
template <>
struct lapidary_piece<2> {
  typedef std::uint16_t type __attribute__((may_alias));
};
template <class Vector>
LAPIDARY_WRAPPER Vector& lapidary_move(Vector& to, const Vector& from) {
  using Piece = typename lapidary_piece<(sizeof(Vector) < 16 ? sizeof(Vector) : 16)>::type;
  reinterpret_cast<Piece*>(&to)[0] = reinterpret_cast<const Piece*>(&from)[0];
  if constexpr (sizeof(Vector) > 16) reinterpret_cast<Piece*>(&to)[1] = reinterpret_cast<const Piece*>(&from)[1];
  return to;
}
#define LAPIDARY_ASSIGNMENT(Name) \
  LAPIDARY_WRAPPER Name& operator=(const Name& from) { return lapidary_move(*this, from); }
#endif
#if !defined(LAPIDARY_INSTRUMENTED)
#define LAPIDARY_MOVED_2(Name, Element)
#define LAPIDARY_MOVED_4(Name, Element)
#elif defined(__clang__)
#define LAPIDARY_MOVED(Name)                                              \
  Name() = default;                                                       \
  LAPIDARY_WRAPPER Name(const Name& from) { lapidary_move(*this, from); } \
  LAPIDARY_ASSIGNMENT(Name)
#define LAPIDARY_MOVED_2(Name, Element)                         \
  constexpr Name(Element x_, Element y_ = {}) : x(x_), y(y_) {} \
  LAPIDARY_MOVED(Name)
#define LAPIDARY_MOVED_4(Name, Element)                                                                         \
  constexpr Name(Element x_, Element y_ = {}, Element z_ = {}, Element w_ = {}) : x(x_), y(y_), z(z_), w(w_) {} \
  LAPIDARY_MOVED(Name)
#else
#define LAPIDARY_MOVED_2(Name, Element) \
  LAPIDARY_ASSIGNMENT(Name)             \
  volatile char : 0;
#define LAPIDARY_MOVED_4(Name, Element) LAPIDARY_MOVED_2(Name, Element)
#endif

#define LAPIDARY_VECTORS_TO_3(name, Element)                                       \
  struct name##1 {                                                                 \
    Element x;                                                                     \
  };                                                                               \
  struct alignas(2 * sizeof(Element)) name##2 {                                    \
    Element x, y;                                                                  \
    LAPIDARY_MOVED_2(name##2, Element)                                             \
  };                                                                               \
  LAPIDARY_WRAPPER name##1 make_##name##1(Element x) { return {x}; }               \
  LAPIDARY_WRAPPER name##2 make_##name##2(Element x, Element y) { return {x, y}; } \
  LAPIDARY_WRAPPER name##3 make_##name##3(Element x, Element y, Element z) { return {x, y, z}; }
#define LAPIDARY_VECTOR_3(Name, Element) \
  struct Name {                          \
    Element x, y, z;                     \
  };
#define LAPIDARY_VECTOR_4(Name, Element, alignment) \
  struct alignas(alignment) Name {                  \
    Element x, y, z, w;                             \
    LAPIDARY_MOVED_4(Name, Element)                 \
  };                                                \
  LAPIDARY_WRAPPER Name make_##Name(Element x, Element y, Element z, Element w) { return {x, y, z, w}; }
#define LAPIDARY_VECTORS(name, Element) \
  LAPIDARY_VECTOR_3(name##3, Element)   \
  LAPIDARY_VECTORS_TO_3(name, Element)  \
  LAPIDARY_VECTOR_4(name##4, Element, (sizeof(Element) < 4 ? 4 * sizeof(Element) : 16))
// Of 32 bytes CUDA has such that are aligned to 16 bytes and to 32 bytes, too.
#define LAPIDARY_WIDE_VECTORS(name, Element)  \
  LAPIDARY_VECTORS(name, Element)             \
  LAPIDARY_VECTOR_4(name##4_16a, Element, 16) \
  LAPIDARY_VECTOR_4(name##4_32a, Element, 32)

// What threadIdx and blockIdx are.
using uint3 = ::lapidary::emulator::abi::Index3;

LAPIDARY_VECTORS(char, signed char)
LAPIDARY_VECTORS(uchar, unsigned char)
LAPIDARY_VECTORS(short, short)
LAPIDARY_VECTORS(ushort, unsigned short)
LAPIDARY_VECTORS(int, int)
LAPIDARY_VECTORS_TO_3(uint, unsigned)
LAPIDARY_VECTOR_4(uint4, unsigned, 16)
LAPIDARY_VECTORS(float, float)
LAPIDARY_WIDE_VECTORS(long, long)
LAPIDARY_WIDE_VECTORS(ulong, unsigned long)
LAPIDARY_WIDE_VECTORS(longlong, long long)
LAPIDARY_WIDE_VECTORS(ulonglong, unsigned long long)
LAPIDARY_WIDE_VECTORS(double, double)
#undef LAPIDARY_VECTORS
#undef LAPIDARY_WIDE_VECTORS
#undef LAPIDARY_VECTORS_TO_3
#undef LAPIDARY_VECTOR_3
#undef LAPIDARY_VECTOR_4
#undef LAPIDARY_MOVED
#undef LAPIDARY_MOVED_2
#undef LAPIDARY_MOVED_4
#undef LAPIDARY_ASSIGNMENT

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
  constexpr dim3(uint3 from) : x(from.x), y(from.y), z(from.z) {}
  constexpr operator uint3() const { return {x, y, z}; }
};

#define LAPIDARY_WHERE lapidary::emulator::CallSite where = std::source_location::current()

LAPIDARY_WRAPPER void __syncthreads(LAPIDARY_WHERE) { lapidary::emulator::abi::barrier_sync(0, 0, where); }
LAPIDARY_WRAPPER int __syncthreads_count(int predicate, LAPIDARY_WHERE) {
  return lapidary::emulator::abi::barrier_count(predicate, where);
}
LAPIDARY_WRAPPER int __syncthreads_or(int predicate, LAPIDARY_WHERE) {
  return lapidary::emulator::abi::barrier_count(predicate, where) != 0;
}
LAPIDARY_WRAPPER int __syncthreads_and(int predicate, LAPIDARY_WHERE) {
  return lapidary::emulator::abi::barrier_count(!predicate, where) == 0;
}
LAPIDARY_WRAPPER void __syncwarp(unsigned mask = 0xffffffffu, LAPIDARY_WHERE) {
  lapidary::emulator::abi::sync_warp(mask, where);
}

LAPIDARY_WRAPPER unsigned __ballot_sync(unsigned mask, int predicate, LAPIDARY_WHERE) {
  return lapidary::emulator::abi::ballot(mask, predicate, where);
}
LAPIDARY_WRAPPER int __any_sync(unsigned mask, int predicate, LAPIDARY_WHERE) {
  return lapidary::emulator::abi::ballot(mask, predicate, where) != 0;
}
LAPIDARY_WRAPPER int __all_sync(unsigned mask, int predicate, LAPIDARY_WHERE) {
  return lapidary::emulator::abi::ballot(mask, !predicate, where) == 0;
}
LAPIDARY_WRAPPER unsigned __activemask(LAPIDARY_WHERE) { return lapidary::emulator::abi::active_lanes(where); }

template <class T>
LAPIDARY_WRAPPER unsigned __match_any_sync(unsigned mask, T value, LAPIDARY_WHERE) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "values of 32 or 64 bits are matched");
  std::uint64_t bits = 0;
  __builtin_memcpy(&bits, &value, sizeof(T));
  return lapidary::emulator::abi::match(mask, bits, where);
}
template <class T>
LAPIDARY_WRAPPER unsigned __match_all_sync(unsigned mask, T value, int* all, LAPIDARY_WHERE) {
  *all = __match_any_sync(mask, value, where) == mask;
  return *all ? mask : 0;
}

// Signed numbers are in the order of unsigned ones once their highest bit is turned over.
#define LAPIDARY_REDUCTION(name, operation, T, turned)                                                            \
  LAPIDARY_WRAPPER T name(unsigned mask, T value, LAPIDARY_WHERE) {                                               \
    return static_cast<T>(lapidary::emulator::abi::reduce(mask, static_cast<unsigned>(value) ^ turned,            \
                                                          lapidary::emulator::abi::Reduction::operation, where) ^ \
                          turned);                                                                                \
  }
LAPIDARY_REDUCTION(__reduce_add_sync, add, unsigned, 0u)
LAPIDARY_REDUCTION(__reduce_add_sync, add, int, 0u)
LAPIDARY_REDUCTION(__reduce_min_sync, min, unsigned, 0u)
LAPIDARY_REDUCTION(__reduce_min_sync, min, int, 0x80000000u)
LAPIDARY_REDUCTION(__reduce_max_sync, max, unsigned, 0u)
LAPIDARY_REDUCTION(__reduce_max_sync, max, int, 0x80000000u)
LAPIDARY_REDUCTION(__reduce_and_sync, bit_and, unsigned, 0u)
LAPIDARY_REDUCTION(__reduce_or_sync, bit_or, unsigned, 0u)
LAPIDARY_REDUCTION(__reduce_xor_sync, bit_xor, unsigned, 0u)
#undef LAPIDARY_REDUCTION

template <class T>
LAPIDARY_WRAPPER T lapidary_shuffle(unsigned mask, T value, lapidary::emulator::abi::Shuffle mode, int operand,
                                    int width, lapidary::emulator::CallSite where) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "warp shuffles move 32 or 64 bits");
  std::uint64_t bits = 0;
  __builtin_memcpy(&bits, &value, sizeof(T));
  bits = lapidary::emulator::abi::shuffle(mask, bits, mode, operand, width, where);
  __builtin_memcpy(&value, &bits, sizeof(T));
  return value;
}
template <class T>
LAPIDARY_WRAPPER T __shfl_sync(unsigned mask, T value, int lane, int width = 32, LAPIDARY_WHERE) {
  return lapidary_shuffle(mask, value, lapidary::emulator::abi::Shuffle::index, lane, width, where);
}
template <class T>
LAPIDARY_WRAPPER T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32, LAPIDARY_WHERE) {
  return lapidary_shuffle(mask, value, lapidary::emulator::abi::Shuffle::up, static_cast<int>(delta), width, where);
}
template <class T>
LAPIDARY_WRAPPER T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32, LAPIDARY_WHERE) {
  return lapidary_shuffle(mask, value, lapidary::emulator::abi::Shuffle::down, static_cast<int>(delta), width, where);
}
template <class T>
LAPIDARY_WRAPPER T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32, LAPIDARY_WHERE) {
  return lapidary_shuffle(mask, value, lapidary::emulator::abi::Shuffle::exclusive_or, lane_mask, width, where);
}
#undef LAPIDARY_WHERE

// The operand is converted to the word's type, as CUDA's overloads convert it. Those of another scope are of the
// device's.
#define LAPIDARY_ATOMIC_NAMED(name, operation)                                                          \
  template <class T>                                                                                    \
  LAPIDARY_WRAPPER T name(T* address, std::type_identity_t<T> value) {                                  \
    return lapidary::emulator::abi::atomic(lapidary::emulator::abi::Atomic::operation, address, value); \
  }
#define LAPIDARY_ATOMIC(name, operation)         \
  LAPIDARY_ATOMIC_NAMED(name, operation)         \
  LAPIDARY_ATOMIC_NAMED(name##_block, operation) \
  LAPIDARY_ATOMIC_NAMED(name##_system, operation)
LAPIDARY_ATOMIC(atomicAdd, add)
LAPIDARY_ATOMIC(atomicSub, subtract)
LAPIDARY_ATOMIC(atomicInc, increment)
LAPIDARY_ATOMIC(atomicDec, decrement)
LAPIDARY_ATOMIC(atomicMin, min)
LAPIDARY_ATOMIC(atomicMax, max)
LAPIDARY_ATOMIC(atomicAnd, bit_and)
LAPIDARY_ATOMIC(atomicOr, bit_or)
LAPIDARY_ATOMIC(atomicXor, bit_xor)
LAPIDARY_ATOMIC(atomicExch, exchange)
#undef LAPIDARY_ATOMIC
#undef LAPIDARY_ATOMIC_NAMED
#define LAPIDARY_ATOMIC_CAS(name)                                                                          \
  template <class T>                                                                                       \
  LAPIDARY_WRAPPER T name(T* address, std::type_identity_t<T> expected, std::type_identity_t<T> desired) { \
    return lapidary::emulator::abi::atomic_compare_exchange(address, expected, desired);                   \
  }
LAPIDARY_ATOMIC_CAS(atomicCAS)
LAPIDARY_ATOMIC_CAS(atomicCAS_block)
LAPIDARY_ATOMIC_CAS(atomicCAS_system)
#undef LAPIDARY_ATOMIC_CAS

LAPIDARY_WRAPPER void __threadfence_block() {
  lapidary::emulator::abi::thread_fence(lapidary::emulator::abi::FenceScope::block);
}
LAPIDARY_WRAPPER void __threadfence() {
  lapidary::emulator::abi::thread_fence(lapidary::emulator::abi::FenceScope::device);
}
LAPIDARY_WRAPPER void __threadfence_system() { __threadfence(); }
LAPIDARY_WRAPPER void __nanosleep(unsigned) { lapidary::emulator::abi::nanosleep(); }

LAPIDARY_WRAPPER int __popc(unsigned bits) { return __builtin_popcount(bits); }
LAPIDARY_WRAPPER int __ffs(int bits) { return __builtin_ffs(bits); }
LAPIDARY_WRAPPER unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>(((std::uint64_t{high} << 32) | low) >> (shift & 31));
}
LAPIDARY_WRAPPER int __clz(int bits) { return bits == 0 ? 32 : __builtin_clz(static_cast<unsigned>(bits)); }

template <class To, class From>
LAPIDARY_WRAPPER To lapidary_bits(From value) {
  To bits;
  __builtin_memcpy(&bits, &value, sizeof(To));
  return bits;
}
LAPIDARY_WRAPPER int __float_as_int(float value) { return lapidary_bits<int>(value); }
LAPIDARY_WRAPPER unsigned __float_as_uint(float value) { return lapidary_bits<unsigned>(value); }
LAPIDARY_WRAPPER float __int_as_float(int bits) { return lapidary_bits<float>(bits); }
LAPIDARY_WRAPPER float __uint_as_float(unsigned bits) { return lapidary_bits<float>(bits); }

template <class T>
LAPIDARY_WRAPPER T __ldg(const T* address) {
#if defined(LAPIDARY_INSTRUMENTED)
  lapidary::emulator::abi::check_read_only(address, sizeof(T));
#endif
  return *address;
}
// Which caches keep what is read or written is a hint.
#define LAPIDARY_CACHED(load, store)                 \
  template <class T>                                 \
  LAPIDARY_WRAPPER T load(const T* address) {        \
    return *address;                                 \
  }                                                  \
  template <class T>                                 \
  LAPIDARY_WRAPPER void store(T* address, T value) { \
    *address = value;                                \
  }
LAPIDARY_CACHED(__ldcg, __stcg)
LAPIDARY_CACHED(__ldcs, __stcs)
LAPIDARY_CACHED(__ldca, __stwb)
LAPIDARY_CACHED(__ldlu, __stwt)
#undef LAPIDARY_CACHED
// Of a float and NaN, the float (PTX ISA, "min").
template <class T>
LAPIDARY_WRAPPER T min(T a, T b) {
  return b < a || a != a ? b : a;
}
template <class T>
LAPIDARY_WRAPPER T max(T a, T b) {
  return a < b || a != a ? b : a;
}

// Instrumentation sees no arithmetic, so the instrumented build counts fused multiply-adds by a call, which rounds
// once. The plain build rounds the product too where the processor that it is compiled for is not known to have fused
// multiply-adds: the exact function of the C library takes many times as long.
LAPIDARY_WRAPPER float lapidary_fma(float a, float b, float c) {
#if defined(LAPIDARY_INSTRUMENTED)
  return lapidary::emulator::abi::counted_fma(a, b, c);
#elif defined(__FP_FAST_FMAF)
  return __builtin_fmaf(a, b, c);
#else
  return a * b + c;
#endif
}
#define fmaf(a, b, c) lapidary_fma(a, b, c)

}  // namespace LAPIDARY_BUILD
