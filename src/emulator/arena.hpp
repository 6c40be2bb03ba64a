#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "emulator/lines.hpp"
#include "emulator/pages.hpp"

namespace lapidary::emulator {

/// Who last read or wrote 16 bits of global memory in this launch, and by which instruction, for the race detector. Of
/// its two bytes, where different threads touch them, the one that was touched last. Zero: nobody.
struct GlobalCell {
  static constexpr std::size_t bytes = 2;
  std::atomic<std::uint64_t> write{0}, read{0};
  std::atomic<std::uintptr_t> write_pc{0}, read_pc{0};
};

struct Allocation {
  std::uintptr_t base = 0;
  std::size_t bytes = 0;
  std::string label;
  Lines lines;
  bool sparse = false;      ///< some of it is never touched
  Pages<GlobalCell> cells;  ///< by GlobalCell::bytes; only during launches that check

  std::uintptr_t end() const { return base + bytes; }
};

/// An emulated GPU's global memory: one range of addresses, so that an access is told from others by a comparison.
/// Allocations are exact to the byte, and a thousandth of all addresses apart, so that an index which is wrong by a
/// matrix or two is in none and nearest to the one that was meant; where there is no room for that, 256 bytes. Not safe
/// to change while a kernel runs.
class Arena {
 public:
  /// @throws Error if not even 16 GiB of addresses are free
  Arena();
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  /// @param touched  of the bytes, so many will be accessed: the others' pages never come into being
  /// @param lines  what kernels may access
  /// @throws InvalidArgument if the host has less memory free than that
  void* allocate(std::size_t bytes, std::string_view label, std::size_t touched, const Lines& lines = {});
  void free(void* memory) noexcept;

  /// The allocation that holds the address, or the nearest one below it, or null.
  Allocation* at_or_below(std::uintptr_t address);
  /// The allocation that holds the address, or whose first or last byte is the nearest to it, or null.
  const Allocation* nearest(std::uintptr_t address) const;

  /// By address.
  const std::map<std::uintptr_t, Allocation>& allocations() const { return allocations_; }

  /// Gives every allocation fresh cells, or takes them away.
  void set_cells(bool present);
  /// The cell of an address in an allocation, or in no allocation and then of a `__device__` variable, and behind it
  /// those of a vector that begins there; null if allocations have none.
  GlobalCell* cells(std::uintptr_t address);

  std::uintptr_t base() const { return base_; }
  std::size_t bytes() const { return bytes_; }
  bool contains(std::uintptr_t address) const { return address - base_ < bytes_; }

  /// What the host could still give.
  static std::size_t free_bytes();
  static std::size_t total_bytes();

 private:
  /// The lowest address with so many bytes free, and as many as a gap has on both sides; 0 if there is none.
  std::uintptr_t first_fit(std::size_t bytes, std::size_t gap) const;

  std::uintptr_t base_;
  std::size_t bytes_;
  std::uintptr_t first_;  ///< where allocations begin: an index below them is still one of this memory
  std::map<std::uintptr_t, std::size_t> ever_;  ///< the most bytes that an allocation at an address ever had
  std::map<std::uintptr_t, Allocation> allocations_;
  bool has_cells_ = false;
  std::mutex variables_mutex_;
  std::unordered_map<std::uintptr_t, std::unique_ptr<GlobalCell[]>> variables_;  ///< cells by page
};

}  // namespace lapidary::emulator
