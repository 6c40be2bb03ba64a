#pragma once
// CUDA's warp matrix functions for kernels that `lapidary try` compiles: f16 and bf16 by f32 or f16 sums, of 16 x 16 x
// 16, 32 x 8 x 16 and 8 x 32 x 16.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <source_location>
#include <type_traits>

namespace nvcuda::wmma {
inline namespace LAPIDARY_BUILD {

struct matrix_a;
struct matrix_b;
struct accumulator;
struct row_major;
struct col_major;
enum layout_t { mem_row_major, mem_col_major };

template <class T>
constexpr ::lapidary::emulator::Number number_of = ::lapidary::emulator::Number::f32;
template <>
constexpr ::lapidary::emulator::Number number_of<__half> = ::lapidary::emulator::Number::f16;
template <>
constexpr ::lapidary::emulator::Number number_of<__nv_bfloat16> = ::lapidary::emulator::Number::bf16;

template <class Use, int m, int n, int k, class T, class Layout = void>
struct fragment {
  static constexpr bool sum = std::is_same_v<Use, accumulator>;
  static_assert(k == 16 && ((m == 16 && n == 16) || (m == 32 && n == 8) || (m == 8 && n == 32)),
                "shapes are 16 x 16 x 16, 32 x 8 x 16 and 8 x 32 x 16");
  static_assert(sum ? std::is_same_v<T, float> || std::is_same_v<T, __half>
                    : std::is_same_v<T, __half> || std::is_same_v<T, __nv_bfloat16>,
                "matrices are of __half or __nv_bfloat16, accumulators of float or __half");
  static_assert(sum == std::is_void_v<Layout>, "matrix_a and matrix_b have a layout, accumulators have none");

  using element_type = T;
  using storage_element_type = T;
  /// Elements of the matrix that a lane has; fragments of __half have them twice or more, to fill 16.
  static constexpr int held = (sum ? m * n : std::is_same_v<Use, matrix_a> ? m * k : n * k) / 32;
  static constexpr int num_elements = !sum && std::is_same_v<T, __half> ? 16 : held;
  static constexpr int num_storage_elements = num_elements;
  T x[num_elements];

  static constexpr ::lapidary::emulator::abi::WmmaForm form(bool column_major) {
    using enum ::lapidary::WmmaOperand;
    return {sum ? d : std::is_same_v<Use, matrix_a> ? a : b, number_of<T>, m, n, k, column_major};
  }
};

template <class Fragment, bool column_major>
constexpr ::lapidary::emulator::abi::WmmaForm form_of = Fragment::form(column_major);

template <class A, class B, class D, int m, int n, int k>
constexpr ::lapidary::emulator::TensorOperation operation = {
    .instruction = ::lapidary::emulator::TensorOperation::Instruction::mma_sync,
    .a = number_of<A>,
    .b = number_of<B>,
    .d = number_of<D>,
    .M = m,
    .N = n,
    .K = k};

template <class Use, int m, int n, int k, class T, class Layout, class Value>
LAPIDARY_WRAPPER void fill_fragment(fragment<Use, m, n, k, T, Layout>& f, const Value& value) {
  for (T& x : f.x) x = T(value);
}

#define LAPIDARY_WHERE lapidary::emulator::CallSite where = std::source_location::current()

template <class Use, int m, int n, int k, class T, class Layout>
LAPIDARY_WRAPPER void load_matrix_sync(fragment<Use, m, n, k, T, Layout>& f, const T* p, unsigned ld, LAPIDARY_WHERE) {
  using Fragment = fragment<Use, m, n, k, T, Layout>;
  ::lapidary::emulator::abi::wmma_load(form_of<Fragment, std::is_same_v<Layout, col_major>>, f.x, p, ld,
                                       __builtin_constant_p(ld), where);
  for (int i = Fragment::held; i < Fragment::num_elements; ++i) f.x[i] = f.x[i % Fragment::held];
}

template <int m, int n, int k, class T>
LAPIDARY_WRAPPER void load_matrix_sync(fragment<accumulator, m, n, k, T>& f, const T* p, unsigned ld, layout_t layout,
                                       LAPIDARY_WHERE) {
  using Fragment = fragment<accumulator, m, n, k, T>;
  ::lapidary::emulator::abi::wmma_load(layout == mem_col_major ? form_of<Fragment, true> : form_of<Fragment, false>,
                                       f.x, p, ld, false, where);
}

template <int m, int n, int k, class T>
LAPIDARY_WRAPPER void store_matrix_sync(T* p, const fragment<accumulator, m, n, k, T>& f, unsigned ld, layout_t layout,
                                        LAPIDARY_WHERE) {
  using Fragment = fragment<accumulator, m, n, k, T>;
  ::lapidary::emulator::abi::wmma_store(layout == mem_col_major ? form_of<Fragment, true> : form_of<Fragment, false>,
                                        f.x, p, ld, where);
}

template <int m, int n, int k, class T, class LayoutA, class LayoutB, class Sum>
LAPIDARY_WRAPPER void mma_sync(fragment<accumulator, m, n, k, Sum>& d, const fragment<matrix_a, m, n, k, T, LayoutA>& a,
                               const fragment<matrix_b, m, n, k, T, LayoutB>& b,
                               const fragment<accumulator, m, n, k, Sum>& c, LAPIDARY_WHERE) {
  static_assert(std::is_same_v<Sum, float> || std::is_same_v<T, __half>, "sums of __nv_bfloat16 are of float");
  ::lapidary::emulator::abi::wmma_multiply(operation<T, T, Sum, m, n, k>, a.x, b.x, c.x, d.x, where);
}

#undef LAPIDARY_WHERE

}  // namespace LAPIDARY_BUILD
}  // namespace nvcuda::wmma
