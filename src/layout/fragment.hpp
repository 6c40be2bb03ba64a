#pragma once
#include "core/build.hpp"
#include "core/row_col.hpp"

// Which elements of a matrix the registers of a warp hold when tensor cores multiply it, or ldmatrix moves it (PTX ISA,
// "Matrix Fragments for mma.m16n8k16" and its neighbours, "ldmatrix", "Register Fragments" of wgmma). Lane l is in
// group g = l / 4 and is t = l % 4 in it.

namespace lapidary::inline LAPIDARY_BUILD {

/// Element number `element` (low bits first) of register `index` of A, M x K. A register holds `packed` elements: as
/// many as 32 bits have, one of f64. Holds for every shape m16n8 and, with one register, for m8n8.
LAPIDARY_HD constexpr RowCol<int> mma_a(int packed, int lane, int index, int element) {
  return {lane / 4 + index % 2 * 8, index / 2 * 4 * packed + lane % 4 * packed + element};
}

/// The same of B, K x N.
LAPIDARY_HD constexpr RowCol<int> mma_b(int packed, int lane, int index, int element) {
  return {index * 4 * packed + lane % 4 * packed + element, lane / 4};
}

/// Element number `index` of a lane's part of C or D, M x N; those of f16 are two to a register.
LAPIDARY_HD constexpr RowCol<int> mma_d(int lane, int index) {
  return {lane / 4 + index / 2 * 8, lane % 4 * 2 + index % 2};
}

/// Element number `element`, 0 or 1, of what a lane gets of an 8 x 8 matrix of 16-bit elements by ldmatrix, or gives by
/// stmatrix.
LAPIDARY_HD constexpr RowCol<int> ldmatrix_element(bool transposed, int lane, int element) {
  const int g = lane / 4, pair = lane % 4 * 2 + element;
  return transposed ? RowCol<int>{pair, g} : RowCol<int>{g, pair};
}

// A warpgroup is 4 warps, the first of which is a multiple of 4 in its block; each has 16 of the 64 rows. `thread` is
// the thread's place among the 128.

/// Element number `index` of a thread's part of D, 64 x N, of wgmma; those of f16 are two to a register.
LAPIDARY_HD constexpr RowCol<int> wgmma_d(int thread, int index) {
  const RowCol<int> in_warp = mma_d(thread % 32, index % 4);
  return {thread / 32 * 16 + in_warp.row, index / 4 * 8 + in_warp.col};
}

/// Element number `element` of register `index`, 0 to 3, of A, 64 x K, that wgmma takes from registers: as mma.sync
/// does for each warp's rows.
LAPIDARY_HD constexpr RowCol<int> wgmma_a(int packed, int thread, int index, int element) {
  const RowCol<int> in_warp = mma_a(packed, thread % 32, index, element);
  return {thread / 32 * 16 + in_warp.row, in_warp.col};
}

/// An operand of the WMMA API (CUDA C++ Programming Guide, "Warp Matrix Functions"), D = A * B + C; C is as D.
enum class WmmaOperand { a, b, d };

/// Element number `index` of a lane's part of an operand of 16-bit elements, of shape 16 x 16 x 16, 32 x 8 x 16 or
/// 8 x 32 x 16 (M x N x K). CUDA does not say where they are; ptxas makes m16n8k16 of all shapes, of 8 x 32 as of its
/// transpose, and this is the order of those.
LAPIDARY_HD constexpr RowCol<int> wmma_element(WmmaOperand operand, int M, int N, int lane, int index) {
  if (M == 8) {
    const WmmaOperand other = operand == WmmaOperand::a   ? WmmaOperand::b
                              : operand == WmmaOperand::b ? WmmaOperand::a
                                                          : WmmaOperand::d;
    const RowCol<int> mirrored = wmma_element(other, N, M, lane, index);
    return {mirrored.col, mirrored.row};
  }
  const int per_product = operand == WmmaOperand::a ? 8 : 4, product = index / per_product, i = index % per_product;
  RowCol<int> at = operand == WmmaOperand::a   ? mma_a(2, lane, i / 2, i % 2)
                   : operand == WmmaOperand::b ? mma_b(2, lane, i / 2, i % 2)
                                               : mma_d(lane, i);
  if (M == 32 && operand != WmmaOperand::b) at.row += product * 16;
  if (M == 16 && operand != WmmaOperand::a) at.col += product * 8;
  return at;
}

}  // namespace lapidary::inline LAPIDARY_BUILD
