#pragma once
#include <array>

#include "core/error.hpp"
#include "kernels/variant.hpp"

namespace lapidary {
RungVariants rung_plain_mma_multistage();
RungVariants rung_instrumented_mma_multistage();
RungVariants rung_gpu_mma_multistage();
}  // namespace lapidary

namespace lapidary::inline LAPIDARY_BUILD {

/// Whether the Tensor Memory Accelerator can copy A and B: bases on 16 bytes, lines a multiple of 16 bytes apart.
template <class T, class R>
bool copied_by_tma(const Gemm<T, R>& g) {
  const auto aligned = [](const T* base, std::int64_t ld) {
    return reinterpret_cast<std::uintptr_t>(base) % 16 == 0 && ld * static_cast<std::int64_t>(sizeof(T)) % 16 == 0;
  };
  return g.K > 0 && aligned(g.A, g.lda) && aligned(g.B, g.ldb);
}

/// Other problems: by the rung below, whose threads copy elements one by one.
inline void launch_unaligned(const Stream& stream, const GemmProblem& problem) {
#define LAPIDARY_JOIN(a, b, c) LAPIDARY_JOIN_EXPANDED(a, b, c)
#define LAPIDARY_JOIN_EXPANDED(a, b, c) a##b##c
  const RungVariants rung = LAPIDARY_JOIN(rung_, LAPIDARY_BUILD, _mma_multistage)();
#undef LAPIDARY_JOIN
#undef LAPIDARY_JOIN_EXPANDED
  for (int i = 0; i < rung.count; ++i)
    if (rung.variants[i].kind == problem.kind) return rung.variants[i].launch(stream, problem);
  throw InvalidArgument(
      "no kernel takes matrices of this kind that the Tensor Memory Accelerator cannot copy: align "
      "them and their lines to 16 bytes");
}

/// A launcher whose blocks take several tiles each says which: Launch::tile_at<Config>(position, M, N), and
/// Launch::there_and_back.
template <class Config, class Launch>
constexpr Variant wgmma_variant() {
  TileOrder order;
  if constexpr (requires { Launch::template tile_at<Config>(0, 0, 0); }) order.at = Launch::template tile_at<Config>;
  if constexpr (requires { Launch::there_and_back; }) order.there_and_back = Launch::there_and_back;
  Variant result = variant<Config>(Launch::template call<Config>, order);
  result.cuts = std::is_same_v<typename Config::Element, e4m3> && !Config::promotes;
  return result;
}

/// The variants that every rung of wgmma has, the first of them TN as the BLAS calls it: both operands K-major.
/// `Default` is its configuration for types and orders; Launch::call<Config> launches one. `more` follow.
template <template <class T, class R, Order a, Order b> class Default, class Launch, class... More>
constexpr auto wgmma_variants(More... more) {
  constexpr Order row = Order::row_major, column = Order::column_major;
  return std::array{wgmma_variant<Default<bf16, bf16, row, column>, Launch>(),
                    wgmma_variant<Default<bf16, bf16, row, row>, Launch>(),
                    wgmma_variant<Default<bf16, bf16, column, row>, Launch>(),
                    wgmma_variant<Default<bf16, bf16, column, column>, Launch>(),
                    wgmma_variant<Default<f16, f16, row, column>, Launch>(),
                    wgmma_variant<Default<bf16, float, row, column>, Launch>(),
                    wgmma_variant<Default<f16, float, row, column>, Launch>(),
                    more...};
}

}  // namespace lapidary::inline LAPIDARY_BUILD
