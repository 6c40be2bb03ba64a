#include "bench/gemm_timer.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <numeric>
#include <optional>
#include <span>
#include <thread>
#include <utility>

#include "bench/clock_probe.hpp"
#include "bench/cuda_launches.hpp"
#include "bench/random_fill.hpp"
#include "core/batch.hpp"
#include "core/math.hpp"
#include "device/launch.hpp"

namespace lapidary::bench {
namespace {

using Seconds = std::chrono::duration<double>;

/// Copies of A, B and D in GPU memory, for a problem with beta = 0.
class RotatingOperands {
 public:
  RotatingOperands(Device& device, const Problem& p, std::span<const std::int64_t> group_ends)
      : a_(padded(p.kind.type, p.batch.count * p.M * p.K)),
        b_(padded(p.kind.type, std::max<std::int64_t>(p.batch.count, p.groups) * p.K * p.N)),
        d_(padded(p.kind.result, p.batch.count * p.M * p.N)),
        copies_(std::max<std::size_t>(2, ceil_div(3 * device.properties().l2_bytes + 1, a_ + b_ + d_))),
        memory_(device, copies_ * (a_ + b_ + d_), "copies of A, B and D"),
        problem_(resolved({.kind = p.kind, .M = p.M, .N = p.N, .K = p.K, .groups = p.groups})) {
    if (p.batch.count > 1) problem_.batch = one_after_another(problem_, p.batch.count);
    if (p.groups > 0) {
      problem_.batch.stride_b = one_after_another(problem_, p.groups).stride_b;
      group_ends_.emplace(device, group_ends.size_bytes(), "group_ends");
      device.upload(group_ends_->data(), group_ends.data(), group_ends.size_bytes());
    }
    fill_normal(device, p.kind.type, memory_.data(), static_cast<std::int64_t>(memory_.bytes()) / size_of(p.kind.type),
                1);
    device.synchronize();
  }

  const Problem& problem() const { return problem_; }
  std::size_t copies() const { return copies_; }
  /// The copy whose turn it is.
  Operands next() {
    std::byte* const base = static_cast<std::byte*>(memory_.data()) + turn_++ % copies_ * (a_ + b_ + d_);
    Operands operands = {.A = base, .B = base + a_, .D = base + a_ + b_};
    if (group_ends_) operands.group_ends = static_cast<const std::int64_t*>(group_ends_->data());
    return operands;
  }

 private:
  /// Bytes of a matrix, rounded up so that the one behind it begins as an allocation would.
  static std::size_t padded(Type type, std::int64_t elements) {
    return round_up(static_cast<std::size_t>(elements * size_of(type)), std::size_t{256});
  }

  std::size_t a_, b_, d_;  ///< bytes
  std::size_t copies_, turn_ = 0;
  DeviceBuffer memory_;
  std::optional<DeviceBuffer> group_ends_;
  Problem problem_;
};

int launches_in(double seconds, double launch_ms, int least) {
  constexpr double most = 100000;
  return std::max(least, static_cast<int>(std::min(std::round(seconds * 1e3 / launch_ms), most)));
}

/// Launches of a contestant one after the other, each on the copy of the operands whose turn it is.
///
/// Short ones are captured in graphs, some of which follow one another until all copies have had their turn. The host
/// begins a graph in less time than the card takes for it; launch by launch it needs longer than a small product, and
/// what is timed is the host, ours or cuBLAS's.
class LaunchRow {
 public:
  LaunchRow(Contestant::Launch one, const Stream& stream, RotatingOperands& operands, double launch_ms)
      : one_(std::move(one)), stream_(stream), operands_(&operands) {
    constexpr double short_ms = 0.1, graph_s = 1e-3;
    constexpr std::size_t most = 4096;  // of 15 KiB each are an L2
    if (launch_ms > short_ms) return;
    in_graph_ = launches_in(graph_s, launch_ms, 1);
    for (std::size_t done = 0; done < std::min(operands.copies(), most); done += static_cast<std::size_t>(in_graph_))
      graphs_.emplace_back(captured(cuda(), [&] { begin_each(in_graph_); }));
  }

  /// The number of launches that begin() begins if it is to begin so many: whole graphs.
  int rounded(int count) const { return round_up(count, in_graph_); }
  /// @param count  rounded
  void begin(int count) {
    if (graphs_.empty()) return begin_each(count);
    for (int i = 0; i < count; i += in_graph_) graphs_[turn_++ % graphs_.size()].launch(cuda());
  }

