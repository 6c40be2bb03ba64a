#pragma once
#include <cstdint>

#include "model/time.hpp"

namespace lapidary::model {

/// A launch of a kernel whose warpgroups multiply (wgmma) what bulk copies bring. Sums are those of the whole launch.
struct WarpgroupLaunch {
  std::int64_t tiles = 0;     ///< of D
  std::int64_t blocks = 0;    ///< of the grid; fewer than tiles if they are persistent
  int per_sm = 1;             ///< blocks that a multiprocessor holds
  double flop = 0;            ///< that tensor cores execute, tiles beyond the edges included
  double flop_per_clk = 0;    ///< of the tensor cores of a multiprocessor
  double operand_bytes = 0;   ///< that wgmma reads from shared memory, each operand once for its four warps
  double l2_to_sm_bytes = 0;  ///< of A and B, that reach the multiprocessors
  double l2_read_bytes = 0;   ///< of them, those that leave L2
  double dram_bytes = 0;      ///< read and written, but for C
  double result_bytes = 0;    ///< of D
  double stored_lines = 0;    ///< of D, that L1 looks up where threads store it, not copies from shared memory
  double c_bytes = 0;         ///< of C, if it is read, each once and from DRAM
  double c_lines = 0;         ///< of C, that L1 looks up where threads read it
  double least_seconds = 0;   ///< that DRAM takes for what has to cross it, however large the caches are
  double added = 0;           ///< instructions of a scheduler's warps that add to sums what tensor cores gave
};

/// Predicts the time of such a launch at a clock by its bounds. A wave takes as long as the slowest of
///
///   the tensor cores     flop / rate, or their operands over the width of shared memory if that is longer: a wgmma
///                        m64nN of 16-bit types is N / 2 cycles of products and 16 + N / 4 of operands. What copies
///                        write there meanwhile takes them none: at 8192^3, launch after launch, an H200 multiplies in
///                        90 % of wgmma_tma's cycles (results/h200/tensor.json), of which operands and copies, one
///                        after the other at that width, would take 113 %
///   the way from L2      what leaves L2 over its bandwidth for lines that several blocks want at a time, what arrives
///                        over a multiprocessor's port
///   DRAM                 its bytes over its bandwidth
///
/// and, where warps add sums of tensor cores to sums of their own, as long again as those take: warpgroups that wait
/// for the same copies add at the same time. Then of each tile the epilogue, in which the tensor cores idle: D's tile
/// through shared memory at its width, or, where threads store it, as many lines as L1 looks up for it. Where C is
/// read, the epilogues of a wave begin with that: a way from DRAM, and what L2 or DRAM gives or L1 looks up. Blocks of
/// one multiprocessor begin and end together, so that a second one hides none of it. A block begins with one way from
/// DRAM, a persistent one once; the launch ends with another one. Which clock the card holds is model/energy.hpp's to
/// say; blocks that drift apart and barriers are not in it. What L2 and DRAM give in a second stays as the clock falls.
/// @param clock_hz  of the multiprocessors
/// @throws InvalidArgument if a constant is missing
TimePrediction predict_time(const Gpu& gpu, const Calibration& calibration, const WarpgroupLaunch& launch,
                            double clock_hz);

}  // namespace lapidary::model
