#include "lens/coalescing_view.hpp"

#include <fmt/format.h>

#include "core/math.hpp"
#include "lens/lanes.hpp"
#include "report/text.hpp"

namespace lapidary::lens {

CoalescingView coalescing_view(const GlobalAccess& access) {
  const std::string file = access.file.substr(access.file.rfind('/') + 1);
  std::string title = fmt::format("{} of {}, {} a lane, {}:{}", access.store ? "store" : "load", access.matrix,
                                  bytes_text(access.first.bytes), file, access.line);
  if (access.count > 1) title += fmt::format(", the first of {}", report::with_separators(access.count));
  return {title, access.first};
}

double coalescing_efficiency(const WarpAccess& access) {
  const int moved = 32 * sectors(access);
  return moved == 0 ? 0 : static_cast<double>(distinct_bytes(access)) / moved;
}

bool is_wasteful(const WarpAccess& access) { return sectors(access) > ceil_div(distinct_bytes(access), 32); }

std::string coalescing_verdict(const WarpAccess& access) {
  const auto counted = [](int count, const char* what) {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
  };
  const int least = ceil_div(distinct_bytes(access), 32), needed = sectors(access);
  return fmt::format("{} in {} for {}, {}", counted(needed, "sector"), counted(lines(access), "line"),
                     counted(distinct_bytes(access), "byte"),
                     needed == least ? "the minimum"
                                     : fmt::format("which {} could hold: {:.3g} % of what is moved is wanted",
                                                   counted(least, "sector"), 100 * coalescing_efficiency(access)));
}

}  // namespace lapidary::lens
