#pragma once
#include "core/error.hpp"
#include "core/math.hpp"
#include "device/launch.hpp"
#include "device/shared.hpp"
#include "kernels/packing.hpp"
#include "layout/access.hpp"
#include "layout/layout.hpp"
#include "tile/global_tile.hpp"
#include "tile/grid.hpp"

// Copies of matrices that kernels cannot read as they are. A block copies a square of 64 x 64 elements. Lines of the
// copy are read where they are lines of the original too, and otherwise by way of shared memory, so that the lanes of a
// warp have neighbours both of what is read and of what is written.

namespace lapidary::inline LAPIDARY_BUILD::packing {

/// A matrix with lines of `length` elements, as the copy has them.
template <class T>
struct Copy {
  std::int64_t lines, length;
  const T* from;
  std::int64_t from_ld;
  T* to;
  std::int64_t to_ld;
};

template <class T>
struct Config {
  static constexpr int side = 64, threads = 256, passes = side * side / threads, lines_a_pass = threads / side;
  // Lines of the original. Each begins one bank further on than the one before, however many elements a bank has.
  static constexpr Layout square = row_major(side, side).padded(side, 4 / static_cast<int>(sizeof(T)));

  LAPIDARY_HD static constexpr int along(int thread) { return thread % side; }
  LAPIDARY_HD static constexpr int across(int thread, int pass) { return thread / side + pass * lines_a_pass; }
  /// A pass is over elements of lines of the original where it reads, and of lines of the copy where it writes.
  LAPIDARY_HD static constexpr int write(int thread, int pass) {
    return offset_in<square>(across(thread, pass), along(thread));
  }
  LAPIDARY_HD static constexpr int read(int thread, int pass) {
    return offset_in<square>(along(thread), across(thread, pass));
  }
  static_assert(wavefronts(warp_access<T>([](int lane) { return write(lane, 0); })) == 1, "neighbours");
  static_assert(wavefronts(warp_access<T>([](int lane) { return read(lane, 0); })) == 1, "a bank each");
};

template <class T>
struct Storage {
  SharedArray<T, Config<T>::square.cosize()> square;
};

template <class T, bool turned>
__global__ void __launch_bounds__(Config<T>::threads) kernel(const Copy<T> copy) {
  using C = Config<T>;
  const RowCol<std::int64_t> block = block_tile<C::side, C::side>(copy.length);  // line, element of the copy
  const int thread = threadIdx.x, along = C::along(thread);
  const int lines_left = left_in_tile(copy.lines, block.row, C::side);
  const int length_left = left_in_tile(copy.length, block.col, C::side);
  // All loads are on their way before the first store, which might be to where the next load is from.
  T values[C::passes];
  const T* const from = turned ? copy.from + block.col * copy.from_ld + block.row
                               : copy.from + block.row * copy.from_ld + block.col;
  const int from_lines = turned ? length_left : lines_left, from_length = turned ? lines_left : length_left;
#pragma unroll
  for (int pass = 0; pass < C::passes; ++pass)
    if (const int across = C::across(thread, pass); across < from_lines && along < from_length)
      values[pass] = from[across * copy.from_ld + along];
  if constexpr (turned) {
    auto& square = shared_storage<Storage<T>>().square;
#pragma unroll
    for (int pass = 0; pass < C::passes; ++pass)
      if (C::across(thread, pass) < from_lines && along < from_length) square[C::write(thread, pass)] = values[pass];
    __syncthreads();
#pragma unroll
    for (int pass = 0; pass < C::passes; ++pass)
      if (C::across(thread, pass) < lines_left && along < length_left) values[pass] = square[C::read(thread, pass)];
  }
  T* const to = copy.to + block.row * copy.to_ld + block.col;
#pragma unroll
  for (int pass = 0; pass < C::passes; ++pass)
    if (const int across = C::across(thread, pass); across < lines_left && along < length_left)
      to[across * copy.to_ld + along] = values[pass];
}

template <class T>
void pack_elements(const Stream& stream, const Packing& p, const void* from, void* to) {
  using C = Config<T>;
  const bool by_rows = p.to == Order::row_major, turned = p.from != p.to;
  const Copy<T> copy = {.lines = by_rows ? p.rows : p.cols,
                        .length = by_rows ? p.cols : p.rows,
                        .from = static_cast<const T*>(from),
                        .from_ld = p.from_ld,
                        .to = static_cast<T*>(to),
                        .to_ld = p.to_ld};
  const std::int64_t blocks = ceil_div<std::int64_t>(copy.lines, C::side) *
                              ceil_div<std::int64_t>(copy.length, C::side);
  LaunchShape shape = {.kernel = turned ? "pack_turned" : "pack", .grid = blocks, .block = C::threads};
  if (turned) shape.shared_bytes = sizeof(Storage<T>);
  launch(stream, shape, turned ? kernel<T, true> : kernel<T, false>, copy);
}

}  // namespace lapidary::inline LAPIDARY_BUILD::packing

namespace lapidary::inline LAPIDARY_BUILD {

/// Of a matrix that has elements; pack() of kernels/packing.hpp in one build.
void pack_built(const Stream& stream, const Packing& packing, const void* from, void* to) {
  switch (size_of(packing.type)) {
    case 1: return packing::pack_elements<std::uint8_t>(stream, packing, from, to);
    case 2: return packing::pack_elements<std::uint16_t>(stream, packing, from, to);
    default: return packing::pack_elements<std::uint32_t>(stream, packing, from, to);
  }
}

}  // namespace lapidary::inline LAPIDARY_BUILD
