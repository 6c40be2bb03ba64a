#pragma once
#include <cstdint>
#include <vector>

// A multiprocessor (SM) simulated cycle by cycle, as it executes the main loop of a compiled kernel: what issues when,
// and what everything waits for. All constants are physical and come with a calibration (model/calibration.hpp).

namespace lapidary::model {

/// Who executes an instruction.
enum class Unit : std::uint8_t {
  fma,        ///< FFMA, FMUL, FADD: either half of the multiply-add pipe
  fma_heavy,  ///< IMAD, HADD2, HFMA2: that half of it which does more than FFMA
  tensor,     ///< HMMA, IMMA, DMMA: a scheduler's tensor cores; when what they give is there is in the stall counts
  alu,        ///< integer and logic
  uniform,    ///< the warp-wide datapath
  variable,   ///< special functions, constants and special registers: slow and rare
  shared_load,
  shared_store,
  global_load,
  global_store,
  async_copy,  ///< cp.async
  commit,      ///< ends a group of asynchronous copies
  wait_group,  ///< waits until at most `argument` groups are pending
  barrier,     ///< __syncthreads
  control,     ///< branches
  idle,        ///< takes an issue slot alone
};

/// One instruction of a warp, with what the compiler wrote into its control bits.
struct SassInstruction {
  Unit unit = Unit::idle;
  std::uint8_t stall = 1;          ///< cycles until the warp may issue its next instruction
  std::int8_t write_barrier = -1;  ///< scoreboard, 0 to 5, that it holds until its result is there; -1: none
  std::int8_t read_barrier = -1;   ///< ... until its operands have been read
  std::uint8_t wait = 0;           ///< scoreboards, one bit each, that must be free before it issues
  std::uint8_t bytes = 4;          ///< width of a lane's access to memory
  std::uint8_t argument = 0;
  std::uint8_t reads[2] = {};  ///< operands that a multiply-add takes from the even and the odd register bank
  float wavefronts = 0;        ///< passes of the warp through shared memory, or lines of global memory, on average
  float sectors = 0;           ///< of global memory that it moves, on average
  float tensor_cycles = 0;     ///< that it keeps the tensor cores of its scheduler busy
  bool reads_c = false;        ///< a load of C, which the launch reads once: L2 does not hold it
  std::int32_t line = 0;       ///< of the source, 0 if unknown
  /// A load from shared memory whose predicate never holds: it moves nothing, but a card counts it as executed.
  bool empty_shared_load = false;
};

/// What `share` of a block's warps execute: the loop as often as the block walks along K.
struct WarpProgram {
  double share = 1;
  std::vector<SassInstruction> prologue, loop, epilogue;
};

/// Constants of a multiprocessor; times in cycles of its clock.
struct MultiprocessorConstants {
  int schedulers = 4;
  double shared_latency = 0;  ///< from the issue of a load to its result, without queueing
  double l1_latency = 0;
  double l2_latency = 0;
  double dram_latency = 0;
  double barrier_arrival = 0;  ///< that a warp's arrival at a barrier takes of the unit that counts them
  double barrier_latency = 0;  ///< from the last arrival to the first instruction behind the barrier
  double bank_slack = 0;       ///< that a register bank may be behind when the next multiply-add issues
  double fetch_interval = 1;   ///< between two instructions of a scheduler, at best
  /// That an instruction keeps what executes it busy: half of the multiply-add pipe, or the integer pipe. Each is half
  /// a warp wide.
  double pipe_cycles = 2;
  /// Halves that the multiply-add pipe has: with one, of 64 lanes in a multiprocessor, all of it does what
  /// Unit::fma_heavy does.
  int fma_halves = 2;
  double lines_per_cycle = 0;   ///< 128-byte lines of global memory that L1 looks up
  double wavefront_cycles = 1;  ///< of shared memory for one wavefront
  double shared_issue = 0;      ///< cycles between two shared accesses, however few wavefronts they take
  int queue_entries = 0;        ///< memory instructions of one scheduler that wait for the memory pipe
};

/// What one multiprocessor gets of what all share.
struct MemoryShare {
  double l2_bytes_per_cycle = 0;
  double dram_bytes_per_cycle = 0;
  double l1_hit = 0;    ///< share of the sectors of loads that L1 holds
  double l2_hit = 1;    ///< share of the others that L2 holds
  double c_l1_hit = 0;  ///< share of the sectors of loads of C that L1 holds; L2 holds none of the others
};

/// What a simulation found.
struct BlockTime {
  double cycles = 0;       ///< from the first instruction of the blocks to the last one
  double loop_cycles = 0;  ///< of one iteration in the steady state, all resident blocks together
  // Shares of the loop's cycles in which something was busy, none above 1.
  double issue = 0, fma = 0, tensor = 0, shared = 0, l1 = 0, l2 = 0, dram = 0;
};

/// Runs `blocks` blocks of `warps` warps on one multiprocessor, all of them from the start, through `iterations` of the
/// loop. Long loops are cut: an iteration in the steady state stands for those that are left out.
/// @param programs  their shares add up to 1; at least 1 iteration, warp and block
BlockTime simulate(const std::vector<WarpProgram>& programs, double iterations, int warps, int blocks,
                   const MultiprocessorConstants& constants, const MemoryShare& memory);

}  // namespace lapidary::model
