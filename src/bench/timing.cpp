#include "bench/timing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "bench/gpu_experiment.hpp"
#include "bench/peer.hpp"
#include "bench/receipt.hpp"
#include "core/error.hpp"

namespace lapidary::bench {
namespace {

Contestant contestant(std::string name, Unit unit, const KernelEntry& kernel) {
  const auto prepare = [&kernel](const Problem& problem) -> Contestant::Launch {
    const Choice choice = choose(kernel, problem);
    return [prepared = lapidary::prepare(*choice.kernel, Build::gpu, problem, gpu_card())](
               const Stream& stream, const Operands& operands) { prepared.launch(stream, operands); };
  };
  return {.name = std::move(name), .unit = unit, .prepare = prepare, .fast_accumulation = kernel.fast_accumulation};
}

Contestant contestant(const Entry& entry) {
  return contestant(fmt::format("{} {}", entry.rung->name(), to_string(entry.variant->tile)),
                    entry.rung->family == "simt" ? Unit::cuda_cores : tensor_cores_for(entry.variant->kind.type),
                    *entry.variant);
}

RandomProblem cube(const GemmKind& kind, std::int64_t size) {
  RandomProblem spec;
  spec.problem.kind = kind;
  spec.problem.M = spec.problem.N = spec.problem.K = size;
  return spec;
}

/// Multiples of nothing, rows that do not follow one another, and C read.
RandomProblem ragged(const GemmKind& kind) {
  RandomProblem spec;
  spec.problem.kind = kind;
  spec.problem.M = 509;
  spec.problem.N = 387;
  spec.problem.K = 263;
  spec.alpha = 1.5f;
  spec.beta = -0.5f;
  spec.problem.lda = kind.a == Order::row_major ? 265 : 511;
  spec.problem.ldb = kind.b == Order::row_major ? 390 : 266;
  spec.problem.ldc = 389;
  spec.problem.ldd = 395;
  return spec;
}

struct Candidate {
  Entry entry;
  Contestant contestant;
};

/// The candidates that solve a problem right; the others get a line in `wrong`.
/// @param peer  not asked for problems that it does not take
/// @throws Error if the peer is wrong
std::vector<Candidate> right_ones(Device& device, const RandomProblem& spec, const std::vector<Candidate>& candidates,
                                  const std::optional<Peer>& peer, std::vector<std::string>& wrong,
                                  const OnProgress& progress) {
  const std::string problem = fmt::format("{}, M = {}, N = {}, K = {}", to_string(spec.problem.kind), spec.problem.M,
                                          spec.problem.N, spec.problem.K);
  GpuExperiment experiment(device, spec);
  if (peer && !peer->algorithms(experiment.problem()).empty()) {
    const Verification verification = experiment.run(peer->contestant);
    if (!verification.ok) throw Error(fmt::format("{}, {}: {}", peer->version, problem, verification.message));
  }
  std::vector<Candidate> right;
  for (const Candidate& candidate : candidates) {
    const std::string& name = candidate.contestant.name;
    if (progress) progress("verifying " + name, -1);
    const Verification verification = experiment.run(candidate.contestant);
    if (verification.ok) {
      right.push_back(candidate);
    } else {
      wrong.push_back(fmt::format("{}, {}: {}", name, problem, verification.message));
    }
  }
  return right;
}

/// What candidates are compared with on a timer's problem: what cuBLAS chooses itself, and of all that it has for the
/// problem what is fastest in short bursts, and fastest of those that do not cut sums off.
std::vector<Contestant> opponents(const std::optional<Peer>& peer, GemmTimer& timer) {
  if (!peer) return {};
  const std::vector<Contestant> all = peer->algorithms(timer.problem());
  if (all.size() < 2) return all;
  const std::vector<Measurement> measured = timer.burst(all, {}, {.rounds = 3, .rest_s = 0.05, .burst_s = 0.02})
                                                .contestants;
  const auto fastest = [&](bool fast_accumulation) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < all.size(); ++i)
      if (all[i].fast_accumulation <= fast_accumulation && measured[i].tflops.median > measured[best].tflops.median)
        best = i;
    return best;
  };
  std::vector<std::size_t> chosen = {0, fastest(false), fastest(true)};
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  std::vector<Contestant> contestants;
  for (const std::size_t i : chosen) contestants.push_back(all[i]);
  return contestants;
}

