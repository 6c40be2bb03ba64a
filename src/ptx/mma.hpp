#pragma once
#include <cstdint>
#include <type_traits>

#include "core/types.hpp"
#include "ptx/call_site.hpp"
#include "ptx/cuda.hpp"

namespace lapidary::inline LAPIDARY_BUILD {

namespace mma_detail {
template <class T, class... Others>
constexpr bool is_one_of = (std::is_same_v<T, Others> || ...);
template <class T>
constexpr bool is_fp8 = is_one_of<T, e4m3, e5m2>;
template <class T>
constexpr bool is_8_bit_integer = is_one_of<T, std::int8_t, std::uint8_t>;

template <class A, class B, class D>
constexpr bool types_go_together = std::is_same_v<A, B>
                                       ? (is_one_of<A, f16, bf16, tf32>&& std::is_same_v<D, float>) ||
                                             (std::is_same_v<A, f16> && std::is_same_v<D, f16>) ||
                                             (is_fp8<A> && std::is_same_v<D, float>) ||
                                             (is_8_bit_integer<A> && std::is_same_v<D, std::int32_t>) ||
                                             (std::is_same_v<A, double> && std::is_same_v<D, double>)
                                       : (is_fp8<A>&& is_fp8<B>&& std::is_same_v<D, float>) ||
                                             (is_8_bit_integer<A> && is_8_bit_integer<B> &&
                                              std::is_same_v<D, std::int32_t>);
}  // namespace mma_detail

/// A form of mma.sync, D = A * B + C, and what a lane holds of its operands: registers of 32 bits, each of which holds
/// `packed` elements, or doubles. layout/fragment.hpp (mma_a, mma_b, mma_d) tells which elements they are.
///
///   A and B             D             M x N x K
///   f16                 float, f16    16 x 8 x 8, 16 x 8 x 16
///   bf16                float         16 x 8 x 8, 16 x 8 x 16
///   tf32                float         16 x 8 x 4, 16 x 8 x 8
///   e4m3, e5m2          float         16 x 8 x 32               on sm_90 two products of f16 and an addition
///   int8_t, uint8_t     int32_t       16 x 8 x 16, 16 x 8 x 32  `saturate`: overflow stays at the largest number
///   double              double        8 x 8 x 4, 16 x 8 x 16
///
/// A and B may differ where both are FP8, or both integers.
template <class A_, class B_, class D_, int M_, int N_, int K_, bool saturate_ = false>
struct Mma {
  using A = A_;
  using B = B_;
  using D = D_;
  static constexpr int M = M_, N = N_, K = K_;
  static constexpr bool saturate = saturate_;
  static constexpr bool f64 = std::is_same_v<A, double>;

  static constexpr int packed = f64 ? 1 : static_cast<int>(4 / sizeof(A));
  using Register = std::conditional_t<f64, double, std::uint32_t>;
  static constexpr int a_registers = M * K / 32 / packed, b_registers = N * K / 32 / packed;
  /// Those of C and D: the elements themselves, or two f16 each.
  using Accumulator = std::conditional_t<std::is_same_v<D, f16>, std::uint32_t, D>;
  static constexpr int d_registers = M * N / 32 / (std::is_same_v<D, f16> ? 2 : 1);

  // A and B take 128 or 256 bits of K, but for doubles.
  static constexpr bool shape_exists = f64 ? (M == 8 && N == 8 && K == 4) || (M == 16 && N == 8 && K == 16)
                                           : M == 16 && N == 8 && (K == 4 * packed || K == 8 * packed);
  static_assert(mma_detail::types_go_together<A, B, D>, "mma.sync has no such types");
  static_assert(shape_exists && (!mma_detail::is_fp8<A> || K == 32), "mma.sync has no such shape for the types");
  static_assert(!saturate || mma_detail::is_8_bit_integer<A>, "integers alone saturate");
};

#if defined(__CUDACC__)

namespace mma_detail {
template <class T>
struct Name;
#define LAPIDARY_MMA_TYPE(Type, name)               \
  template <>                                       \
  struct Name<Type> {                               \
    static constexpr const char text[] = "." #name; \
  };
LAPIDARY_MMA_TYPE(f16, f16)
LAPIDARY_MMA_TYPE(bf16, bf16)
LAPIDARY_MMA_TYPE(tf32, tf32)
LAPIDARY_MMA_TYPE(e4m3, e4m3)
LAPIDARY_MMA_TYPE(e5m2, e5m2)
LAPIDARY_MMA_TYPE(std::int8_t, s8)
LAPIDARY_MMA_TYPE(std::uint8_t, u8)
LAPIDARY_MMA_TYPE(std::int32_t, s32)
LAPIDARY_MMA_TYPE(float, f32)
#undef LAPIDARY_MMA_TYPE

template <int K>
struct Depth;
#define LAPIDARY_MMA_DEPTH(K)                    \
  template <>                                    \
  struct Depth<K> {                              \
    static constexpr const char text[] = "k" #K; \
  };
LAPIDARY_MMA_DEPTH(4)
LAPIDARY_MMA_DEPTH(8)
LAPIDARY_MMA_DEPTH(16)
LAPIDARY_MMA_DEPTH(32)
#undef LAPIDARY_MMA_DEPTH

template <bool saturate>
struct Overflow {
  static constexpr const char text[] = "";
};
template <>
struct Overflow<true> {
  static constexpr const char text[] = ".satfinite";
};

LAPIDARY_DEVICE void copy_bits(std::uint32_t& to, const float& from) { to = __float_as_uint(from); }
LAPIDARY_DEVICE void copy_bits(float& to, const std::uint32_t& from) { to = __uint_as_float(from); }
template <class To, class From>
LAPIDARY_DEVICE void copy_bits(To& to, const From& from) {
  to = static_cast<To>(from);
}
}  // namespace mma_detail

/// mma.sync (PTX ISA, "mma", sm_80; FP8 sm_89): D = A * B + C for a warp, which executes it together. d may be c.
template <class Form>
LAPIDARY_DEVICE void mma_sync(typename Form::Accumulator (&d)[Form::d_registers],
                              const typename Form::Register (&a)[Form::a_registers],
                              const typename Form::Register (&b)[Form::b_registers],
                              const typename Form::Accumulator (&c)[Form::d_registers]) {
  using namespace mma_detail;
#if __CUDA_ARCH__ < 890
  constexpr bool missing = is_fp8<typename Form::A>;  // Rung::architecture() keeps such kernels from being run
#else
  constexpr bool missing = false;
#endif
  if constexpr (missing) {
    __trap();
  } else if constexpr (Form::f64) {
    double r[Form::d_registers];
#pragma unroll
    for (int i = 0; i < Form::d_registers; ++i) r[i] = c[i];
    if constexpr (Form::M == 8)
      asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                   : "+d"(r[0]), "+d"(r[1])
                   : "d"(a[0]), "d"(b[0]));
    else
      asm volatile(
          "mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7, %8, %9, %10, %11}, "
          "{%12, %13, %14, %15}, {%0, %1, %2, %3};"
          : "+d"(r[0]), "+d"(r[1]), "+d"(r[2]), "+d"(r[3])
          : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]), "d"(a[6]), "d"(a[7]), "d"(b[0]),
            "d"(b[1]), "d"(b[2]), "d"(b[3]));
