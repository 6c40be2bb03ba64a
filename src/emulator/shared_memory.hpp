#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/launch_shape.hpp"
#include "emulator/recorder.hpp"

namespace lapidary::emulator {

/// What is known of a byte of shared memory.
enum class ByteState : std::uint8_t {
  unwritten,
  in_flight,  ///< an asynchronous copy writes it that nobody has waited for
  written,
  reading,   ///< written, and a bulk copy or a wgmma reads it that nobody has waited for
  mbarrier,  ///< of the state of an mbarrier
  red_zone,
};

/// The shared memory of a block: an arena for dynamic shared memory between two red zones, and the host thread's TLS
/// block, where __shared__ variables are. Blocks of one cluster have arenas of their own and share the TLS block: their
/// kernels have no __shared__ variables. Both have a state for each byte in checked runs.
class SharedMemory {
 public:
  /// What a block may ask for: the hardware's most, and room for the red zones within a kernel's storage.
  static constexpr std::size_t dynamic_capacity = LaunchLimits::shared_bytes_opt_in + 8 * 1024;

  SharedMemory();
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  /// Makes it the memory of blocks that the calling host thread runs; once before a launch.
  void attach();
  /// Makes the memory that of a new block: dynamic memory is filled with NaN, and in a checked run nothing is written
  /// yet.
  void reset(unsigned dynamic_bytes, bool check);

  unsigned char* dynamic() const { return arena_ + red_zone_bytes; }
  /// Points the callbacks of this host thread at the memory.
  void describe(Recorder& to) const;

  /// Offset within the arena, followed by the TLS block; `npos` if the address lies in neither.
  static constexpr std::size_t npos = ~std::size_t{0};
  std::size_t offset(std::uintptr_t address) const {
    if (address - arena_base() < arena_bytes) return address - arena_base();
    if (address - static_base_ < static_bytes_) return arena_bytes + (address - static_base_);
    return npos;
  }
  /// Offset within dynamic shared memory; negative in the red zone before it.
  std::int64_t dynamic_offset(std::uintptr_t address) const {
    return static_cast<std::int64_t>(address - reinterpret_cast<std::uintptr_t>(dynamic()));
  }
  bool is_static(std::uintptr_t address) const { return address - static_base_ < static_bytes_; }
  bool in_arena(std::uintptr_t address) const { return address - arena_base() < arena_bytes; }
  /// The address of shared memory as a GPU counts it: from 0, which is in bank 0.
  std::uintptr_t address_in_banks(std::uintptr_t address) const {
    const std::uintptr_t base = reinterpret_cast<std::uintptr_t>(dynamic());
    return address - (address - arena_base() < arena_bytes ? base : static_base_ / 128 * 128);
  }
  std::size_t bytes() const { return arena_bytes + static_bytes_; }
  /// What has an offset; null beyond the end.
  unsigned char* at(std::size_t offset) const {
    if (offset < arena_bytes) return arena_ + offset;
    return offset < bytes() ? reinterpret_cast<unsigned char*>(static_base_) + (offset - arena_bytes) : nullptr;
  }
  ByteState* states() const { return states_.get(); }
  void set_state(std::uintptr_t address, std::size_t bytes, ByteState state);

 private:
  static constexpr std::size_t red_zone_bytes = 1024;
  static constexpr std::size_t arena_bytes = dynamic_capacity + 2 * red_zone_bytes;

  std::uintptr_t arena_base() const { return reinterpret_cast<std::uintptr_t>(arena_); }

  unsigned char* arena_;
  std::uintptr_t static_base_ = 0;
  std::size_t static_bytes_ = 0;
  std::unique_ptr<ByteState[]> states_;
};

}  // namespace lapidary::emulator
