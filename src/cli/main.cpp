#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "core/error.hpp"

namespace lapidary::cli {
namespace {

ExitCode fail(ExitCode code, const std::string& message) {
  std::fprintf(stderr, "lapidary: %s\n", message.c_str());
  return code;
}

const Command* chosen(const std::vector<Command>& commands) {
  const auto command = std::find_if(commands.begin(), commands.end(), [](const Command& c) { return c.app.parsed(); });
  return command == commands.end() ? nullptr : &*command;
}

/// What there is instead of a command line that cannot be read.
std::string advice(const std::vector<Command>& commands) {
  if (const Command* command = chosen(commands)) return "see lapidary " + command->app.name() + " --help";
  std::string names;
  for (const Command& command : commands) names += (names.empty() ? "" : ", ") + command.app.name();
  return "the commands are " + names + ", see lapidary --help";
}

ExitCode execute(const Command& command) {
  try {
    return command.execute();
  } catch (const InvalidArgument& error) {
    return fail(bad_input, error.what());
  } catch (const KernelFault& error) {
    return fail(wrong_result, error.what());
  } catch (const std::bad_alloc&) {
    return fail(bad_input, "there is not enough memory for this problem");
  } catch (const std::exception& error) {
    if (std::ferror(stdout)) return device_failure;  // which main() tells of
    return fail(device_failure, error.what());
  }
}

ExitCode run_program(int argc, char** argv) {
  CLI::App parser("Matrix multiplication on NVIDIA GPUs, one kernel at a time, on the GPU or on an emulated one.",
                  "lapidary");
  parser.set_version_flag("--version", "lapidary " LAPIDARY_VERSION);
  parser.require_subcommand(0, 1);
  const App program(parser);
  const std::vector<Command> commands = {
      add_list(program),     add_run(program),    add_ladder(program),     add_explain(program),
      add_report(program),   add_check(program),  add_try(program),        add_asm(program),
      add_diff(program),     add_gpus(program),   add_occupancy(program),  add_roofline(program),
      add_raster(program),   add_banks(program),  add_coalescing(program), add_fragment(program),
      add_tiles(program),    add_tma(program),    add_descriptor(program), add_device(program),
      add_gemm(program),     add_regret(program), add_bench(program),      add_tune(program),
      add_calibrate(program)};
  try {
    parser.parse(argc, argv);
  } catch (const CLI::Success& request) {  // --help or --version
    parser.exit(request);
    return success;
  } catch (const CLI::ParseError& error) {
    std::string text = error.what();
    std::replace(text.begin(), text.end(), '\n', ' ');
    return fail(bad_input, text + "; " + advice(commands));
  }
  const Command* command = chosen(commands);
  return command ? execute(*command) : fail(bad_input, "a command is missing; " + advice(commands));
}

}  // namespace
}  // namespace lapidary::cli

int main(int argc, char** argv) {
  const lapidary::cli::ExitCode code = lapidary::cli::run_program(argc, argv);
  // A result that could not be written, to a full disk for one, is not a success.
  if (std::fflush(stdout) != 0 || std::ferror(stdout)) {
    std::perror("lapidary: standard output");
    return lapidary::cli::device_failure;
  }
  return code;
}
