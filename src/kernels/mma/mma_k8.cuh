#pragma once
#include "kernels/mma/mma_swizzled.cuh"

namespace lapidary::inline LAPIDARY_BUILD::mma_k8 {

constexpr RungInfo info = {
    .name = "mma_k8",
    .parent = "mma_swizzled",
    .idea = "a lesson: products of 16 x 8 x 8, and twice as many",
    .change = "mma.sync takes 8 of k at a time and not 16, by half of A's and B's registers",
    .why =
        "The form is from when tensor cores had no other. A product occupies them for half as long, but its results are "
        "read and written as often",
    .counter =
        "shared_load: twice the instructions, as ldmatrix brings two matrices where it could bring four; their "
        "wavefronts stay as many",
    .cost = "Twice the HMMA and the LDSM to issue, and twice the traffic of results in the register file",
    .exercise =
        "`lapidary run mma_k8 --count`: how many products and ldmatrix, and in mma_swizzled? Which of the two could be "
        "mended without another form?",
    .architecture = 80,
};

template <Order b_order>
using Config =
    mma_tiles::Config<128, 128, 32, 64, 32, bf16, bf16, mma_swizzled::Swizzled, Order::row_major, b_order, 8>;
using Default = Config<Order::row_major>;
static_assert(Default::Form::a_registers == 2 && Default::Form::b_registers == 1, "half of those for k16");
static_assert(wavefronts(warp_access<bf16, 8>([](int lane) { return Default::a_read(lane, 0, 0); }, 0xffff)) == 2,
              "the minimum of half a warp, whose addresses count");

template <class Config>
constexpr BuiltKernel k8() {
  return built<Config>(mma_tiles::prepare<Config, info>);
}
template <class>
constexpr BuiltKernel built_kernels[] = {k8<Default>(), k8<Config<Order::column_major>>()};

}  // namespace lapidary::inline LAPIDARY_BUILD::mma_k8
