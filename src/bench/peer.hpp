#pragma once
#include <optional>
#include <string>

#include "bench/contestant.hpp"
#include "core/types.hpp"
#include "device/device.hpp"

namespace lapidary::bench {

/// The library that kernels are compared with.
struct Peer {
  std::string version;  ///< "cuBLAS 13.1.0"
  Contestant contestant;
};

/// cuBLAS on a GPU, for problems of one kind: f32 computes in f32 and not in tf32; f16, bf16 and tf32 accumulate in f32
/// on tensor cores. None for other kinds, or in a program that was built without cuBLAS. It launches on
/// the stream of the device, whichever it is given.
/// @throws DeviceError if cuBLAS cannot be initialised
std::optional<Peer> open_peer(Device& device, const GemmKind& kind);

}  // namespace lapidary::bench
