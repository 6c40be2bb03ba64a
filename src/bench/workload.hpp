#pragma once
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/problem.hpp"
#include "device/device.hpp"
#include "kernels/registry.hpp"

// What is to be timed: problems, from lists too, and the kernels that take part in each of them.

namespace lapidary::bench {

/// The matrices of larger problems would not fit into any GPU.
constexpr std::int64_t most_timed_size = std::int64_t{1} << 20;

/// How A and B lie in memory.
struct Orders {
  Order a, b;
  constexpr bool operator==(const Orders&) const = default;
};

/// D = A * B, of kernels that may be of several kinds.
struct TimedProblem {
  std::int64_t M, N, K;
  std::optional<Orders> orders = {};  ///< none: those of each kernel's kind
  std::string label = {};             ///< what its list calls it
  std::int64_t products = 1;          ///< of a batch
  int groups = 0;                     ///< Problem::groups
  bool uneven = false;                ///< of groups: with rows at random, in place of equal parts
  bool operator==(const TimedProblem&) const = default;
};

/// "4096" of a cube, "128x6144x4096" of others.
std::string sizes_text(std::int64_t M, std::int64_t N, std::int64_t K);

/// Reads a list: a line is `M N K [RR|RC|CR|CC] [xPRODUCTS|gGROUPS|uGROUPS] [label]`, a # and what follows it no part
/// of it.
/// @param file  its name, for messages
/// @throws InvalidArgument naming file, line and rule
std::vector<TimedProblem> parse_problems(std::istream& list, std::string_view file);
/// @throws InvalidArgument as parse_problems(), or if there is no such file
std::vector<TimedProblem> read_problems(const std::string& path);

/// A kernel to time.
struct Entry {
  const Rung* rung;
  const KernelEntry* kernel;
};

/// A problem and the kernels that are timed on it, those of one kind in turns.
struct Task {
  TimedProblem problem;
  std::vector<Entry> entries;
};

/// A kernel that takes no part in a problem.
struct LeftOut {
  std::string kernel;
  GemmKind kind;
  std::int64_t M, N, K;
  std::string why;
};

struct Workload {
  std::vector<Task> tasks;  ///< one for each problem, in their order; of some the entries may be empty
  std::vector<LeftOut> left_out;
};

/// Which kernels are wanted.
struct KernelChoice {
  std::vector<std::string> names = {};  ///< all that the card runs if empty
  std::vector<GemmKind> kinds = {};     ///< each kernel's first one if empty
  bool all_tiles = false;               ///< every tile of a kind, not its first one alone
};

/// The kernels for each problem. A problem's orders take the place of those of the wanted kinds; a kernel that has the
/// types but not in these orders is left out of the problem, and so is one that was named and lacks the kind.
/// @throws InvalidArgument if a kernel that was named needs another card, or if no kernel is left for any problem
Workload choose_kernels(const KernelChoice& choice, std::span<const TimedProblem> problems,
                        const DeviceProperties& card);

}  // namespace lapidary::bench
