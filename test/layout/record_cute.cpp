// Writes what cute_test compares with where there is no CUTLASS:
//
//   build/test/record_cute > test/layout/cute_offsets.json
#include <cstdio>

#include "layout/cute_offsets.hpp"

int main() {
  const char* separator = "{\n";
  for (const lapidary::CuteLayout& layout : lapidary::cute_layouts()) {
    nlohmann::ordered_json record = {{"cute", layout.text}};
    record.update(lapidary::record_of(layout.offsets));
    fmt::print("{}\"{}\": {}", separator, layout.name, record.dump());
    separator = ",\n";
  }
  fmt::print("\n}}\n");
}
