#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "layout/access.hpp"

// Who touches which sector, for pictures and explanations; kernels assert by access.hpp.

namespace lapidary::inline LAPIDARY_BUILD {

/// An aligned block of 32 bytes of global memory that an access touches. It is moved once for all of its lanes.
struct Sector {
  std::uint64_t address;  ///< in bytes, a multiple of 32
  std::uint32_t lanes;    ///< bit n: lane n touches it
};

/// By address.
/// @throws InvalidArgument for a misaligned lane
inline std::vector<Sector> sector_report(const WarpAccess& access) {
  access_detail::require_legal(access);
  std::vector<Sector> sectors;
  for (int lane = 0; lane < 32; ++lane) {
    if ((access.active >> lane & 1) == 0) continue;
    const std::uint64_t address = access.address[lane] / 32 * 32;
    const auto at = std::lower_bound(sectors.begin(), sectors.end(), address,
                                     [](const Sector& s, std::uint64_t a) { return s.address < a; });
    if (at != sectors.end() && at->address == address) {
      at->lanes |= std::uint32_t{1} << lane;
    } else {
      sectors.insert(at, {address, std::uint32_t{1} << lane});
    }
  }
  return sectors;
}

}  // namespace lapidary::inline LAPIDARY_BUILD