 private:
  cudaStream_t cuda() const { return static_cast<cudaStream_t>(stream_.cuda); }
  void begin_each(int count) {
    for (int i = 0; i < count; ++i) one_(stream_, operands_->next());
  }

  Contestant::Launch one_;
  Stream stream_;
  RotatingOperands* operands_;
  std::vector<Graph> graphs_;
  int in_graph_ = 1;
  std::size_t turn_ = 0;
};

/// What was seen of one contestant so far.
struct Series {
  const Contestant* contestant;
  LaunchRow row;
  double estimate_ms;  ///< of a launch
  std::vector<int> rounds = {};
  std::vector<double> tflops = {};  ///< of each round
  std::vector<double> launch_ms = {};
  std::vector<CardState> states = {};
  std::vector<double> clocks_mhz = {}, slowdowns = {};  ///< by the probe of the clock
  double spent_s = 0;

  /// Two rounds at least, so that there is a spread.
  bool finished(double limit_s) const { return rounds.size() >= 2 && spent_s >= limit_s; }
};

std::optional<CardState> median_state(const std::vector<CardState>& states) {
  if (states.empty()) return std::nullopt;
  const auto median = [&](double CardState::*member) {
    std::vector<double> values;
    for (const CardState& state : states) values.push_back(state.*member);
    return spread_of(std::move(values)).median;
  };
  return CardState{median(&CardState::sm_clock_mhz), median(&CardState::memory_clock_mhz), median(&CardState::power_w),
                   median(&CardState::temperature_c)};
}

/// Above that the kernel is another one beside the probe: one of its blocks has to wait for a place, which costs a
/// round. Below, at the power limit, rates differ by some per cent from one of these stretches to the next.
constexpr double most_slowdown = 1.1;

std::optional<EffectiveClock> median_clock(const Series& series) {
  if (series.slowdowns.empty()) return std::nullopt;
  EffectiveClock clock{spread_of(series.slowdowns).median, std::nullopt};
  if (!series.clocks_mhz.empty() && clock.slowdown <= most_slowdown) clock.mhz = spread_of(series.clocks_mhz).median;
  return clock;
}

Measurement summarize(const Series& series, const Series* peer) {
  Measurement m{.tflops = spread_of(series.tflops),
                .launch_ms = spread_of(series.launch_ms),
                .peer_tflops = std::nullopt,
                .rounds = static_cast<int>(series.rounds.size()),
                .card = median_state(series.states),
                .clock = median_clock(series)};
  if (peer) {
    // A peer takes part in every round.
    std::vector<double> rates;
    for (const int round : series.rounds) rates.push_back(peer->tflops[static_cast<std::size_t>(round)]);
    m.peer_tflops = spread_of(std::move(rates));
  }
  return m;
}

/// @param peers  how many of them, the last ones, are peers
Measurements summarize(const std::vector<Series>& all, std::size_t peers) {
  const auto first = all.end() - static_cast<std::ptrdiff_t>(peers);
  const auto fastest = [&](bool fast_accumulation) {
    const Series* best = nullptr;
    for (auto peer = first; peer != all.end(); ++peer)
      if (peer->contestant->fast_accumulation <= fast_accumulation &&
          (!best || spread_of(peer->tflops).median > spread_of(best->tflops).median))
        best = &*peer;
    return best;
  };
  Measurements result;
  for (auto series = all.begin(); series != first; ++series)
    result.contestants.push_back(summarize(*series, fastest(series->contestant->fast_accumulation)));
  for (auto series = first; series != all.end(); ++series) result.peers.push_back(summarize(*series, nullptr));
  return result;
}

/// Bursts are timed by as many launches at a time as take so long: an event keeps launches apart that may overlap.
constexpr double group_s = 2e-4;

}  // namespace

struct GemmTimer::State {
  State(Device& device, const Problem& problem, std::span<const std::int64_t> group_ends)
      : properties(device.properties()), stream(device.stream()), operands(device, problem, group_ends) {
    properties.clock_mhz = std::max(properties.clock_mhz, sensors.max_sm_clock_mhz().value_or(0));
  }

  DeviceProperties properties;
  Stream stream;
  RotatingOperands operands;
  Sensors sensors;
  ClockProbe probe;
  std::deque<Event> events;

  Event& event(int index) {
    while (events.size() <= static_cast<std::size_t>(index)) events.emplace_back();
    return events[static_cast<std::size_t>(index)];
  }

