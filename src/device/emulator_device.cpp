#include <cstring>
#include <memory>
#include <utility>

#include "device/device.hpp"
#include "emulator/arena.hpp"

namespace lapidary {
namespace {

constexpr int emulated_capability = 90;

class EmulatedDevice final : public Device {
 public:
  explicit EmulatedDevice(std::unique_ptr<emulator::Machine> machine) : own_(std::move(machine)), machine_(*own_) {}
  explicit EmulatedDevice(emulator::Machine& machine) : machine_(machine) {}

  DeviceKind kind() const override { return DeviceKind::emulator; }
  DeviceProperties properties() const override {
    return {.name = "emulated GPU",
            .compute_capability = emulated_capability,
            .multiprocessors = static_cast<int>(machine_.options().threads),
            .memory_bytes = emulator::Arena::total_bytes(),
            .free_bytes = emulator::Arena::free_bytes(),
            .clock_mhz = 0,
            .l2_bytes = 0};
  }
  void* allocate(std::size_t bytes, std::string_view label, std::size_t touched,
                 const emulator::Lines& lines) override {
    const auto between_launches = machine_.turn();
    return machine_.memory().allocate(bytes, label, touched, lines);
  }
  void free(void* memory) noexcept override {
    const auto between_launches = machine_.turn();
    machine_.memory().free(memory);
  }
  void upload(void* to, const void* from, std::size_t bytes) override {
    if (bytes) std::memcpy(to, from, bytes);
  }
  void download(void* to, const void* from, std::size_t bytes) override {
    if (bytes) std::memcpy(to, from, bytes);
  }
  Stream stream() override { return {.machine = &machine_, .cuda = nullptr}; }
  void synchronize() override {}

 private:
  std::unique_ptr<emulator::Machine> own_;  ///< null if it is another's
  emulator::Machine& machine_;
};

}  // namespace

/// The emulated machine says that it has few multiprocessors, so that small problems too have several tiles for each.
Card card_of(const Stream& stream) {
  return stream.machine ? Card{emulated_capability, stream.machine->options().multiprocessors} : gpu_card();
}

std::unique_ptr<Device> open_emulator(const emulator::Options& options) {
  return std::make_unique<EmulatedDevice>(std::make_unique<emulator::Machine>(options));
}
std::unique_ptr<Device> open_emulator(emulator::Machine& machine) { return std::make_unique<EmulatedDevice>(machine); }

}  // namespace lapidary
