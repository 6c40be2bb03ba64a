#pragma once
#include <vector>

#include "emulator/report.hpp"
#include "lens/explanation.hpp"
#include "model/sass.hpp"

namespace lapidary::lens {

/// The class of the machine instructions that an access as written becomes.
model::InstructionClass class_of(emulator::Access access);

/// The accesses to memory that a kernel's machine code has, by file and line, beside those of a launch as written.
std::vector<CompiledAccess> compiled_accesses(const model::CompiledKernel& compiled, const emulator::Report& written);

}  // namespace lapidary::lens
