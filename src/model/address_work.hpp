#pragma once
#include <optional>

#include "model/sass.hpp"

namespace lapidary::model {

/// What the loop in which most products are executed computes beside them: integer and logic instructions, as the loop
/// stands in the machine code.
struct AddressWork {
  int products = 0;  ///< instructions that multiply: FFMA, or HMMA and its like
  bool tensor = false;
  int integer = 0;  ///< for addresses, loop counters, and predicates such as those of edges
  int uniform = 0;  ///< the same, once for a warp: an issue slot each, and none of the integer pipe
  int data = 0;     ///< on data: halves put together or taken apart, zeros for what lies outside, moves

  double per_product() const { return static_cast<double>(integer) / products; }
};

/// Tells by what becomes of a result. An instruction works for addresses if it sets a predicate or a uniform register,
/// or if its result ends in an address, a predicate or a uniform register, in the same iteration or a later one, by way
/// of any instructions but loads. All others work on data, which only goes to products, to other such instructions and
/// to memory. The uniform datapath computes no data. Nothing of kernels without a loop with products.
/// @param kernel  machine code, not PTX
std::optional<AddressWork> address_work(const CompiledKernel& kernel);

}  // namespace lapidary::model
