#pragma once
#include "kernels/mma/mma_tiles.cuh"

namespace lapidary::inline LAPIDARY_BUILD::mma_k8 {

constexpr RungInfo info = {
    .name = "mma_k8",
    .parent = "mma_tiles",
    .idea = "a lesson: products of 16 x 8 x 8, and twice as many",
    .change = "mma.sync takes 8 of k at a time and not 16: half of A's and B's registers",
    .why =
        "It is the form of older ladders, from when tensor cores had no other. A product then occupies them for half as "
        "long, but its results are read and written as often",
    .counter =
        "shared_load: twice the instructions, as ldmatrix brings two matrices for A and two for B where it could bring "
        "four; the bytes and the wavefronts stay the same",
    .cost =
        "Twice the HMMA. On Hopper neither form fills the tensor cores, and what is issued, fetched from registers and "
        "written back for each result doubles",
    .exercise =
        "`lapidary asm mma_k8`: count HMMA.1688 and LDSM, and the same for mma_tiles. Which of the two doubled for "
        "nothing but the form?",
    .architecture = 80,
};

using Default = mma_tiles::Config<128, 128, 32, 64, 32, bf16, bf16, wmma::Plain, Order::row_major, Order::row_major, 8>;
static_assert(Default::Form::a_registers == 2 && Default::Form::b_registers == 1, "half of those for k16");
static_assert(wavefronts(warp_access<bf16, 8>([](int lane) { return Default::a_read(lane, 0, 0); }, 0xffff)) == 8,
              "the conflict of its parent, of half as many rows");

template <class>
constexpr Variant variants[] = {variant<Default>(mma_tiles::launch<Default, info>)};

}  // namespace lapidary::inline LAPIDARY_BUILD::mma_k8
