// Matrices of more than 2^31 elements, along either side or along both, in GPU memory: each element says by its value
// where it is, so that an offset that wraps around is not taken for another one. Results are small integers, which
// every type holds exactly.
#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "lapidary/gemm.hpp"
#include "library/elements.hpp"
#include "library/on_gpu.hpp"

namespace lapidary {
namespace {

using test::check;

/// Of squares. The first one has more than 2^31 elements in all; of the second one, whose lines are aligned, so that it
/// is read and stored in bulk as it is, half lie beyond 2^31 and more than 2^32 bytes even of the narrowest type.
constexpr std::int64_t sides[] = {46341, 66048};
constexpr std::int64_t many = (std::int64_t{1} << 31) + 5;
/// After so many elements numbers come again: no power of two, nor near a multiple of one.
constexpr std::int64_t period = 13 * 11;

/// The number at a place of a matrix that is read along its lines.
float number_at(std::int64_t place) { return static_cast<float>((place * 7 + place / 13) % 9 - 4); }

struct Kind {
  Type type, result;
};
constexpr Kind kinds[] = {{Type::f32, Type::f32},  {Type::f16, Type::f16}, {Type::bf16, Type::f32},
                          {Type::tf32, Type::f32}, {Type::s8, Type::s32},  {Type::e4m3, Type::f32}};

std::string name_of_kind(const testing::TestParamInfo<Kind>& info) {
  return fmt::format("{}_{}", name_of(info.param.type), name_of(info.param.result));
}
std::string name_of_square(const testing::TestParamInfo<std::tuple<Kind, std::int64_t>>& info) {
  const auto& [kind, side] = info.param;
  return fmt::format("{}_{}_{}", name_of(kind.type), name_of(kind.result), side);
}

class Large : public test::OnGpu {
 protected:
  static constexpr std::size_t bytes_of(Type type, std::int64_t count) {
    return static_cast<std::size_t>(count) * static_cast<std::size_t>(size_of(type));
  }
  bool fits(std::size_t bytes) const { return device_->properties().free_bytes > bytes + (std::size_t{1} << 31); }

