#include "lens/product_instruction.hpp"

#include <algorithm>

namespace lapidary::lens {

std::optional<ProductInstruction> product_instruction(const Explanation& e) {
  if (!e.compiled) return std::nullopt;
  const auto& code = e.compiled->instructions;
  const auto found = std::find_if(code.begin(), code.end(),
                                  [](const auto& i) { return i.kind == model::InstructionClass::tensor; });
  if (found == code.end()) return std::nullopt;
  TensorInstruction instruction = parse_tensor_instruction(found->opcode);
  if (instruction.kind == TensorInstruction::Kind::wgmma) {
    const GemmKind kind = e.question.kernel->kind;
    instruction.a_shared = SharedForm{kind.a == Order::row_major ? Major::k : Major::mn, TensorSwizzle::bytes128};
    instruction.b_shared = SharedForm{kind.b == Order::row_major ? Major::mn : Major::k, TensorSwizzle::bytes128};
  }
  return ProductInstruction{found->opcode, instruction};
}

}  // namespace lapidary::lens
