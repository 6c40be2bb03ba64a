#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trial/cuda_text.hpp"
#include "trial/declarations.hpp"
#include "trial/definitions.hpp"
#include "trial/rewriting.hpp"

namespace lapidary::trial {

/// A file of CUDA C++, read as far as is needed to call its kernels: by its tokens, not by a compiler.
class CudaSource {
 public:
  /// @throws InvalidArgument if the file cannot be read, or with the line of what is not supported
  explicit CudaSource(std::string path);

  const std::string& path() const { return text_.path(); }
  const std::vector<CudaKernel>& kernels() const { return kernels_; }
  /// What names stand for.
  const Definitions& definitions() const { return definitions_; }

  /// Files beside it that it includes and in which there is a `__global__` function, which is not read.
  const std::vector<std::string>& included_kernels() const { return headers_.with_kernels; }

  const std::string& code() const { return text_.code(); }
  /// Whether a text stands anywhere in its code.
  bool mentions(std::string_view text) const { return code().find(text) != std::string::npos; }
  /// The first launch of a kernel in the file, or null.
  const CudaLaunch* launch_of(const CudaKernel& kernel) const;
  /// Whether there is another one in the file that is not written in the same way.
  bool has_other_launch(const CudaLaunch& launch) const;
  int line_of(std::size_t position) const { return text_.line_of(position); }

  /// Lines of the file by their number, from 1 on: whether a kernel may execute what stands there, as far as names
  /// tell. Outside of functions all count.
  std::vector<bool> reached_by(const CudaKernel& kernel) const;

  /// Gives a constant of the file another value, in what `rewritten` returns, too.
  void redefine(std::string_view name, const std::string& value);

  enum class Target { emulator, gpu };
  /// The file with all its lines: bodies of functions that call CUDA's runtime are empty, and headers for the host that
  /// are not there are left out. For the emulated machine it is C++: __shared__ variables are references
  /// (cuda/shared.hpp).
  std::string rewritten(Target target) const;

  /// The __shared__ variables, in the order of their sites, and the place of each in the file.
  const std::vector<std::size_t>& shared_sites() const { return shared_.sites; }

 private:
  CudaText text_;
  std::vector<CudaKernel> kernels_;
  std::vector<CudaLaunch> launches_;
  Definitions definitions_;
  SharedRewriting shared_;
  std::vector<Edit> vectors_, inline_ptx_, host_functions_;
  HeaderRewriting headers_;
  std::vector<Edit> constants_;
};

}  // namespace lapidary::trial
