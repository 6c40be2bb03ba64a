#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/contestant.hpp"
#include "core/types.hpp"
#include "device/device.hpp"

namespace lapidary::bench {

/// The library that kernels are compared with.
struct Peer {
  std::string version;    ///< "cuBLAS 13.1.0"
  Contestant contestant;  ///< by the algorithm that its heuristic names first
  /// By each of the algorithms that its heuristic names for problems like this one, the first of them first. None where
  /// it has none: 8-bit elements want lines of 16 bytes.
  std::function<std::vector<Contestant>(const Problem&)> algorithms;
};

/// cuBLAS (cublasLt) on a GPU, for problems of one kind: f32 computes in f32 and not in tf32; the others accumulate in
/// f32 on tensor cores, also where a sum over K is split; s8 in 32-bit integers, which it leaves in D: it has no
/// algorithm for them where alpha is not 1 or beta not 0. None for other kinds, or in a program that was built without
/// cuBLAS. It launches on the stream of the device, whichever it is given.
/// @throws DeviceError if cuBLAS cannot be initialised
std::optional<Peer> open_peer(Device& device, const GemmKind& kind);

}  // namespace lapidary::bench
