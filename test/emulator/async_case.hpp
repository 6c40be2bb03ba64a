#pragma once
#include <array>

#include "layout/tensor_map.hpp"

namespace lapidary::test {

/// What gaps between a box's rows hold.
constexpr unsigned char box_gap = 0x77;

/// A box of a tensor that a kernel copies to or from a buffer that holds what shared memory holds.
struct BoxCase {
  TensorBox tensor;
  std::array<int, TensorBox::max_rank> coordinates;
  bool add = false;
};

}  // namespace lapidary::test
