#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "trial/element.hpp"

namespace lapidary::trial {

/// What a kernel finds in C where beta is 0 or it is given none: NaN, which it must not read; zeros, which it may add
/// to; or numbers, which are to be added to the product where it is given no beta.
enum class InitialC : std::uint8_t { nan, zeros, numbers };

/// What the user says of a kernel and its problem; empty is not said.
struct Request {
  std::string file = {};              ///< CUDA C++
  std::string kernel = {};            ///< with template arguments if it has them: "sgemm<64, 64>"
  std::string roles = {};             ///< of its parameters, in their order, with commas: "M,N,K,alpha,A,B,beta,C"
  std::string grid = {}, block = {};  ///< expressions in M, N, K and the names of the file, with commas
  std::string shared = {};            ///< likewise: bytes of `extern __shared__` memory
  std::string layout = {};            ///< as parse_layouts() takes it
  std::string keep = {};              ///< a folder that what was compiled is left in
  std::optional<std::int64_t> m = {}, n = {}, k = {}, lda = {}, ldb = {}, ldc = {}, ldd = {};
  std::optional<float> alpha = {}, beta = {};
  InitialC initial_c = InitialC::nan;
  Element sums = Element::f32;  ///< what the kernel adds up in on purpose: f16 and bf16 have wider bounds
  std::int64_t seed = 1;
  std::int64_t size = 4096;  ///< M = N = K when timed on a GPU
};

}  // namespace lapidary::trial
