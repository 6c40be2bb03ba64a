#pragma once
#include <cstdint>

namespace lapidary::trial {

/// Types of the elements that a kernel of the user's may have.
enum class Element : std::uint8_t { f16, bf16, f32, f64 };

constexpr int size_of(Element element) { return element == Element::f64 ? 8 : element == Element::f32 ? 4 : 2; }
constexpr const char* name_of(Element element) {
  constexpr const char* names[] = {"f16", "bf16", "f32", "f64"};
  return names[static_cast<int>(element)];
}

}  // namespace lapidary::trial
