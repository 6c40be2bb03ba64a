#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/problem.hpp"
#include "trial/cuda_source.hpp"
#include "trial/matrix_image.hpp"
#include "trial/request.hpp"

namespace lapidary::trial {

/// The kernel to run, and what its parameters mean.
struct Call {
  const CudaKernel* kernel;
  const CudaLaunch* launch;                  ///< in the file, or null
  std::vector<std::string> template_values;  ///< as written
  std::vector<std::string> roles;            ///< one a parameter
  std::vector<Element> elements;             ///< of the parameters that are matrices
  bool square = false;                       ///< one size stands for M, N and K
  /// Which sizes are the same in what is tried, as letters: all of a kernel that has one; those that the launch in the
  /// file has one variable for, where the grid is that launch's and no size is given.
  std::string equal;
  /// Of a kernel that is given no size: the constants of the file in place of M, N and K.
  std::map<std::string, std::string> constants;

  bool has(std::string_view role) const { return std::find(roles.begin(), roles.end(), role) != roles.end(); }
  Element element(std::string_view role) const {
    return elements[static_cast<std::size_t>(std::find(roles.begin(), roles.end(), role) - roles.begin())];
  }
  bool is_equal(char size) const { return equal.find(size) != equal.npos; }
  /// Gives the sizes that are to be the same that of the first.
  void make_equal(Problem& problem) const;
  /// Where in the file its names are looked up: before its launch, or at the end.
  std::size_t position() const { return launch ? launch->position : ~std::size_t{0}; }
};

/// Whether a parameter of that role is one of M, N and K.
bool is_size(std::string_view role);
/// M, N or K of a problem.
std::int64_t& size_named(Problem& problem, char size);

/// Finds the kernel and what its parameters are.
/// @throws InvalidArgument saying what is not known and the option that tells it
Call bind_call(const CudaSource& source, const Request& request);

/// The kernel with the values of its template parameters, which are evaluated in `call`, too.
/// @throws InvalidArgument if one is not known
std::string instantiate(const CudaSource& source, Call& call);

/// The role that a parameter's name tells, or nothing.
std::string role_of(const CudaParameter& parameter);

}  // namespace lapidary::trial
