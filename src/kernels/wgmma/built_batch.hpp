#pragma once
#include "kernels/wgmma/batch_refusals.hpp"
#include "kernels/wgmma/built.hpp"

namespace lapidary::inline LAPIDARY_BUILD {

/// A launch of a kernel of these parts for all products of a batch, whose tiles Config::Walk goes through.
template <class Config, class... Parameters>
Prepared prepare_batch(const RungInfo& rung, void (*kernel)(Parameters...), const Problem& problem, const Card& card) {
  auto walk = walk_of<Config>(problem.M, problem.N, Config::traits.tile);
  walk.products = static_cast<int>(problem.batch.count);
  return prepared_walk<Config>(rung, kernel, problem, card, walk);
}

/// The entry of a kernel whose launches `prepare` makes by prepare_batch().
template <class Config>
constexpr BuiltKernel built_batch(Prepared (*prepare)(const Problem&, const Card&)) {
  BuiltKernel kernel = built_parts<Config>(prepare);
  kernel.refusal = [](const Problem& problem) {
    const std::string why = refusal_of<Config>(problem);
    return why.empty() ? refusal_of_batch(problem, Config::traits.tile, Config::traits.cluster) : why;
  };
  kernel.batches = true;
  return kernel;
}

}  // namespace lapidary::inline LAPIDARY_BUILD
