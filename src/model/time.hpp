#pragma once
#include <optional>
#include <string>
#include <vector>

#include "model/calibration.hpp"
#include "model/gpu.hpp"
#include "model/occupancy.hpp"
#include "model/program.hpp"
#include "model/waves.hpp"

namespace lapidary::model {

/// A launch whose time is asked for.
struct TimedLaunch {
  std::int64_t blocks = 0;
  std::int64_t tiles = 0;  ///< of D, that the blocks go through one after the other; at most `blocks`: one each
  int warps_per_block = 0;
  Occupancy occupancy;
  double l1_hit = 0;         ///< of the sectors that loads ask for, the share that L1 holds
  double l2_hit = 0;         ///< of the others, the share that L2 holds
  double copied_bytes = 0;   ///< by bulk copies to shared memory, for which no warp waits in the program
  double c_bytes = 0;        ///< of C, if it is read
  double c_l1_hit = 0;       ///< of the sectors that loads of C ask for, the share that L1 holds
  double least_seconds = 0;  ///< that DRAM takes for what has to cross it, however large the caches are
};

/// One thing that a kernel keeps busy.
struct BusyShare {
  std::string what;  ///< "issue slots"
  double share;      ///< of the time of the main loop
};

/// What a launch whose warpgroups multiply takes its time for, in seconds; all of it together is the launch.
struct TimeParts {
  double products = 0;   ///< if all multiprocessors shared them, at the predicted clock and tensor cores' full rate
  double slower = 0;     ///< the slowest of operands, L2 and DRAM takes longer than they (warpgroup_time.hpp)
  double idle = 0;       ///< multiprocessors have no tile, or none left, while others multiply
  double epilogues = 0;  ///< results are stored and nothing is multiplied
  double start_end = 0;  ///< the first copies are on their way, the last results too
  double launch = 0;     ///< from one launch to the next if kernels do nothing

  double sum() const { return products + slower + idle + epilogues + start_end + launch; }
};

struct TimePrediction {
  double seconds = 0;
  double clock_hz = 0;  ///< that the multiprocessors have
  Waves waves{};
  double launch_seconds = 0;       ///< of that, from one launch to the next if kernels do nothing
  double tail_seconds = 0;         ///< of the last wave, if it is not full and others came before
  double outside_seconds = 0;      ///< before the main loop and behind it, in all waves
  double c_seconds = 0;            ///< of that, for reading C
  std::optional<TimeParts> parts;  ///< of kernels whose warpgroups multiply
  std::vector<BusyShare> busy;     ///< in the main loop of a full wave, the busiest first
  std::string limiter;             ///< what most of the time goes to, in words
};

/// The name of what blocks do before and behind the main loop.
inline constexpr const char* outside_main_loop = "prologues and epilogues";

/// What most of a time goes to: the launch, what blocks do before and behind the main loop, or the main loop.
/// @param main_loop  what limits that, in words
std::string limiter_of(const TimePrediction& time, std::string main_loop);

/// Makes a time at least as long as DRAM takes for what has to cross it, beside the launch: then DRAM is busy
/// throughout, and the other shares are smaller.
void hold_to_least(TimePrediction& time, double least_seconds);

/// Predicts the time of a launch at a clock. One multiprocessor is simulated on the machine code of the
/// kernel, for each number of blocks that the waves put on it (model/multiprocessor.hpp); all of them are taken to do
/// the same, of blocks that go through several tiles what those with the most of them do. Bulk copies bound the time by
/// what L2 and DRAM give. Reading C takes what epilogues with it are longer than those without, and no less than DRAM
/// takes for it; the loop is the same. The caches' shares come from the launch. What L2 and DRAM take in time stays as
/// the clock falls.
/// @param clock_hz  of the multiprocessors
/// @throws Error if the machine code has no main loop, InvalidArgument if no block fits or a constant is missing
TimePrediction predict_time(const Gpu& gpu, const Calibration& calibration, const KernelProgram& program,
                            const TimedLaunch& launch, double clock_hz);

}  // namespace lapidary::model
