#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "device/prepared.hpp"
#include "device/stream.hpp"
#include "emulator/lines.hpp"
#include "emulator/machine.hpp"

namespace lapidary {

enum class DeviceKind : std::uint8_t { emulator, gpu };

constexpr const char* name_of(DeviceKind kind) { return kind == DeviceKind::gpu ? "gpu" : "emulator"; }

struct DeviceProperties {
  std::string name;          ///< "NVIDIA H200", "emulated GPU"
  int compute_capability;    ///< major * 10 + minor
  int multiprocessors;       ///< on the emulated machine: blocks that run at the same time
  std::size_t memory_bytes;  ///< that there are
  std::size_t free_bytes;    ///< that could be allocated now
  int clock_mhz;             ///< maximum SM clock; 0 on the emulated machine
  std::size_t l2_bytes;      ///< 0 on the emulated machine
};

/// A machine that kernels run on, with memory of its own. Both kinds are used in one way.
class Device {
 public:
  virtual ~Device() = default;
  virtual DeviceKind kind() const = 0;
  virtual DeviceProperties properties() const = 0;

  /// Memory of exactly `bytes` bytes, aligned to 256, of undefined content; `label` names it in fault messages.
  /// @param touched  bytes of it that will be accessed: the emulated machine takes no more of the host's memory
  /// @param lines  of a matrix: what is between them is out of bounds on an emulated machine that checks
  /// @throws InvalidArgument with the bytes needed and the bytes free if there is not enough
  virtual void* allocate(std::size_t bytes, std::string_view label, std::size_t touched,
                         const emulator::Lines& lines) = 0;
  virtual void free(void* memory) noexcept = 0;

  /// Copies between host and device memory, in order with the work on `stream()` and on CUDA's default stream; finished
  /// on return. Work on other streams is to be waited for first.
  virtual void upload(void* to, const void* from, std::size_t bytes) = 0;
  virtual void download(void* to, const void* from, std::size_t bytes) = 0;

  /// Of a GPU one that runs in order with CUDA's default stream.
  virtual Stream stream() = 0;
  /// Waits for all work on the device, whatever its stream. @throws DeviceError if any of it failed
  virtual void synchronize() = 0;
};

/// The emulated machine; its counters are at `stream().machine->report()`.
std::unique_ptr<Device> open_emulator(const emulator::Options& options = {});
/// The same on a machine that there is already, which outlives the device.
std::unique_ptr<Device> open_emulator(emulator::Machine& machine);

/// How many GPUs there are that this program's kernels run on, of which the current one need not be one; 0 in a build
/// without CUDA.
int gpu_count();
/// The current CUDA device. @throws InvalidArgument if there is none, saying whether the build, the driver or the card
/// is missing, or if kernels do not run on it or by its driver, saying which would do
std::unique_ptr<Device> open_gpu();

/// The current CUDA device as a card, whether kernels run on it or not. @throws as current_gpu()
Card gpu_card();
/// Its number among those of this process. @throws InvalidArgument if there is none; DeviceError if CUDA fails
int current_gpu();

/// Device memory that frees itself.
class DeviceBuffer {
 public:
  DeviceBuffer(Device& device, std::size_t bytes, std::string_view label) : DeviceBuffer(device, bytes, label, bytes) {}
  /// @param touched, lines  Device::allocate
  DeviceBuffer(Device& device, std::size_t bytes, std::string_view label, std::size_t touched,
               const emulator::Lines& lines = {})
      : device_(&device), data_(device.allocate(bytes, label, touched, lines)), bytes_(bytes) {}
  DeviceBuffer(DeviceBuffer&& other) noexcept : device_(other.device_), data_(other.data_), bytes_(other.bytes_) {
    other.data_ = nullptr;
  }
  DeviceBuffer& operator=(DeviceBuffer&&) = delete;
  ~DeviceBuffer() {
    if (data_) device_->free(data_);
  }
  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

 private:
  Device* device_;
  void* data_;
  std::size_t bytes_;
};

}  // namespace lapidary
