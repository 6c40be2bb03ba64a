#include "bench/rates.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.hpp"

namespace lapidary::bench {
namespace {

/// Fused multiply-adds that an SM finishes in a clock.
struct Throughput {
  int compute_capability;
  int cuda_cores;  ///< CUDA Programming Guide, "Throughput of Native Arithmetic Instructions", 32-bit add and multiply
  int tensor_cores;  ///< dense, from the peak f16 rates of NVIDIA's architecture white papers: A100, GA102, AD102, H100
};

constexpr Throughput throughputs[] = {{80, 64, 1024}, {86, 128, 512}, {89, 128, 512}, {90, 128, 2048}};

}  // namespace

Spread spread_of(std::vector<double> figures) {
  std::sort(figures.begin(), figures.end());
  const std::size_t count = figures.size();
  return {(figures[(count - 1) / 2] + figures[count / 2]) / 2, figures.front(), figures.back()};
}

double tflops(std::int64_t M, std::int64_t N, std::int64_t K, double milliseconds) {
  return 2 * static_cast<double>(M) * static_cast<double>(N) * static_cast<double>(K) / (milliseconds * 1e9);
}

std::optional<double> ceiling_tflops(const DeviceProperties& device, Unit unit) {
  for (const Throughput& t : throughputs) {
    if (t.compute_capability != device.compute_capability) continue;
    const double fma = unit == Unit::cuda_cores ? t.cuda_cores : t.tensor_cores * (unit == Unit::tensor_cores ? 1 : 2);
    return 2 * fma * device.multiprocessors * device.clock_mhz * 1e-6;
  }
  return std::nullopt;
}

void require_plausible(std::string_view what, double tflops, const std::optional<double>& ceiling) {
  if (!ceiling || tflops <= *ceiling) return;
  throw Error(
      fmt::format("{} measured {:.1f} TFLOP/s, above the {:.1f} that this GPU can reach at its maximum clock; the "
                  "measurement is wrong and was given up",
                  what, tflops, *ceiling));
}

}  // namespace lapidary::bench
