#pragma once
#include <cstdint>
#include <cstring>
#include <source_location>
#include <string_view>

namespace lapidary::emulator {

/// A place in a source: of whoever calls a function whose last parameter is
///
///     CallSite where = std::source_location::current()
///
/// Of the function that it stands in it keeps a number, by which instances of one template differ: their names, which a
/// std::source_location would have, are longer than the code of many.
struct CallSite {
  const char* file = "";
  std::uint32_t line : 20 = 0, column : 12 = 0;
  std::uint32_t function = 0;

  constexpr CallSite() = default;
  consteval CallSite(std::source_location place)
      : file(place.file_name()),
        line(place.line()),
        column(place.column()),
        function(number_of(place.function_name())) {}

  /// Whether both are one call: a line may have several.
  friend bool operator==(const CallSite& a, const CallSite& b) {
    return a.line == b.line && a.column == b.column && a.function == b.function &&
           (a.file == b.file || std::strcmp(a.file, b.file) == 0);
  }

 private:
  /// FNV-1a, of 32 bits.
  static consteval std::uint32_t number_of(std::string_view name) {
    std::uint32_t number = 2166136261;
    for (const char c : name) number = (number ^ static_cast<unsigned char>(c)) * 16777619;
    return number;
  }
};

}  // namespace lapidary::emulator
