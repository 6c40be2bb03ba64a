#pragma once
#include <functional>
#include <string>

#include "bench/rates.hpp"
#include "core/problem.hpp"
#include "device/stream.hpp"

namespace lapidary::bench {

/// A GEMM on a GPU that is checked and timed: a kernel of the ladder, or the library that it is compared with.
struct Contestant {
  std::string name;  ///< for messages
  Unit unit;         ///< what it multiplies with, which sets its ceiling
  /// Starts it on a stream of the GPU and returns without waiting.
  using Launch = std::function<void(const Stream&, const Operands&)>;
  /// What launches it on a resolved problem. @throws InvalidArgument if it does not take it
  std::function<Launch(const Problem&)> prepare;
  bool integers = false;           ///< it leaves 32-bit integers in a D of f32
  bool fast_accumulation = false;  ///< see BuiltKernel; it is compared with what is as exact, or more
};

}  // namespace lapidary::bench
