#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "trial/cuda_text.hpp"

// What a CUDA file declares that a kernel is called by, and how it calls it itself.

namespace lapidary::trial {

/// A parameter of a kernel or of a kernel template, or a member of a structure.
struct CudaParameter {
  std::string type, name;
  std::vector<CudaParameter> members = {};  ///< of a type that is a structure of the file

  bool is_reference() const { return type.find('&') != type.npos; }
  bool is_pointer() const { return type.find('*') != type.npos; }
  /// What holds the elements if it is a matrix: itself, or the one pointer in it; or null.
  const CudaParameter* elements() const;
};

/// A `__global__` function.
struct CudaKernel {
  std::string scope;  ///< namespaces: "gemm::detail::"
  std::string name;
  std::vector<CudaParameter> template_parameters, parameters;
  std::size_t begin, end;  ///< of its text in the file
  int line;
  std::string returns = {};        ///< a type that is not void; empty if none is known to be
  std::string launch_bounds = {};  ///< threads of a block at most, as an expression; empty if there are none
};

/// A launch `kernel<...><<<grid, block, shared>>>(arguments)`, as it is written.
struct CudaLaunch {
  std::string kernel;
  std::vector<std::string> template_arguments, configuration, arguments;
  std::size_t position;
};

/// The kernels that have a body, and the launches, in the order of the file.
std::vector<CudaKernel> find_kernels(const CudaText& text);
std::vector<CudaLaunch> find_launches(const CudaText& text);

/// The parameters between the brackets of a function or of a template.
std::vector<CudaParameter> parameters_of(std::string_view text);

/// A type with template parameters, each as a whole word, replaced by their arguments.
std::string with_arguments(std::string type, const std::vector<CudaParameter>& parameters,
                           const std::vector<std::string>& arguments);

}  // namespace lapidary::trial
