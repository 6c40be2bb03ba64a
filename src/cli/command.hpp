#pragma once
#include <CLI/CLI.hpp>
#include <functional>

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
  CLI::App* app;
  std::function<ExitCode()> execute;
};

Command add_list(CLI::App& program);
Command add_run(CLI::App& program);
Command add_ladder(CLI::App& program);
Command add_device(CLI::App& program);
Command add_check(CLI::App& program);
Command add_descriptor(CLI::App& program);
Command add_diff(CLI::App& program);
Command add_bench(CLI::App& program);
Command add_gpus(CLI::App& program);
Command add_occupancy(CLI::App& program);
Command add_roofline(CLI::App& program);
Command add_raster(CLI::App& program);
Command add_report(CLI::App& program);
Command add_try(CLI::App& program);
Command add_explain(CLI::App& program);
Command add_calibrate(CLI::App& program);
Command add_asm(CLI::App& program);
Command add_banks(CLI::App& program);
Command add_coalescing(CLI::App& program);
Command add_fragment(CLI::App& program);
Command add_tiles(CLI::App& program);
Command add_tma(CLI::App& program);
Command add_tune(CLI::App& program);

}  // namespace lapidary::cli
