#pragma once
#include <type_traits>

#include "ptx/cp_async_bulk.hpp"
#include "ptx/cuda.hpp"

namespace lapidary::inline LAPIDARY_BUILD {

/// Of boxes of D, and of narrower ones for the end of a tile's rows.
struct MapsOfD {
  TensorMap slices, rest;
};

/// Where in D a box is that begins in some row and column.
struct InMatrix {
  LAPIDARY_DEVICE auto operator()(int row, int col) const { return Coordinates{col, row}; }
};

/// Stores boxes of shared memory to a matrix whose lines are rows. For one thread.
template <class Maps, class At = InMatrix>
struct BulkStore {
  const Maps& maps;  ///< TensorMap or MapsOfD, of such boxes
  At at = {};

  template <class R>
  LAPIDARY_DEVICE void operator()(int row, int col, const R* from) const {
    if constexpr (std::is_same_v<Maps, MapsOfD>)
      cp_async_bulk_tensor_store(maps.slices, at(row, col), from);
    else
      cp_async_bulk_tensor_store(maps, at(row, col), from);
  }
  template <class R>
  LAPIDARY_DEVICE void rest(int row, int col, const R* from) const {
    cp_async_bulk_tensor_store(maps.rest, at(row, col), from);
  }
};
template <class Maps>
BulkStore(const Maps&) -> BulkStore<Maps>;
template <class Maps, class At>
BulkStore(const Maps&, At) -> BulkStore<Maps, At>;

}  // namespace lapidary::inline LAPIDARY_BUILD
