#pragma once
namespace lapidary {
namespace emulator {
class Machine;
}

/// Where a kernel is launched: work on one stream runs in order. Exactly one member is meaningful, the one that belongs
/// to the build of the kernel: `machine` for the emulated machine, `cuda` (a cudaStream_t, null for the default stream)
/// for the GPU.
struct Stream {
  emulator::Machine* machine = nullptr;
  void* cuda = nullptr;
};

}  // namespace lapidary
