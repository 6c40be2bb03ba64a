#pragma once
#include "kernels/wgmma/wgmma_energy.cuh"

namespace lapidary::inline LAPIDARY_BUILD::wgmma_promoted {

constexpr RungInfo info = {
    .name = "wgmma_promoted",
    .parent = "wgmma_energy",
    .idea = "FP8, added up in f32 outside of the tensor cores",
    .change =
        "Tensor cores add up 128 products, those of a stage, in registers of their own; the sums of all stages are added "
        "up by CUDA cores",
    .why =
        "Of a sum of FP8 products Hopper's tensor cores keep 13 fraction bits, not 23: over a K of 8192 what is cut off "
        "adds up to per cents of the result",
    .counter = "FADD: one for each 128 multiply-adds; the largest error falls to that of a K of 128",
    .cost =
        "Twice the registers for results, and so tiles of 128 x 192 instead of 128 x 256, multiplied in halves: one is "
        "added while the tensor cores are busy with the other",
    .exercise =
        "`lapidary run wgmma_promoted -m 128 -n 192 -k 4096`, then wgmma_energy with `--type 'e4m3 RC'`: how far is each "
        "from the exact product?",
    .architecture = 90,
    .fallback = "mma_multistage",
};

template <int BN, int stages>
using Config = wgmma_cluster::Config<128, BN, 128, stages, ClusterGrid<2, 1>, 2, 64, e4m3, float, Order::row_major,
                                     Order::column_major, true>;

using Launch = wgmma_cluster::LaunchBy<info, true, false>;

template <class>
constexpr BuiltKernel built_kernels[] = {built_wgmma<Config<192, 5>, Launch>()};

}  // namespace lapidary::inline LAPIDARY_BUILD::wgmma_promoted
