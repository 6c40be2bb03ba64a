#pragma once
#include <cstdint>
#include <type_traits>

#include "core/gemm.hpp"
#include "core/types.hpp"
#include "layout/fragment.hpp"
#include "ptx/call_site.hpp"
#include "ptx/cuda.hpp"
#if defined(__CUDACC__)
#include <mma.h>
#endif

// The WMMA API (CUDA C++ Programming Guide, "Warp Matrix Functions"; PTX ISA, "wmma", sm_80) for matrices of 16 x 16
// elements: f16 or bf16, and f32 for sums. All lanes of a warp call these functions together.

namespace lapidary::inline LAPIDARY_BUILD {

/// A warp's part of a product, D = A * B + C; which lane has which of its elements is CUDA's affair. `order` is how A
/// or B lies in memory; sums are stored row by row.
template <WmmaOperand operand, class T, Order order = Order::row_major>
struct WmmaFragment {
  static constexpr bool sum = operand == WmmaOperand::d;
  static_assert(sum ? std::is_same_v<T, float> : std::is_same_v<T, f16> || std::is_same_v<T, bf16>,
                "matrices are of f16 or bf16, sums of f32");
#if defined(__CUDACC__)
  using Native = std::conditional_t<sum, float, std::conditional_t<std::is_same_v<T, f16>, __half, __nv_bfloat16>>;
  using Use =
      std::conditional_t<sum, nvcuda::wmma::accumulator,
                         std::conditional_t<operand == WmmaOperand::a, nvcuda::wmma::matrix_a, nvcuda::wmma::matrix_b>>;
  using Layout = std::conditional_t<
      sum, void, std::conditional_t<order == Order::row_major, nvcuda::wmma::row_major, nvcuda::wmma::col_major>>;
  nvcuda::wmma::fragment<Use, 16, 16, 16, Native, Layout> native;
#else
  T elements[8];
#endif
};

#if !defined(__CUDACC__)
namespace wmma_detail {
template <WmmaOperand operand, class T, Order order>
constexpr emulator::abi::WmmaForm form = {operand, emulator::number_of<T>, 16, 16, 16, order == Order::column_major};

template <class T>
constexpr emulator::TensorOperation operation = {.instruction = emulator::TensorOperation::Instruction::mma_sync,
                                                 .a = emulator::number_of<T>,
                                                 .b = emulator::number_of<T>,
                                                 .d = emulator::Number::f32,
                                                 .M = 16,
                                                 .N = 16,
                                                 .K = 16};
}  // namespace wmma_detail
#endif

/// wmma::fill_fragment.
LAPIDARY_DEVICE void wmma_fill(WmmaFragment<WmmaOperand::d, float>& d, float value) {
#if defined(__CUDACC__)
  nvcuda::wmma::fill_fragment(d.native, value);
#else
  for (float& element : d.elements) element = value;
#endif
}

/// wmma::load_matrix_sync: rows, or by their order columns, begin every `ld` elements from `memory` on, which is
/// aligned to 32 bytes; `ld` is a multiple of 16 bytes.
template <int ld, WmmaOperand operand, class T, Order order>
LAPIDARY_DEVICE void wmma_load(WmmaFragment<operand, T, order>& fragment, const T* memory,
                               [[maybe_unused]] CallSite where = std::source_location::current()) {
#if defined(__CUDACC__)
  using Native = typename WmmaFragment<operand, T, order>::Native;
  nvcuda::wmma::load_matrix_sync(fragment.native, reinterpret_cast<const Native*>(memory), ld);
#else
  emulator::abi::wmma_load(wmma_detail::form<operand, T, order>, fragment.elements, memory, ld, true, where);
#endif
}

/// wmma::store_matrix_sync, likewise.
template <int ld>
LAPIDARY_DEVICE void wmma_store(float* memory, const WmmaFragment<WmmaOperand::d, float>& fragment,
                                [[maybe_unused]] CallSite where = std::source_location::current()) {
#if defined(__CUDACC__)
  nvcuda::wmma::store_matrix_sync(memory, fragment.native, ld, nvcuda::wmma::mem_row_major);
#else
  constexpr auto& form = wmma_detail::form<WmmaOperand::d, float, Order::row_major>;
  emulator::abi::wmma_store(form, fragment.elements, memory, ld, where);
#endif
}

/// wmma::mma_sync: d = a * b + c; d may be c.
template <class T, Order a_order, Order b_order>
LAPIDARY_DEVICE void wmma_mma(WmmaFragment<WmmaOperand::d, float>& d, const WmmaFragment<WmmaOperand::a, T, a_order>& a,
                              const WmmaFragment<WmmaOperand::b, T, b_order>& b,
                              const WmmaFragment<WmmaOperand::d, float>& c,
                              [[maybe_unused]] CallSite where = std::source_location::current()) {
#if defined(__CUDACC__)
  nvcuda::wmma::mma_sync(d.native, a.native, b.native, c.native);
#else
  emulator::abi::wmma_multiply(wmma_detail::operation<T>, a.elements, b.elements, c.elements, d.elements, where);
#endif
}

}  // namespace lapidary::inline LAPIDARY_BUILD
