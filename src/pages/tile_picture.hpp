#pragma once
#include <string>

#include "lens/block_accesses.hpp"
#include "report/svg.hpp"

namespace lapidary::pages {

/// The tile of D that a block computes with the tiles of A and B that it takes, one thread and its warp marked in all
/// three; beside it the warp's share alone, with the lanes that have its results.
/// @throws InvalidArgument naming the threads there are
report::Svg tile_picture(const std::string& title, const lens::TileOwners& owners, int thread);

}  // namespace lapidary::pages