  /// The first numbers of that many lines, over and over. All that comes after the first lines is copied on the card.
  std::unique_ptr<DeviceBuffer> lines_of(Type type, std::int64_t lines, std::int64_t length, std::int64_t different) {
    std::vector<float> first(static_cast<std::size_t>(different * length));
    for (std::size_t i = 0; i < first.size(); ++i) first[i] = number_at(static_cast<std::int64_t>(i));
    auto buffer = std::make_unique<DeviceBuffer>(*device_, bytes_of(type, lines * length), "matrix");
    test::upload_as(*device_, buffer->data(), type, first);
    const std::size_t all = buffer->bytes();
    for (std::size_t there = bytes_of(type, different * length); there < all; there *= 2)
      check(cudaMemcpy(static_cast<char*>(buffer->data()) + there, buffer->data(), std::min(there, all - there),
                       cudaMemcpyDeviceToDevice));
    return buffer;
  }
  /// Filled with what is no result: NaN, and of s32 -1.
  std::unique_ptr<DeviceBuffer> poisoned(Type result, std::int64_t count) {
    auto buffer = std::make_unique<DeviceBuffer>(*device_, bytes_of(result, count), "D");
    check(cudaMemset(buffer->data(), 0xff, buffer->bytes()));
    return buffer;
  }
  std::vector<std::int32_t> results(Type result, const DeviceBuffer& buffer, std::int64_t first, std::int64_t count) {
    const auto* const from = static_cast<const char*>(buffer.data()) + bytes_of(result, first);
    std::vector<std::int32_t> whole(static_cast<std::size_t>(count));
    if (result == Type::s32) {
      device_->download(whole.data(), from, whole.size() * sizeof(std::int32_t));
      return whole;
    }
    const std::vector<float> values = test::download_of(*device_, from, result, whole.size());
    for (std::size_t i = 0; i < whole.size(); ++i)
      whole[i] = values[i] == values[i] ? static_cast<std::int32_t>(values[i]) : -1'000'000;
    return whole;
  }
  void gemm(const ConstMatrixView& a, const ConstMatrixView& b, const MatrixView& d) {
    context_->gemm(device_->stream(), 1, a, b, 0, {}, d);
    device_->synchronize();
  }
};
class LargeSquares : public Large, public testing::WithParamInterface<std::tuple<Kind, std::int64_t>> {};
class LongSides : public Large, public testing::WithParamInterface<Kind> {};
INSTANTIATE_TEST_SUITE_P(Of, LargeSquares, testing::Combine(testing::ValuesIn(kinds), testing::ValuesIn(sides)),
                         name_of_square);
INSTANTIATE_TEST_SUITE_P(Of, LongSides, testing::ValuesIn(kinds), name_of_kind);

// A column times a row: (i, j) is a_i * b_j.
TEST_P(LargeSquares, HaveRightResultsEverywhere) {
  const auto [kind, side] = GetParam();
  const auto [type, result] = kind;
  if (!fits(bytes_of(result, side * side))) GTEST_SKIP() << "too little memory";
  const auto column = lines_of(type, side, 1, period), row = lines_of(type, side, 1, period),
             d = poisoned(result, side * side);
  gemm(row_major_view(column->data(), type, side, 1), row_major_view(row->data(), type, 1, side),
       row_major_view(d->data(), result, side, side));
  // A row in 101, and all of the last ones.
  for (std::int64_t i = 0; i < side; i += i + 1101 < side ? 101 : 1) {
    const std::vector<std::int32_t> found = results(result, *d, i * side, side);
    for (std::int64_t j = 0; j < side; ++j)
      ASSERT_EQ(found[static_cast<std::size_t>(j)], number_at(i % period) * number_at(j % period)) << i << ", " << j;
  }
}

// Either operand is large; what a row or a column adds up to says which one it is.
TEST_P(LargeSquares, AreReadEverywhere) {
  const auto [kind, side] = GetParam();
  const auto [type, result] = kind;
  constexpr std::int64_t few = 16, different = 13;
  if (!fits(bytes_of(type, side * side))) GTEST_SKIP() << "too little memory";
  const auto large = lines_of(type, side, side, different), d = poisoned(result, side * few);
  const DeviceBuffer narrow(*device_, bytes_of(type, few * side), "narrow");
  // Sums that 16 bits do not hold are rounded: one in 63 of the numbers is not 0.
  std::vector<float> thin(static_cast<std::size_t>(few * side));
  for (std::size_t i = 0; i < thin.size(); i += 63) thin[i] = 1;
  test::upload_as(*device_, narrow.data(), type, thin);
  std::vector<std::int32_t> expected(static_cast<std::size_t>(different * few));
  for (std::int64_t line = 0; line < different; ++line)
    for (std::int64_t j = 0; j < few; ++j)
      for (std::int64_t k = 0; k < side; ++k)
        if (thin[static_cast<std::size_t>(j * side + k)] != 0)
          expected[static_cast<std::size_t>(line * few + j)] += static_cast<std::int32_t>(number_at(line * side + k));
  const auto A = row_major_view(large->data(), type, side, side);
  const auto B = column_major_view(narrow.data(), type, side, few);
  for (const bool swapped : {false, true}) {
    check(cudaMemset(d->data(), 0xff, d->bytes()));
    if (swapped)
      gemm(B.transposed(), A.transposed(), row_major_view(d->data(), result, few, side));
    else
      gemm(A, B, row_major_view(d->data(), result, side, few));
    const std::vector<std::int32_t> found = results(result, *d, 0, side * few);
    for (std::int64_t line = 0; line < side; ++line)
      for (std::int64_t j = 0; j < few; ++j)
        ASSERT_EQ(found[static_cast<std::size_t>(swapped ? j * side + line : line * few + j)],
                  expected[static_cast<std::size_t>(line % different * few + j)])
            << line << ", " << j << (swapped ? ", as B" : ", as A");
  }
}

// M or N is more than 2^31: the problem is cut up.
TEST_P(LongSides, HaveMoreThan31Bits) {
  const auto [type, result] = GetParam();
  constexpr std::int64_t K = 2;
  if (!fits(bytes_of(type, many * K) + bytes_of(result, many))) GTEST_SKIP() << "too little memory";
  const auto long_one = lines_of(type, many, K, period), two = lines_of(type, 1, K, 1), d = poisoned(result, many);
  const float first = number_at(0), second = number_at(1);
  for (const bool swapped : {false, true}) {
    check(cudaMemset(d->data(), 0xff, d->bytes()));
    const auto A = row_major_view(long_one->data(), type, many, K);
    const auto B = column_major_view(two->data(), type, K, 1);
    if (swapped)
      gemm(B.transposed(), A.transposed(), row_major_view(d->data(), result, 1, many));
    else
      gemm(A, B, row_major_view(d->data(), result, many, 1));
    constexpr std::int64_t window = 1 << 20;
    for (const std::int64_t at : {std::int64_t{0}, many / 4, many / 2 - window / 2, many / 3 * 2, many - window})
      for (std::int64_t i = at; const std::int32_t value : results(result, *d, at, window)) {
        const std::int64_t line = i++ % period;
        ASSERT_EQ(value, number_at(line * K) * first + number_at(line * K + 1) * second)
            << i - 1 << (swapped ? ", N" : ", M");
      }
  }
}

// K is more than 2^31: parts of it are added up one after the other.
TEST_P(LongSides, AreAddedUp) {
  const auto [type, result] = GetParam();
  if (type != Type::f32)
    GTEST_SKIP() << "of aligned operands kernels of f32 alone share out so long a sum; others take minutes";
  if (!fits(2 * bytes_of(type, many))) GTEST_SKIP() << "too little memory";
  const DeviceBuffer a(*device_, bytes_of(type, many), "A");
  const auto b = lines_of(type, many, 1, period), d = poisoned(result, 1);
  // Few numbers of A are not 0, at both ends and around 2^30 and 2^31.
  check(cudaMemset(a.data(), 0, a.bytes()));
  std::int64_t expected = 0;
  for (const std::int64_t k :
       {std::int64_t{0}, std::int64_t{7}, many / 2 - 3, many / 2 + 1, many - 6, many - 5, many - 4, many - 1}) {
    const auto weight = static_cast<float>(k % 5 + 1);
    test::upload_as(*device_, static_cast<char*>(a.data()) + bytes_of(type, k), type, {weight});
    expected += static_cast<std::int64_t>(weight * number_at(k % period));
  }
  gemm(row_major_view(a.data(), type, 1, many), column_major_view(b->data(), type, many, 1),
       row_major_view(d->data(), result, 1, 1));
  EXPECT_EQ(results(result, *d, 0, 1)[0], expected);
}

}  // namespace
}  // namespace lapidary
