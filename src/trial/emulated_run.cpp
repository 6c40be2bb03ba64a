#include "trial/emulated_run.hpp"

#include <memory>

#include "device/device.hpp"
#include "trial/captured_output.hpp"

namespace lapidary::trial {
namespace {

/// Of a host thread for a block, before a kernel counts as one that never ends.
constexpr double most_seconds = 60;
/// Whose blocks have room at a time (those of an H100 or an H200): blocks that wait for each other ask for it.
constexpr int multiprocessors = 132;

/// On one host thread: several would run blocks in another order each time.
emulator::Options options_of(std::uint64_t order) {
  return {.count = true, .multiprocessors = multiprocessors, .threads = 1, .seed = order, .limit_s = most_seconds};
}

}  // namespace

emulator::Report count_merged(const KernelObject& object, const EmulatedRun& run,
                              const std::unordered_map<std::uintptr_t, emulator::Merge>& merge) {
  LaunchShape launched = run.shape;
  launched.shared_bytes = object.shared_bytes(run.shape.shared_bytes);
  const KernelData data(run.spec, run.operands, run.initial_c);
  std::string ignored;
  const CapturedOutput printed(ignored);
  emulator::Options options = options_of(run.order);
  options.merge = merge;
  const std::unique_ptr<Device> device = open_emulator(options);
  data.run(*device,
           [&](const KernelArguments& arguments) { device->stream().machine->run(launched, object.body(arguments)); });
  return device->stream().machine->report();
}

EmulatedRun run_emulated(const KernelObject& object, const bench::RandomProblem& spec, const LaunchShape& shape,
                         const Operands& operands, InitialC initial_c, std::uint64_t order) {
  EmulatedRun run{spec, shape, operands, initial_c, {}, {}, {}, {}, {}, order};
  LaunchShape launched = shape;
  launched.shared_bytes = object.shared_bytes(shape.shared_bytes);
  const KernelData data(spec, operands, initial_c);
  const auto execute = [&](bool check) {
    const CapturedOutput printed(run.printed);
    emulator::Options options = options_of(order);
    options.check = check;
    const std::unique_ptr<Device> device = open_emulator(options);
    const KernelData::Outcome outcome = data.run(*device, [&](const KernelArguments& arguments) {
      device->stream().machine->run(launched, object.body(arguments));
    });
    run.verification = data.verify(outcome);
    run.wrong = run.verification.wrong > 0 ? data.find_wrong(outcome) : WrongResults{};
    run.report = device->stream().machine->report();
  };
  const Variables before = object.variables();
  try {
    execute(true);
  } catch (const emulator::DetailedFault& fault) {
    run.fault = {object.explain(fault.fault()), fault.kind()};
    // A launch that was stopped half way has left counters and flags as none that ends does.
    before.restore();
    // What a race or an unwritten word does to the results is worth knowing; other faults cannot be run past.
    if (fault.kind() == FaultKind::race || fault.kind() == FaultKind::uninitialised) {
      try {
        execute(false);
      } catch (const emulator::DetailedFault&) {
      }
    }
  }
  return run;
}

}  // namespace lapidary::trial
