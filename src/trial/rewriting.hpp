#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "trial/cuda_text.hpp"

// What is changed in a CUDA file before it is compiled. Every line stays in its place.

namespace lapidary::trial {

/// A part of a file, and what stands in its place.
struct Edit {
  std::size_t begin, end;
  std::string text;
};

/// The text with its edits; of two that overlap, with the first one.
std::string edited(const std::string& text, std::vector<Edit> edits);

/// For the emulated machine: __shared__ variables become references (cuda/shared.hpp).
struct SharedRewriting {
  std::vector<Edit> edits;
  std::vector<std::size_t> sites;  ///< the place of each variable in the file
};
SharedRewriting rewrite_shared(const CudaText& text);

/// For the emulated machine, whose vectors are assigned by an operator and are no literal types: unions of CUDA's
/// vectors, and structures that such a union without a name is in, can be assigned (cuda/shared.hpp); vectors that are
/// constexpr are constants.
std::vector<Edit> rewrite_vectors(const CudaText& text);

/// For the emulated machine: inline PTX becomes calls of it.
/// @throws InvalidArgument with the line of what is not supported
std::vector<Edit> rewrite_inline_ptx(const CudaText& text);

/// The bodies of functions that call CUDA's runtime become empty, and so does main's.
std::vector<Edit> empty_host_functions(const CudaText& text);

/// Headers for the host that are not there are left out.
struct HeaderRewriting {
  std::vector<Edit> edits;
  std::vector<std::string> with_kernels;  ///< those beside the file in which there is a `__global__` function
};
/// @throws InvalidArgument with the line of a header that is not supported
HeaderRewriting rewrite_headers(const CudaText& text);

}  // namespace lapidary::trial
