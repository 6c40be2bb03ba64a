#include "bench/regret.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "bench/gemm_timer.hpp"
#include "bench/peer.hpp"
#include "core/types.hpp"
#include "kernels/registry.hpp"
#include "library/kernel_cost.hpp"
#include "library/plan_data.hpp"

namespace lapidary::bench {
namespace {

Unit unit_of(Type type) { return type == Type::f32 ? Unit::cuda_cores : tensor_cores_for(type); }

/// What an epilogue reads beside the rotating operands, and factors in device memory: 0, as nobody looks at results.
class EpilogueOperands {
 public:
  EpilogueOperands(Device& device, const Problem& p)
      : memory_(device, bytes_of(p), "operands of the epilogue"),
        bias_(p.epilogue.bias != Bias::none),
        residual_(p.epilogue.residual),
        residual_at_(static_cast<std::size_t>(bias_length(p) + 64) * sizeof(float) / 256 * 256) {
    const std::vector<std::byte> zeros(memory_.bytes());
    device.upload(memory_.data(), zeros.data(), zeros.size());
  }
  Operands added_to(Operands operands) const {
    if (bias_) operands.bias = memory_.data();
    operands.scale = 0.5F;
    if (residual_) operands.residual = static_cast<std::byte*>(memory_.data()) + residual_at_;
    return operands;
  }

 private:
  static std::size_t bytes_of(const Problem& p) {
    const std::int64_t bias = (bias_length(p) + 64) * static_cast<std::int64_t>(sizeof(float));
    return static_cast<std::size_t>(bias + (p.epilogue.residual ? shape_of_residual(p).bytes() : 0));
  }

