#pragma once
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

/// One instantiation of a rung's kernel. `launch` may be called with any legal problem with M, N > 0.
struct Variant {
  TileShape tile;
  GemmKind kind;
  void (*launch)(const Stream& stream, const GemmProblem& problem);
};

/// A rung as one build of the kernels registers it; the first variant is the default.
struct RungVariants {
  const RungInfo* info;
  const Variant* variants;
  int count;
};

}  // namespace lapidary
