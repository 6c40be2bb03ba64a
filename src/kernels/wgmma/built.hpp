#pragma once
#include <array>
#include <string>
#include <utility>

#include "kernels/built.hpp"
#include "kernels/wgmma/config.hpp"
#include "kernels/wgmma/menus.hpp"
#include "kernels/wgmma/refusals.hpp"
#include "tile/wgmma_kernel.hpp"

namespace lapidary::inline LAPIDARY_BUILD {

/// Why a kernel of these parts does not take a problem; empty if it does.
template <class Config>
std::string refusal_of(const Problem& problem) {
  const std::string of_operands = refusal_of_operands(problem);
  return of_operands.empty() ? Config::Epilogue::refusal(problem) : of_operands;
}

/// So many blocks of a kernel of these parts, in clusters.
template <class Config>
LaunchShape shape_of(const RungInfo& rung, std::int64_t blocks, int cluster) {
  return {.kernel = rung.name,
          .grid = blocks,
          .block = Config::threads,
          .shared_bytes = sizeof(WgmmaStorage<Config>),
          .cluster = cluster,
          .overlaps = Config::Start::overlaps};
}

/// A launch of a kernel of these parts. @param results  what its epilogue makes a map of
template <class Config, class... Parameters, class... Results>
Prepared prepared_parts(const LaunchShape& shape, void (*kernel)(Parameters...), const Problem& problem,
                        const typename Config::Walk& walk, const Results&... results) {
  return prepared(problem, shape, kernel, Config::A::map(problem, Matrix::A), Config::B::map(problem, Matrix::B),
                  Config::Epilogue::map(problem, results...),
                  gemm_of<typename Config::Element, typename Config::Result>(problem), walk);
}

/// A launch of a kernel of these parts, in as many blocks as a walk says.
template <class Config, class... Parameters, class... Results>
Prepared prepared_walk(const RungInfo& rung, void (*kernel)(Parameters...), const Problem& problem, const Card& card,
                       const typename Config::Walk& walk, const Results&... results) {
  using Cluster = typename Config::Cluster;
  const LaunchShape shape = shape_of<Config>(rung, walk.template grid<Cluster>(card.multiprocessors), Cluster::blocks);
  return prepared_parts<Config>(shape, kernel, problem, walk, results...);
}

/// A launch of wgmma_kernel<Config>.
template <const RungInfo& rung, class Config, class... Results>
Prepared prepare_wgmma(const Problem& problem, const Card& card, const Results&... results) {
  return prepared_walk<Config>(rung, wgmma_kernel<Config>, problem, card,
                               walk_of<Config>(problem.M, problem.N, Config::traits.tile), results...);
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

/// Traits of numbers alone: gcc tells template arguments of one value apart by whether a part of it was once copied
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
