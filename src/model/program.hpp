#pragma once
#include <functional>
#include <vector>

#include "model/multiprocessor.hpp"
#include "model/sass.hpp"

namespace lapidary::model {

/// What an access costs on average, as the emulated machine counted it.
struct AccessCost {
  double passes = 1;   ///< wavefronts of shared memory, or lines of global memory
  double sectors = 0;  ///< of global memory
};

/// What a launch asks of a thread. Of a product by tensor cores it does its share: HMMA.16816 is 64 multiply-adds of
/// each lane.
struct ThreadWork {
  double fma = 0;             ///< multiply-adds
  double fma_per_tile = 0;    ///< ... of them for each tile along K; 0 where there are no tiles
  double loads_per_tile = 0;  ///< global loads and asynchronous copies of a warp for each of those
  bool reads_c = false;       ///< beta is not 0
  /// The cost of an access of a kind and width, in bytes of a lane.
  std::function<AccessCost(InstructionClass kind, int bytes)> cost;
  /// The same of reads of C, if there are any.
  std::function<AccessCost(InstructionClass kind, int bytes)> cost_of_c = {};
  /// For how many cycles an instruction keeps a scheduler's tensor cores busy.
  std::function<double(const MachineInstruction&)> tensor_cycles = {};
};

/// A kernel as its warps execute it.
struct KernelProgram {
  std::vector<WarpProgram> programs;  ///< with beta = 0
  /// What stands behind the loop if C is read. Empty if it is not.
  std::vector<SassInstruction> epilogue_with_c;
  double iterations = 0;      ///< of the main loop
  int fma_per_iteration = 0;  ///< of a thread
  bool tensor = false;        ///< ... which are those of tensor cores
  int loop_bytes = 0;         ///< of machine code
  /// What a warp executes in one pass of the main loop, and in all; loops in it by their trips, on average over warps.
  InstructionMix pass, warp;
};

/// Finds the way that warps take through a kernel: into the main loop by the path that starts the most loads, through
/// it by the one that loads the most, and out by the one that stores results, twice if C is read: without and with it.
/// Where the loop
/// loads less than its code could, only a share of the warps does. Inner loops are written out. Passes that the
/// compiler has taken out of the loop are none of its iterations.
/// @throws Error if the kernel has no main loop, or if warpgroups multiply in it (model/warpgroup_time.hpp)
KernelProgram program_of(const CompiledKernel& kernel, const ThreadWork& work);

/// What a warp executes in one pass of the loop in which warpgroups multiply, if it copies nothing and need not wait.
/// @throws Error if the kernel has no such loop
InstructionMix warpgroup_pass(const CompiledKernel& kernel);

/// Operands that a multiply-add takes from each of the two register banks, by the number of the register; operands
/// that the instruction before it left in the reuse cache are not counted. One for each instruction; zeros for others.
std::vector<std::array<int, 2>> bank_reads(const std::vector<MachineInstruction>& instructions);

}  // namespace lapidary::model