  /// Waits for an event and reads the sensors as long as it takes; a reading that ends after the event is dropped.
  void wait(const Event& end, std::vector<CardState>& states) {
    constexpr std::chrono::milliseconds interval{10};
    while (!end.passed()) {
      const std::optional<CardState> state = sensors.read();
      if (state && !end.passed()) states.push_back(*state);
      std::this_thread::sleep_for(interval);
    }
  }

  /// Milliseconds of a launch, roughly. The first launch loads the kernel, which may take longer than many launches,
  /// and does not count; where launches are short, the best of some counts.
  double estimate_ms(const Contestant::Launch& one) {
    constexpr double long_ms = 50;
    one(stream, operands.next());
    double best = INFINITY;
    for (int i = 0; i < 3 && (i == 0 || best < long_ms); ++i) {
      event(0).record(stream);
      one(stream, operands.next());
      event(1).record(stream);
      event(1).wait();
      best = std::min(best, event(1).milliseconds_since(event(0)));
    }
    return std::max(best, 1e-3);
  }

  std::vector<Series> start(std::span<const Contestant> contestants, std::span<const Contestant> peers) {
    std::vector<Series> all;
    for (const auto& group : {contestants, peers})
      for (const Contestant& contestant : group) {
        Contestant::Launch one = contestant.prepare(operands.problem());
        const double estimate = estimate_ms(one);
        all.push_back({&contestant, {std::move(one), stream, operands, estimate}, estimate});
      }
    return all;
  }

  /// @param launch_ms  what the round counts with
  void finish_round(Series& series, int round, double launch_ms, double seconds) {
    const Problem& p = operands.problem();
    const double rate = tflops(p.M, p.N, p.K, launch_ms / static_cast<double>(p.batch.count));
    require_plausible(series.contestant->name, rate, ceiling_tflops(properties, series.contestant->unit));
    series.rounds.push_back(round);
    series.tflops.push_back(rate);
    series.spent_s += seconds;
  }

  static bool may_watch(const Series& series) {
    constexpr double long_ms = 50;
    return series.estimate_ms <= long_ms;
  }

  /// A burst more, as long, beside the probe.
  void watch_burst(Series& series, double seconds) {
    const int count = series.row.rounded(launches_in(seconds, series.estimate_ms, 1));
    event(1);
    probe.begin(stream);
    event(0).record(stream);
    series.row.begin(count);
    event(1).record(stream);
    probe.end(stream);
    event(1).wait();
    const double beside = event(1).milliseconds_since(event(0));
    const double without = std::accumulate(series.launch_ms.begin(), series.launch_ms.end(), 0.0) /
                           static_cast<double>(series.launch_ms.size());
    series.slowdowns.push_back(beside / count / without);
    if (const std::optional<double> mhz = probe.mhz(beside)) series.clocks_mhz.push_back(*mhz);
  }

  /// Behind a block, which thereby runs alone and at the same clock: launches beside the probe, and as many without it.
  /// Their four events follow the one with the index `last`, which ends the block.
  /// @return how many
  int start_watching(Series& series, int last, double seconds) {
    if (seconds <= 0 || !may_watch(series)) return 0;
    const int count = series.row.rounded(launches_in(seconds, series.estimate_ms, 2));
    event(last + 4);
    probe.begin(stream);
    for (const bool beside : {true, false}) {
      event(last + (beside ? 1 : 3)).record(stream);
      series.row.begin(count);
      event(last + (beside ? 2 : 4)).record(stream);
      if (beside) probe.end(stream);
    }
    return count;
  }

  /// @param launch_ms  of the block
  void finish_watching(Series& series, int last, int count, double launch_ms) {
    if (count == 0) return;
    event(last + 4).wait();
    const double beside = event(last + 2).milliseconds_since(event(last + 1));
    const double without = event(last + 4).milliseconds_since(event(last + 3));
    series.slowdowns.push_back(beside / count / ((launch_ms + without / count) / 2));
    if (const std::optional<double> mhz = probe.mhz(beside)) series.clocks_mhz.push_back(*mhz);
  }

  void burst(Series& series, int round, double seconds) {
    constexpr int most_groups = 1000;  // each needs an event
    const int group = series.row.rounded(launches_in(group_s, series.estimate_ms, 1));
    const int count = std::min(launches_in(seconds, series.estimate_ms * group, 1), most_groups);
    event(count);
    event(0).record(stream);
    for (int i = 0; i < count; ++i) {
      series.row.begin(group);
      event(i + 1).record(stream);
    }
    wait(event(count), series.states);
    std::vector<double> times;
    for (int i = 0; i < count; ++i) times.push_back(event(i + 1).milliseconds_since(event(i)) / group);
    series.launch_ms.insert(series.launch_ms.end(), times.begin(), times.end());
    finish_round(series, round, spread_of(std::move(times)).median, event(count).milliseconds_since(event(0)) * 1e-3);
  }

