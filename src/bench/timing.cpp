#include "bench/timing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
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
  return contestant(fmt::format("{} {}", entry.rung->name(), to_string(entry.kernel->tile)),
                    entry.rung->family == "simt" ? Unit::cuda_cores : tensor_cores_for(entry.kernel->kind.type),
                    *entry.kernel);
}

RandomProblem spec_of(const GemmKind& kind, const TimedProblem& problem) {
  RandomProblem spec;
  spec.problem.kind = kind;
  spec.problem.M = problem.M;
  spec.problem.N = problem.N;
  spec.problem.K = problem.K;
  return spec;
}

/// Multiples of nothing, rows that do not follow one another, and C read if it may be.
RandomProblem ragged(const GemmKind& kind) {
  RandomProblem spec;
  spec.problem.kind = kind;
  spec.problem.M = 509;
  spec.problem.N = 387;
  spec.problem.K = 263;
  if (kind.result != Type::s32) {
    spec.alpha = 1.5f;
    spec.beta = -0.5f;
  }
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
  const std::vector<Measurement> measured =
      timer.burst(all, {}, {.rounds = 3, .rest_s = 0.05, .burst_s = 0.02, .watch = false}).contestants;
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

/// Why neither a kernel nor what it falls back to takes a problem; empty if one of them does.
std::string refusal_of(const Candidate& candidate, const RandomProblem& spec) {
  try {
    choose(*candidate.entry.kernel, resolve(spec).problem);
  } catch (const InvalidArgument& refusal) {
    return refusal.what();
  }
  return {};
}

/// What is known of the kernels of one kind.
struct KindOfKernels {
  GemmKind kind;
  std::optional<Peer> peer;
  std::vector<Candidate> candidates;     ///< that are right on the ragged problem, or do not take it
  std::vector<const KernelEntry*> seen;  ///< those that were tried on it

  bool has(const Entry& entry) const { return std::find(seen.begin(), seen.end(), entry.kernel) != seen.end(); }
};

/// The work of measure_ladder().
class Measuring {
 public:
  Measuring(Device& device, const MeasureOptions& options, const OnProgress& progress, const OnMeasured& measured)
      : device_(device), options_(options), progress_(progress), measured_(measured) {}

  LadderReport run(std::span<const Task> tasks) {
    for (const Task& task : tasks)
      for (const GemmKind& kind : kinds_of(task))
        if (goes_on()) measure(task, kind);
    report_.complete = !cut_short_;
    write_receipt();
    return std::move(report_);
  }

 private:
  static std::vector<GemmKind> kinds_of(const Task& task) {
    std::vector<GemmKind> kinds;
    for (const Entry& entry : task.entries)
      if (std::find(kinds.begin(), kinds.end(), entry.kernel->kind) == kinds.end()) kinds.push_back(entry.kernel->kind);
    return kinds;
  }

  void write_receipt() { report_.receipt = receipt(device_, peer_version_, options_, report_.results); }

  void tell() {
    if (!measured_ || stopped_) return;
    write_receipt();
    stopped_ = !measured_(report_);
  }
  /// Asked before each piece of work.
  bool goes_on() {
    cut_short_ |= stopped_;
    return !stopped_;
  }

  /// What is known of a kind, with the kernels of a task that are new to it.
  KindOfKernels& known(const Task& task, const GemmKind& kind) {
    auto place = std::find_if(kinds_.begin(), kinds_.end(), [&](const KindOfKernels& k) { return k.kind == kind; });
    if (place == kinds_.end()) {
      place = kinds_.insert(kinds_.end(), {kind, open_peer(device_, kind), {}, {}});
      if (place->peer) peer_version_ = place->peer->version;
    }
    const RandomProblem spec = ragged(kind);
    std::vector<Candidate> fresh;
    for (const Entry& entry : task.entries) {
      if (entry.kernel->kind != kind || place->has(entry)) continue;
      place->seen.push_back(entry.kernel);
      const Candidate candidate{entry, contestant(entry)};
      (refusal_of(candidate, spec).empty() ? fresh : place->candidates).push_back(candidate);
    }
    if (fresh.empty()) return *place;
    for (const Candidate& right : right_ones(device_, spec, fresh, place->peer, report_.wrong, progress_))
      place->candidates.push_back(right);
    return *place;
  }

  /// The candidates of a task of one kind that take its problem.
  std::vector<Candidate> takers(const KindOfKernels& known, const Task& task) {
    std::vector<Candidate> takers;
    for (const Entry& entry : task.entries)
      for (const Candidate& candidate : known.candidates) {
        if (candidate.entry.kernel != entry.kernel) continue;
        const std::string refusal = refusal_of(candidate, spec_of(known.kind, task.problem));
        if (refusal.empty())
          takers.push_back(candidate);
        else
          leave_out(candidate, task, refusal);
      }
    return takers;
  }

  void leave_out(const Candidate& candidate, const Task& task, const std::string& why) {
    const TimedProblem& p = task.problem;
    report_.left_out.push_back(
        {std::string(candidate.entry.rung->name()), candidate.entry.kernel->kind, p.M, p.N, p.K, why});
  }

  /// Verifies and times a task's kernels of one kind.
  void measure(const Task& task, const GemmKind& kind) {
    const KindOfKernels& kernels = known(task, kind);
    std::vector<Candidate> candidates = takers(kernels, task);
    if (!candidates.empty()) {
      try {
        candidates = right_ones(device_, spec_of(kind, task.problem), candidates, kernels.peer, report_.wrong,
                                progress_);
        if (!candidates.empty()) time(task, kernels, candidates);
      } catch (const InvalidArgument& error) {
        // There is no memory for this problem: others may fit.
        for (const Candidate& candidate : candidates) leave_out(candidate, task, error.what());
      }
    }
    tell();
  }

  void time(const Task& task, const KindOfKernels& kernels, const std::vector<Candidate>& candidates) {
    std::vector<Contestant> contestants;
    for (const Candidate& candidate : candidates) contestants.push_back(candidate.contestant);
    const TimedProblem& p = task.problem;
    GemmTimer timer(device_, {.kind = kernels.kind, .M = p.M, .N = p.N, .K = p.K});
    const std::vector<Contestant> peers = opponents(kernels.peer, timer);
    const auto labelled = [&](Mode mode) -> OnProgress {
      if (!progress_) return {};
      return [this,
              title = fmt::format("{}, {}", sizes_text(task.problem.M, task.problem.N, task.problem.K), name_of(mode))](
                 std::string_view step, double done) { progress_(fmt::format("{}, {}", title, step), done); };
    };
    const auto add = [&](Mode mode, const Measurements& measurements) {
      for (std::size_t i = 0; i < candidates.size(); ++i) {
        report_.results.push_back({candidates[i].entry,
                                   choose(*candidates[i].entry.kernel, timer.problem()).kernel->id(), task.problem,
                                   mode, measurements.contestants[i]});
      }
      for (std::size_t i = 0; i < peers.size(); ++i)
        report_.peers.push_back({kernels.kind, task.problem, mode, peers[i].name, measurements.peers[i]});
    };
    if (options_.burst) {
      add(Mode::burst, timer.burst(contestants, peers, *options_.burst, labelled(Mode::burst)));
      if (options_.sustained) tell();
    }
    if (options_.sustained && goes_on())
      add(Mode::sustained, timer.sustained(contestants, peers, *options_.sustained, labelled(Mode::sustained)));
  }

  Device& device_;
  const MeasureOptions& options_;
  const OnProgress& progress_;
  const OnMeasured& measured_;
  std::deque<KindOfKernels> kinds_;
  std::optional<std::string> peer_version_;
  LadderReport report_;
  bool stopped_ = false, cut_short_ = false;
};

}  // namespace