#pragma unroll
    for (int i = 0; i < Form::d_registers; ++i) d[i] = r[i];
  } else {
    std::uint32_t r[Form::d_registers];
#pragma unroll
    for (int i = 0; i < Form::d_registers; ++i) copy_bits(r[i], c[i]);
// Shape and types are texts that the compiler puts in, after the operands.
#define LAPIDARY_MMA_FORM                                                                            \
  "C"(Depth<Form::K>::text), "C"(Overflow<Form::saturate>::text), "C"(Name<typename Form::D>::text), \
      "C"(Name<typename Form::A>::text), "C"(Name<typename Form::B>::text)
    if constexpr (Form::d_registers == 4 && Form::a_registers == 4)
      asm volatile(
          "mma.sync.aligned.m16n8%10.row.col%11%12%13%14%12 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
          "{%0, %1, %2, %3};"
          : "+r"(r[0]), "+r"(r[1]), "+r"(r[2]), "+r"(r[3])
          : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), LAPIDARY_MMA_FORM);
    else if constexpr (Form::d_registers == 4)
      asm volatile("mma.sync.aligned.m16n8%7.row.col%8%9%10%11%9 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
                   : "+r"(r[0]), "+r"(r[1]), "+r"(r[2]), "+r"(r[3])
                   : "r"(a[0]), "r"(a[1]), "r"(b[0]), LAPIDARY_MMA_FORM);
    else if constexpr (Form::a_registers == 4)
      asm volatile("mma.sync.aligned.m16n8%8.row.col%9%10%11%12%10 {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%0, %1};"
                   : "+r"(r[0]), "+r"(r[1])
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), LAPIDARY_MMA_FORM);
    else
      asm volatile("mma.sync.aligned.m16n8%5.row.col%6%7%8%9%7 {%0, %1}, {%2, %3}, {%4}, {%0, %1};"
                   : "+r"(r[0]), "+r"(r[1])
                   : "r"(a[0]), "r"(a[1]), "r"(b[0]), LAPIDARY_MMA_FORM);
#undef LAPIDARY_MMA_FORM
#pragma unroll
    for (int i = 0; i < Form::d_registers; ++i) copy_bits(d[i], r[i]);
  }
}

#else

namespace mma_detail {

template <class Form>
constexpr emulator::TensorOperation operation = {.instruction = emulator::TensorOperation::Instruction::mma_sync,
                                                 .a = emulator::number_of<typename Form::A>,
                                                 .b = emulator::number_of<typename Form::B>,
                                                 .d = emulator::number_of<typename Form::D>,
                                                 .M = Form::M,
                                                 .N = Form::N,
                                                 .K = Form::K,
                                                 .saturate = Form::saturate};
}  // namespace mma_detail

template <class Form>
LAPIDARY_DEVICE void mma_sync(typename Form::Accumulator (&d)[Form::d_registers],
                              const typename Form::Register (&a)[Form::a_registers],
                              const typename Form::Register (&b)[Form::b_registers],
                              const typename Form::Accumulator (&c)[Form::d_registers],
                              CallSite where = std::source_location::current()) {
  emulator::abi::mma_sync(mma_detail::operation<Form>, a, b, c, d, where);
}

#endif

}  // namespace lapidary::inline LAPIDARY_BUILD
