#pragma once
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "trial/advice.hpp"
#include "trial/emulated_run.hpp"
#include "trial/gpu_run.hpp"
#include "trial/matrix_image.hpp"
#include "trial/request.hpp"

// What `lapidary try` does: a kernel of the user's is compiled, run and judged.
//
// The program that calls try_kernel() has to export the emulated machine to the kernels that it loads: CMake's
// lapidary_loads_kernels(<target>) sees to it.

namespace lapidary::trial {

/// What D = alpha A B + beta C is computed with.
struct Factors {
  float alpha, beta;
  friend bool operator==(const Factors&, const Factors&) = default;
};

/// What the machine executes of a kernel whose source loads scalars that lie side by side in shared memory.
struct AsCompiled {
  emulator::Report report;
  std::string by;  ///< whose widths these are, "nvcc 13.0.88 for sm_90"; empty if nobody was there to be asked
};

/// What became of a kernel.
struct Trial {
  std::string kernel;         ///< with its namespaces and the values of its template parameters
  Layouts layouts;            ///< that it was tried with
  unsigned shared_bytes = 0;  ///< of a block: its variables and `extern __shared__` memory
  bool takes_leading_dimensions = false;
  /// Of a kernel that is given no size: the constants of the file in place of M, N and K, whose values are the run's.
  std::map<std::string, std::string> constants;

  /// The line of its launch in the file, if that has others which differ, and the first was taken; otherwise 0.
  int launch_line = 0;

  /// What its sizes were taken for, "M", "N" and "K", by the names of its parameters, in their order; of a kernel of
  /// one size nothing.
  std::vector<std::pair<std::string, std::string>> sizes = {};

  /// What its matrices were taken for, "A", "B", "C" and "D", likewise; where all of their names tell it, nothing.
  std::vector<std::pair<std::string, std::string>> matrices = {};

  /// The sizes that are the same in all that it was tried with, as letters, since the launch in the file has one
  /// variable for them; empty if there are none, and of a kernel of one size.
  std::string equal = {};

  /// What g++ warns of in the kernel and in what it calls in the file: variables that are not initialised, indices
  /// beyond arrays of a thread's own, of which the emulated machine sees nothing; a warning a line.
  std::string warnings = {};

  /// The first that went wrong; if all is well, the one with the request's factors.
  EmulatedRun run;
  /// Of the problem, with the request's factors: the first in order, others in random orders; up to that of `run` if it
  /// is wrong.
  int launches = 1;
  /// Those that were tried, the request's first; those of `run` last if it is wrong.
  std::vector<Factors> factors = {};
  /// Whether it reads C where beta is 0, which the BLAS does not, though it is right with numbers there.
  bool reads_c_at_zero = false;
  /// What it was tried with besides, in words: the problems that `lapidary check` has for rungs, as far as its
  /// arguments allow them, until one is wrong; of a kernel that is right and was given no sizes.
  std::vector<std::string> tried = {};
  std::optional<EmulatedRun> other = {};  ///< the last of these
  /// If `other` is the first of problems of which each has one size that is no multiple of the tile: those of the
  /// others that are wrong, too, and how, one a line of text.
  std::vector<std::string> wrong_too = {};
  /// The first of those problems for which the kernel has no legal launch, as of a grid of N / 128 blocks where N is
  /// 101, and why; empty if there is none.
  std::string not_taken = {};
  std::optional<Layouts> right_with = {};  ///< of a kernel that is wrong: layouts with which it is right
  /// Of `run`, if it ended and compiled loads from shared memory are fewer than written ones.
  std::optional<AsCompiled> compiled = {};
  std::vector<Advice> advice = {};
  GpuRun gpu = {};

  /// Right on the emulated machine at the request's sizes, and on the GPU if there is one.
  bool ok() const { return run.ok() && !gpu.wrong(); }
};

/// Compiles a kernel for the emulated machine, runs it there with every access checked, and, if it is right and there
/// is a GPU and nvcc, on the GPU, too. What is wrong with the kernel is in the result.
/// @throws InvalidArgument if it cannot be run: what is not supported, not known or does not compile, with its line
Trial try_kernel(const Request& request);

}  // namespace lapidary::trial
