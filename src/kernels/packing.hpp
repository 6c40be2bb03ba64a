#pragma once
#include <cstdint>

#include "core/problem.hpp"
#include "device/stream.hpp"

namespace lapidary {

/// A copy of a matrix as another kernel can read it: with the lines of the other order, or with lines that are aligned.
struct Packing {
  Type type;
  std::int64_t rows, cols;
  Order from, to;
  std::int64_t from_ld, to_ld;  ///< elements from one line to the next, at least their length

  constexpr bool operator==(const Packing&) const = default;
};

/// The least leading dimension of a copy whose lines all begin at multiples of `bytes` if its base does.
std::int64_t aligned_ld(Type type, std::int64_t length, int bytes);

/// Whether a matrix of so many rows and columns has at most 2^31 - 1 tiles of 64 x 64 elements: larger ones pack()
/// refuses.
bool can_pack(std::int64_t rows, std::int64_t cols);

/// Copies a matrix. What is between the lines of the copy stays as it is. On a GPU it returns at once and the copy is
/// made in the order of the stream; on the emulated machine it returns when it is made.
/// @param from, to  aligned to an element, and without a common one
/// @throws InvalidArgument unless can_pack(), or if the stream does not run the build; DeviceError if the launch
/// fails
void pack(Build build, const Stream& stream, const Packing& packing, const void* from, void* to);

}  // namespace lapidary
