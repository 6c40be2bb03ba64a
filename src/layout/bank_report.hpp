#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "layout/access.hpp"

// Who meets in which bank, for pictures and explanations; kernels assert by access.hpp.

namespace lapidary::inline LAPIDARY_BUILD {

/// A 32-bit word of shared memory that lanes of one group want. It is read once for all of them.
struct BankWord {
  std::uint64_t address;  ///< in bytes, a multiple of 4
  std::uint32_t lanes;    ///< bit n: lane n wants it
  int wavefront;          ///< of its group, from 0: the words before it in its bank, at the width of the access

  int bank() const { return static_cast<int>(address / 4 % 32); }
};

/// Lanes that shared memory serves together.
struct BankGroup {
  int first_lane, lanes, wavefronts;
  std::vector<BankWord> words;  ///< by address
};

/// The groups that have an active lane. `lanes_per_group` is the hardware's own choice for a load or store; 8 for
/// ldmatrix, whose matrices are served one after the other, each by the addresses of eight lanes.
/// @throws InvalidArgument for a misaligned lane
inline std::vector<BankGroup> bank_report(const WarpAccess& access, int lanes_per_group) {
  access_detail::require_legal(access);
  std::vector<BankGroup> groups;
  const std::uint64_t width = static_cast<std::uint64_t>(std::max(access.bytes, 4)), wide_banks = 128 / width;
  for (int first = 0; first < 32; first += lanes_per_group) {
    if (!access_detail::any_active(access, first, lanes_per_group)) continue;
    BankGroup group{first, lanes_per_group, 0, {}};
    for (int lane = first; lane < first + lanes_per_group; ++lane) {
      if ((access.active >> lane & 1) == 0) continue;
      const std::uint64_t unit = access.address[lane] / width * width;
      for (std::uint64_t address = unit; address < unit + width; address += 4) {
        const auto at = std::lower_bound(group.words.begin(), group.words.end(), address,
                                         [](const BankWord& w, std::uint64_t a) { return w.address < a; });
        if (at != group.words.end() && at->address == address) {
          at->lanes |= std::uint32_t{1} << lane;
        } else {
          group.words.insert(at, {address, std::uint32_t{1} << lane, 0});
        }
      }
    }
    int in_bank[32] = {};
    for (BankWord& word : group.words) {
      const bool first_of_unit = word.address % width == 0;
      int& count = in_bank[word.address / width % wide_banks];
      word.wavefront = first_of_unit ? count++ : count - 1;
      group.wavefronts = std::max(group.wavefronts, count);
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

inline std::vector<BankGroup> bank_report(const WarpAccess& access, bool store) {
  access_detail::require_legal(access);
  return bank_report(access, access_detail::lanes_per_group(access, store));
}

}  // namespace lapidary::inline LAPIDARY_BUILD
