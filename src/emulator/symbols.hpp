#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>
#include "emulator/call_site.hpp"

namespace lapidary::emulator {

struct SourceLine {
  std::string file;  ///< empty if unknown
  int line = 0;
  std::string caller = {};  ///< the kernel's line that calls a part of tile/ which the line is in; empty if it is not
};

/// "src/kernels/simt/naive.cuh:42", "src/tile/epilogue.hpp:22, called at src/kernels/simt/naive.cuh:42"
std::string to_string(const SourceLine& line);
SourceLine source_line(CallSite where);

/// The lines that instructions come from, by the debug information of the program and its libraries, read by binutils'
/// addr2line. Of a chain of inlined calls it is the line in the kernel's own file: wrappers of the emulator, of ptx/
/// and helpers of tile/ and below count for the line that calls them. Return addresses are expected.
std::unordered_map<std::uintptr_t, SourceLine> source_lines(const std::vector<std::uintptr_t>& pcs);
/// That of one of them, for faults, which are as often in tile/ as in a kernel: there the line in tile/, with its
/// caller. None if it has no debug information.
std::optional<SourceLine> source_line(std::uintptr_t pc);

}  // namespace lapidary::emulator
