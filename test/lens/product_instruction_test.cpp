#include "lens/product_instruction.hpp"

#include <gtest/gtest.h>

#include "kernels/registry.hpp"
#include "model/sass.hpp"

namespace lapidary::lens {
namespace {

std::optional<ProductInstruction> product_of(const char* kernel) {
  const Rung& rung = find_rung(kernel);
  const KernelEntry& first = rung.kernels.front();
  Explanation e{};
  e.question = {&rung, &first, {.kind = first.kind}, {}};
  e.compiled = model::find_compiled(first.id());
  return product_instruction(e);
}

TEST(ProductInstruction, IsTheMachineCodesWithTilesAsTheMatricesLie) {
  const auto wgmma = product_of("wgmma_tma");  // A is row-major and B column-major: both are contiguous along K
  ASSERT_TRUE(wgmma);
  EXPECT_EQ(wgmma->opcode.substr(0, 5), "HGMMA");
  EXPECT_EQ(wgmma->instruction.kind, TensorInstruction::Kind::wgmma);
  EXPECT_EQ(wgmma->instruction.a_shared, (SharedForm{Major::k, TensorSwizzle::bytes128}));
  EXPECT_EQ(wgmma->instruction.b_shared, (SharedForm{Major::k, TensorSwizzle::bytes128}));
  const auto mma = product_of("mma_k8");
  ASSERT_TRUE(mma);
  EXPECT_EQ(to_string(mma->instruction), "mma m16n8k8 bf16");
  EXPECT_FALSE(product_of("vectorized"));
}

}  // namespace
}  // namespace lapidary::lens
