#include <algorithm>

#include "bench/host_problem.hpp"
#include "bench/random_fill.hpp"
#include "core/math.hpp"
#include "device/launch.hpp"

namespace lapidary::bench {
namespace {

constexpr int threads = 256;
constexpr std::int64_t most_blocks = 1 << 14;

/// SplitMix64: a hash of a counter, as bench/host_problem.cpp uses it.
__device__ std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

template <class T>
__global__ void __launch_bounds__(threads) fill_kernel(T* data, std::int64_t count, std::uint64_t sequence) {
  constexpr std::uint64_t golden_gamma = 0x9e3779b97f4a7c15u;
  const std::int64_t step = std::int64_t{gridDim.x} * threads;
  for (std::int64_t i = 2 * (std::int64_t{blockIdx.x} * threads + threadIdx.x); i < count; i += 2 * step) {
    const std::uint64_t bits = mix(sequence + (static_cast<std::uint64_t>(i) + 1) * golden_gamma);
    // G. E. P. Box, M. E. Muller, 1958. f32 resolves 24 bits of each uniform number; the largest result is 5.8.
    const float uniform = static_cast<float>((bits >> 40) + 1) * 0x1p-24f;     // of (0, 1]
    const float half_turns = static_cast<float>(bits & 0xffffffu) * 0x1p-23f;  // of [0, 2)
    const float radius = sqrtf(-2 * logf(uniform));
    float sine, cosine;
    sincospif(half_turns, &sine, &cosine);
    data[i] = from_float<T>(spread<T> * radius * cosine);
    if (i + 1 < count) data[i + 1] = from_float<T>(spread<T> * radius * sine);
  }
}

template <class T>
void fill(Device& device, T* data, std::int64_t count, std::uint64_t seed) {
  const std::int64_t blocks = std::min(ceil_div<std::int64_t>(count, 2 * threads), most_blocks);
  // Seeds that follow one another must not give sequences that are shifts of each other.
  const std::uint64_t sequence = (seed + 1) * 0xd1342543de82ef95u;
  launch(device.stream(), {.kernel = "fill_normal", .grid = blocks, .block = threads}, fill_kernel<T>, data, count,
         sequence);
}

}  // namespace

void fill_normal(Device& device, Type type, void* data, std::int64_t count, std::uint64_t seed) {
  if (count == 0) return;
  with_type(type, [&](auto element) { fill(device, static_cast<decltype(element)*>(data), count, seed); });
}

}  // namespace lapidary::bench
