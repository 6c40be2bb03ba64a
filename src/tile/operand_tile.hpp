#pragma once
#include <cstdint>

#include "core/gemm.hpp"
#include "layout/layout.hpp"
#include "layout/matrix_descriptor.hpp"
#include "tile/global_tile.hpp"

namespace lapidary::inline LAPIDARY_BUILD {

constexpr Major major_of_a(Order order) { return order == Order::row_major ? Major::k : Major::mn; }
constexpr Major major_of_b(Order order) { return order == Order::row_major ? Major::mn : Major::k; }
template <Major major>
constexpr bool along_k = major == Major::k;

/// One thread's part of a BX x BK tile of an operand, where X is M for A and N for B, in accesses of 128 bits.
/// The tile consists of lines as memory has them, along K or along X, and lies in shared memory likewise.
template <class T, Major major, int BX, int BK, int threads>
class OperandTile : public GlobalTile<T, along_k<major> ? BX : BK, along_k<major> ? BK : BX, threads, packed<T>> {
 public:
  static constexpr int lines = along_k<major> ? BX : BK, length = along_k<major> ? BK : BX;
  using Lines = GlobalTile<T, lines, length, threads, packed<T>>;

  /// Where `layout`, one of lines x length, has the element at x + dx and k + dk, where the constant dx or dk that
  /// counts lines is a multiple of 8. What is between these lines is then a constant in every layout that tensor cores'
  /// tiles have, and an address is computed once for all of them.
  template <const Layout& layout>
  LAPIDARY_HD static constexpr int at(int x, int k, int dx = 0, int dk = 0) {
    constexpr int line = offset_in<layout>(8, 0) / 8;
    return along_k<major> ? offset_in<layout>(x, k + dk) + dx * line : offset_in<layout>(k, x + dx) + dk * line;
  }
  /// Where it has the first element of a thread's access v.
  template <const Layout& layout>
  LAPIDARY_HD static constexpr int access(int thread, int v) {
    return offset_in<layout>(Lines::element(thread, v).row, Lines::element(thread, v).col);
  }

  /// Begins at x and k = 0.
  LAPIDARY_DEVICE OperandTile(const T* matrix, std::int64_t ld, std::int64_t x, int thread)
      : Lines(matrix, ld, along_k<major> ? x : 0, along_k<major> ? 0 : x, thread) {}

  /// Moves on by BK along k.
  LAPIDARY_DEVICE void advance(std::int64_t ld) { Lines::advance(along_k<major> ? BK : BK * ld); }

  /// Whether access v begins within the first `x_left` and `k_left` of the tile, which are those in the matrix.
  LAPIDARY_DEVICE bool inside(int v, int x_left, int k_left) const {
    return along_k<major> ? Lines::inside(v, x_left, k_left) : Lines::inside(v, k_left, x_left);
  }

  /// GlobalTile::load_vector
  template <bool vectorized>
  LAPIDARY_DEVICE Vector<T, packed<T>> load_vector(int v, int x_left, int k_left) const {
    return along_k<major> ? Lines::template load_vector<vectorized>(v, x_left, k_left)
                          : Lines::template load_vector<vectorized>(v, k_left, x_left);
  }
};

}  // namespace lapidary::inline LAPIDARY_BUILD
