// What test.cmake debugs: a product by the first kernel of shared_tiles, as the program of the debug preset runs it.

#include <cstddef>
#include <span>

#include "core/problem.hpp"
#include "device/device.hpp"
#include "kernels/rung.hpp"

namespace lapidary::inline plain {
std::span<const BuiltKernel> stepped_kernels();
}

int main() {
  using namespace lapidary;
  constexpr std::int64_t size = 32;
  const BuiltKernel& kernel = plain::stepped_kernels().front();
  const auto device = open_emulator();
  const DeviceBuffer A(*device, size * size * sizeof(float), "A"), B(*device, size * size * sizeof(float), "B"),
      D(*device, size * size * sizeof(float), "D");
  const Operands operands{.A = A.data(), .B = B.data(), .D = D.data()};
  const Problem problem = with_known(resolved({.kind = kernel.traits.kind, .M = size, .N = size, .K = size}), operands);
  kernel.prepare(problem, card_of(device->stream())).launch(device->stream(), operands);
}
