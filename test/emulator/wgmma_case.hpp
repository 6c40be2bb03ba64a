#pragma once
#include <span>

#include "device/stream.hpp"
#include "emulator/tensor_core.hpp"
#include "layout/matrix_descriptor.hpp"

namespace lapidary::test {

/// D = A * B + D by one warpgroup and K / 32 bytes products in a row; A [m][k], B [n][k] and D [m][n] in device memory.
struct WgmmaCase {
  const char* types;
  emulator::Number a, b, d;
  int N, K;
  Major a_major, b_major;
  TensorSwizzle a_swizzle, b_swizzle;
  bool a_in_registers, negate_a, negate_b;
  void (*launch)(const Stream& stream, const void* a, const void* b, void* d);

  static constexpr int M = 64;
};

}  // namespace lapidary::test
