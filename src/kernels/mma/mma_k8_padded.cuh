#pragma once
#include "kernels/mma/mma_k8_plain.cuh"

namespace lapidary::inline LAPIDARY_BUILD::mma_k8_padded {

constexpr RungInfo info = {
    .name = "mma_k8_padded",
    .parent = "mma_k8_plain",
    .idea = "a second version of many: A's tile alone is padded",
    .change = "8 unused elements follow each row of 32 of A's tile; B's is as it was",
    .why = "Rows of 80 bytes begin on eight different groups of four banks, so the eight rows of a matrix never meet",
    .counter =
        "shared_load: A's ldmatrix take the minimum of 2 wavefronts instead of 8, B's still 8; shared_store: A's take 8 "
        "instead of 4, as eight lanes store two rows of 64 bytes, which lie 80 apart",
    .cost = "A quarter more memory for A's tile; and B's conflicts, as many as A's were, are still there",
    .exercise =
        "`lapidary diff mma_k8_padded mma_padded`: pad B too, and by as many elements a 128 bytes as here a row. What "
        "becomes of the stores?",
    .architecture = 80,
};

/// The padding of each line makes it begin on another group of banks.
struct PaddedLines {
  template <class T>
  static constexpr Layout tile(int lines, int length) {
    return row_major(lines, length).padded(length, packed<T>);
  }
};

using Padded = mma_k8_plain::Config<PaddedLines>;
static_assert(wavefronts(warp_access<bf16, 8>([](int lane) { return Padded::a_read(lane, 0, 0); }, 0xffff)) == 2,
              "the minimum");
static_assert(wavefronts(warp_access<bf16, 8>([](int lane) { return Padded::b_read(lane, 0, 0); }, 0xffff)) == 8,
              "a conflict");
static_assert(wavefronts(warp_access<bf16, 8>([](int lane) { return Padded::a_write(lane, 0); })) == 8,
              "twice as many");

template <class>
constexpr BuiltKernel built_kernels[] = {built<Padded>(mma_tiles::prepare<Padded, info>)};

}  // namespace lapidary::inline LAPIDARY_BUILD::mma_k8_padded
