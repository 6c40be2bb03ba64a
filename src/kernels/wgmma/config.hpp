#pragma once
#include "kernels/rung.hpp"
#include "tile/operand_tile.hpp"
#include "tile/tma_tile.hpp"
#include "tile/wgmma_tile.hpp"

namespace lapidary::inline LAPIDARY_BUILD {

/// What a configuration of wgmma kernels has by its traits alone: types, and what lies in shared memory.
template <KernelTraits t, int warpgroups>
struct WgmmaConfig {
  static constexpr KernelTraits traits = t;
  static constexpr int stages = t.stages;
  using Element = ElementOf<t.kind.type>;
  using Result = ElementOf<t.kind.result>;
  using A = TmaTile<Element, major_of_a(t.kind.a), t.tile.m, t.tile.k, t.cluster.across>;  // (BM, BK)
  using B = TmaTile<Element, major_of_b(t.kind.b), t.tile.n, t.tile.k, t.cluster.down>;    // (BN, BK)
  using Tile = WgmmaTile<A, B, warpgroups>;
};

}  // namespace lapidary::inline LAPIDARY_BUILD
