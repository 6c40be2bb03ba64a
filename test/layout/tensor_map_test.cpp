#include "layout/tensor_map.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace lapidary {
namespace {

constexpr Layout k_major = row_major(64, 64).swizzled(3, 3, 3);  // of bf16: 128 bytes a row

static_assert(tensor_swizzle(k_major, 2) == TensorSwizzle::bytes128);
static_assert(tensor_swizzle(row_major(64, 32).swizzled(2, 3, 3), 2) == TensorSwizzle::bytes64);
static_assert(tensor_swizzle(row_major(64, 4).swizzled(1, 1, 3), 8) == TensorSwizzle::bytes32);
static_assert(tensor_swizzle(row_major(64, 100), 1) == TensorSwizzle::none);

// The mode that a layout asks for puts every element where the layout has it.
TEST(TensorSwizzle, IsTheLayouts) {
  for (const auto& [layout, bytes] : {std::pair(k_major, 2),
                                      {row_major(32, 32).swizzled(3, 2, 3), 4},
                                      {row_major(24, 64).swizzled(2, 4, 3), 1},
                                      {row_major(16, 4).swizzled(1, 1, 3), 8}}) {
    const Swizzle swizzle = byte_swizzle(tensor_swizzle(layout, bytes));
    for (int row = 0; row < layout.shape(0); ++row)
      for (int col = 0; col < layout.shape(1); ++col)
        ASSERT_EQ(swizzle((row * layout.shape(1) + col) * bytes), layout(row, col) * bytes) << row << ", " << col;
  }
}

TEST(TensorSwizzle, RefusesLayoutsThatNoModeWrites) {
  for (const Layout& layout :
       {row_major(64, 64).swizzled(3, 2, 3), row_major(64, 64).swizzled(3, 3, 4), row_major(64, 64).swizzled(4, 3, 4),
        row_major(64, 64).padded(64, 8), column_major(64, 64), row_major(2, 64, 64)})
    EXPECT_THROW(tensor_swizzle(layout, 2), InvalidArgument) << to_string(layout);
}

TensorBox legal() {
  return {.base = reinterpret_cast<const void*>(0x1000),
          .size = {1000, 500},
          .stride = {2048},
          .box = {64, 128},
          .rank = 2,
          .type = TensorType::bf16,
          .swizzle = TensorSwizzle::bytes128};
}

struct Refusal {
  std::function<void(TensorBox&)> change;
  std::string message;
};

TEST(TensorMap, RulesAreNamedWithTheNearestLegalValue) {
  EXPECT_NO_THROW(require_legal(legal()));
  const std::vector<Refusal> refusals = {
      {[](TensorBox& t) { t.rank = 0; }, "tensor map: the rank is 1 to 5; got 0, the nearest legal value is 1"},
      {[](TensorBox& t) { t.rank = 6; }, "the rank is 1 to 5; got 6, the nearest legal value is 5"},
      {[](TensorBox& t) { t.base = nullptr; }, "the base address is not null; got 0"},
      {[](TensorBox& t) { t.base = reinterpret_cast<const void*>(0x1008); },
       "the base address modulo 16 is 0; got 8, the nearest legal value is 0"},
      {[](TensorBox& t) { t.size[1] = 0; }, "each mode of the tensor has 1 to 2^32 elements; got 0"},
      {[](TensorBox& t) { t.size[0] = (1ull << 32) + 1; },
       "1 to 2^32 elements; got 4294967297, the nearest legal value is 4294967296"},
      {[](TensorBox& t) { t.stride[0] = 2056; },
       "strides are multiples of 16 bytes; got 2056, the nearest legal value is 2048"},
      {[](TensorBox& t) { t.stride[0] = 1ull << 40; }, "strides are below 2^40 bytes; got 1099511627776"},
      {[](TensorBox& t) { t.box[1] = 257; }, "each mode of the box has 1 to 256 elements; got 257"},
      {[](TensorBox& t) { t.box[0] = 60; }, "a row of the box is a multiple of 16 bytes; got 120"},
      {[](TensorBox& t) { t.box[0] = 72; },
       "a row of the box is no longer than what the swizzle permutes; got 144, the nearest legal value is 128"},
      {[](TensorBox& t) { t.element_stride[1] = 9; }, "element strides are 1 to 8; got 9"},
      {[](TensorBox& t) {
         t.type = TensorType::u16;
         t.fill = TensorFill::nan;
       },
       "only floating-point tensors are filled with NaN"},
  };
  for (const auto& [change, message] : refusals) {
    TensorBox tensor = legal();
    change(tensor);
    try {
      require_legal(tensor);
      ADD_FAILURE() << message;
    } catch (const InvalidArgument& refused) {
      EXPECT_NE(std::string(refused.what()).find(message), std::string::npos) << refused.what();
    }
  }
}

TEST(TensorMap, BytesOfABoxCountWhatIsCopied) {
  TensorBox tensor = legal();
  EXPECT_EQ(box_bytes(tensor), 128 * 128);
  tensor.element_stride[1] = 3;
  EXPECT_EQ(box_bytes(tensor), 128 * 43);
}

}  // namespace
}  // namespace lapidary
