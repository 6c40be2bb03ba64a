#pragma once
#include <cstdint>

#include "core/build.hpp"
#include "core/math.hpp"
#include "layout/require.hpp"

// The rules that a warp's access to memory is judged by, the same in a static_assert and on the emulated machine.
// Sources: CUDA C++ Best Practices Guide (32-byte sectors, compute capability 6.0 on), CUDA C++ Programming Guide
// (32 banks of 32 bits, one word each a cycle); how 64- and 128-bit shared accesses are split and merged: NVIDIA
// developer forum, thread 77228, in agreement with Nsight Compute's counters on Hopper, by which stores are not merged.

namespace lapidary {

/// One load or store instruction of a warp.
struct WarpAccess {
  std::uint64_t address[32];  ///< byte address of each lane, a multiple of `bytes`; ignored for inactive lanes
  std::uint32_t active;       ///< bit n: lane n takes part
  int bytes;                  ///< width of a lane's access: 1, 2, 4, 8 or 16
};

}  // namespace lapidary

namespace lapidary::inline LAPIDARY_BUILD {

/// The access of a warp whose lane n touches `vector` consecutive elements from offset_of_lane(n) on, counted in
/// elements from address 0 (bank 0, the start of a sector). For assertions on the function that the kernel itself
/// calls:
///
///     static_assert(wavefronts(warp_access<float, 4>([](int lane) { return a_read(lane, 0); })) == 2);
#if defined(__CUDACC__)
#pragma nv_exec_check_disable  // the function may be a host lambda: it is called in constant expressions
#endif
template <class Element, int vector = 1, class OffsetOfLane>
LAPIDARY_HD constexpr WarpAccess warp_access(OffsetOfLane&& offset_of_lane, std::uint32_t active = ~std::uint32_t{0}) {
  constexpr int bytes = static_cast<int>(sizeof(Element)) * vector;
  static_assert(bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16,
                "a lane's access is 1, 2, 4, 8 or 16 bytes wide");
  WarpAccess access{{}, active, bytes};
  for (int lane = 0; lane < 32; ++lane) {
    if ((active >> lane & 1) == 0) continue;
    const std::int64_t offset = offset_of_lane(lane);
    require(offset >= 0, "warp_access: offsets are not negative", offset, 0);
    access.address[lane] = static_cast<std::uint64_t>(offset) * sizeof(Element);
  }
  return access;
}

/// The active lanes whose address is no multiple of the width (`bytes`, a legal one), as a mask. The hardware faults on
/// them.
LAPIDARY_HD constexpr std::uint32_t misaligned_lanes(const WarpAccess& access) {
  std::uint32_t lanes = 0;
  for (int lane = 0; lane < 32; ++lane) {
    const bool misaligned = access.address[lane] % static_cast<unsigned>(access.bytes) != 0;
    if (misaligned && (access.active >> lane & 1) != 0) lanes |= std::uint32_t{1} << lane;
  }
  return lanes;
}

}  // namespace lapidary::inline LAPIDARY_BUILD

namespace lapidary::inline LAPIDARY_BUILD::access_detail {

/// Refuses widths that no instruction has, and misaligned lanes: counting sectors and banks of an access that faults
/// proves nothing.
LAPIDARY_HD constexpr void require_legal(const WarpAccess& access) {
  require(is_power_of_two(access.bytes) && access.bytes <= 16, "WarpAccess: bytes is 1, 2, 4, 8 or 16", access.bytes,
          4);
  std::uint64_t bits = 0;
  for (int lane = 0; lane < 32; ++lane) bits |= (access.active >> lane & 1) != 0 ? access.address[lane] : 0;
  const std::uint64_t remainder = bits & static_cast<unsigned>(access.bytes - 1);
  require(remainder == 0, "WarpAccess: every address modulo bytes is 0", static_cast<long long>(remainder), 0);
}

/// Whether all lanes are active and their addresses ascend with the lane, as in most accesses. Equal units are then
/// neighbours, and need no table to be found.
LAPIDARY_HD constexpr bool is_full_and_ascending(const WarpAccess& access) {
  if (access.active != ~std::uint32_t{0}) return false;
  bool ascending = true;
  for (int lane = 1; lane < 32; ++lane) ascending &= access.address[lane] >= access.address[lane - 1];
  return ascending;
}

/// Calls visit(unit) once for each distinct aligned unit of 2^unit_log2 bytes that the active lanes in
/// [first, first + lanes) touch, and returns their number; a unit is its byte address / 2^unit_log2.
template <class Visit>
LAPIDARY_HD constexpr int for_each_unit(const WarpAccess& access, bool ascending, int first, int lanes, int unit_log2,
                                        Visit visit) {
  int count = 0;
  if (ascending) {
    std::uint64_t last = ~std::uint64_t{0};  // no unit: addresses have no more than 64 bits, units fewer
    for (int lane = first; lane < first + lanes; ++lane) {
      const std::uint64_t unit = access.address[lane] >> unit_log2;
      if (unit == last) continue;
      last = unit;
      ++count;
      visit(unit);
    }
    return count;
  }
  // A hash table with open addressing, at most half full; an entry is a unit plus one, zero is empty. The multiplier is
  // 2^64 / golden ratio: it spreads the strides that kernels have over the upper six bits.
  std::uint64_t table[64] = {};
  for (int lane = first; lane < first + lanes; ++lane) {
    if ((access.active >> lane & 1) == 0) continue;
    const std::uint64_t unit = access.address[lane] >> unit_log2;
    int slot = static_cast<int>(unit * 0x9e3779b97f4a7c15u >> 58);
    while (table[slot] != 0 && table[slot] != unit + 1) slot = (slot + 1) & 63;
    if (table[slot] != 0) continue;
    table[slot] = unit + 1;
    ++count;
    visit(unit);
  }
  return count;
}

/// The wavefronts of one group of lanes; 0 if none of them is active. Aligned 64- and 128-bit accesses take 2 or 4
/// neighbouring banks alike, so they are counted as units of their width in 16 or 8 wider banks.
LAPIDARY_HD constexpr int group_wavefronts(const WarpAccess& access, bool ascending, int first, int lanes) {
  const int unit_log2 = access.bytes <= 4 ? 2 : access.bytes == 8 ? 3 : 4;
  const unsigned bank_mask = (128u >> unit_log2) - 1;
  if (ascending) {
    // A window of all banks once, as of contiguous lanes or of one broadcast word.
    const std::uint64_t lowest = access.address[first] >> unit_log2;
    const std::uint64_t highest = access.address[first + lanes - 1] >> unit_log2;
    if (highest - lowest <= bank_mask) return 1;
  }
  std::uint8_t in_bank[32] = {};
  for_each_unit(access, ascending, first, lanes, unit_log2, [&](std::uint64_t unit) { ++in_bank[unit & bank_mask]; });
  std::uint8_t worst = 0;
  for (const std::uint8_t count : in_bank) worst = count > worst ? count : worst;
  return worst;
}

/// Whether lanes n and n ^ distance have the same address wherever both are active.
LAPIDARY_HD constexpr bool lanes_agree(const WarpAccess& access, int distance) {
  for (int n = 0; n < 32; ++n) {
    const int partner = n ^ distance;
    const bool both = partner > n && (access.active >> n & access.active >> partner & 1) != 0;
    if (both && access.address[n] != access.address[partner]) return false;
  }
  return true;
}

/// The lanes that shared memory serves together: the whole warp up to 32 bits a lane, half warps for 64 bits, quarter
/// warps for 128 bits. If every lane n of a load agrees with lane n ^ 1, or every lane n with lane n ^ 2, neighbouring
/// groups are served as one.
LAPIDARY_HD constexpr int lanes_per_group(const WarpAccess& access, bool store) {
  if (access.bytes <= 4) return 32;
  const bool pairs = !store && (lanes_agree(access, 1) || lanes_agree(access, 2));
  return (access.bytes == 8 ? 16 : 8) * (pairs ? 2 : 1);
}

LAPIDARY_HD constexpr bool any_active(const WarpAccess& access, int first, int lanes) {
  return (access.active >> first & ~std::uint32_t{0} >> (32 - lanes)) != 0;
}

}  // namespace lapidary::inline LAPIDARY_BUILD::access_detail

