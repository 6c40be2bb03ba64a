#pragma once
#include <type_traits>

#include "ptx/cp_async_bulk.hpp"
#include "ptx/cuda.hpp"

namespace lapidary::inline LAPIDARY_BUILD {

/// Of boxes of D, and of narrower ones for the end of a tile's rows.
struct MapsOfD {
  TensorMap slices, rest;
};

/// Stores boxes of shared memory to a matrix whose lines are rows. For one thread.
template <class Maps>
struct BulkStore {
  const Maps& maps;  ///< TensorMap or MapsOfD, of such boxes

  template <class R>
  LAPIDARY_DEVICE void operator()(int row, int col, const R* from) const {
    if constexpr (std::is_same_v<Maps, MapsOfD>)
      cp_async_bulk_tensor_store(maps.slices, Coordinates{col, row}, from);
    else
      cp_async_bulk_tensor_store(maps, Coordinates{col, row}, from);
  }
  template <class R>
  LAPIDARY_DEVICE void rest(int row, int col, const R* from) const {
    cp_async_bulk_tensor_store(maps.rest, Coordinates{col, row}, from);
  }
};
template <class Maps>
BulkStore(const Maps&) -> BulkStore<Maps>;

}  // namespace lapidary::inline LAPIDARY_BUILD
