#pragma once
#include <cstddef>
#include <span>
#include <string_view>

#include "device/stream.hpp"
#include "emulator/tensor_core.hpp"

namespace lapidary::test {

/// An operand of an instruction for a whole warp: a matrix, element by element, in the order of
/// emulator/tensor_core.hpp, or a warp's registers, lane by lane. No elements: there is no such operand.
struct Operand {
  emulator::Number number;
  int elements;

  std::size_t bytes() const {
    return static_cast<std::size_t>(elements) * static_cast<std::size_t>(emulator::width_of(number)) / 8;
  }
};

/// An instruction of tensor cores as one build of its test kernel executes it: D of A, B and C, each an array of
/// `tiles` operands in device memory.
struct Instruction {
  const char* name;
  Operand a, b, c, d;
  void (*launch)(const Stream& stream, int tiles, const void* a, const void* b, const void* c, void* d);
};

inline const Instruction* find(std::span<const Instruction> all, std::string_view name) {
  for (const Instruction& instruction : all)
    if (name == instruction.name) return &instruction;
  return nullptr;
}

}  // namespace lapidary::test
