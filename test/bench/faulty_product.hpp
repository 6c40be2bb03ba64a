#pragma once

namespace lapidary::test {

/// What a product of faulty_product.cuh lacks, or does wrong.
enum class Wrong {
  nothing,
  barrier,
  wait,
  bounds,
  alignment,
  unwritten,
  divergence,
  deadlock,
  sum,
  short_offsets,
  in_some_orders,
};

}  // namespace lapidary::test
