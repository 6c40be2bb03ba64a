#pragma once
// What the program hands to a kernel that `lapidary try` compiled, by the host compiler or by nvcc.
#include <cstdint>
#include <type_traits>

namespace lapidary {

/// What a kernel may be given, by the names of roles: "M", "alpha", "A", "ldb".
struct KernelArguments {
  std::int64_t M, N, K, lda, ldb, ldc, ldd;
  double alpha, beta;
  void *A, *B, *C, *D;
};

/// Arguments of a kernel, converted to the types of its parameters.
struct AnyPointer {
  void* value;
  template <class T>
  operator T*() const {
    return static_cast<T*>(value);
  }
};
struct AnyNumber {
  double value;
  template <class T>
  operator T() const {
    return static_cast<T>(static_cast<std::conditional_t<std::is_arithmetic_v<T>, T, float>>(value));
  }
};

}  // namespace lapidary
