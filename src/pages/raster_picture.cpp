#include "pages/raster_picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "pages/rectangles.hpp"
#include "report/text.hpp"

namespace lapidary::pages {
namespace {

using lens::RasterComparison, lens::RasterEntry;
using report::Anchor, report::Colour, report::Point, report::Svg;

constexpr double width = 960, margin = 24, gap = 24, title_height = 26, bar_row = 26;

/// A panel for each order, side by side as far as the page goes.
struct Panels {
  int columns, rows;
  double cell, panel_width, panel_height;

  explicit Panels(const RasterComparison& c) {
    const auto count = static_cast<int>(c.entries.size());
    columns = std::min(count, 4);
    rows = (count + columns - 1) / columns;
    panel_width = std::min(count == 1 ? 560.0 : 420.0, (width - 2 * margin - (columns - 1) * gap) / columns);
    cell = panel_width / static_cast<double>(std::max(c.down, c.across));
    panel_height = cell * static_cast<double>(c.down);
  }
  Point origin(std::size_t i) const {
    const auto at = static_cast<int>(i);
    return {margin + at % columns * (panel_width + gap), 84 + at / columns * (title_height + panel_height + gap)};
  }
  double bottom() const { return 84 + rows * (title_height + panel_height + gap); }
};

/// Joins the tiles in their order. Steps to a tile that is no neighbour are dashed, or left out where they would cover
/// what they lead over.
void draw_way(Svg& svg, const std::vector<RowCol<int>>& order, std::size_t first, std::size_t last, double cell,
              Colour colour) {
  const auto centre = [&](const RowCol<int>& t) { return Point{(t.col + 0.5) * cell, (t.row + 0.5) * cell}; };
  const double thickness = std::clamp(cell / 6, 0.6, 2.0);
  std::vector<Point> way;
  const auto draw = [&] {
    if (way.size() > 1) svg.polyline(way, colour, thickness);
    way.clear();
  };
  for (std::size_t i = first; i < last; ++i) {
    const bool jumps = i > first &&
                       std::abs(order[i].row - order[i - 1].row) + std::abs(order[i].col - order[i - 1].col) > 1;
    if (jumps) {
      draw();
      if (cell >= 8) svg.line(centre(order[i - 1]), centre(order[i]), colour, thickness / 2, true);
    }
    way.push_back(centre(order[i]));
  }
  draw();
}

void draw_panel(Svg& svg, const RasterComparison& c, const RasterEntry& entry, const Panels& panels) {
  svg.text({0, 14}, entry.name, 13, Colour::ink, Anchor::start, true);
  svg.begin_group({0, title_height});
  const auto down = static_cast<int>(c.down), across = static_cast<int>(c.across);
  const double cell = panels.cell;
  svg.rect(0, 0, cell * across, cell * down, Colour::empty);
  std::vector<RowCol<int>> order = entry.order;
  std::erase(order, model::no_tile);
  const std::size_t wave = std::min(order.size(), static_cast<std::size_t>(c.waves.per_wave));
  const std::size_t two = std::min(order.size(), 2 * wave);
  std::vector<int> cells(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::size_t at = static_cast<std::size_t>(order[i].row) * static_cast<std::size_t>(across) +
                           static_cast<std::size_t>(order[i].col);
    cells[at] = i < wave ? 1 : i / wave % 2 == 1 ? 2 : 0;
  }
  for (const Rectangle& r : rectangles(down, across, cells)) {
    if (r.value == 0) continue;
    svg.rect(r.col * cell, r.row * cell, r.cols * cell, r.rows * cell, r.value == 1 ? Colour::d : Colour::d_soft);
  }
  if (cell >= 5) {
    for (int i = 1; i < across; ++i) svg.line({i * cell, 0}, {i * cell, cell * down}, Colour::page, 0.75);
    for (int i = 1; i < down; ++i) svg.line({0, i * cell}, {cell * across, i * cell}, Colour::page, 0.75);
  }
  if (cell >= 8) draw_way(svg, order, two > 0 ? two - 1 : 0, order.size(), cell, Colour::padding);
  draw_way(svg, order, wave > 0 ? wave - 1 : 0, two, cell, Colour::ink);
  draw_way(svg, order, 0, wave, cell, Colour::on_colour);
  svg.circle({cell / 2 + order.front().col * cell, cell / 2 + order.front().row * cell}, std::clamp(cell / 3, 2.5, 5.0),
             Colour::lane, "the first tile");
  svg.end_group();
}

double draw_bars(Svg& svg, const RasterComparison& c, double y) {
  constexpr double left = 116, right = 684;
  double most = c.compulsory_bytes;
  for (const RasterEntry& e : c.entries) most = std::max(most, e.traffic.l2_to_sm_bytes);
  const auto length = [&](double bytes) { return most > 0 ? bytes / most * (right - left) : 0; };
  svg.text({margin, y + 12}, "What the SMs read from L2, and what of it L2 reads from DRAM", 13, Colour::ink,
           Anchor::start, true);
  y += 32;
  for (const auto& [x, text] :
       {std::pair{right + 100, "SMs read"}, std::pair{right + 186, "from DRAM"}, std::pair{right + 252, "hit rate"}}) {
    svg.text({x, y + 4}, text, 10.5, Colour::faint, Anchor::end);
  }
  y += 12;
  const double bars = y;
  for (const RasterEntry& e : c.entries) {
    const model::RasterTraffic& t = e.traffic;
    svg.text({margin, y + 15}, e.name, 12);
    svg.rect(left, y + 3, length(t.l2_to_sm_bytes), 16, Colour::padding,
             fmt::format("{:.2f} GB from L2", t.l2_to_sm_bytes * 1e-9));
    svg.rect(left, y + 3, length(t.dram_read_bytes), 16, Colour::predicted,
             fmt::format("{:.2f} GB from DRAM", t.dram_read_bytes * 1e-9));
    const auto cell = [&](double x, const std::string& text, Colour colour) {
      svg.text({x, y + 15}, text, 12, colour, Anchor::end);
    };
    cell(right + 100, fmt::format("{:.2f} GB", t.l2_to_sm_bytes * 1e-9), Colour::ink);
    cell(right + 186, fmt::format("{:.2f} GB", t.dram_read_bytes * 1e-9), Colour::predicted);
    cell(right + 252, fmt::format("{:.1f} %", 100 * t.l2_to_sm_hit_rate), Colour::ink);
    y += bar_row;
  }
  const double least = left + length(c.compulsory_reads());
  svg.line({least, bars - 2}, {least, y}, Colour::page, 5);
  svg.line({least, bars - 2}, {least, y}, Colour::ink, 2);
  svg.text({least + 6, bars - 6}, "no order needs less", 10.5, Colour::faint);
  return y;
}

}  // namespace

Svg raster_picture(const RasterComparison& c) {
  const Panels panels(c);
  const double bars_top = panels.bottom() + 8;
  const double height = bars_top + 44 + bar_row * static_cast<double>(c.entries.size()) + 46;
  const std::string problem = fmt::format("{} x {} x {}, {} x {} tiles of {} x {}", c.gemm.M, c.gemm.N, c.gemm.K,
                                          c.down, c.across, c.tile.m, c.tile.n);
  Svg svg(width, height, "Orders of tiles: " + problem);
  svg.text({margin, 34}, fmt::format("{}: orders in which the tiles of D are visited", c.gpu.name), 17, Colour::ink,
           Anchor::start, true);
  svg.text({margin, 56}, fmt::format("{}; {} blocks at a time, {}", problem, c.waves.per_wave, c.gpu.l2_text()), 12,
           Colour::ink);
  for (std::size_t i = 0; i < c.entries.size(); ++i) {
    svg.begin_group(panels.origin(i));
    draw_panel(svg, c, c.entries[i], panels);
    svg.end_group();
  }
  double y = draw_bars(svg, c, bars_top) + 24, x = margin;
  const auto entry = [&](Colour colour, const std::string& text, double advance) {
    svg.rect(x, y - 10, 14, 12, colour);
    svg.text({x + 19, y}, text, 11, Colour::faint);
    x += advance;
  };
  entry(Colour::d, "first wave", 100);
  entry(Colour::d_soft, "second wave, fourth, ...", 172);
  entry(Colour::lane, "first tile", 88);
  entry(Colour::padding, "found in L2", 106);
  entry(Colour::predicted, "read from DRAM (simulated)", 200);
  return svg;
}

}  // namespace lapidary::pages