  void block(Series& series, int round, const SustainedOptions& options) {
    const int count = series.row.rounded(launches_in(options.block_s, series.estimate_ms, 1));
    series.row.begin(series.row.rounded(launches_in(options.settle_s, series.estimate_ms, 0)));
    event(0).record(stream);
    series.row.begin(count);
    event(1).record(stream);
    const int watched = start_watching(series, 1, options.watch_s);
    event(0).wait();
    wait(event(1), series.states);
    const double milliseconds = event(1).milliseconds_since(event(0));
    series.estimate_ms = milliseconds / count;
    finish_watching(series, 1, watched, series.estimate_ms);
    series.launch_ms.push_back(series.estimate_ms);
    finish_round(series, round, series.estimate_ms, milliseconds * 1e-3);
  }

  /// Keeps the card busy with the contestant that is likely to draw the most power.
  void warm_up(Series& series, double seconds) {
    const auto begin = std::chrono::steady_clock::now();
    while (Seconds(std::chrono::steady_clock::now() - begin).count() < seconds) {
      series.row.begin(series.row.rounded(launches_in(0.1, series.estimate_ms, 1)));
      event(0).record(stream);
      event(0).wait();
    }
  }

  /// Calls body(series, round) for each contestant in turn that has not finished, and for the peers, which are last.
  template <class Body>
  void take_turns(std::vector<Series>& all, std::size_t peers, int rounds, double limit_s, const OnProgress& progress,
                  const Body& body) {
    for (int round = 0; round < rounds; ++round) {
      for (std::size_t i = 0; i < all.size(); ++i) {
        const bool is_peer = i + peers >= all.size();
        if (!is_peer && all[i].finished(limit_s)) continue;
        if (progress) {
          progress(all[i].contestant->name,
                   (round + static_cast<double>(i) / static_cast<double>(all.size())) / rounds);
        }
        body(all[i], round);
      }
    }
  }
};

GemmTimer::GemmTimer(Device& device, const Problem& problem, std::span<const std::int64_t> group_ends)
    : state_(std::make_unique<State>(device, problem, group_ends)) {}
GemmTimer::~GemmTimer() = default;

const Problem& GemmTimer::problem() const { return state_->operands.problem(); }

std::vector<CapturedKernel> GemmTimer::kernels_of(const Contestant& contestant) {
  const Contestant::Launch one = contestant.prepare(problem());
  one(state_->stream, state_->operands.next());  // what it loads and allocates the first time
  const auto stream = static_cast<cudaStream_t>(state_->stream.cuda);
  return captured_kernels(captured(stream, [&] { one(state_->stream, state_->operands.next()); }).get());
}

Measurements GemmTimer::burst(std::span<const Contestant> contestants, std::span<const Contestant> peers,
                              const BurstOptions& options, const OnProgress& progress) {
  constexpr double limit_s = 2;
  std::vector<Series> all = state_->start(contestants, peers);
  state_->take_turns(all, peers.size(), options.rounds, limit_s, progress, [&](Series& series, int round) {
    std::this_thread::sleep_for(Seconds(options.rest_s));
    state_->burst(series, round, options.burst_s);
  });
  for (Series& series : all) {
    if (!options.watch || !state_->may_watch(series)) continue;
    std::this_thread::sleep_for(Seconds(options.rest_s));
    state_->watch_burst(series, options.burst_s);
  }
  return summarize(all, peers.size());
}

Measurements GemmTimer::sustained(std::span<const Contestant> contestants, std::span<const Contestant> peers,
                                  const SustainedOptions& options, const OnProgress& progress) {
  std::vector<Series> all = state_->start(contestants, peers);
  if (all.empty()) return {};
  state_->warm_up(all.back(), options.warm_up_s);
  const int rounds = std::max(2, static_cast<int>(std::ceil(options.seconds / options.block_s)));
  state_->take_turns(all, peers.size(), rounds, options.seconds, progress,
                     [&](Series& series, int round) { state_->block(series, round, options); });
  return summarize(all, peers.size());
}

}  // namespace lapidary::bench
