// wgmma against fp64, on the emulated machine and on a GPU where there is one.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/types.hpp"
#include "device/device.hpp"
#include "device_array.hpp"
#include "emulator/machine.hpp"
#include "test_kernel.hpp"
#include "wgmma_case.hpp"

namespace lapidary::test {
namespace plain {
std::span<const WgmmaCase> wgmma_cases();
TestKernels wgmma_faults();
}  // namespace plain
namespace instrumented {
std::span<const WgmmaCase> wgmma_cases();
TestKernels wgmma_faults();
}  // namespace instrumented
namespace gpu {
std::span<const WgmmaCase> wgmma_cases();
}

namespace {

using emulator::Number;

/// A number of a type, as bits and as what tensor cores take it for.
struct Value {
  std::uint64_t bits;
  double value;
};

Value encode(Number number, double value) {
  const auto f = static_cast<float>(value);
  switch (number) {
    case Number::f16: return {from_float<f16>(f).bits, to_float(from_float<f16>(f))};
    case Number::bf16: return {from_float<bf16>(f).bits, to_float(from_float<bf16>(f))};
    case Number::tf32: return {from_float<tf32>(f).bits, to_float(from_float<tf32>(f))};
    case Number::e4m3: return {from_float<e4m3>(f).bits, to_float(from_float<e4m3>(f))};
    case Number::e5m2: return {from_float<e5m2>(f).bits, to_float(from_float<e5m2>(f))};
    case Number::f32: return {bits_of(f), f};
    default: {
      const auto whole = static_cast<std::int32_t>(std::lround(value * 40));
      const std::int32_t kept = number == Number::s8   ? static_cast<std::int8_t>(whole)
                                : number == Number::u8 ? static_cast<std::uint8_t>(whole)
                                                       : whole;
      return {static_cast<std::uint32_t>(kept), static_cast<double>(kept)};
    }
  }
}

double decode(Number number, std::uint64_t bits) {
  switch (number) {
    case Number::f16: return to_float(f16{static_cast<std::uint16_t>(bits)});
    case Number::s32: return static_cast<std::int32_t>(bits);
    default: return float_of(static_cast<std::uint32_t>(bits));
  }
}

struct Matrix {
  std::vector<double> values;
  std::vector<unsigned char> bytes;

  Matrix(Number number, int elements, std::mt19937& random) {
    for (int i = 0; i < elements; ++i) {
      const Value made = encode(number, static_cast<double>(random() % 20001) / 10000 - 1);
      values.push_back(made.value);
      for (int bit = 0; bit < emulator::width_of(number); bit += 8)
        bytes.push_back(static_cast<unsigned char>(made.bits >> bit));
    }
  }
};

/// How far a result may be off, in parts of the sum of all its terms' magnitudes.
double tolerance(const WgmmaCase& one) {
  if (one.d == Number::s32) return 0;
  if (one.d == Number::f16) return 0x1p-9;
  const bool fp8 = one.a == Number::e4m3 || one.a == Number::e5m2;
  return fp8 ? 0x1p-11 : 0x1p-21;
}

void expect_right(Device& device, const WgmmaCase& one) {
  std::mt19937 random(7);
  const int M = WgmmaCase::M, N = one.N, K = one.K;
  const Matrix a(one.a, M * K, random), b(one.b, N * K, random), c(one.d, M * N, random);
  const DeviceArray<unsigned char> a_array(device, a.bytes, "A"), b_array(device, b.bytes, "B"),
      d_array(device, c.bytes, "D");
  one.launch(device.stream(), a_array.data(), b_array.data(), d_array.data());
  device.synchronize();
  const auto d = d_array.content();
  const auto at = [](const Matrix& matrix, int i) { return matrix.values[static_cast<std::size_t>(i)]; };
  const double sign = one.negate_a == one.negate_b ? 1 : -1, allowed = tolerance(one);
  const auto width = static_cast<std::size_t>(emulator::width_of(one.d) / 8);
  int wrong = 0;
  for (int i = 0; i < M * N; ++i) {
    double expected = at(c, i), magnitude = std::abs(expected);
    for (int k = 0; k < K; ++k) {
      const double term = at(a, i / N * K + k) * at(b, i % N * K + k);
      expected += sign * term;
      magnitude += std::abs(term);
    }
    std::uint64_t bits = 0;
    for (std::size_t byte = 0; byte < width; ++byte)
      bits |= std::uint64_t{d[static_cast<std::size_t>(i) * width + byte]} << (8 * byte);
    const double got = decode(one.d, bits);
    if (std::abs(got - expected) <= allowed * magnitude) continue;
    if (++wrong == 1) ADD_FAILURE() << "D(" << i / N << ", " << i % N << ") is " << got << " and not " << expected;
  }
  EXPECT_EQ(wrong, 0);
}

std::string describe(const WgmmaCase& one) {
  const auto order = [](Major major, TensorSwizzle swizzle) {
    return fmt::format("{}-major, swizzle {}", major == Major::k ? "K" : "MN", span_of(swizzle));
  };
  return fmt::format("{}, N = {}, A {}, B {}", one.types, one.N,
                     one.a_in_registers ? "in registers" : order(one.a_major, one.a_swizzle),
                     order(one.b_major, one.b_swizzle));
}

void expect_all_right(Device& device, std::span<const WgmmaCase> cases) {
  for (const WgmmaCase& one : cases) {
    SCOPED_TRACE(describe(one));
    expect_right(device, one);
  }
}

TEST(Wgmma, MultipliesAllTypesInAllOrders) { expect_all_right(*open_emulator(), plain::wgmma_cases()); }

TEST(Wgmma, GivesTheSameWheneverItReadsItsOperands) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed)
    expect_all_right(*open_emulator({.seed = seed}), plain::wgmma_cases());
}

