#pragma once
#include <optional>
#include <string>

#include "lens/explanation.hpp"
#include "lens/tensor_instruction.hpp"

namespace lapidary::lens {

/// The instruction of tensor cores that a kernel multiplies by.
struct ProductInstruction {
  std::string opcode;  ///< of the machine code
  TensorInstruction instruction;
};

/// By the machine code on record, if it has one. It does not tell how the tiles of wgmma lie in shared memory: as the
/// matrices do, with the swizzle of tile/tma_tile.hpp.
std::optional<ProductInstruction> product_instruction(const Explanation& e);

}  // namespace lapidary::lens
