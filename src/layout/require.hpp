#pragma once
#include <string>

#include "core/build.hpp"
#include "core/error.hpp"

namespace lapidary::inline LAPIDARY_BUILD {

/// Ends what require() refuses. Deliberately not constexpr: in a constant expression the call itself is the
/// compile-time error, and the compiler prints the arguments. Device code has no exceptions and stops the kernel
/// instead.
[[noreturn]] LAPIDARY_HD inline void refuse(const char* rule, long long actual, long long nearest_legal) {
#if defined(__CUDA_ARCH__)
  static_cast<void>(rule), static_cast<void>(actual), static_cast<void>(nearest_legal);
  __trap();
#else
  throw InvalidArgument(std::string(rule) + "; got " + std::to_string(actual) + ", the nearest legal value is " +
                        std::to_string(nearest_legal));
#endif
}

/// Refuses `actual` unless `holds`: does not compile in a constant expression, throws InvalidArgument on the host.
LAPIDARY_HD constexpr void require(bool holds, const char* rule, long long actual, long long nearest_legal) {
  if (!holds) refuse(rule, actual, nearest_legal);
}

}  // namespace lapidary::inline LAPIDARY_BUILD
