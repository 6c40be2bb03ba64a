#pragma once
#include "lapidary/gemm.hpp"

namespace lapidary::library {

/// default_context() of the current CUDA device; null if no call has made it yet.
Context* made_default_context();

}  // namespace lapidary::library
