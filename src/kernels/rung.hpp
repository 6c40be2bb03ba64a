#pragma once
#include <cstdint>

#include "core/gemm.hpp"
#include "core/launch_shape.hpp"
#include "device/stream.hpp"

namespace lapidary {

/// What a rung of the ladder says of itself. The texts are for readers: one sentence each, no trailing period.
struct RungInfo {
  const char* name;
  const char* parent;    ///< the rung it changes; "" for the first one
  const char* idea;      ///< what it is, at most 60 characters
  const char* change;    ///< what differs from the parent
  const char* why;       ///< what that is good for
  const char* counter;   ///< the counter that should move, and how
  const char* cost;      ///< what it costs
  const char* exercise;  ///< one thing to try: a `command` and what to find out by it; whole sentences
  int architecture;      ///< least compute capability, major * 10 + minor
};

/// How a kernel's blocks go through the tiles of D, where that is not one block a tile, row by row. Block b of a grid
/// of G blocks, numbered with x moving fastest, computes the tiles at the positions b, b + G, b + 2 G and so on.
struct TileOrder {
  struct Corner {
    std::int64_t row, col;  ///< the tile's first element in D; outside of D: the position has no tile
  };
  Corner (*at)(std::int64_t position, std::int64_t M, std::int64_t N) = nullptr;
  bool there_and_back = false;  ///< every other tile of a block walks K backwards
};

/// One instantiation of a rung's kernel. `launch` may be called with any legal problem with M, N > 0.
struct Variant {
  TileShape tile;
  GemmKind kind;
  void (*launch)(const Stream& stream, const GemmProblem& problem);
  TileOrder order = {};
  bool cuts = false;  ///< of its sums no more than the 13 fraction bits are kept that tensor cores have for FP8
};

/// A rung as one build of the kernels registers it; the first variant is the default.
struct RungVariants {
  const RungInfo* info;
  const Variant* variants;
  int count;
};

}  // namespace lapidary