namespace lapidary::inline LAPIDARY_BUILD {

/// Global memory: the number of distinct aligned 32-byte sectors that the active lanes touch. Each is moved once.
///
/// Here and below, a misaligned address or a width that no instruction has does not compile in a constant expression
/// and throws InvalidArgument at run time on the host.
LAPIDARY_HD constexpr int sectors(const WarpAccess& access) {
  access_detail::require_legal(access);
  const bool ascending = access_detail::is_full_and_ascending(access);
  return access_detail::for_each_unit(access, ascending, 0, 32, 5, [](std::uint64_t) {});
}

/// Global memory: the number of distinct aligned lines of 128 bytes, which L1 looks up one after the other.
LAPIDARY_HD constexpr int lines(const WarpAccess& access) {
  access_detail::require_legal(access);
  const bool ascending = access_detail::is_full_and_ascending(access);
  return access_detail::for_each_unit(access, ascending, 0, 32, 7, [](std::uint64_t) {});
}

/// The number of distinct bytes that the active lanes touch, each counted once however many lanes share it.
LAPIDARY_HD constexpr int distinct_bytes(const WarpAccess& access) {
  access_detail::require_legal(access);
  const bool ascending = access_detail::is_full_and_ascending(access);
  int bytes_log2 = 0;
  while (1 << bytes_log2 < access.bytes) ++bytes_log2;
  return access.bytes * access_detail::for_each_unit(access, ascending, 0, 32, bytes_log2, [](std::uint64_t) {});
}

/// Shared memory: the number of wavefronts, each of which serves one 32-bit word from each of 32 banks,
/// bank = (byte address / 4) mod 32. Lanes of one group that want the same word share it, so a group takes as many
/// wavefronts as there are distinct words in its worst bank; groups with an active lane are added up.
/// @param store  whether it is a store, of which groups are never served as one
LAPIDARY_HD constexpr int wavefronts(const WarpAccess& access, bool store = false) {
  access_detail::require_legal(access);
  const bool ascending = access_detail::is_full_and_ascending(access);
  const int lanes = access_detail::lanes_per_group(access, store);
  int total = 0;
  for (int first = 0; first < 32; first += lanes) {
    total += access_detail::group_wavefronts(access, ascending, first, lanes);
  }
  return total;
}

/// Shared memory: the wavefronts of the access if it had no bank conflict, one for each group of lanes that has an
/// active one. With a full warp 1 up to 32 bits a lane, 2 for 64 bits, 4 for 128 bits; 1 and 2 for the latter where
/// lanes of a load agree pairwise (see wavefronts()); 0 without active lanes. Never more than wavefronts(); the
/// difference is what profilers call bank conflicts.
LAPIDARY_HD constexpr int minimum_wavefronts(const WarpAccess& access, bool store = false) {
  access_detail::require_legal(access);
  const int lanes = access_detail::lanes_per_group(access, store);
  int total = 0;
  for (int first = 0; first < 32; first += lanes) total += access_detail::any_active(access, first, lanes);
  return total;
}

}  // namespace lapidary::inline LAPIDARY_BUILD
