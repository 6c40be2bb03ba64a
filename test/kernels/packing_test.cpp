// Copies of matrices hold the same elements, whatever their orders, leading dimensions and bases, and nothing else is
// read or written; on both machines.
#include "kernels/packing.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/types.hpp"
#include "device/device.hpp"
#include "emulator/lines.hpp"

namespace lapidary {
namespace {

struct Target {
  const char* name;
  Build build;
  emulator::Options options = {};

  friend std::ostream& operator<<(std::ostream& out, const Target& target) { return out << target.name; }
};

class Packed : public testing::TestWithParam<Target> {
 protected:
  void SetUp() override {
    if (GetParam().build != Build::gpu)
      device_ = open_emulator(GetParam().options);
    else if (gpu_count() == 0)
      GTEST_SKIP() << "there is no GPU";
    else
      device_ = open_gpu();
  }

  Device& device() { return *device_; }

  /// Copies random bytes from a matrix whose base is so many elements off its alignment, and looks at each of them.
  void expect_copy(const Packing& p, std::int64_t from_off, std::int64_t to_off) {
    SCOPED_TRACE(fmt::format("{} x {} of {} bytes, {} to {}, lines of {} to {}", p.rows, p.cols, size_of(p.type),
                             static_cast<int>(p.from), static_cast<int>(p.to), p.from_ld, p.to_ld));
    const Matrix from(p, p.from, p.from_ld, from_off), to(p, p.to, p.to_ld, to_off);
    std::vector<unsigned char> source(from.bytes()), before(to.bytes()), after(to.bytes());
    for (auto* bytes : {&source, &before})
      for (unsigned char& byte : *bytes) byte = static_cast<unsigned char>(random_());
    const DeviceBuffer a = from.allocate(*device_, "from"), b = to.allocate(*device_, "to");
    device_->upload(a.data(), source.data(), source.size());
    device_->upload(b.data(), before.data(), before.size());
    pack(GetParam().build, device_->stream(), p, from.first(a), to.first(b));
    device_->synchronize();
    device_->download(after.data(), b.data(), after.size());
    for (std::int64_t row = 0; row < p.rows; ++row)
      for (std::int64_t col = 0; col < p.cols; ++col) {
        unsigned char* const copied = after.data() + to.at(row, col);
        ASSERT_EQ(std::memcmp(copied, source.data() + from.at(row, col), from.size), 0) << row << ", " << col;
        std::memcpy(copied, before.data() + to.at(row, col), to.size);
      }
    EXPECT_EQ(after, before) << "something else is written";
  }

 private:
  /// In a buffer that ends with its last element.
  struct Matrix {
    std::size_t size, off, pitch, length, lines;
    bool by_rows;

    Matrix(const Packing& p, Order order, std::int64_t ld, std::int64_t elements_off)
        : size(static_cast<std::size_t>(size_of(p.type))),
          off(static_cast<std::size_t>(elements_off) * size),
          pitch(static_cast<std::size_t>(ld) * size),
          length(static_cast<std::size_t>(order == Order::row_major ? p.cols : p.rows) * size),
          lines(static_cast<std::size_t>(order == Order::row_major ? p.rows : p.cols)),
          by_rows(order == Order::row_major) {}
    std::size_t bytes() const { return off + (lines - 1) * pitch + length; }
    std::size_t at(std::int64_t row, std::int64_t col) const {
      const auto line = static_cast<std::size_t>(by_rows ? row : col),
                 place = static_cast<std::size_t>(by_rows ? col : row);
      return off + line * pitch + place * size;
    }
    DeviceBuffer allocate(Device& device, const char* name) const {
      return {device, bytes(), name, bytes(), emulator::Lines{off, length, pitch}};
    }
    unsigned char* first(const DeviceBuffer& buffer) const { return static_cast<unsigned char*>(buffer.data()) + off; }
  };

  std::unique_ptr<Device> device_;
  std::minstd_rand random_;
};

std::vector<Target> targets() {
  std::vector<Target> all = {{"plain", Build::plain}};
#if LAPIDARY_WITH_INSTRUMENTED
  all.push_back({"checked", Build::instrumented, {.check = true}});
  all.push_back({"checked_in_a_random_order", Build::instrumented, {.check = true, .threads = 1, .seed = 7}});
#endif
#if LAPIDARY_WITH_CUDA
  all.push_back({"gpu", Build::gpu});
#endif
  return all;
}
INSTANTIATE_TEST_SUITE_P(On, Packed, testing::ValuesIn(targets()), [](const auto& info) { return info.param.name; });

TEST_P(Packed, MatricesHaveTheSameElements) {
  constexpr Order rows = Order::row_major, cols = Order::column_major;
  for (const Type type : {Type::s8, Type::bf16, Type::f32})
    for (const auto& [from, to] : {std::pair(rows, rows), {rows, cols}, {cols, rows}, {cols, cols}})
      for (const auto& [m, n] : {std::pair(1, 1), {1, 130}, {130, 1}, {63, 65}, {64, 128}, {131, 67}}) {
        const std::int64_t from_length = from == rows ? n : m, to_length = to == rows ? n : m;
        expect_copy({type, m, n, from, to, from_length, aligned_ld(type, to_length, 16)}, 0, 0);
        expect_copy({type, m, n, from, to, from_length + 3, to_length + 5}, 1, 2);
      }
}

// Words that hold elements of two lines, or of a line and of what is no line, wherever a line begins in a word.
TEST_P(Packed, LinesMayBeginAnywhere) {
  for (const Type type : {Type::s8, Type::bf16, Type::f32})
    for (const std::int64_t length : {1, 3, 15, 16, 19, 37, 257, 521})
      for (const std::int64_t between : {0, 1, 3})
        for (const std::int64_t off : {0, 1, 2, 3})
          expect_copy({type, 19, length, {}, {}, length + between, aligned_ld(type, length, 16)}, off, 0);
}

TEST_P(Packed, OfNoElementsIsNothing) {
  pack(GetParam().build, device().stream(), {Type::bf16, 0, 7, {}, {}, 7, 8}, nullptr, nullptr);
}

TEST(Packing, BeginsLinesAtMultiples) {
  EXPECT_EQ(aligned_ld(Type::bf16, 100, 16), 104);
  EXPECT_EQ(aligned_ld(Type::f32, 100, 16), 100);
  EXPECT_EQ(aligned_ld(Type::e4m3, 1, 128), 128);
}

TEST(Packing, RefusesWhatItCannotNumber) {
  const auto device = open_emulator();
  constexpr std::int64_t side = std::int64_t{64} << 20;
  const Packing p = {Type::bf16, side, side, Order::row_major, Order::column_major, side, side};
  EXPECT_THROW(pack(Build::plain, device->stream(), p, nullptr, nullptr), InvalidArgument);
  EXPECT_THROW(pack(Build::gpu, device->stream(), p, nullptr, nullptr), InvalidArgument);
}

}  // namespace
}  // namespace lapidary
