#pragma once
#include <algorithm>

#include "core/error.hpp"
#include "core/math.hpp"
#include "device/launch.hpp"
#include "device/shared.hpp"
#include "kernels/packing.hpp"
#include "kernels/words.cuh"
#include "layout/access.hpp"
#include "layout/layout.hpp"
#include "tile/global_tile.hpp"
#include "tile/grid.hpp"

// Copies of matrices that kernels cannot read as they are, stored by 128 bits: by elements of 16 bits a copy takes
// twice as long. Lines of the copy that are lines of the original too are read by words, shifted together where they
// are not aligned as the copy's are. Others go by way of shared memory, a square of 64 x 64 elements a block, so that
// the lanes of a warp have neighbours both of what is read and of what is written.

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

/// Lines that stay lines: 16 of 256 bytes a block, 128 bits a thread.
template <class T>
struct Lines {
  static constexpr int threads = 256, vectors = 16, lines = threads / vectors, length = vectors * packed<T>;
};

/// @param stride  how many lines further down a block's next ones are, where a grid cannot have a block for all
template <class T>
__global__ void __launch_bounds__(Lines<T>::threads) copy_lines(const Copy<T> copy, const std::int64_t stride) {
  using C = Lines<T>;
  const RowCol<std::int64_t> block = block_tile<C::lines, C::length>(copy.length);  // line, element
  const int thread = threadIdx.x;
  const std::int64_t place = block.col + thread % C::vectors * packed<T>, left = copy.length - place;
  if (left <= 0) return;
  // Where nothing is between lines, words may be of two.
  const bool dense = copy.from_ld == copy.length;
  for (std::int64_t line = block.row + thread / C::vectors; line < copy.lines; line += stride) {
    const std::int64_t at = line * copy.from_ld + place;
    const Words words = load_words(copy.from + at, dense ? at : place, dense ? copy.lines * copy.length - at : left);
    store_words(words, copy.to + line * copy.to_ld + place, copy.aligned, left);
  }
}

template <class T>
__global__ void __launch_bounds__(Config<T>::threads) turn(const Copy<T> copy) {
  using C = Config<T>;
  auto& square = shared_storage<Storage<T>>().square;
  const RowCol<std::int64_t> block = block_tile<C::side, C::side>(copy.length);  // line, element of the copy
  const int thread = threadIdx.x, along = C::along(thread);
  const int lines_left = left_in_tile(copy.lines, block.row, C::side);
  const int length_left = left_in_tile(copy.length, block.col, C::side);
  const T* const from = copy.from + block.col * copy.from_ld + block.row;
#pragma unroll
  for (int pass = 0; pass < C::passes; ++pass)
    if (const int across = C::across(thread, pass); across < length_left && along < lines_left)
      square[C::write(thread, pass)] = from[across * copy.from_ld + along];
  __syncthreads();
#pragma unroll
  for (int v = 0; v < C::vectors; ++v) {
    const int line = C::line(thread, v), place = C::place(thread, v), left = length_left - place;
    if (line >= lines_left) continue;
    const Words words = gather_words<T>(left, [&](int e) { return square[C::read(thread, v, e)]; });
    store_words(words, copy.to + (block.row + line) * copy.to_ld + block.col + place, copy.aligned, left);
  }
}

template <class T>
void pack_elements(const Stream& stream, const Packing& p, const void* from, void* to) {
  using C = Config<T>;
  const bool by_rows = p.to == Order::row_major;
  const Copy<T> copy = {.lines = by_rows ? p.rows : p.cols,
                        .length = by_rows ? p.cols : p.rows,
                        .from = static_cast<const T*>(from),
                        .from_ld = p.from_ld,
                        .to = static_cast<T*>(to),
                        .to_ld = p.to_ld,
                        .aligned = reinterpret_cast<std::uintptr_t>(to) % 16 == 0 &&
                                   p.to_ld * static_cast<std::int64_t>(sizeof(T)) % 16 == 0};
  if (p.from != p.to) {
    const std::int64_t blocks = ceil_div<std::int64_t>(copy.lines, C::side) *
                                ceil_div<std::int64_t>(copy.length, C::side);
    const LaunchShape shape = {
        .kernel = "pack_turned", .grid = blocks, .block = C::threads, .shared_bytes = sizeof(Storage<T>)};
    return launch(stream, shape, turn<T>, copy);
  }
  using L = Lines<T>;
  const std::int64_t across = ceil_div<std::int64_t>(copy.length, L::length);
  const std::int64_t down = std::min(ceil_div<std::int64_t>(copy.lines, L::lines), LaunchLimits::grid_x / across);
  launch(stream, {.kernel = "pack", .grid = down * across, .block = L::threads}, copy_lines<T>, copy, down * L::lines);
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