#if LAPIDARY_WITH_INSTRUMENTED
TEST(Wgmma, IsSilentWhereNothingIsWrong) {
  expect_all_right(*open_emulator({.count = true, .check = true}), instrumented::wgmma_cases());
  expect_all_right(*open_emulator({.check = true, .seed = 3}), instrumented::wgmma_cases());
}

TEST(Wgmma, IsCounted) {
  for (const WgmmaCase& one : instrumented::wgmma_cases()) {
    SCOPED_TRACE(describe(one));
    const auto device = open_emulator({.count = true});
    expect_right(*device, one);
    const emulator::WgmmaCounters counted = device->stream().machine->report().total.wgmma;
    EXPECT_EQ(counted.instructions, 4u);
    EXPECT_EQ(counted.shared_bytes, 128u * static_cast<unsigned>((one.a_in_registers ? 0 : 64) + one.N));
    EXPECT_EQ(counted.flop, 2u * 64u * static_cast<unsigned>(one.N * one.K));
  }
}
#endif

// ---------------------------------------------------------------- planted bugs

#if LAPIDARY_WITH_INSTRUMENTED
struct Fault {
  const char* bug;
  std::vector<std::string> message;  ///< what it begins with, and what it also holds
  std::vector<std::string> lines;    ///< text of the lines that it names
};

/// The line of wgmma_faults.cuh that has a text.
int line_of(const std::string& text) {
  std::ifstream file(LAPIDARY_WGMMA_FAULTS);
  std::string line;
  for (int number = 1; std::getline(file, line); ++number)
    if (line.find(text) != line.npos) return number;
  throw std::out_of_range("no line has " + text);
}

struct Outcome {
  std::string fault;
  std::vector<float> sums;
};

Outcome run(const TestKernel& kernel, const emulator::Options& options) {
  const auto device = open_emulator(options);
  const DeviceArray<float> a(*device, 2048, 1, "a"), b(*device, 2048, 1, "b"), c(*device, 128, 0, "c");
  try {
    kernel.launch(device->stream(), kernel.shape, a.data(), b.data(), c.data(), 0);
  } catch (const KernelFault& fault) {
    return {fault.what(), {}};
  }
  return {"", c.content()};
}

const char* const the_product = "wgmma_mma_async<Form>(d, from_a, from_b, accumulate)";
const char* const product_of_registers = "wgmma_mma_async<Form>(d, rA, from_b, true)";
const char* const others = "the warps of a warpgroup execute different instructions that take all four: another one";
const char* const pending = "that a wgmma.mma_async which nobody has waited for";
const char* const pending_reader = "which a wgmma.mma_async reads that not all warps have waited for: the one at";

