#pragma once
#include <array>
#include <string>
#include <type_traits>

#include "kernels/built.hpp"

namespace lapidary::inline LAPIDARY_BUILD {

/// What keeps the Tensor Memory Accelerator from copying boxes of a matrix: its base and its lines must begin at
/// multiples of 16 bytes. Empty if nothing does.
inline std::string refusal_by_tma(const Problem& problem, Matrix matrix, int aligned) {
  const MatrixShape shape = shape_of(problem, matrix);
  const int size = size_of(shape.type);
  const std::string name = name_of(matrix);
  if (aligned % 16 != 0)
    return name + " is known to be aligned to " + std::to_string(aligned) +
           " bytes; bulk copies begin at multiples of 16";
  if (shape.ld * size % 16 != 0)
    return name + "'s leading dimension is " + std::to_string(shape.ld) +
           "; lines that are copied in bulk begin at multiples of 16 bytes, " + std::to_string(16 / size) + " elements";
  return {};
}

/// Why kernels that copy A and B in bulk do not take a problem.
inline std::string refusal_of_operands(const Problem& problem) {
  if (problem.K == 0) return "K is 0; a matrix that is copied in bulk has elements";
  const std::string a = refusal_by_tma(problem, Matrix::A, problem.aligned.A);
  return a.empty() ? refusal_by_tma(problem, Matrix::B, problem.aligned.B) : a;
}

/// Of a configuration, by Launch::prepare<Config> and, where it is more than that of the operands,
/// Launch::refusal<Config>. A launcher whose blocks take several tiles each says which:
/// Launch::tile_at<Config>(position, M, N), and Launch::there_and_back.
template <class Config, class Launch>
constexpr BuiltKernel built_wgmma() {
  TileOrder order;
  if constexpr (requires { Launch::template tile_at<Config>(0, 0, 0); }) order.at = Launch::template tile_at<Config>;
  if constexpr (requires { Launch::there_and_back; }) order.there_and_back = Launch::there_and_back;
  BuiltKernel kernel = {traits_of<Config>(), refusal_of_operands, Launch::template prepare<Config>, order};
  if constexpr (requires(const Problem& p) { Launch::template refusal<Config>(p); })
    kernel.refusal = Launch::template refusal<Config>;
  kernel.cuts = std::is_same_v<typename Config::Element, e4m3> && !Config::promotes;
  return kernel;
}

/// The kernels that every rung of wgmma has, the first of them TN as the BLAS calls it: both operands K-major.
/// `Default` is its configuration for types and orders. `more` follow.
template <template <class T, class R, Order a, Order b> class Default, class Launch, class... More>
constexpr auto built_wgmma_kernels(More... more) {
  constexpr Order row = Order::row_major, column = Order::column_major;
  return std::array{built_wgmma<Default<bf16, bf16, row, column>, Launch>(),
                    built_wgmma<Default<bf16, bf16, row, row>, Launch>(),
                    built_wgmma<Default<bf16, bf16, column, row>, Launch>(),
                    built_wgmma<Default<bf16, bf16, column, column>, Launch>(),
                    built_wgmma<Default<f16, f16, row, column>, Launch>(),
                    built_wgmma<Default<bf16, float, row, column>, Launch>(),
                    built_wgmma<Default<f16, float, row, column>, Launch>(),
                    more...};
}

}  // namespace lapidary::inline LAPIDARY_BUILD
