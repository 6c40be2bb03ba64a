#pragma once
#include <lapidary/machine.hpp>

/// to[i] = factor * from[i] for i < n; both in device memory.
struct Scale {
  int n;
  float factor;
  const float* from;
  float* to;
};

namespace plain {
void scale(const lapidary::Stream& stream, const Scale& arguments);
}
namespace instrumented {
void scale(const lapidary::Stream& stream, const Scale& arguments);
}
