#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "cli/command.hpp"

namespace lapidary::cli {

/// Shows a kernel with a bug, which is a mutant of results/emulator/mutants.json, asks for the line on standard input
/// unless there is an answer, and tells what the emulated machine says of it. As JSON it asks nothing: without an
/// answer it is the puzzle alone.
/// @param kernel  the one it is about; any if empty
/// @param seed    chooses the mutant; without one, chance does
/// @return wrong_result if the answer was wrong
/// @throws InvalidArgument if there is no such kernel, no puzzle of it, or no answer
ExitCode ask_puzzle(const std::string& kernel, std::optional<std::int64_t> seed, std::optional<std::int64_t> answer,
                    bool json);

}  // namespace lapidary::cli
