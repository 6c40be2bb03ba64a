#pragma once
#include <array>
#include <string>
#include <utility>

#include "kernels/built.hpp"
#include "kernels/wgmma/config.hpp"
#include "tile/wgmma_kernel.hpp"

namespace lapidary::inline LAPIDARY_BUILD {

/// What keeps the Tensor Memory Accelerator from copying boxes of a matrix: its base and its lines must begin at
/// multiples of 16 bytes, and lines less than 2^40 bytes apart. Empty if nothing does.
inline std::string refusal_by_tma(const Problem& problem, Matrix matrix, int aligned) {
  const MatrixShape shape = shape_of(problem, matrix);
  const int size = size_of(shape.type);
  const std::string name = name_of(matrix), ld = name + "'s leading dimension is " + std::to_string(shape.ld);
  if (aligned % 16 != 0)
    return name + " is known to be aligned to " + std::to_string(aligned) +
           " bytes; bulk copies begin at multiples of 16";
  if (shape.lines() == 1) return {};
  if (shape.ld * size % 16 != 0)
    return ld + "; lines that are copied in bulk begin at multiples of 16 bytes, " + std::to_string(16 / size) +
           " elements";
  if (shape.ld * size >= most_map_pitch)
    return ld + "; lines that are copied in bulk begin less than 2^40 bytes apart, " +
           std::to_string(most_map_pitch / size) + " elements";
  return {};
}

/// Why results of `size` bytes cannot be stored in bulk: their rows are whole multiples of 16 bytes. Empty if they can
/// be.
inline std::string refusal_by_bulk_stores(const Problem& problem, int size) {
  if (problem.N * size % 16 != 0)
    return "N is " + std::to_string(problem.N) + "; results that are stored in bulk are in multiples of 16 bytes, " +
           std::to_string(16 / size) + " elements";
  return refusal_by_tma(problem, Matrix::D, problem.aligned.D);
}

/// Why kernels that copy A and B in bulk do not take a problem.
inline std::string refusal_of_operands(const Problem& problem) {
  if (problem.K == 0) return "K is 0; a matrix that is copied in bulk has elements";
  // Coordinates of boxes are of 31 bits, also those of boxes that hang over the edges.
  constexpr std::int64_t most = (std::int64_t{1} << 31) - 1024;
  for (const auto& [name, size] : {std::pair{"M", problem.M}, std::pair{"N", problem.N}, std::pair{"K", problem.K}})
    if (size > most)
      return std::string(name) + " is " + std::to_string(size) + "; bulk copies count elements in 31 bits, to " +
             std::to_string(most);
  const std::string a = refusal_by_tma(problem, Matrix::A, problem.aligned.A);
  return a.empty() ? refusal_by_tma(problem, Matrix::B, problem.aligned.B) : a;
}

/// Why a kernel of these parts does not.
template <class Config>
std::string refusal_of(const Problem& problem) {
  const std::string of_operands = refusal_of_operands(problem);
  return of_operands.empty() ? Config::Epilogue::refusal(problem) : of_operands;
}

/// A launch of a kernel of these parts, in clusters of so many blocks. @param results  what its epilogue makes a map of
template <class Config, class... Parameters, class... Results>
Prepared prepared_parts(const RungInfo& rung, void (*kernel)(Parameters...), const Problem& problem,
                        const typename Config::Walk& walk, std::int64_t blocks, int cluster,
                        const Results&... results) {
  const LaunchShape shape = {.kernel = rung.name,
                             .grid = blocks,
                             .block = Config::threads,
                             .shared_bytes = sizeof(WgmmaStorage<Config>),
                             .cluster = cluster,
                             .overlaps = Config::Start::overlaps};
  return prepared(problem, shape, kernel, Config::A::map(problem, Matrix::A), Config::B::map(problem, Matrix::B),
                  Config::Epilogue::map(problem, results...),
                  gemm_of<typename Config::Element, typename Config::Result>(problem), walk);
}

/// A launch of wgmma_kernel<Config>.
template <const RungInfo& rung, class Config, class... Results>
Prepared prepare_wgmma(const Problem& problem, const Card& card, const Results&... results) {
  using Cluster = typename Config::Cluster;
  const auto walk = walk_of<Config>(problem.M, problem.N, Config::traits.tile);
  return prepared_parts<Config>(rung, wgmma_kernel<Config>, problem, walk,
                                walk.template grid<Cluster>(card.multiprocessors), Cluster::blocks, results...);
}

/// The entry of a kernel of these parts, whose launches `prepare` makes.
template <class Config>
constexpr BuiltKernel built_parts(Prepared (*prepare)(const Problem&, const Card&)) {
  return {.traits = Config::traits,
          .refusal = refusal_of<Config>,
          .prepare = prepare,
          .order = order_of<Config, Config::traits.tile>(),
          .fast_accumulation = Config::traits.kind.type == Type::e4m3 && !Config::Loop::promotes,
          .finishes = Config::Epilogue::finishes};
}
template <const RungInfo& rung, class Config>
constexpr BuiltKernel built_wgmma() {
  return built_parts<Config>(prepare_wgmma<rung, Config>);
}

/// The kinds that every rung of wgmma has a kernel of, the first of them TN as the BLAS calls it: both operands
/// K-major.
constexpr auto wgmma_kinds = [] {
  constexpr Order row = Order::row_major, column = Order::column_major;
  return std::array{GemmKind(Type::bf16, Type::bf16, row, column), GemmKind(Type::bf16, Type::bf16, row, row),
                    GemmKind(Type::bf16, Type::bf16, column, row), GemmKind(Type::bf16, Type::bf16, column, column),
                    GemmKind(Type::f16, Type::f16, row, column),   GemmKind(Type::bf16, Type::f32, row, column),
                    GemmKind(Type::f16, Type::f32, row, column)};
}();

/// The same, of numbers alone: gcc tells template arguments of one value apart by whether a part of it was once copied
/// from something const, and nvcc, which writes the value down for it, then registers another kernel than is launched.
constexpr KernelTraits of_numbers(const KernelTraits& t) {
  KernelTraits plain{};
  plain.tile.m = t.tile.m;
  plain.tile.n = t.tile.n;
  plain.tile.k = t.tile.k;
  plain.kind.type = t.kind.type;
  plain.kind.result = t.kind.result;
  plain.kind.a = t.kind.a;
  plain.kind.b = t.kind.b;
  plain.stages = t.stages;
  plain.cluster.down = t.cluster.down;
  plain.cluster.across = t.cluster.across;
  plain.slices = t.slices;
  plain.cols = t.cols;
  return plain;
}

/// Traits as a value whose type says them.
template <KernelTraits t>
struct TraitsConstant {
  static constexpr KernelTraits value = t;
};

/// Of a list of so many kernels the numbers of those that are compiled: all, but for who needs few of them.
template <std::size_t count>
#if defined(LAPIDARY_ONLY_KERNELS)
using CompiledKernels = std::index_sequence<LAPIDARY_ONLY_KERNELS>;
#else
using CompiledKernels = std::make_index_sequence<count>;
#endif

/// The kernels of a list of traits, of which build(TraitsConstant<t>()) is the one of traits t. `Unit` is the parameter
/// of the list, so that it is compiled where the list is used alone.
template <class Unit, const auto& all, class Build>
constexpr auto built_wgmma_list(Build build) {
  return [&]<std::size_t... i>(std::index_sequence<i...>) {
    return std::array{build(TraitsConstant<of_numbers(all[i])>())...};
  }
  (CompiledKernels<all.size()>());
}

/// Traits of those kinds, as `traits` says, and then `more`.
template <KernelTraits (*traits)(const GemmKind&), KernelTraits... more>
constexpr auto of_wgmma_kinds = []<std::size_t... i>(std::index_sequence<i...>) {
  return std::array{traits(wgmma_kinds[i])..., more...};
}
(std::make_index_sequence<wgmma_kinds.size()>());

template <class Unit, KernelTraits (*traits)(const GemmKind&), KernelTraits... more, class Build>
constexpr auto built_wgmma_kernels(Build build) {
  return built_wgmma_list<Unit, of_wgmma_kinds<traits, more...>>(build);
}

}  // namespace lapidary::inline LAPIDARY_BUILD
