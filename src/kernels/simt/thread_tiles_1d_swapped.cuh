#pragma once
#include "kernels/simt/thread_tiles_1d.cuh"

namespace lapidary::inline LAPIDARY_BUILD::thread_tiles_1d_swapped {

constexpr RungInfo info = {
    .name = "thread_tiles_1d_swapped",
    .parent = "thread_tiles_1d",
    .idea = "the same with its two inner loops exchanged",
    .change = "The loop over a thread's results is the outer one, so that the element of B is read inside of both",
    .why = "It asks whether the order in which a source is written matters to a compiler that unrolls both loops",
    .counter =
        "shared_load, as written: 2 instructions for each multiply-add again. As compiled by nvcc it is the "
        "same kernel as its twin, since all loads of one k are known to be equal",
    .cost = "Nothing on a GPU; for the reader it hides the reuse that the kernel lives from",
    .architecture = 80,
};

template <int BM, int BN, int BK, int TM>
using Config = thread_tiles_1d::Config<BM, BN, BK, TM, thread_tiles_1d::Outer::results>;

template <class>
constexpr Variant variants[] = {variant<Config<64, 64, 8, 8>>(thread_tiles_1d::launch<Config<64, 64, 8, 8>, info>),
                                variant<Config<64, 64, 16, 8>>(thread_tiles_1d::launch<Config<64, 64, 16, 8>, info>)};

}  // namespace lapidary::inline LAPIDARY_BUILD::thread_tiles_1d_swapped
