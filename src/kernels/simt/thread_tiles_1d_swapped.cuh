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
        "shared_load, as written: 2 instructions for each multiply-add again. nvcc reads B once a k all the same: 24 "
        "loads for 64 multiply-adds, fewer than its twin, which is short of registers and reads some of A again",
    .cost = "Nothing on a GPU; for the reader it hides the reuse that the kernel lives from",
    .exercise =
        "`lapidary explain thread_tiles_1d_swapped --as-compiled`, and that of thread_tiles_1d: where are the loads of B "
        "that the source has more of?",
    .architecture = 80,
};

template <int BM, int BN, int BK, int TM>
using Config = thread_tiles_1d::Config<BM, BN, BK, TM, thread_tiles_1d::Outer::results>;

template <class>
constexpr BuiltKernel built_kernels[] = {
    built<Config<64, 64, 8, 8>>(thread_tiles_1d::prepare<Config<64, 64, 8, 8>, info>),
    built<Config<64, 64, 16, 8>>(thread_tiles_1d::prepare<Config<64, 64, 16, 8>, info>)};

}  // namespace lapidary::inline LAPIDARY_BUILD::thread_tiles_1d_swapped
