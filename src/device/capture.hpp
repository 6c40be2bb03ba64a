#pragma once
#include "device/stream.hpp"

namespace lapidary {

/// Whether what is enqueued on a stream becomes part of a CUDA graph, which may run it at any time after. False on the
/// emulated machine. True where CUDA does not tell: the default stream, while another one is captured.
bool is_captured(const Stream& stream);

}  // namespace lapidary
