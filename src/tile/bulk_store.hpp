#pragma once
#include "ptx/cp_async_bulk.hpp"
#include "ptx/cuda.hpp"

namespace lapidary::inline LAPIDARY_BUILD {

/// Stores boxes of shared memory to a matrix whose lines are rows. For one thread.
struct BulkStore {
  const TensorMap& map;  ///< of such boxes

  template <class R>
  LAPIDARY_DEVICE void operator()(int row, int col, const R* from) const {
    cp_async_bulk_tensor_store(map, Coordinates{col, row}, from);
  }
};

}  // namespace lapidary::inline LAPIDARY_BUILD
