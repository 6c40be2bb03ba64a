// What the emulated machine promises of compute capability 9.0. The kernels run in every build that there is, and on a
// GPU of that capability too where there is one.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <numeric>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "async_case.hpp"
#include "core/error.hpp"
#include "device/device.hpp"
#include "target.hpp"

namespace lapidary::test {
namespace plain {
TestKernels async_kernels();
}
namespace instrumented {
TestKernels async_kernels();
}
namespace gpu {
TestKernels async_kernels();
}

namespace {

const Target targets[] = {
    {"plain", plain::async_kernels},
    {"plain_random_order", plain::async_kernels, {.seed = 1}},
#if LAPIDARY_WITH_INSTRUMENTED
    {"checked", instrumented::async_kernels, {.count = true, .check = true}},
    {"checked_random_order", instrumented::async_kernels, {.count = true, .check = true, .seed = 2}},
    {"checked_other_order", instrumented::async_kernels, {.count = true, .check = true, .seed = 3}},
#endif
#if LAPIDARY_WITH_CUDA
    {"gpu", gpu::async_kernels, {}, true},
#endif
};

class Async : public OnTargets {
 protected:
  Async() : OnTargets(90) {}

  void expect_box(const BoxCase& test);
};

INSTANTIATE_TEST_SUITE_P(On, Async, testing::ValuesIn(targets), name_of_target);

using Bytes = std::vector<unsigned char>;

Bytes random_bytes(std::size_t size) {
  std::mt19937 random(1);
  Bytes bytes(size);
  for (unsigned char& byte : bytes) byte = static_cast<unsigned char>(random() % 0x70);  // no NaN of any type
  return bytes;
}

// Where byte `byte` of a box lies in shared memory that begins at a multiple of 1024 (PTX ISA, "Swizzling modes"): the
// 16-byte chunk within a span of 32, 64 or 128 bytes is XORed with the number of the 128-byte line. Rows begin with a
// span.
int place(const TensorBox& tensor, int byte) {
  const int chunks = 1 << static_cast<int>(tensor.swizzle);  // of a span
  const int row = tensor.box[0] * size_of(tensor.type);
  const int pitch = tensor.swizzle == TensorSwizzle::none ? row : std::max(row, 16 * chunks);
  const int offset = byte / row * pitch + byte % row;
  const int line = offset / 128, chunk = offset / 16 % 8;
  return line * 128 + (chunk ^ (line % chunks)) * 16 + offset % 16;
}

/// Calls visit(byte of the box, byte of the tensor or -1) for all elements of a box, one byte after the other.
template <class Visit>
void for_each_byte(const BoxCase& test, Visit&& visit) {
  const TensorBox& t = test.tensor;
  const int size = size_of(t.type);
  std::array<int, 5> count = {1, 1, 1, 1, 1};
  for (int mode = 0; mode < t.rank; ++mode)
    count[mode] = mode == 0 ? t.box[0] : (t.box[mode] + t.element_stride[mode] - 1) / t.element_stride[mode];
  int box_byte = 0;
  std::array<int, 5> i{};
  for (i[4] = 0; i[4] < count[4]; ++i[4])
    for (i[3] = 0; i[3] < count[3]; ++i[3])
      for (i[2] = 0; i[2] < count[2]; ++i[2])
        for (i[1] = 0; i[1] < count[1]; ++i[1])
          for (i[0] = 0; i[0] < count[0]; ++i[0]) {
            long long byte = 0;
            bool inside = true;
            for (int mode = 0; mode < t.rank; ++mode) {
              const long long at = test.coordinates[mode] + i[mode] * (mode == 0 ? 1 : t.element_stride[mode]);
              inside = inside && at >= 0 && at < static_cast<long long>(t.size[mode]);
              byte += at * (mode == 0 ? size : static_cast<long long>(t.stride[mode - 1]));
            }
            for (int k = 0; k < size; ++k) visit(box_byte++, inside ? static_cast<int>(byte) + k : -1);
          }
}

/// A tensor without gaps.
TensorBox dense(TensorType type, std::vector<int> size, std::vector<int> box,
                TensorSwizzle swizzle = TensorSwizzle::none) {
  TensorBox tensor;
  tensor.rank = static_cast<std::uint8_t>(size.size());
  tensor.type = type;
  tensor.swizzle = swizzle;
  std::uint64_t stride = static_cast<std::uint64_t>(size_of(type));
  for (std::size_t mode = 0; mode < size.size(); ++mode) {
    tensor.size[mode] = static_cast<std::uint64_t>(size[mode]);
    tensor.box[mode] = box[mode];
    if (mode > 0) tensor.stride[mode - 1] = stride;
    stride *= tensor.size[mode];
  }
  return tensor;
}

std::size_t bytes_of(const TensorBox& tensor) {
  const int last = tensor.rank - 1;
  return last == 0 ? tensor.size[0] * static_cast<std::uint64_t>(size_of(tensor.type))
                   : tensor.size[last] * tensor.stride[last - 1];
}

std::vector<BoxCase> box_cases() {
  using enum TensorType;
  std::vector<BoxCase> cases;
  // Every swizzle, with rows as long as it permutes and shorter ones.
  for (const auto& [swizzle, row] : {std::pair(TensorSwizzle::none, 256),
                                     {TensorSwizzle::bytes32, 32},
                                     {TensorSwizzle::bytes64, 64},
                                     {TensorSwizzle::bytes128, 128},
                                     {TensorSwizzle::bytes64, 32},
                                     {TensorSwizzle::bytes128, 64}}) {
    cases.push_back({dense(u8, {512, 100}, {row, 64}, swizzle), {64, 8}});
    cases.push_back({dense(bf16, {256, 100}, {row / 2, 16}, swizzle), {32, 3}});
    cases.push_back({dense(f32, {128, 100}, {row / 4, 32}, swizzle), {8, 90}});  // rows beyond the end
    cases.push_back({dense(f64, {64, 40}, {row / 8, 8}, swizzle), {-4, -2}});    // begins outside
  }
  cases.push_back({dense(f32, {1000}, {256}), {900}});
  cases.push_back({dense(f32, {64, 20}, {32, 8}), {64, 3}});  // wholly outside, behind and before
  cases.push_back({dense(bf16, {64, 20}, {32, 8}), {8, -8}});
  cases.push_back({dense(f16, {40, 30, 20}, {16, 5, 4}), {32, 28, -1}});
  cases.push_back({dense(f32, {64, 8, 6, 5}, {32, 4, 3, 2}, TensorSwizzle::bytes128), {40, 6, -1, 4}});
  cases.push_back({dense(i32, {16, 4, 5, 6, 3}, {8, 3, 2, 4, 2}, TensorSwizzle::bytes32), {4, 2, 4, -2, 1}});
  for (const TensorFill fill : {TensorFill::zero, TensorFill::nan}) {
    BoxCase gaps{dense(f32, {100, 50}, {32, 16}, TensorSwizzle::bytes128), {80, 40}};
    gaps.tensor.stride[0] = 416;
    gaps.tensor.size[0] = 99;
    gaps.tensor.fill = fill;
    cases.push_back(gaps);
    gaps.tensor.element_stride[1] = 3;
    gaps.coordinates = {-4, 1};
    cases.push_back(gaps);
  }
  return cases;
}

TEST_P(Async, BoxesAreLoadedToWhereTheirSwizzlePutsThem) {
  for (BoxCase test : box_cases()) {
    const Bytes content = random_bytes(bytes_of(test.tensor));
    auto tensor = array(content);
    const auto size = static_cast<std::size_t>(box_extent(test.tensor));
    auto got = array(Bytes(size));
    test.tensor.base = tensor.data();
    run("load_box", &test, got.data());
    const Bytes bytes = got.content();
    const auto gaps = std::count(bytes.begin(), bytes.end(), box_gap);
    EXPECT_EQ(gaps, box_extent(test.tensor) - box_bytes(test.tensor));
    for_each_byte(test, [&](int box, int global) {
      const int at = place(test.tensor, box);
      if (at >= static_cast<int>(size)) return;  // a box that is no multiple of 128 bytes
      if (global >= 0) {
        ASSERT_EQ(bytes[at], content[global]) << "byte " << box << ", swizzle " << int(test.tensor.swizzle);
      } else if (test.tensor.fill == TensorFill::zero) {
        ASSERT_EQ(bytes[at], 0) << "byte " << box;
      } else {
        float value;
        std::memcpy(&value, &bytes[at / 4 * 4], 4);
        ASSERT_TRUE(std::isnan(value)) << "byte " << box;
      }
    });
  }
}

TEST_P(Async, LoadsOfTf32RoundToNearest) {
  // Ties to even, denormal numbers too, what is too large to infinity, and all NaN to one.
  const std::vector<std::uint32_t> from = {0x3f801000, 0x3f803000, 0x3f801001, 0x3f800fff, 0xbf803000, 0x00003000,
                                           0x80001001, 0x007fffff, 0x7f7fffff, 0x7f800000, 0x7f800001, 0xffffffff};
  const std::vector<std::uint32_t> rounded = {0x3f800000, 0x3f804000, 0x3f802000, 0x3f800000, 0xbf804000, 0x00004000,
                                              0x80002000, 0x00800000, 0x7f800000, 0x7f800000, 0x7fffe000, 0x7fffe000};
  const auto count = static_cast<int>(from.size());
  auto tensor = array(from), got = array(std::vector<std::uint32_t>(from.size()));
  BoxCase test{dense(TensorType::tf32, {count}, {count}), {}};
  test.tensor.base = tensor.data();
  run("load_box", &test, got.data());
  EXPECT_EQ(got.content(), rounded);
}

TEST_P(Async, BoxesAreStoredAndWhatIsOutsideIsLeftOut) {
  for (BoxCase test : box_cases()) {
    const Bytes content = random_bytes(bytes_of(test.tensor));
    const auto size = static_cast<std::size_t>(box_extent(test.tensor));
    if (size % 128 || test.tensor.element_stride[1] > 1) continue;  // strides are documented for loads alone
    for (int& coordinate : test.coordinates) coordinate = std::max(coordinate, 0);
    Bytes box = random_bytes(size);
    std::reverse(box.begin(), box.end());
    auto tensor = array(content), from = array(box);
    test.tensor.base = tensor.data();
    run("store_box", &test, from.data());
    Bytes expected = content;
    // The last chunk of 16 bytes that a row has anything of is written as a whole.
    BoxCase whole_chunks = test;
    const auto elements = static_cast<std::uint64_t>(16 / size_of(test.tensor.type));
    whole_chunks.tensor.size[0] = (test.tensor.size[0] + elements - 1) / elements * elements;
    for_each_byte(whole_chunks, [&](int at, int global) {
      if (global >= 0) expected[global] = box[place(test.tensor, at)];
    });
    EXPECT_EQ(tensor.content(), expected)
        << "swizzle " << int(test.tensor.swizzle) << ", rank " << int(test.tensor.rank);
  }
}

TEST_P(Async, ReductionsAddBoxes) {
  BoxCase floats{dense(TensorType::f32, {64, 20}, {32, 8}, TensorSwizzle::bytes128), {40, 15}, true};
  std::vector<float> content(64 * 20), box(32 * 8);
  std::iota(content.begin(), content.end(), 0.0f);
  std::iota(box.begin(), box.end(), 0.5f);
  auto tensor = array(content), from = array(box);
  floats.tensor.base = tensor.data();
  run("store_box", &floats, from.data());
  for_each_byte(floats, [&](int at, int global) {
    if (at % 4 == 0 && global >= 0) content[global / 4] += 2 * box[place(floats.tensor, at) / 4];
  });
  EXPECT_EQ(tensor.content(), content);

  // 1.5 + 2 * 1.25 in bf16
  BoxCase halves{dense(TensorType::bf16, {64, 4}, {64, 4}), {}, true};
  auto sums = array(std::vector<std::uint16_t>(256, 0x3fc0)), addends = array(std::vector<std::uint16_t>(256, 0x3fa0));
  halves.tensor.base = sums.data();
  run("store_box", &halves, addends.data());
  EXPECT_EQ(sums.content(), std::vector<std::uint16_t>(256, 0x4080));
}

TEST_P(Async, BytesGoInAndOut) {
  for (const int parts : {1, 2, 3, 9}) {
    std::vector<int> values(1024 * static_cast<std::size_t>(parts));
    std::iota(values.begin(), values.end(), 7);
    auto a = array(values), b = array(std::vector<int>(values.size()));
    run("bytes", a.data(), b.data(), nullptr, parts);
    for (int& value : values) ++value;
    EXPECT_EQ(b.content(), values) << parts;
  }
}

TEST_P(Async, MbarriersHandOverBetweenWarps) {
  constexpr int rounds = 50;
  std::vector<int> values(32 * rounds);
  std::iota(values.begin(), values.end(), 3);
  auto a = array(values), b = array(std::vector<int>(values.size()));
  run("hand_over", a.data(), b.data(), nullptr, rounds);
  const std::vector<int> taken = b.content();
  for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(taken[i], 2 * values[i / 32 * 32 + 31 - i % 32]) << i;
}

TEST_P(Async, PhasesWaitForArrivalsAndBytes) {
  auto b = array(std::vector<int>(7));
  run("phases", nullptr, b.data());
  EXPECT_EQ(b.content(), (std::vector<int>{2, 2, 2, -1, 1, 2, 1}));
}

TEST_P(Async, OneLaneIsElectedTheSameEachTime) {
  auto b = array(std::vector<int>(3, -1)), c = array(std::vector<int>(3));
  run("elections", nullptr, b.data(), c.data());
  EXPECT_EQ(c.content(), (std::vector<int>{1, 1, 1}));
  EXPECT_EQ(b.content()[0], b.content()[1]);
  EXPECT_EQ(b.content()[2] % 2, 1);
}

TEST_P(Async, WarpgroupsHandOverRegisters) {
  auto b = array(std::vector<int>(384));
  run("registers", nullptr, b.data());
  EXPECT_EQ(b.content(), std::vector<int>(384, 1));
}

TEST_P(Async, BlocksOfAClusterReachEachOthersSharedMemory) {
  constexpr int blocks = 8, n = blocks * 64;
  std::vector<int> values(n);
  std::iota(values.begin(), values.end(), 1);
  auto a = array(values), b = a, c = array(std::vector<int>(n + 128));
  run("neighbours", a.data(), b.data(), c.data(), n);
  const std::vector<int> came = b.content(), read = c.content();
  for (int y = 0; y < 2; ++y)
    for (int x = 0; x < 4; ++x) {
      const int block = x + 4 * y, rank = x % 2 + 2 * y;
      const auto of_rank = [&](int r) { return x / 2 * 2 + r % 2 + 4 * (r / 2 % 2); };
      const int before = of_rank((rank + 3) % 4), two_before = of_rank((rank + 2) % 4);
      for (int t = 0; t < 64; ++t) {
        ASSERT_EQ(came[block * 64 + t], values[before * 64 + t]) << block << ", " << t;
        ASSERT_EQ(read[block * 64 + t], values[two_before * 64 + 63 - t]) << block << ", " << t;
      }
      EXPECT_EQ(read[n + block], x % 2 | y << 8 | rank << 16);
      if (rank > 0) continue;
      int sum = 0;
      for (int r = 0; r < 4; ++r)
        for (int t = 0; t < 64; ++t) sum += values[of_rank(r) * 64 + t];
      EXPECT_EQ(read[n + 64 + block], sum);
    }
}

TEST_P(Async, RemoteArrivalsPassATokenAround) {
  auto b = array(std::vector<int>(4));
  run("token_ring", nullptr, b.data(), nullptr, 5);
  EXPECT_EQ(b.content(), (std::vector<int>{20, 17, 18, 19}));
}

TEST_P(Async, BytesMayBeToldByOtherBlocks) {
  auto b = array(std::vector<int>(4));
  run("told_bytes", nullptr, b.data(), nullptr, 5);
  EXPECT_EQ(b.content(), std::vector<int>(4, 5));
}

TEST_P(Async, ARingOfStagesMultiplies) {
  for (const char* const kernel : {"ring", "ring_of_cluster"})
    for (const int n : {64, 100, 200}) {
      std::mt19937 random(static_cast<unsigned>(n));
      std::vector<float> x(static_cast<std::size_t>(n) * n), y = x, expected = x;
      for (float& value : x) value = static_cast<float>(random() % 16) - 8;
      for (float& value : y) value = static_cast<float>(random() % 16) - 8;
      for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) {
          float sum = 0;
          for (int k = 0; k < n; ++k) sum += x[i * n + k] * y[j * n + k];
          expected[i * n + j] = sum;
        }
      auto a = array(x), b = array(y), c = array(std::vector<float>(x.size(), NAN));
      run(kernel, a.data(), b.data(), c.data(), n);
      EXPECT_EQ(c.content(), expected) << kernel << ", " << n;
    }
}

#if LAPIDARY_WITH_INSTRUMENTED
// Two blocks of a cluster load a half of B's tile each for both of them; matrices of 200 x 200 floats, 800 bytes a row,
// in tiles of 64 x 64, 32 along K at a time: 4 x 4 blocks and 7 steps.
TEST(AsyncCounters, BulkCopiesAreCountedWhereTheyLeaveAndWhereTheyArrive) {
  constexpr int n = 200;
  const auto device = open_emulator({.count = true});
  const DeviceArray<float> a(*device, n * n, 1, "A"), b(*device, n * n, 1, "B"), c(*device, n * n, 0, "C");
  const TestKernel& kernel = instrumented::async_kernels()["ring_of_cluster"];
  kernel.launch(device->stream(), kernel.shape, a.data(), b.data(), c.data(), n);
  const emulator::Report report = device->stream().machine->report();
  const std::uint64_t matrix = n * n * 4, boxes = 16 * 7;
  const emulator::BulkCounters &load = report.total.bulk_load, &store = report.total.bulk_store;
  EXPECT_EQ(load.requests, boxes * 2);
  EXPECT_EQ(load.bytes, 4 * matrix + 2 * matrix) << "A once for 4 columns of tiles, B once for 2 rows of clusters";
  EXPECT_EQ(load.sectors, load.bytes / 32) << "rows and boxes begin at multiples of a sector";
  EXPECT_EQ(load.shared_bytes, boxes * (64 + 64) * 32 * 4) << "whole boxes, in each block";
  EXPECT_EQ(load.multicast_bytes, 2 * matrix) << "all of B for a second block";
  EXPECT_EQ(store.requests, 16u);
  EXPECT_EQ(store.bytes, matrix);
  EXPECT_EQ(store.sectors, matrix / 32);
  EXPECT_EQ(store.shared_bytes, 16u * 64 * 64 * 4);
  EXPECT_EQ(store.multicast_bytes, 0u);
  EXPECT_EQ(report.bytes_in_flight, 3u * (64 + 64) * 32 * 4) << "three stages";
}

// The same of matrices of 36 x 36 floats, which are less than a tile: the second block's lies beyond them, and its
// copies are issued all the same.
TEST(AsyncCounters, BulkCopiesBeyondAMatrixAreOfThatMatrix) {
  constexpr int n = 36;
  const auto device = open_emulator({.count = true});
  const DeviceArray<float> a(*device, n * n, 1, "A"), b(*device, n * n, 1, "B"), c(*device, n * n, 0, "C");
  const TestKernel& kernel = instrumented::async_kernels()["ring_of_cluster"];
  kernel.launch(device->stream(), kernel.shape, a.data(), b.data(), c.data(), n);
  std::map<std::string, std::uint64_t> copies;
  for (const emulator::AccessSite& site : device->stream().machine->report().sites)
    if (is_bulk(site.access)) copies[site.memory] += site.instructions;
  const std::map<std::string, std::uint64_t> issued = {{"A", 2 * 2}, {"B", 2 * 2}, {"C", 2}};
  EXPECT_EQ(copies, issued);
}
#endif

}  // namespace
}  // namespace lapidary::test
