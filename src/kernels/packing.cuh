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
#include "tile/vector.hpp"

// Copies of matrices that kernels cannot read as they are. A block copies a square of 64 x 64 elements, a thread 16 of
// them, and stores them by 128 bits: by elements of 16 bits a copy takes twice as long. Lines of the copy are read
// where they are lines of the original too, and otherwise by way of shared memory, so that the lanes of a warp have
// neighbours both of what is read and of what is written.

namespace lapidary::inline LAPIDARY_BUILD::packing {

/// A matrix with lines of `length` elements, as the copy has them.
template <class T>
struct Copy {
  std::int64_t lines, length;
  const T* from;
  std::int64_t from_ld;
  T* to;
  std::int64_t to_ld;
  bool aligned;  ///< all lines of the copy are, to 16 bytes
};

template <class T>
struct Config {
  static constexpr int side = 64, threads = 256, passes = side * side / threads, lines_a_pass = threads / side;
  // Lines of the original. Each begins one bank further on than the one before, however many elements a bank has.
  static constexpr Layout square = row_major(side, side).padded(side, 4 / static_cast<int>(sizeof(T)));

  // Of the copy: `vectors` of a thread, `width` elements each.
  static constexpr int width = packed<T>, vectors = passes / width, vectors_a_line = side / width;

  LAPIDARY_HD static constexpr int along(int thread) { return thread % side; }
  LAPIDARY_HD static constexpr int across(int thread, int pass) { return thread / side + pass * lines_a_pass; }
  LAPIDARY_HD static constexpr int line(int thread, int vector) { return (thread + vector * threads) / vectors_a_line; }
  LAPIDARY_HD static constexpr int place(int thread, int vector) {
    return (thread + vector * threads) % vectors_a_line * width;
  }
  /// A pass is over elements of lines of the original; what is read is an element of a vector of the copy.
  LAPIDARY_HD static constexpr int write(int thread, int pass) {
    return offset_in<square>(across(thread, pass), along(thread));
  }
  LAPIDARY_HD static constexpr int read(int thread, int vector, int element) {
    return offset_in<square>(place(thread, vector) + element, line(thread, vector));
  }
  static_assert(wavefronts(warp_access<T>([](int lane) { return write(lane, 0); })) == 1, "neighbours");
  static_assert(wavefronts(warp_access<T>([](int lane) { return read(lane, 0, 0); })) == 2, "two lanes a bank");
};

template <class T>
struct Storage {
  SharedArray<T, Config<T>::square.cosize()> square;
};

template <class T, bool turned>
__global__ void __launch_bounds__(Config<T>::threads) kernel(const Copy<T> copy) {
  using C = Config<T>;
  const RowCol<std::int64_t> block = block_tile<C::side, C::side>(copy.length);  // line, element of the copy
  const int thread = threadIdx.x;
  const int lines_left = left_in_tile(copy.lines, block.row, C::side);
  const int length_left = left_in_tile(copy.length, block.col, C::side);
  T values[C::vectors][C::width];
  const auto for_each_element = [&](auto&& move) {
#pragma unroll
    for (int v = 0; v < C::vectors; ++v)
#pragma unroll
      for (int e = 0; e < C::width; ++e)
        if (const int line = C::line(thread, v), place = C::place(thread, v) + e;
            line < lines_left && place < length_left)
          move(values[v][e], v, e);
  };
  if constexpr (turned) {
    auto& square = shared_storage<Storage<T>>().square;
    const T* const from = copy.from + block.col * copy.from_ld + block.row;
    const int along = C::along(thread);
#pragma unroll
    for (int pass = 0; pass < C::passes; ++pass)
      if (const int across = C::across(thread, pass); across < length_left && along < lines_left)
        square[C::write(thread, pass)] = from[across * copy.from_ld + along];
    __syncthreads();
    for_each_element([&](T& value, int v, int e) { value = square[C::read(thread, v, e)]; });
  } else {
    const T* const from = copy.from + block.row * copy.from_ld + block.col;
    for_each_element(
        [&](T& value, int v, int e) { value = from[C::line(thread, v) * copy.from_ld + C::place(thread, v) + e]; });
  }
  T* const to = copy.to + block.row * copy.to_ld + block.col;
  const auto place_of = [&](int v, int e) -> T& {
    return to[C::line(thread, v) * copy.to_ld + C::place(thread, v) + e];
  };
#pragma unroll
  for (int v = 0; v < C::vectors; ++v) {
    if (copy.aligned && C::line(thread, v) < lines_left && C::place(thread, v) + C::width <= length_left) {
      store_vector<C::width>(place_of(v, 0), values[v]);
    } else {
#pragma unroll
      for (int e = 0; e < C::width; ++e)
        if (C::line(thread, v) < lines_left && C::place(thread, v) + e < length_left) place_of(v, e) = values[v][e];
    }
  }
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
                        .to_ld = p.to_ld,
                        .aligned = reinterpret_cast<std::uintptr_t>(to) % 16 == 0 &&
                                   p.to_ld * static_cast<std::int64_t>(sizeof(T)) % 16 == 0};
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
