#pragma once
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/types.hpp"
#include "device/device.hpp"

namespace lapidary::bench {

/// The middle and the ends of several figures.
struct Spread {
  double median, min, max;
};

/// The median of an even number of figures is the mean of the two in the middle. There must be at least one.
Spread spread_of(std::vector<double> figures);

/// The rate of an M x N x K product, 2 M N K floating-point operations, in 10^12 operations a second.
double tflops(std::int64_t M, std::int64_t N, std::int64_t K, double milliseconds);

/// What multiplies and adds: CUDA cores in f32, or tensor cores with f16 operands, or with those of 8 bits.
enum class Unit : std::uint8_t { cuda_cores, tensor_cores, tensor_cores_8_bit };

/// Tensor cores by the type of what they multiply; tf32 takes them no less time than f16.
constexpr Unit tensor_cores_for(Type type) {
  return size_of(type) == 1 ? Unit::tensor_cores_8_bit : Unit::tensor_cores;
}

/// What a GPU can compute at its maximum clock if nothing else costs anything, in TFLOP/s; none for compute
/// capabilities whose rate this program does not know.
std::optional<double> ceiling_tflops(const DeviceProperties& device, Unit unit);

/// @throws Error if a rate is above the ceiling, where there is one: then the measurement is wrong, not the kernel fast
void require_plausible(std::string_view what, double tflops, const std::optional<double>& ceiling);

}  // namespace lapidary::bench