  DeviceBuffer memory_;
  bool bias_, residual_;
  std::size_t residual_at_;
};

Contestant contestant(Context& context, const EpilogueOperands& others, const Plan& plan) {
  const auto prepare = [&, plan](const Problem&) -> Contestant::Launch {
    return [&, plan](const Stream& stream, const Operands& operands) {
      context.run(plan, stream, others.added_to(operands));
    };
  };
  return {.name = plan.id(), .unit = unit_of(plan.problem().kind.type), .prepare = prepare};
}

/// A call of cuBLAS for each of a problem's groups that has rows.
Contestant each_group(const Peer& peer, const std::vector<std::int64_t>& ends) {
  const auto prepare = [&peer, ends](const Problem& p) -> Contestant::Launch {
    struct Call {
      Contestant::Launch launch;
      std::int64_t a, b, d;  ///< bytes from the first row, or the first B
    };
    std::vector<Call> calls;
    for (std::size_t i = 0; i < ends.size(); ++i) {
      Problem one = p;
      const std::int64_t first = i == 0 ? 0 : ends[i - 1];
      one.M = ends[i] - first;
      one.groups = 0;
      one.batch = {};
      one.aligned = {16, 16, 16, 16};
      if (one.M == 0) continue;
      calls.push_back({peer.contestant.prepare(one), first * p.lda * size_of(p.kind.type),
                       static_cast<std::int64_t>(i) * p.batch.stride_b * size_of(p.kind.type),
                       first * p.ldd * size_of(p.kind.result)});
    }
    return [calls](const Stream& stream, const Operands& operands) {
      for (const Call& call : calls) {
        Operands o = operands;
        o.A = static_cast<const std::byte*>(o.A) + call.a;
        o.B = static_cast<const std::byte*>(o.B) + call.b;
        o.D = static_cast<std::byte*>(o.D) + call.d;
        call.launch(stream, o);
      }
    };
  };
  return {.name = "cuBLAS, a call for each group", .unit = peer.contestant.unit, .prepare = prepare};
}

/// The plan that would do it another way.
Plan with_way(const Plan& plan, const PlannedWay& way) {
  GemmOptions options;  // the plan's own have been heeded
  options.kernel = way.kernel;
  options.packs = {{way.packs_a, way.packs_b}};
  options.fast_accumulation = true;
  return lapidary::plan(plan.problem(), plan.card(), options);
}

/// The plan whose kernel waits for the launch in front of it if that of `plan` does not, and not if it does.
Plan waiting_or_not(const Plan& plan) {
  library::PlanId id = library::parse_plan_id(plan.id());
  id.waits = !id.waits;
  return plan_of(to_string(id));
}

}  // namespace

Regret measure_regret(Device& device, Context& context, const Problem& problem, const RegretOptions& options,
                      const OnProgress& progress) {
  GemmTimer timer(device, problem, options.group_ends);
  Problem timed = timer.problem();
  timed.aligned = {16, 16, 16, 16};
  timed.epilogue = problem.epilogue;
  timed = resolved(timed);
  const EpilogueOperands others(device, timed);
  Regret result{context.plan(timed, options.choice), {}, {}, {}, {}, {}, {}};
  std::vector<Contestant> contestants;
  for (const PlannedWay& way : result.plan.ways()) {
    if (way.seconds > options.most_predicted * result.plan.way().seconds) break;
    const Plan planned = with_way(result.plan, way);
    contestants.push_back(contestant(context, others, planned));
    result.ways.push_back({way, 0});
    if (!options.both || way.packs_a || way.packs_b || way.finishes ||
        !library::library_kernel(find_kernel(way.kernel))->overlaps)
      continue;
    const Plan other = waiting_or_not(planned);
    contestants.push_back(contestant(context, others, other));
    result.ways.push_back({other.way(), 0});
  }
  std::vector<Contestant> chosen(contestants.begin(), contestants.begin() + 1);
  if (timed.epilogue != Epilogue{}) {
    Problem alone = timed;
    alone.epilogue = {};
    GemmOptions any = options.choice;  // but for what was asked of the epilogue's way
    any.kernel.clear();
    any.packs.reset();
    chosen.push_back(contestant(context, others, context.plan(alone, any)));
    contestants.push_back(chosen.back());
  }
  const BurstOptions blocks = {.rounds = options.rounds, .rest_s = 0, .burst_s = options.block_s, .watch = false};
  std::vector<Contestant> peers;
  const std::optional<Peer> peer = open_peer(device, problem.kind);
  if (peer) result.cublas = peer->version;
  if (peer && problem.groups > 0) {
    peers.push_back(each_group(*peer, options.group_ends));
  } else if (peer) {
    const std::vector<Contestant> all = peer->algorithms(timed);
    const std::vector<Measurement> tried =
        timer.burst(all, {}, {.rounds = 1, .rest_s = 0, .burst_s = options.block_s / 2, .watch = false}).contestants;
    std::optional<std::size_t> best;
    for (std::size_t i = 0; i < all.size(); ++i)
      if (!all[i].fast_accumulation && (!best || tried[i].launch_ms.median < tried[*best].launch_ms.median)) best = i;
    if (best) {
      peers.push_back(all[*best]);
      result.cublas_kernels = timer.kernels_of(all[*best]);
    }
  }
  const Measurements measured = timer.burst(contestants, peers, blocks, progress);
  for (std::size_t i = 0; i < result.ways.size(); ++i)
    result.ways[i].seconds = measured.contestants[i].launch_ms.median * 1e-3;
  const auto seconds_of = [](const std::vector<Measurement>& all, std::size_t i) {
    return i < all.size() ? std::optional(all[i].launch_ms.median * 1e-3) : std::nullopt;
  };
  result.cublas_seconds = seconds_of(measured.peers, 0);
  result.alone_seconds = seconds_of(measured.contestants, result.ways.size());
  if (options.bursts) {
    const Measurements full = timer.burst(chosen, peers, {}, progress);
    result.bursts = {*seconds_of(full.contestants, 0), seconds_of(full.contestants, 1), seconds_of(full.peers, 0)};
  }
  return result;
}

}  // namespace lapidary::bench
