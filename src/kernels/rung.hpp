#pragma once
#include <cstdint>
#include <string>

#include "core/launch_shape.hpp"
#include "core/problem.hpp"
#include "core/row_col.hpp"
#include "device/prepared.hpp"

namespace lapidary {

struct KSplit;

/// What a rung of the ladder says of itself. The texts are for readers: one sentence each, no trailing period.
struct RungInfo {
  const char* name;
  const char* parent;         ///< the rung it changes; "" for the first one
  const char* idea;           ///< what it is, at most 60 characters
  const char* change;         ///< what differs from the parent
  const char* why;            ///< what that is good for
  const char* counter;        ///< the counter that should move, and how
  const char* cost;           ///< what it costs
  const char* exercise;       ///< one thing to try: a `command` and what to find out by it; whole sentences
  int architecture;           ///< least compute capability, major * 10 + minor
  const char* fallback = "";  ///< the rung that solves what this one's kernels do not take; "" if they take all
};

/// How a kernel's blocks go through the tiles of D, where that is not one block a tile, row by row. Block b of a grid
/// of G blocks, numbered with x moving fastest, computes the tiles at the positions b, b + G, b + 2 G and so on.
struct TileOrder {
  /// The first element of the tile at a position; outside of D: the position has no tile.
  RowCol<std::int64_t> (*at)(std::int64_t position, std::int64_t M, std::int64_t N) = nullptr;
  bool there_and_back = false;  ///< every other tile of a block walks K backwards
  /// How many tiles D is cut into for so many multiprocessors, where they are of several sizes; null: as many as tiles
  /// of the kernel's size cover it.
  std::int64_t (*tiles)(std::int64_t M, std::int64_t N, int multiprocessors) = nullptr;
};

/// What tells a kernel from the others of its rung.
struct KernelTraits {
  TileShape tile;
  GemmKind kind;
  int stages = 1;  ///< tiles of A and B in shared memory at a time
  ClusterShape cluster = {};
  /// Of a warpgroup's results that are staged at a time, and their columns; 0 slices: none are, or with columns those
  /// of each warp's rows.
  int slices = 0, cols = 0;

  constexpr bool operator==(const KernelTraits&) const = default;
};

/// One kernel of a rung in one build of its sources.
struct BuiltKernel {
  KernelTraits traits;
  /// Why it does not take a resolved problem of its kind: the rule, the value and what is legal; empty if it does. Null
  /// if it takes all.
  std::string (*refusal)(const Problem& problem);
  /// How it solves one that it takes and that has results.
  Prepared (*prepare)(const Problem& problem, const Card& card);
  TileOrder order = {};
  /// FP8 is accumulated by tensor cores alone, which keep 13 fraction bits of a sum; cuBLAS has the word.
  bool fast_accumulation = false;
  /// It does what an Epilogue asks for, but for activations that it refuses.
  bool finishes = false;
  bool batches = false;           ///< it does all products of a Batch in one launch
  bool groups = false;            ///< it does Problem::groups, and single products
  const KSplit* split = nullptr;  ///< how its blocks share K (kernels/split.hpp); null if they do not
};

/// A rung in one build of its sources; the first kernel is the default.
struct BuiltRung {
  const RungInfo* info;
  const BuiltKernel* kernels;
  int count;
};

}  // namespace lapidary
