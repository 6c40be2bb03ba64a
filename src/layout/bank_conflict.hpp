#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "core/build.hpp"
#include "layout/access.hpp"

namespace lapidary::inline LAPIDARY_BUILD {

/// Why an access to shared memory takes more wavefronts than it must: the bank that is asked for the most words by
/// lanes that are served together, and two of those lanes.
struct BankConflict {
  int bank, ways;  ///< words asked of the bank: the wavefronts that the group of lanes takes
  int first_lane, second_lane;
  std::uint64_t first_word, second_word;  ///< byte addresses of the 32-bit words that they want from it
};

/// None if the access has no conflict.
inline std::optional<BankConflict> find_bank_conflict(const WarpAccess& access, bool store = false) {
  if (wavefronts(access, store) == minimum_wavefronts(access, store)) return std::nullopt;
  const int lanes = access_detail::lanes_per_group(access, store), words = access.bytes < 4 ? 1 : access.bytes / 4;
  BankConflict worst{-1, 1, 0, 0, 0, 0};
  for (int group = 0; group < 32; group += lanes) {
    for (int bank = 0; bank < 32; ++bank) {
      BankConflict found{bank, 0, 0, 0, 0, 0};
      std::uint64_t seen[32 * 4];
      for (int lane = group; lane < group + lanes; ++lane) {
        if ((access.active >> lane & 1) == 0) continue;
        for (int word = 0; word < words; ++word) {
          const std::uint64_t address = access.address[lane] / 4 * 4 + 4 * static_cast<std::uint64_t>(word);
          if (static_cast<int>(address / 4 % 32) != bank) continue;
          bool known = false;
          for (int i = 0; i < found.ways; ++i) known |= seen[i] == address;
          if (known) continue;
          if (found.ways == 0) found.first_lane = lane, found.first_word = address;
          if (found.ways == 1) found.second_lane = lane, found.second_word = address;
          seen[found.ways++] = address;
        }
      }
      if (found.ways > worst.ways) worst = found;
    }
  }
  return worst.bank < 0 ? std::nullopt : std::optional(worst);
}

/// "lanes 0 and 4 read different words of bank 0 (4 ways)"; empty if the access has no conflict.
inline std::string conflict_cause(const WarpAccess& access, bool store = false) {
  const auto conflict = find_bank_conflict(access, store);
  if (!conflict) return "";
  return "lanes " + std::to_string(conflict->first_lane) + " and " + std::to_string(conflict->second_lane) +
         (store ? " write" : " read") + " different words of bank " + std::to_string(conflict->bank) + ", " +
         std::to_string(conflict->ways) + " in all";
}

}  // namespace lapidary::inline LAPIDARY_BUILD
