#pragma once
// What inline PTX of kernels becomes that `lapidary try` compiles (src/trial/inline_ptx.hpp): calls of src/ptx.
#include <cstdint>
#include <cstring>

#include "emulator/cuda.hpp"
#include "ptx/cp_async.hpp"
#include "ptx/ldmatrix.hpp"
#include "ptx/mma.hpp"
#include "ptx/shared_address.hpp"

inline namespace LAPIDARY_BUILD {

LAPIDARY_WRAPPER std::size_t __cvta_generic_to_shared(const void* shared) { return lapidary::shared_address(shared); }

}  // namespace LAPIDARY_BUILD

namespace lapidary::inline LAPIDARY_BUILD {

/// The pointer to what has this 32-bit address in the block's shared memory.
LAPIDARY_WRAPPER void* shared_pointer(std::uint64_t address) {
  unsigned char* const dynamic = static_cast<unsigned char*>(emulator::abi::dynamic_shared());
  return dynamic + static_cast<std::int64_t>(address) - shared_address(dynamic);
}

/// Registers have no type: an operand is what its bits mean to the instruction.
template <class To, class From>
LAPIDARY_WRAPPER To bits_as(const From& from) {
  static_assert(sizeof(To) == sizeof(From), "the operand has another size than the instruction's register");
  To to;
  std::memcpy(&to, &from, sizeof(To));
  return to;
}

}  // namespace lapidary::inline LAPIDARY_BUILD
