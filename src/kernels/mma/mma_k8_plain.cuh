#pragma once
#include "kernels/mma/mma_tiles.cuh"

namespace lapidary::inline LAPIDARY_BUILD::mma_k8_plain {

constexpr RungInfo info = {
    .name = "mma_k8_plain",
    .parent = "mma_tiles",
    .idea = "a first version of many: products of 16 x 8 x 8",
    .change = "mma.sync takes 8 of k at a time and not 16, on the same tiles without padding; B is column-major",
    .why =
        "The form of the first tensor cores with bf16 is where many begin. With B column-major, as models keep their "
        "weights, neighbours along k lie side by side in both operands, and ldmatrix need not transpose",
    .counter =
        "shared_load: as many wavefronts as mma_tiles has for that order, 4 times the minimum, by twice the "
        "instructions",
    .cost = "Twice the HMMA, and lines of 64 bytes, of which every second one begins on the same bank",
    .exercise =
        "`lapidary run mma_k8_plain --type 'bf16 RC' --count` and the same of mma_tiles: which counters are twice as "
        "high, and which are not?",
    .architecture = 80,
};

template <class ArrangementA>
using Config = mma_tiles::Config<128, 128, 32, 64, 32, bf16, bf16, ArrangementA, Order::row_major, Order::column_major,
                                 8, wmma::Plain>;
using Plain = Config<wmma::Plain>;
static_assert(Plain::Form::a_registers == 2 && Plain::Form::b_registers == 1, "half of those for k16");
static_assert(wavefronts(warp_access<bf16, 8>([](int lane) { return Plain::a_read(lane, 0, 0); }, 0xffff)) == 8,
              "a conflict: 4 times the minimum of half a warp, whose addresses count");
static_assert(wavefronts(warp_access<bf16, 8>([](int lane) { return Plain::b_read(lane, 0, 0); }, 0xffff)) == 8,
              "a conflict");

template <class>
constexpr BuiltKernel built_kernels[] = {built<Plain>(mma_tiles::prepare<Plain, info>)};

}  // namespace lapidary::inline LAPIDARY_BUILD::mma_k8_plain
