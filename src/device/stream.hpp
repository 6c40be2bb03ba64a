#pragma once
#include <cstdint>

namespace lapidary {
namespace emulator {
class Machine;
}

/// The builds that a kernel is compiled in (core/build.hpp).
enum class Build : std::uint8_t { plain, instrumented, gpu };
const char* name_of(Build build);

/// Where a kernel is launched: work on one stream runs in order. Exactly one member is meaningful, the one that belongs
/// to the build of the kernel: `machine` for the emulated machine, `cuda` (a cudaStream_t, null for the default stream)
/// for the GPU.
struct Stream {
  emulator::Machine* machine = nullptr;
  void* cuda = nullptr;
};

/// The build of a kernel that a stream's device runs: `gpu` on a GPU, `instrumented` on an emulated machine that counts
/// or checks, and `plain` on one that does neither.
Build build_for(const Stream& stream);

/// Checks that a build of a kernel runs on a stream: `gpu` on a GPU's, the others on an emulated machine's, and where
/// that counts or checks, `instrumented` alone.
/// @throws InvalidArgument
void require_stream_for(Build build, const Stream& stream);

}  // namespace lapidary
