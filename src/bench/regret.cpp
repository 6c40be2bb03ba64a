#include "bench/regret.hpp"

#include <cstddef>
#include <utility>

#include "bench/gemm_timer.hpp"
#include "bench/peer.hpp"
#include "core/types.hpp"
#include "kernels/registry.hpp"

namespace lapidary::bench {
namespace {

Unit unit_of(Type type) { return type == Type::f32 ? Unit::cuda_cores : tensor_cores_for(type); }

Contestant contestant(Context& context, const Plan& plan) {
  const auto prepare = [&context, plan](const Problem&) -> Contestant::Launch {
    return [&context, plan](const Stream& stream, const Operands& operands) { context.run(plan, stream, operands); };
  };
  return {.name = plan.id(), .unit = unit_of(plan.problem().kind.type), .prepare = prepare};
}

/// The plan that would do it another way.
Plan with_way(const Plan& plan, const PlannedWay& way) {
  GemmOptions options;  // the plan's own have been heeded
  options.kernel = way.kernel;
  options.packs = {{way.packs_a, way.packs_b}};
  options.fast_accumulation = true;
  return lapidary::plan(plan.problem(), plan.card(), options);
}

}  // namespace

Regret measure_regret(Device& device, Context& context, const Problem& problem, const RegretOptions& options,
                      const OnProgress& progress) {
  GemmTimer timer(device, problem.kind, problem.M, problem.N, problem.K);
  Problem timed = timer.problem();
  timed.aligned = {16, 16, 16, 16};
  Regret result{context.plan(timed, options.choice), {}, {}, {}};
  std::vector<Contestant> contestants;
  for (const PlannedWay& way : result.plan.ways()) {
    if (way.seconds > options.most_predicted * result.plan.way().seconds) break;
    contestants.push_back(contestant(context, with_way(result.plan, way)));
    result.ways.push_back({way, 0});
  }
  const BurstOptions blocks = {.rounds = options.rounds, .rest_s = 0, .burst_s = options.block_s};
  std::vector<Contestant> peers;
  if (const std::optional<Peer> peer = open_peer(device, problem.kind)) {
    result.cublas = peer->version;
    const std::vector<Contestant> all = peer->algorithms(timed);
    const std::vector<Measurement> tried =
        timer.burst(all, {}, {.rounds = 1, .rest_s = 0, .burst_s = options.block_s / 2}).contestants;
    std::optional<std::size_t> best;
    for (std::size_t i = 0; i < all.size(); ++i)
      if (!all[i].fast_accumulation && (!best || tried[i].launch_ms.median < tried[*best].launch_ms.median)) best = i;
    if (best) peers.push_back(all[*best]);
  }
  const Measurements measured = timer.burst(contestants, peers, blocks, progress);
  for (std::size_t i = 0; i < result.ways.size(); ++i)
    result.ways[i].seconds = measured.contestants[i].launch_ms.median * 1e-3;
  if (!peers.empty()) result.cublas_seconds = measured.peers.front().launch_ms.median * 1e-3;
  return result;
}

}  // namespace lapidary::bench
