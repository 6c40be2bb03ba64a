#pragma once
#include <algorithm>
#include <bit>

#include "kernels/mma/mma_padded.cuh"

namespace lapidary::inline LAPIDARY_BUILD::mma_swizzled {

constexpr RungInfo info = {
    .name = "mma_swizzled",
    .parent = "mma_padded",
    .idea = "an XOR swizzle: the same proof, no memory lost",
    .change =
        "The vectors of 8 elements within 128 bytes change places: number v goes to v ^ r, where r counts the lines "
        "that begin on the same bank",
    .why = "Lines that met on one bank have different r, so what ldmatrix wants of eight of them lies on all banks",
    .counter =
        "shared_load and shared_store as with padding: the excess is 0. Shared memory: 16,384 bytes instead of 17,888",
    .cost =
        "An address is no longer a constant away from the last one: an XOR where a step along k or to the next matrix "
        "crosses what is swizzled",
    .exercise =
        "`lapidary banks mma_swizzled`; then take one bit from the swizzle: `lapidary banks \"bf16 32x128^1,3,4\" "
        "\"ldmatrix [lane % 16, lane / 16 * 8]\"`. How many rows meet?",
    .architecture = 80,
};

/// A line has `length` elements, a power of two of 2 vectors or more. The bits of an offset from the one on that tells
/// lines apart that begin on the same bank are added to those that tell the vectors of a line, within 128 bytes, apart.
struct Swizzled {
  template <class T>
  static constexpr Layout tile(int lines, int length) {
    const auto log2 = [](int power) { return std::bit_width(static_cast<unsigned>(power)) - 1; };
    const int vectors = length / packed<T>, vector_log2 = log2(packed<T>);
    return row_major(lines, length).swizzled(log2(std::min(vectors, 8)), vector_log2, log2(std::max(vectors, 8)));
  }
};

template <class T, class R, Order a_order = Order::row_major, Order b_order = Order::row_major>
struct Config : mma_tiles::Config<128, 128, 32, 64, 32, T, R, Swizzled, a_order, b_order> {
  static_assert(Config::a.cosize() == Config::a.size() && Config::b.cosize() == Config::b.size());
};
template <class Config, class T = typename Config::Element>
constexpr bool conflict_free =
    wavefronts(warp_access<T, packed<T>>([](int lane) { return Config::a_write(lane, 0); })) == 4 &&
    wavefronts(warp_access<T, packed<T>>([](int lane) { return Config::b_write(lane, 0); })) == 4 &&
    wavefronts(warp_access<T, packed<T>>([](int lane) { return Config::a_read(lane, 0, 0); })) == 4 &&
    wavefronts(warp_access<T, packed<T>>([](int lane) { return Config::b_read(lane, 0, 0); })) == 4;
static_assert(conflict_free<Config<bf16, bf16>>);
template <class Config>
constexpr int tile_bytes = 2 * (Config::a.cosize() + Config::b.cosize());
static_assert(tile_bytes<Config<bf16, bf16>> == 16384 && tile_bytes<mma_padded::Config<bf16, bf16>> == 17888);
static_assert(conflict_free<Config<bf16, bf16, Order::column_major, Order::column_major>>);

template <class Config>
constexpr BuiltKernel swizzled() {
  return built<Config>(mma_tiles::prepare<Config, info>);
}
template <class>
constexpr BuiltKernel built_kernels[] = {
    swizzled<Config<bf16, bf16>>(),
    swizzled<Config<f16, f16>>(),
    swizzled<Config<bf16, float>>(),
    swizzled<Config<f16, float>>(),
    swizzled<Config<bf16, bf16, Order::row_major, Order::column_major>>(),
    swizzled<Config<bf16, bf16, Order::column_major, Order::row_major>>(),
    swizzled<Config<bf16, bf16, Order::column_major, Order::column_major>>(),
};

}  // namespace lapidary::inline LAPIDARY_BUILD::mma_swizzled
