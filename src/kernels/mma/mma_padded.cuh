#pragma once
#include <algorithm>

#include "kernels/mma/mma_tiles.cuh"

namespace lapidary::inline LAPIDARY_BUILD::mma_padded {

constexpr RungInfo info = {
    .name = "mma_padded",
    .parent = "mma_tiles",
    .idea = "8 elements of padding: no access conflicts, proved",
    .change =
        "8 unused elements follow each line of a tile, or if it is shorter than 128 bytes as many lines as have those",
    .why =
        "ldmatrix reads 8 lines at one place of each. Lines that begin on the same bank all meet there; 16 bytes of "
        "padding, what a line gives, put the next line's beside it",
    .counter =
        "shared_load: the excess is 0, A's ldmatrix fall from 16 wavefronts to 4 and B's from 32; shared_store stays at "
        "the minimum",
    .cost =
        "An eighth more memory for A's tile and a sixteenth more for B's, and lines that no copy engine could fill as "
        "one box",
    .exercise =
        "Pad each row of 32 elements instead: `lapidary banks \"bf16 128x32+8/32\" \"write 128 [lane / 4, lane % 4 * "
        "8]\"`. Reads are free of conflicts too, but writes are not. Why?",
    .architecture = 80,
};

struct Padded {
  template <class T>
  static constexpr Layout tile(int lines, int length) {
    return row_major(lines, length).padded(std::max(length, 8 * packed<T>), packed<T>);
  }
};

template <class T, class R, Order a_order = Order::row_major, Order b_order = Order::row_major>
struct Config : mma_tiles::Config<128, 128, 32, 64, 32, T, R, Padded, a_order, b_order> {
  static_assert(wavefronts(warp_access<T, 8>([](int lane) { return Config::a_write(lane, 0); })) == 4, "the minimum");
  static_assert(wavefronts(warp_access<T, 8>([](int lane) { return Config::b_write(lane, 0); })) == 4, "the minimum");
  static_assert(wavefronts(warp_access<T, 8>([](int lane) { return Config::a_read(lane, 0, 0); })) == 4, "the minimum");
  static_assert(wavefronts(warp_access<T, 8>([](int lane) { return Config::b_read(lane, 0, 0); })) == 4, "the minimum");
};

using Bf16 = Config<bf16, bf16>;
constexpr int behind = packed<bf16>;  // the last line, where the padding needs no memory
static_assert(8 * (Bf16::a.cosize() + behind - Bf16::a.size()) == Bf16::a.size(), "an eighth more");
static_assert(16 * (Bf16::b.cosize() + behind - Bf16::b.size()) == Bf16::b.size(), "a sixteenth more");

template <class Config>
constexpr BuiltKernel padded() {
  return built<Config>(mma_tiles::prepare<Config, info>);
}
template <class>
constexpr BuiltKernel built_kernels[] = {
    padded<Config<bf16, bf16>>(),
    padded<Config<f16, f16>>(),
    padded<Config<bf16, float>>(),
    padded<Config<f16, float>>(),
    padded<Config<bf16, bf16, Order::row_major, Order::column_major>>(),
    padded<Config<bf16, bf16, Order::column_major, Order::row_major>>(),
    padded<Config<bf16, bf16, Order::column_major, Order::column_major>>(),
};

}  // namespace lapidary::inline LAPIDARY_BUILD::mma_padded
