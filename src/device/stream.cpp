#include "device/stream.hpp"

#include <fmt/format.h>

#include "core/refusal.hpp"
#include "emulator/machine.hpp"

namespace lapidary {

const char* name_of(Build build) {
  switch (build) {
    case Build::plain: return "plain";
    case Build::instrumented: return "instrumented";
    case Build::gpu: break;
  }
  return "gpu";
}

Build build_for(const Stream& stream) {
  if (!stream.machine) return Build::gpu;
  const emulator::Options& options = stream.machine->options();
  return options.count || options.check ? Build::instrumented : Build::plain;
}

void require_stream_for(Build build, const Stream& stream) {
  if ((build == Build::gpu) != (stream.machine == nullptr)) {
    const char *const machine = "the emulated machine", *const gpu = "a GPU";
    throw Refusal(RefusalId::device_stream,
                  fmt::format("the {} build of a kernel runs on {}; this stream belongs to {}", name_of(build),
                              build == Build::gpu ? gpu : machine, build == Build::gpu ? machine : gpu));
  }
  if (build != Build::plain) return;
  const emulator::Options& options = stream.machine->options();
  if (options.count || options.check)
    throw Refusal(RefusalId::device_stream,
                  "the plain build of a kernel cannot be counted or checked; use the instrumented one");
}

}  // namespace lapidary
