#include <cstdio>
#include <string>
#include <vector>

#include "expect.hpp"
#include "scale.hpp"

namespace {

/// Whether 3 * i is what the kernel writes for every i < n.
bool scales(lapidary::Device& device, void (*scale)(const lapidary::Stream&, const Scale&), int n) {
  std::vector<float> values(n), results(n);
  for (int i = 0; i < n; ++i) values[i] = static_cast<float>(i);
  const lapidary::DeviceBuffer from(device, n * sizeof(float), "from"), to(device, n * sizeof(float), "to");
  device.upload(from.data(), values.data(), from.bytes());
  scale(device.stream(), {n, 3.0f, static_cast<const float*>(from.data()), static_cast<float*>(to.data())});
  device.download(results.data(), to.data(), to.bytes());
  for (int i = 0; i < n; ++i)
    if (results[i] != 3.0f * values[i]) return false;
  return true;
}

}  // namespace

int main() {
  constexpr int n = 1000;
  const auto plain = lapidary::open_emulator();
  expect(scales(*plain, plain::scale, n), "the plain build computes");

  const auto counting = lapidary::open_emulator({.count = true, .check = true});
  expect(scales(*counting, instrumented::scale, n), "the instrumented build computes");
  const lapidary::emulator::Report report = counting->stream().machine->report();
  expect(report.total.global_load.requests == 32, "1000 loads are 32 requests");
  expect(report.total.global_load.sectors == 125, "4000 bytes are 125 sectors");
  expect(report.total.fma == n, "1000 multiply-adds");
  expect(report.lines.size() == 1 && report.lines[0].line == 9 && report.lines[0].file.ends_with("scale.cuh"),
         "all of it on line 9 of scale.cuh");

  const lapidary::DeviceBuffer small(*counting, n * sizeof(float), "small");
  auto* const data = static_cast<float*>(small.data());
  std::string fault;
  try {
    instrumented::scale(counting->stream(), {n + 1, 3.0f, data, data});
  } catch (const lapidary::KernelFault& caught) {
    fault = caught.what();
  }
  std::printf("%s\n", fault.c_str());
  expect(fault.find("out-of-bounds global load") != fault.npos && fault.find("scale.cuh:9") != fault.npos,
         "one element too many is a fault");
  return failures != 0;
}