const Fault faults[] = {
    {"no_fence", {"wgmma.mma_async without a wgmma.fence before the warp's first one"}, {the_product}},
    {"no_fence_after_write",
     {"wgmma.mma_async without a wgmma.fence since other code has touched its accumulators, at"},
     {"d[3] = 1;", the_product}},
    {"no_fence_after_write_of_a",
     {"wgmma.mma_async without a wgmma.fence since other code has touched the registers of A, at"},
     {"rA[2] = 1;", product_of_registers}},
    {"read_before_wait", {"a register is read", pending, "adds to: the one at"}, {"c[thread] = d[5];", the_product}},
    {"write_before_wait", {"a register is written", pending, "adds to: the one at"}, {"d[5] = 0;", the_product}},
    {"a_written_before_wait",
     {"a register is written", pending, "reads: the one at"},
     {"rA[1] = 7;", product_of_registers}},
    {"wait_leaves_it", {"a register is read", pending, "adds to: the one at"}, {"sum += d[i];", the_product}},
    {"no_commit", {"a register is read", pending, "adds to: the one at"}, {"sum += d[i];", the_product}},
    {"no_wait", {"a thread exits without having waited for this wgmma.mma_async"}, {the_product}},
    {"slot_stored", {"shared store of 2 bytes at offset", pending_reader}, {"sB[8] = bf16{0};", the_product}},
    {"slot_stored_by_one", {"shared store of 2 bytes at offset", pending_reader}, {"sB[8] = bf16{1};", the_product}},
    {"slot_copied",
     {"asynchronous shared store of 16 bytes at offset", pending_reader},
     {"cp_async<16>(", the_product}},
    {"slot_bulk_copied",
     {"asynchronous shared store of 16 bytes at offset", pending_reader},
     {"cp_async_bulk_load(&sB[0], a, 256", the_product}},
    {"bulk_not_waited_for",
     {"asynchronous shared store of 16 bytes at offset 0", pending_reader},
     {the_product, "cp_async_bulk_load(&sA[0], a, 8192"}},
    {"no_barrier",
     {"race on shared memory", "writes it at", "a wgmma of thread"},
     {"s[at(i / 64, i % 64)] =", the_product}},
    {"no_proxy_fence",
     {"wgmma.mma_async reads shared memory that thread", "without fence.proxy.async by that thread"},
     {"s[at(i / 64, i % 64)] =", the_product}},
    {"other_descriptor",
     {"the threads of a warpgroup give wgmma.mma_async different descriptors of A: warp"},
     {the_product}},
    {"other_scale", {"the threads of a warpgroup give wgmma.mma_async different values of scale-d"}, {the_product}},
    {"warp_missing", {others}, {the_product, "wgmma_commit_group();"}},
    {"warp_exits",
     {"warp 3 exits without having executed this instruction, which takes all four of its warpgroup"},
     {the_product}},
    {"warp_without_fence", {others}, {"wgmma_fence(d);", the_product}},
    {"warp_without_commit", {"a register is read", pending, "adds to: the one at"}, {"sum += d[i];", the_product}},
    {"warp_without_wait", {"a register is read", pending, "adds to: the one at"}, {"sum += d[i];", the_product}},
    {"lanes_missing",
     {"lanes of warp ", " are at different collectives: lane "},
     {the_product, "wgmma_commit_group();"}},
    {"other_shape",
     {"wgmma.mma_async adds to registers of one of another shape that nobody has waited for: the one at"},
     {the_product, "wgmma_mma_async<Narrow>"}},
    {"half_a_warpgroup",
     {"warp ", " is in no warpgroup: those are four warps each, and the block has 2"},
     {"wgmma_fence(rA);"}},
    {"leading", {"out-of-bounds shared load of 16 bytes at offset"}, {the_product}},
    {"stride", {"out-of-bounds shared load of 16 bytes at offset"}, {the_product}},
    {"misaligned", {"wgmma.mma_async with the descriptor", "first of the swizzle's 8 rows"}, {the_product}},
    {"base_offset", {"wgmma.mma_async with the descriptor", "base offset other than 0"}, {the_product}},
};

TEST(Wgmma, StopsAtPlantedBugsAndNamesTheLines) {
  for (const Fault& fault : faults) {
    const TestKernel& kernel = instrumented::wgmma_faults()[fault.bug];
    const std::string message = run(kernel, {.check = true, .threads = 1}).fault;
    EXPECT_EQ(message.find(fault.message.front()), 0u) << fault.bug << ": " << message;
    for (const std::string& part : fault.message)
      EXPECT_NE(message.find(part), std::string::npos) << fault.bug << ": " << message;
    for (const std::string& text : fault.lines)
      EXPECT_NE(message.find(fmt::format("wgmma_faults.cuh:{}", line_of(text))), std::string::npos)
          << fault.bug << " at " << text << ": " << message;
  }
}

// Nothing tells that stores meant another order.
TEST(Wgmma, GivesWrongNumbersWhereTheSwizzleIsAnother) {
  const auto sums = [](const char* name) { return run(instrumented::wgmma_faults()[name], {.check = true}).sums; };
  ASSERT_EQ(sums("none").size(), 128u);
  ASSERT_EQ(sums("swizzle").size(), 128u);
  EXPECT_NE(sums("swizzle"), sums("none"));
}

TEST(Wgmma, StopsAtPlantedBugsInEveryOrder) {
  for (const Fault& fault : faults)
    for (unsigned seed = 1; seed <= 10; ++seed)
      EXPECT_NE(run(instrumented::wgmma_faults()[fault.bug], {.check = true, .threads = 1, .seed = seed}).fault, "")
          << fault.bug << ", seed " << seed;
  for (const char* sound : {"none", "bulk"})
    for (unsigned seed = 0; seed <= 10; ++seed)
      EXPECT_EQ(run(instrumented::wgmma_faults()[sound], {.check = true, .seed = seed}).fault, "") << sound << seed;
}

#endif

#if LAPIDARY_WITH_CUDA
TEST(Wgmma, MultipliesAllTypesInAllOrdersOnTheGpu) {
  if (gpu_count() == 0) GTEST_SKIP() << "there is no GPU";
  const auto device = open_gpu();
  if (device->properties().compute_capability != 90) GTEST_SKIP() << "wgmma is an instruction of Hopper";
  expect_all_right(*device, gpu::wgmma_cases());
}
#endif

}  // namespace
}  // namespace lapidary::test