/// Measures candidates of one type at one size, in each mode that was asked for.
void measure(Device& device, const std::vector<Candidate>& candidates, const std::optional<Peer>& peer,
             const GemmKind& kind, std::int64_t size, const MeasureOptions& options, const OnProgress& progress,
             LadderReport& report) {
  if (candidates.empty()) return;
  std::vector<Contestant> contestants;
  for (const Candidate& candidate : candidates) contestants.push_back(candidate.contestant);
  GemmTimer timer(device, kind, size, size, size);
  const std::vector<Contestant> peers = opponents(peer, timer);
  const auto labelled = [&](Mode mode) -> OnProgress {
    if (!progress) return {};
    return [&progress, label = fmt::format("{}^3, {}", size, name_of(mode))](std::string_view step, double done) {
      progress(fmt::format("{}, {}", label, step), done);
    };
  };
  const auto add = [&](Mode mode, const Measurements& measurements) {
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      report.results.push_back({candidates[i].entry, choose(*candidates[i].entry.variant, timer.problem()).kernel->id(),
                                size, mode, measurements.contestants[i]});
    }
    for (std::size_t i = 0; i < peers.size(); ++i)
      report.peers.push_back({kind, size, mode, peers[i].name, measurements.peers[i]});
  };
  if (options.burst) add(Mode::burst, timer.burst(contestants, peers, *options.burst, labelled(Mode::burst)));
  if (options.sustained) {
    add(Mode::sustained, timer.sustained(contestants, peers, *options.sustained, labelled(Mode::sustained)));
  }
}

}  // namespace

// A contestant of a quick table does not tell what it multiplies with: the fastest unit for its type is the limit.
static Unit fastest_unit(Type type) { return type == Type::f32 ? Unit::cuda_cores : tensor_cores_for(type); }

static LadderTimes quick_times(Device& device, const Problem& shape, std::span<const Contestant> contestants,
                               const OnProgress& progress) {
  const std::optional<Peer> peer = open_peer(device, shape.kind);
  GemmTimer timer(device, shape.kind, shape.M, shape.N, shape.K);
  const BurstOptions quick = {.rounds = 2, .rest_s = 0.2, .burst_s = 0.1};
  const std::vector<Contestant> peers = peer && !peer->algorithms(timer.problem()).empty()
                                            ? std::vector{peer->contestant}
                                            : std::vector<Contestant>();
  const Measurements measured = timer.burst(contestants, peers, quick, progress);
  const auto timing = [](const Measurement& m) { return Timing{m.launch_ms.median, m.launch_ms.min, m.launch_ms.max}; };
  LadderTimes times;
  for (const Measurement& m : measured.contestants) times.rungs.push_back(timing(m));
  if (!measured.peers.empty()) times.cublas = timing(measured.peers.front());
  return times;
}

LadderTimes time_ladder(Device& device, const Problem& shape, std::span<const KernelEntry* const> variants,
                        const OnProgress& progress) {
  std::vector<Contestant> contestants;
  for (const KernelEntry* variant : variants)
    contestants.push_back(contestant(to_string(variant->tile), fastest_unit(shape.kind.type), *variant));
  return quick_times(device, shape, contestants, progress);
}

KernelTime time_kernel(Device& device, const Problem& shape, const Contestant::Launch& launch,
                       const OnProgress& progress) {
  const Contestant contestants[] = {
      {.name = "the kernel", .unit = fastest_unit(shape.kind.type), .prepare = [&](const Problem&) { return launch; }}};
  const LadderTimes times = quick_times(device, shape, contestants, progress);
  return {times.rungs.at(0), times.cublas};
}

LadderReport measure_ladder(Device& device, std::span<const Entry> entries, const MeasureOptions& options,
                            const OnProgress& progress) {
  LadderReport report;
  std::optional<std::string> peer_version;
  std::vector<GemmKind> kinds;
  for (const Entry& entry : entries) {
    const GemmKind& kind = entry.variant->kind;
    if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) kinds.push_back(kind);
  }
  for (const GemmKind& kind : kinds) {
    std::vector<Candidate> candidates;
    for (const Entry& entry : entries) {
      if (entry.variant->kind == kind) candidates.push_back({entry, contestant(entry)});
    }
    if (candidates.empty()) continue;
    const std::optional<Peer> peer = open_peer(device, kind);
    if (peer) peer_version = peer->version;
    candidates = right_ones(device, ragged(kind), candidates, peer, report.wrong, progress);
    for (const std::int64_t size : options.sizes) {
      const std::vector<Candidate> right = right_ones(device, cube(kind, size), candidates, peer, report.wrong,
                                                      progress);
      measure(device, right, peer, kind, size, options, progress, report);
    }
  }
  report.receipt = receipt(device, peer_version, options, report.results);
  return report;
}

}  // namespace lapidary::bench