// A contestant of a quick table does not tell what it multiplies with: the fastest unit for its type is the limit.
static Unit fastest_unit(Type type) { return type == Type::f32 ? Unit::cuda_cores : tensor_cores_for(type); }

static LadderTimes quick_times(Device& device, const Problem& shape, std::span<const Contestant> contestants,
                               const OnProgress& progress) {
  const std::optional<Peer> peer = open_peer(device, shape.kind);
  GemmTimer timer(device, shape);
  const BurstOptions quick = {.rounds = 2, .rest_s = 0.2, .burst_s = 0.1, .watch = false};
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

LadderTimes time_ladder(Device& device, const Problem& shape, std::span<const KernelEntry* const> kernels,
                        const OnProgress& progress) {
  std::vector<Contestant> contestants;
  for (const KernelEntry* kernel : kernels)
    contestants.push_back(contestant(to_string(kernel->tile), fastest_unit(shape.kind.type), *kernel));
  return quick_times(device, shape, contestants, progress);
}

KernelTime time_kernel(Device& device, const Problem& shape, const Contestant::Launch& launch,
                       const OnProgress& progress) {
  const Contestant contestants[] = {
      {.name = "the kernel", .unit = fastest_unit(shape.kind.type), .prepare = [&](const Problem&) { return launch; }}};
  const LadderTimes times = quick_times(device, shape, contestants, progress);
  return {times.rungs.at(0), times.cublas};
}

LadderReport measure_ladder(Device& device, std::span<const Task> tasks, const MeasureOptions& options,
                            const OnProgress& progress, const OnMeasured& measured) {
  return Measuring(device, options, progress, measured).run(tasks);
}

}  // namespace lapidary::bench
