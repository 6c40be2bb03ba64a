#pragma once
#include <cstdint>
#include <span>

#include "device/stream.hpp"

namespace lapidary::test {

constexpr const char* name_of_kernel = "fragment_product";

/// Tiles of wgmma in shared memory: how large they are, and their descriptors if they began at address 0.
struct ProductInMemory {
  int a_bytes, b_bytes;
  std::uint64_t a_descriptor, b_descriptor;
};

/// One product, D = A * B + C, of operands in device memory: registers, thread after thread, or a tile's bytes.
struct FragmentProduct {
  const char* name;  ///< as lens::parse_tensor_instruction() reads it, but without swizzles
  void (*launch)(const Stream& stream, const void* a, const void* b, const void* c, void* d,
                 const ProductInMemory& where);
};

}  // namespace lapidary::test
