#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

#include "core/error.hpp"

namespace lapidary {

/// The rules by which calls of the library are refused; docs/refusals.md has them with examples. For those who refuse:
/// values change from version to version, ids do not.
enum class RefusalId : std::uint8_t {
#define LAPIDARY_REFUSAL(group, name, rule, mended_by) group##_##name,
#include "core/refusals.def"
#undef LAPIDARY_REFUSAL
};

/// What callers and readers know them by, in the order of RefusalId: "shape.b".
constexpr const char* refusal_ids[] = {
#define LAPIDARY_REFUSAL(group, name, rule, mended_by) #group "." #name,
#include "core/refusals.def"
#undef LAPIDARY_REFUSAL
};

/// A rule that is broken: by what value, and what is legal.
struct BrokenRule {
  RefusalId id;
  std::string why;
};

/// A call of the library broke a rule that stands in the catalogue. The message has the value and what is legal.
class Refusal : public InvalidArgument {
 public:
  Refusal(RefusalId broken, const std::string& message)
      : InvalidArgument(message), id_(refusal_ids[static_cast<std::size_t>(broken)]) {}

  /// As in the catalogue; other than messages it stays the same from version to version. A literal.
  const char* id() const { return id_; }

 private:
  // Not the value of the enumeration, which the program may have been compiled with another version of.
  const char* id_;
};

}  // namespace lapidary
