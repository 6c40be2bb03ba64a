#pragma once
// Operations on numbers, each on the bits of its operands. The same for all builds: half and bfloat16 are those of CUDA
// for nvcc, and for the host compiler those that `lapidary try` gives to kernels.
#include <cstring>

#include "../emulator/register.hpp"
#include "core/types.hpp"
// Behind the C++ library, which spells attributes as CUDA spells __noinline__.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

namespace lapidary::test::inline LAPIDARY_BUILD {

using Word = unsigned long long;

template <class T>
LAPIDARY_DEVICE T of_bits(Word bits) {
  T value;
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}
template <class T>
LAPIDARY_DEVICE Word bits_of_number(const T& value) {
  Word bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  return bits;
}

/// b: what an operation makes of each three numbers of a.
template <class Operation>
__global__ void apply(Word* a, Word* b, Word*, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    b[i] = Operation::of(a[3 * i], a[3 * i + 1], a[3 * i + 2]);
}

#define LAPIDARY_OPERATION(name, Operand, expression)                       \
  struct name {                                                             \
    static LAPIDARY_DEVICE Word of(Word bits_a, Word bits_b, Word bits_c) { \
      [[maybe_unused]] const auto a = of_bits<Operand>(bits_a);             \
      [[maybe_unused]] const auto b = of_bits<Operand>(bits_b);             \
      [[maybe_unused]] const auto c = of_bits<Operand>(bits_c);             \
      return bits_of_number(expression);                                    \
    }                                                                       \
  };

// ---------------------------------------------------------------- what half and bfloat16 have by the same names

// Of vectors, (a, b) and (b, c).
#define LAPIDARY_NARROW_OPERATIONS(X)                  \
  X(add, N, __hadd(a, b))                              \
  X(subtract, N, __hsub(a, b))                         \
  X(multiply, N, __hmul(a, b))                         \
  X(divide, N, __hdiv(a, b))                           \
  X(add_rn, N, __hadd_rn(a, b))                        \
  X(subtract_rn, N, __hsub_rn(a, b))                   \
  X(multiply_rn, N, __hmul_rn(a, b))                   \
  X(add_operator, N, a + b)                            \
  X(subtract_operator, N, a - b)                       \
  X(multiply_operator, N, (a * b))                     \
  X(divide_operator, N, a / b)                         \
  X(add_sat, N, __hadd_sat(a, b))                      \
  X(subtract_sat, N, __hsub_sat(a, b))                 \
  X(multiply_sat, N, __hmul_sat(a, b))                 \
  X(fma, N, __hfma(a, b, c))                           \
  X(fma_sat, N, __hfma_sat(a, b, c))                   \
  X(fma_relu, N, __hfma_relu(a, b, c))                 \
  X(negate, N, __hneg(a))                              \
  X(negate_operator, N, -a)                            \
  X(absolute, N, __habs(a))                            \
  X(root, N, hsqrt(a))                                 \
  X(reciprocal, N, hrcp(a))                            \
  X(reciprocal_root, N, hrsqrt(a))                     \
  X(truncate, N, htrunc(a))                            \
  X(floor, N, hfloor(a))                               \
  X(ceil, N, hceil(a))                                 \
  X(rint, N, hrint(a))                                 \
  X(is_nan, N, __hisnan(a))                            \
  X(is_infinite, N, __hisinf(a))                       \
  X(minimum, N, __hmin(a, b))                          \
  X(maximum, N, __hmax(a, b))                          \
  X(minimum_nan, N, __hmin_nan(a, b))                  \
  X(maximum_nan, N, __hmax_nan(a, b))                  \
  X(eq, N, __heq(a, b))                                \
  X(ne, N, __hne(a, b))                                \
  X(lt, N, __hlt(a, b))                                \
  X(le, N, __hle(a, b))                                \
  X(gt, N, __hgt(a, b))                                \
  X(ge, N, __hge(a, b))                                \
  X(equ, N, __hequ(a, b))                              \
  X(neu, N, __hneu(a, b))                              \
  X(ltu, N, __hltu(a, b))                              \
  X(leu, N, __hleu(a, b))                              \
  X(gtu, N, __hgtu(a, b))                              \
  X(geu, N, __hgeu(a, b))                              \
  X(add_vector, N, __hadd2(V(a, b), V(b, c)))          \
  X(subtract_vector, N, __hsub2(V(a, b), V(b, c)))     \
  X(multiply_vector, N, __hmul2(V(a, b), V(b, c)))     \
  X(divide_vector, N, __h2div(V(a, b), V(b, c)))       \
  X(fma_vector, N, __hfma2(V(a, b), V(b, c), V(c, a))) \
  X(negate_vector, N, __hneg2(V(a, b)))                \
  X(maximum_vector, N, __hmax2(V(a, b), V(b, c)))      \
  X(lt_vector, N, __hlt2(V(a, b), V(b, c)))            \
  X(neu_vector, N, __hneu2(V(a, b), V(b, c)))          \
  X(lt_both, N, __hblt2(V(a, b), V(b, c)))             \
  X(from_float, float, N(a))                           \
  X(from_double, double, N(a))                         \
  X(to_float, N, static_cast<float>(a))

template <class N, class V>
struct Narrow {
  LAPIDARY_NARROW_OPERATIONS(LAPIDARY_OPERATION)
};

// ---------------------------------------------------------------- conversions that are named after one of them

#define LAPIDARY_ROUNDING_OPERATIONS(X, Number, name, rounding)              \
  X(from_float_##rounding, float, __float2##name##_##rounding(a))            \
  X(from_short_##rounding, short, __short2##name##_##rounding(a))            \
  X(from_ushort_##rounding, unsigned short, __ushort2##name##_##rounding(a)) \
  X(from_int_##rounding, int, __int2##name##_##rounding(a))                  \
  X(from_uint_##rounding, unsigned, __uint2##name##_##rounding(a))           \
  X(from_ll_##rounding, long long, __ll2##name##_##rounding(a))              \
  X(from_ull_##rounding, Word, __ull2##name##_##rounding(a))                 \
  X(to_short_##rounding, Number, __##name##2short_##rounding(a))             \
  X(to_ushort_##rounding, Number, __##name##2ushort_##rounding(a))           \
  X(to_int_##rounding, Number, __##name##2int_##rounding(a))                 \
  X(to_uint_##rounding, Number, __##name##2uint_##rounding(a))               \
  X(to_ll_##rounding, Number, __##name##2ll_##rounding(a))                   \
  X(to_ull_##rounding, Number, __##name##2ull_##rounding(a))
#define LAPIDARY_CONVERSIONS(X, Number, name, vector)       \
  LAPIDARY_ROUNDING_OPERATIONS(X, Number, name, rn)         \
  LAPIDARY_ROUNDING_OPERATIONS(X, Number, name, rz)         \
  LAPIDARY_ROUNDING_OPERATIONS(X, Number, name, rd)         \
  LAPIDARY_ROUNDING_OPERATIONS(X, Number, name, ru)         \
  X(from_float_vector, float, __floats2##vector##_rn(a, b)) \
  X(from_float2_vector, float, __float22##vector##_rn(make_float2(a, b)))
#define LAPIDARY_HALF_CONVERSIONS(X) LAPIDARY_CONVERSIONS(X, __half, half, half2)
#define LAPIDARY_BFLOAT16_CONVERSIONS(X) LAPIDARY_CONVERSIONS(X, __nv_bfloat16, bfloat16, bfloat162)

struct Half {
  LAPIDARY_HALF_CONVERSIONS(LAPIDARY_OPERATION)
};
struct Bfloat16 {
  LAPIDARY_BFLOAT16_CONVERSIONS(LAPIDARY_OPERATION)
};

// ---------------------------------------------------------------- elements of matrices, floats and integers

#define LAPIDARY_OTHER_OPERATIONS(X)                             \
  X(f16_from_float, float, lapidary::from_float<f16>(a))         \
  X(bf16_from_float, float, lapidary::from_float<bf16>(a))       \
  X(tf32_from_float, float, lapidary::from_float<tf32>(a))       \
  X(e4m3_from_float, float, lapidary::from_float<e4m3>(a))       \
  X(e5m2_from_float, float, lapidary::from_float<e5m2>(a))       \
  X(s8_from_float, float, lapidary::from_float<std::int8_t>(a))  \
  X(f16_to_float, f16, lapidary::to_float(a))                    \
  X(bf16_to_float, bf16, lapidary::to_float(a))                  \
  X(e4m3_to_float, e4m3, lapidary::to_float(a))                  \
  X(e5m2_to_float, e5m2, lapidary::to_float(a))                  \
  X(fma_of_floats, float, __fmaf_rn(a, b, c))                    \
  X(sum_of_product, float, __fadd_rn(__fmul_rn(a, b), c))        \
  X(difference_of_product, float, __fsub_rn(__fmul_rn(a, b), c)) \
  X(minimum_of_floats, float, min(a, b))                         \
  X(maximum_of_floats, float, max(a, b))                         \
  X(product_of_24_bits, int, __mul24(a, b))                      \
  X(mixed_minimum, int, min(a, static_cast<unsigned>(b)))        \
  X(mixed_maximum, int, max(static_cast<unsigned>(a), b))

struct Other {
  LAPIDARY_OTHER_OPERATIONS(LAPIDARY_OPERATION)
};

#define LAPIDARY_HALF(name, Operand, expression) entry<apply<Narrow<__half, __half2>::name>>("half " #name, 16, 128),
#define LAPIDARY_BFLOAT16(name, Operand, expression) \
  entry<apply<Narrow<__nv_bfloat16, __nv_bfloat162>::name>>("bfloat16 " #name, 16, 128),
#define LAPIDARY_HALF_CONVERSION(name, Operand, expression) entry<apply<Half::name>>("half " #name, 16, 128),
#define LAPIDARY_BFLOAT16_CONVERSION(name, Operand, expression) \
  entry<apply<Bfloat16::name>>("bfloat16 " #name, 16, 128),
#define LAPIDARY_OTHER(name, Operand, expression) entry<apply<Other::name>>(#name, 16, 128),

constexpr TestKernel arithmetic_table[] = {
    LAPIDARY_NARROW_OPERATIONS(LAPIDARY_HALF) LAPIDARY_NARROW_OPERATIONS(LAPIDARY_BFLOAT16)
        LAPIDARY_HALF_CONVERSIONS(LAPIDARY_HALF_CONVERSION) LAPIDARY_BFLOAT16_CONVERSIONS(LAPIDARY_BFLOAT16_CONVERSION)
            LAPIDARY_OTHER_OPERATIONS(LAPIDARY_OTHER)};

TestKernels arithmetic_kernels() { return {arithmetic_table, std::size(arithmetic_table)}; }

}  // namespace lapidary::test::inline LAPIDARY_BUILD
