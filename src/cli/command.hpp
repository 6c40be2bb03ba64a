#pragma once
#include <functional>

#include "cli/arguments.hpp"

namespace lapidary::cli {

/// What the program exits with.
enum ExitCode : int {
  success = 0,
  wrong_result = 1,  ///< a result was wrong, or the emulated machine stopped a kernel
  bad_input = 2,
  device_failure = 3,
  interrupted = 130,  ///< by Ctrl-C; what there was until then is on standard output
};

/// A command of the program: its options, and what it does once they are parsed.
struct Command {
  App app;
  std::function<ExitCode()> execute;
};

Command add_list(App program);
Command add_run(App program);
Command add_ladder(App program);
Command add_device(App program);
Command add_check(App program);
Command add_descriptor(App program);
Command add_diff(App program);
Command add_bench(App program);
Command add_gemm(App program);
Command add_gpus(App program);
Command add_occupancy(App program);
Command add_roofline(App program);
Command add_raster(App program);
Command add_regret(App program);
Command add_report(App program);
Command add_try(App program);
Command add_explain(App program);
Command add_calibrate(App program);
Command add_asm(App program);
Command add_banks(App program);
Command add_coalescing(App program);
Command add_fragment(App program);
Command add_tiles(App program);
Command add_tma(App program);
Command add_tune(App program);

}  // namespace lapidary::cli
