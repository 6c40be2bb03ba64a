#pragma once
#include <string>

#include "layout/access.hpp"
#include "lens/block_accesses.hpp"

namespace lapidary::lens {

/// An access of a warp to global memory. Addresses count from a byte that begins a line of 128 bytes.
struct CoalescingView {
  std::string title;
  WarpAccess access;
};

/// "load of A, 4 bytes a lane, naive.cuh:37, the first of 1,024"
CoalescingView coalescing_view(const GlobalAccess& access);

/// Of the bytes that an access moves, those that its lanes want: 0 to 1; 0 without active lanes.
double coalescing_efficiency(const WarpAccess& access);

/// Whether fewer sectors could hold what the lanes want.
bool is_wasteful(const WarpAccess& access);

/// "32 sectors in 32 lines for 128 bytes, which 4 sectors could hold: 12.5 % of what is moved is wanted", or "4 sectors
/// in 1 line for 128 bytes, the minimum".
std::string coalescing_verdict(const WarpAccess& access);

}  // namespace lapidary::lens
