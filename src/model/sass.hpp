#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/launch_shape.hpp"
#include "core/types.hpp"

// What nvcc made of a kernel, as script/compiled records it: facts, and the machine code or the PTX as text.

namespace lapidary::model {

/// What an instruction is for.
enum class InstructionClass : std::uint8_t {
  fma,          ///< FFMA, in PTX fma: the multiply-adds of the product
  tensor,       ///< HMMA and its like, in PTX mma.sync and wgmma.mma_async: products of tensor cores
  other_float,  ///< FMUL, FADD, and conversions
  integer,      ///< addresses, counters, predicates
  uniform,      ///< the same, once for a warp
  shared_load,
  shared_store,
  global_load,
  global_store,
  async_copy,
  barrier,    ///< mbarriers too
  control,    ///< branches, fences, and waiting for copies and products
  special,    ///< constants, special registers and functions
  bulk_copy,  ///< UTMALDG and its like, in PTX cp.async.bulk: by one thread for a block
  local,      ///< local memory: what registers have no room for
};
constexpr int instruction_classes = 15;
const char* name_of(InstructionClass c);

/// Numbers of instructions by class; fractions where warps differ.
struct InstructionMix {
  std::array<double, instruction_classes> counts{};

  double& operator[](InstructionClass c) { return counts[static_cast<std::size_t>(c)]; }
  double operator[](InstructionClass c) const { return counts[static_cast<std::size_t>(c)]; }
  double all() const;
  /// Those that multiply: of tensor cores if there are any, which leave the others an epilogue, else multiply-adds.
  double products() const;
};

/// One machine instruction with its control bits (script/compiled tells their format), or one instruction of PTX, which
/// has none.
struct MachineInstruction {
  std::string text;    ///< "@P0 LDS.128 R4, [R2+0x10]"
  std::string opcode;  ///< "LDS.128"
  std::string file;    ///< of the source line that it comes from; empty if unknown
  int line = 0;
  InstructionClass kind{};
  int bytes = 0;             ///< width of a lane's access to memory
  bool conditional = false;  ///< has a predicate
  bool never = false;        ///< its predicate never holds
  int target = -1;           ///< of a branch: index of an instruction
  int stall = 0;             ///< cycles until the warp's next instruction
  int write_barrier = -1, read_barrier = -1;
  unsigned wait = 0;  ///< scoreboards, a bit each

  /// Of the product, by a warp: 32 of FFMA, what its shape says of an instruction of tensor cores. HGMMA, which four
  /// warps execute together, counts a quarter for each.
  int multiply_adds() const;
};

/// The operands of an instruction, without its opcode.
std::vector<std::string_view> operands(const MachineInstruction& i);

/// Indices of the first and the last instruction of a loop.
struct Loop {
  int first, last;
};

/// The machine code, or the PTX, of one kernel of a rung. Where problems whose rows are aligned to vectors have a
/// path of their own, it is that.
struct CompiledKernel {
  std::string id, kernel, tile, type, architecture, compiler, source_hash;
  std::string problems;  ///< that it runs: "aligned" or "all"
  int registers = 0, stack_bytes = 0, spilled_bytes = 0;
  int barriers = 1;  ///< that a block has reserved: all 16 where a register says which one is meant
  std::vector<MachineInstruction> instructions;
  std::vector<Loop> loops;  ///< by their first instruction; an inner loop follows the one that it is in

  /// The walk along K: of the loops with the most products, of tensor cores if there are any, the outermost one that
  /// stores no results. A loop over tiles of D, as blocks have that stay, holds the epilogue too. Null if there is
  /// none.
  const Loop* main_loop() const;
  /// The loop in which most products are executed: the main loop, or one in it that has most of its products. Null if
  /// there is none.
  const Loop* product_loop() const;
  /// Whether tensor cores do the products of the main loop; and whether warpgroups, by wgmma, do.
  bool is_tensor() const;
  bool is_warpgroup() const;

 private:
  std::ptrdiff_t count(const Loop& loop, InstructionClass kind) const;
};

/// Reads a record; `name` is that of its file. @throws InvalidArgument naming file and line if it is not one
CompiledKernel parse_sass(std::string_view text, std::string_view name);
CompiledKernel parse_ptx(std::string_view text, std::string_view name);

/// The record of a kernel's machine code, if there is one: results/compiled/<architecture>/<id>.sass, as in
/// mma_tiles_128x128x32_bf16-RC.sass (kernels/registry.hpp, KernelEntry::id).
std::optional<CompiledKernel> find_compiled(std::string_view id, std::string_view architecture = "sm_90a");
/// The same of the PTX that it was made of, whose record ends in .ptx. Registers and spills are those of the machine
/// code.
std::optional<CompiledKernel> find_ptx(std::string_view id, std::string_view architecture = "sm_90a");

}  // namespace lapidary::model
