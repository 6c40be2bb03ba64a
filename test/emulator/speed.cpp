// How long the emulated machine takes: for the whole ladder with counts, and for each rung without.
#include <benchmark/benchmark.h>

#include <string>

#include "bench/run.hpp"
#include "device/device.hpp"
#include "kernels/registry.hpp"

namespace lapidary {
namespace {

void fail_unless_right(benchmark::State& state, const bench::RunResult& result) {
  if (!result.verification.ok) state.SkipWithError(result.verification.message.c_str());
}

void ladder_counted(benchmark::State& state) {
  const auto device = open_emulator({.count = true});
  for (auto _ : state) {
    for (const Rung& rung : ladder()) {
      bench::Experiment experiment(
          *device,
          {.problem = {
               .kind = rung.kernels.front().kind, .M = state.range(0), .N = state.range(0), .K = state.range(0)}});
      fail_unless_right(state, experiment.run(rung, rung.kernels.front(), Build::instrumented));
    }
  }
}

void rung_plain(benchmark::State& state, const Rung& rung) {
  const auto device = open_emulator();
  const KernelEntry& kernel = rung.kernels.front();
  bench::Experiment experiment(
      *device, {.problem = {.kind = kernel.kind, .M = state.range(0), .N = state.range(0), .K = state.range(0)}});
  const Problem problem = experiment.problem().spec.problem;
  for (auto _ : state) run(kernel, Build::plain, device->stream(), problem, experiment.operands());
  fail_unless_right(state, experiment.run(rung, kernel, Build::plain));
  state.counters["multiply-adds"] = benchmark::Counter(static_cast<double>(problem.M * problem.N * problem.K),
                                                       benchmark::Counter::kIsIterationInvariantRate);
}

}  // namespace
}  // namespace lapidary

int main(int argc, char** argv) {
  using namespace lapidary;
  if (ladder().front().kernels.front().builds[static_cast<std::size_t>(Build::instrumented)])
    benchmark::RegisterBenchmark("ladder_counted", ladder_counted)
        ->Arg(256)
        ->Unit(benchmark::kMillisecond)
        ->UseRealTime();
  for (const Rung& rung : ladder())
    benchmark::RegisterBenchmark(("plain/" + std::string(rung.name())).c_str(),
                                 [&rung](benchmark::State& state) { rung_plain(state, rung); })
        ->Arg(512)
        ->Unit(benchmark::kMillisecond)
        ->UseRealTime();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
