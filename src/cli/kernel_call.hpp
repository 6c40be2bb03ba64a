#pragma once
#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/problem.hpp"
#include "cli/cuda_source.hpp"
#include "cli/matrix_image.hpp"
#include "core/launch_shape.hpp"

// How a kernel of the user's is called: what its parameters mean, its problem and its launch.

namespace lapidary::cli {

/// What the user says of a kernel and its problem; empty is not said.
struct TryOptions {
  std::string file, kernel, roles, grid, block, shared, layout, keep;
  std::optional<std::int64_t> m, n, k, lda, ldb, ldc, ldd;
  std::optional<float> alpha, beta;
  std::int64_t seed = 1, size = 4096;
  bool json = false;
};

/// The kernel to run, and how it is called.
struct Call {
  const CudaKernel* kernel;
  const CudaLaunch* launch;                  ///< in the file, or null
  std::vector<std::string> template_values;  ///< as written
  std::vector<std::string> roles;            ///< one a parameter
  std::vector<Element> elements;             ///< of the parameters that are matrices
  bool square = false;                       ///< one size stands for M, N and K
  /// Of a kernel that is given no size: the constants of the file in place of M, N and K.
  std::map<std::string, std::string> constants;

  bool has(std::string_view role) const { return std::find(roles.begin(), roles.end(), role) != roles.end(); }
  Element element(std::string_view role) const {
    return elements[static_cast<std::size_t>(std::find(roles.begin(), roles.end(), role) - roles.begin())];
  }
};

/// The matrices in a kernel's memory; of a kernel that has one of C and D, both are the same.
struct Operands {
  Storage A, B, C, D;
};

/// The type of the host's in which elements are generated and compared; none for f64, which it does not have.
std::optional<Type> type_of(Element element);

/// Finds the kernel and what its parameters are.
/// @throws InvalidArgument saying what is not known and the option that tells it
Call bind_call(const CudaSource& source, const TryOptions& options);

/// The problem that a kernel is tried on.
/// @throws InvalidArgument if it is not legal or takes too long
bench::RandomProblem problem_of(const CudaSource& source, const Call& call, const TryOptions& options);

/// The kernel with the values of its template parameters, which are evaluated in `call`, too.
/// @throws InvalidArgument if one is not known
std::string instantiate(const CudaSource& source, Call& call);

/// The matrices of a problem.
/// @param padding  by which leading dimensions that are not given are longer than need be, where the kernel is told
/// @throws InvalidArgument if a given leading dimension is too short or not the kernel's
Operands operands_of(const Call& call, const Layouts& layouts, const Problem& problem, const TryOptions& options,
                     std::int64_t padding);

/// The launch on a problem: what the user gave, or as it is written in the file.
/// @throws InvalidArgument if it is not known
LaunchShape shape_of(const CudaSource& source, const Call& call, const TryOptions& options, const Problem& problem);

}  // namespace lapidary::cli
