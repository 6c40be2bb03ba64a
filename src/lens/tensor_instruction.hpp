#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "emulator/tensor_core.hpp"
#include "layout/matrix_descriptor.hpp"

namespace lapidary::lens {

/// How an operand of wgmma lies in shared memory.
struct SharedForm {
  Major major = Major::k;
  TensorSwizzle swizzle = TensorSwizzle::bytes128;

  bool operator==(const SharedForm&) const = default;
};

/// An instruction of tensor cores, or one that moves matrices for them.
struct TensorInstruction {
  enum class Kind : std::uint8_t { mma, wgmma, wmma, ldmatrix, stmatrix };

  Kind kind;
  /// Elements of A, B, and of C and D; ldmatrix and stmatrix move elements of 16 bits, whatever they are.
  emulator::Number a = emulator::Number::f16, b = a, d = a;
  int M = 8, N = 8, K = 8;
  int matrices = 1;         ///< that ldmatrix and stmatrix move
  bool transposed = false;  ///< .trans of these
  /// Of wgmma; an A that is not in shared memory is in registers.
  std::optional<SharedForm> a_shared = std::nullopt;
  SharedForm b_shared = {};

  /// ldmatrix or stmatrix.
  bool moves_matrices() const { return kind == Kind::ldmatrix || kind == Kind::stmatrix; }
  bool operator==(const TensorInstruction&) const = default;
};

/// Every kind, type and shape that there is here (src/ptx; of WMMA, what the emulated machine has). Operands of wgmma
/// in shared memory are as SharedForm is by default.
const std::vector<TensorInstruction>& tensor_instructions();

/// "mma m16n8k16 bf16", as parse_tensor_instruction() reads it.
std::string to_string(const TensorInstruction& instruction);

/// Its name in PTX, or of WMMA in CUDA C++: "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32".
std::string ptx_name(const TensorInstruction& instruction);

/// What to_string() writes, PTX names, and opcodes of machine code such as HMMA.16816.F32.BF16. How it is written and
/// what there is: tensor_instruction_grammar().
/// @throws InvalidArgument naming the rule, what was written, and what there is
TensorInstruction parse_tensor_instruction(std::string_view text);

std::string tensor_instruction_grammar();

}  // namespace lapidary::lens
