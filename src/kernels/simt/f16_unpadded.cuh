#pragma once
#include "kernels/simt/f16_padded.cuh"

namespace lapidary::inline LAPIDARY_BUILD::f16_unpadded {

constexpr RungInfo info = {
    .name = "f16_unpadded",
    .parent = "f16_padded",
    .idea = "the same without padding, read by 128 bits",
    .change = "No padding, and accesses to shared memory are 128 bits wide, A's transposed stores aside",
    .why =
        "A 128-bit read is served eight lanes at a time, and eight lanes read 128 neighbouring bytes: reads have no "
        "conflict for padding to cure",
    .counter =
        "shared_load: a quarter of the instructions, at 4 wavefronts each for B, the minimum; shared_store: "
        "A's transposed halves are 8-way conflicts",
    .cost =
        "Those stores: in all, as many wavefronts as the padded tile takes. A quarter of the loads is no gain, and some "
        "registers spill: on an H200 the padded tile is ahead",
    .exercise =
        "`lapidary banks \"f16 64x128\" \"write 16 [lane % 8 * 8, lane / 8]\"`: eight lanes meet. Find a swizzle "
        "that parts them.",
    .architecture = 80,
};

using Unpadded = f16_padded::Config<0, 8>;
static_assert(wavefronts(warp_access<f16, 8>([](int lane) { return Unpadded::a_read(lane, 1, 0); })) == 2,
              "the minimum");
static_assert(wavefronts(warp_access<f16, 8>([](int lane) { return Unpadded::b_read(lane, 1, 0); })) == 4,
              "the minimum");
static_assert(wavefronts(warp_access<f16, 8>([](int lane) { return Unpadded::b_write(lane, 0, 0); })) == 4,
              "the minimum");
static_assert(wavefronts(warp_access<f16>([](int lane) { return Unpadded::a_write(lane, 0, 0); })) == 8,
              "a known conflict");

template <class>
constexpr BuiltKernel built_kernels[] = {built<Unpadded>(f16_padded::prepare<Unpadded, info>)};

}  // namespace lapidary::inline LAPIDARY_BUILD::f16_unpadded
