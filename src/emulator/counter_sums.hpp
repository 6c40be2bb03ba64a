#pragma once
#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>

#include "emulator/report.hpp"
#include "layout/access.hpp"

namespace lapidary::emulator {

/// What one instruction did to one allocation, or to shared memory: the counters of AccessSite.
struct SiteCounters {
  std::uint64_t instructions = 0, lanes = 0, units = 0, lines = 0, minimum = 0, distinct_bytes = 0;
  std::uint64_t shared_bytes = 0, multicast_bytes = 0;
  WarpAccess worst{};
  std::int64_t worst_excess = -1;  ///< its units beyond the minimum
  std::uint32_t worst_block = 0, worst_warp = 0;

  void merge(const SiteCounters& other);
};

/// A memory instruction as the key of a table, in 64 bits.
class SiteKey {
 public:
  static constexpr unsigned most_memories = 1 << 10;

  /// @param memory  below most_memories
  SiteKey(std::uintptr_t pc, unsigned memory, unsigned bytes, Access access)
      : bits_(pc << 17 | std::uint64_t{memory} << 7 | static_cast<std::uint64_t>(std::bit_width(bytes) - 1) << 4 |
              static_cast<std::uint64_t>(access)) {
    static_assert(access_kinds <= 1 << 4, "the lowest 4 bits");
  }
  explicit SiteKey(std::uint64_t bits) : bits_(bits) {}
  std::uint64_t bits() const { return bits_; }
  std::uintptr_t pc() const { return bits_ >> 17; }
  unsigned memory() const { return bits_ >> 7 & (most_memories - 1); }
  int bytes() const { return 1 << (bits_ >> 4 & 7); }
  Access access() const { return static_cast<Access>(bits_ & 15); }

 private:
  std::uint64_t bits_;
};

/// Counters by instruction.
struct Sites {
  std::unordered_map<std::uint64_t, SiteCounters> memory;
  std::unordered_map<std::uintptr_t, std::uint64_t> fma;
  std::unordered_map<std::uintptr_t, MmaCounters> mma;
  std::unordered_map<std::uintptr_t, WgmmaCounters> wgmma;
  std::uint64_t bytes_in_flight = 0;  ///< the most; see Report

  void merge(const Sites& other);
};

/// The same by source line: the total, the lines, the sites and the bytes in flight of a report.
/// @param memories  labels of allocations, by SiteKey::memory()
Report report_of(const Sites& sites, std::span<const std::string> memories);

}  // namespace lapidary::emulator
