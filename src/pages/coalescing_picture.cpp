#include "pages/coalescing_picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "layout/sector_report.hpp"
#include "lens/lanes.hpp"
#include "report/text.hpp"

namespace lapidary::pages {
namespace {

using lens::CoalescingView;
using report::Anchor, report::Colour, report::Svg;

constexpr double margin = 20, left = 76, cell = 29, sector_gap = 6;
constexpr int cells = 32;

/// A picture's row of memory is as many whole sectors as make 32 cells of a lane's access, which is no wider than a
/// word: a cell holds a number that can be read.
struct Rows {
  int bytes;  ///< of a row
  double height;
  std::vector<std::uint64_t> address;
  std::map<std::uint64_t, std::uint32_t> sectors;  ///< the lanes that touch them

  explicit Rows(const WarpAccess& access) : bytes(cells * std::min(access.bytes, 4)) {
    for (const Sector& s : sector_report(access)) {
      sectors[s.address] = s.lanes;
      const std::uint64_t row = s.address / static_cast<std::uint64_t>(bytes) * static_cast<std::uint64_t>(bytes);
      if (address.empty() || address.back() != row) address.push_back(row);
    }
    height = address.size() > 8 ? 15 : 22;
  }
  double pixels(std::uint64_t count) const { return static_cast<double>(count) * cells * cell / bytes; }
  double x(std::uint64_t in_row) const { return left + pixels(in_row) + static_cast<double>(in_row / 32) * sector_gap; }
};

constexpr double heading = 62, below = 22;

double height_of(const CoalescingView& view) {
  const Rows rows(view.access);
  return heading + rows.height * static_cast<double>(rows.address.size()) + below;
}

void draw_lanes(Svg& svg, const CoalescingView& view, const Rows& rows, std::uint64_t row, double y, int marked) {
  const WarpAccess& access = view.access;
  std::map<std::uint64_t, std::uint32_t> wanted;  // the lanes that want an address
  for (int lane = 0; lane < 32; ++lane) {
    const bool here = access.address[lane] - row < static_cast<std::uint64_t>(rows.bytes);
    if ((access.active >> lane & 1) != 0 && here) wanted[access.address[lane]] |= std::uint32_t{1} << lane;
  }
  for (const auto& [address, lanes] : wanted) {
    const bool is_marked = (lanes >> marked & 1) != 0;
    const double x = rows.x(address - row), width = rows.pixels(static_cast<std::uint64_t>(access.bytes));
    svg.rect(x, y + 1, width, rows.height - 2, Colour::page);
    svg.rect(x + 0.75, y + 1, width - 1.5, rows.height - 2, is_marked ? Colour::lane : Colour::access,
             fmt::format("byte {}: lane {}", address, lens::lanes_text(lanes)));
    const std::string text = lens::short_lanes_text(lanes, 5);
    const double size = std::min(rows.height > 18 ? 11.0 : 10.0,
                                 (width - 3) / (0.68 * static_cast<double>(text.size())));
    svg.text({x + width / 2, y + rows.height / 2 + 3.6}, text, size, is_marked ? Colour::on_lane : Colour::on_colour,
             Anchor::middle);
  }
}

void draw_view(Svg& svg, const CoalescingView& view, int marked) {
  const Rows rows(view.access);
  svg.text({0, 14}, view.title, 14, Colour::ink, Anchor::start, true);
  svg.text({0, 34}, lens::coalescing_verdict(view.access), 12,
           lens::is_wasteful(view.access) ? Colour::conflict : Colour::access);
  svg.text({left - 10, heading - 8}, "byte", 10, Colour::faint, Anchor::end);
  for (int sector = 0; sector < rows.bytes / 32; ++sector) {
    svg.text({rows.x(static_cast<std::uint64_t>(sector) * 32), heading - 8},
             sector == 0 ? "sector" : fmt::format("+{}", 32 * sector), 10, Colour::faint);
  }
  double y = heading;
  for (std::size_t i = 0; i < rows.address.size(); ++i, y += rows.height) {
    const std::uint64_t row = rows.address[i];
    if (i > 0 && row != rows.address[i - 1] + static_cast<std::uint64_t>(rows.bytes)) {
      svg.line({left - 62, y}, {left - 6, y}, Colour::faint, 0.75, true);
    }
    svg.text({left - 10, y + rows.height / 2 + 3.6}, report::with_separators(row), 10, Colour::faint, Anchor::end);
    for (std::uint64_t at = 0; at < static_cast<std::uint64_t>(rows.bytes); at += 32) {
      const bool moved = rows.sectors.contains(row + at);
      svg.rect(rows.x(at), y + 1, rows.pixels(32), rows.height - 2, moved ? Colour::waste : Colour::empty,
               fmt::format("sector at byte {}: {}", row + at, moved ? "moved" : "not touched"));
    }
    draw_lanes(svg, view, rows, row, y, marked);
  }
}

}  // namespace

Svg coalescing_picture(const std::string& title, const std::vector<CoalescingView>& views, int lane) {
  double height = margin + 36;
  for (const CoalescingView& view : views) height += height_of(view);
  const double width = 2 * margin + left + cells * cell + 3 * sector_gap;
  Svg svg(width, height + 34, "Sectors that a warp touches: " + title);
  svg.text({margin, margin + 12}, title, 17, Colour::ink, Anchor::start, true);
  double y = margin + 36;
  for (const CoalescingView& view : views) {
    svg.begin_group({margin, y});
    draw_view(svg, view, lane);
    svg.end_group();
    y += height_of(view);
  }
  double x = margin;
  const auto entry = [&](Colour colour, const std::string& text, double advance) {
    svg.rect(x, y - 1, 14, 12, colour);
    svg.text({x + 19, y + 9}, text, 11, Colour::faint);
    x += advance;
  };
  entry(Colour::access, "wanted by the lane of that number (0+3: by lane 0 and three others)", 430);
  entry(Colour::lane, fmt::format("lane {}", lane), 80);
  entry(Colour::waste, "moved in vain", 115);
  entry(Colour::empty, "a sector that stays where it is", 200);
  return svg;
}

}  // namespace lapidary::pages
