#include "pages/occupancy_picture.hpp"

#include <fmt/format.h>

#include <iterator>
#include <vector>

#include "report/text.hpp"

namespace lapidary::pages {
namespace {

using model::Gpu, model::Occupancy, model::OccupancyStep, model::Quantity;
using report::Anchor, report::Colour, report::Point, report::Svg;

constexpr double width = 1180, height = 372;
constexpr double top = 108, bottom = height - 76, left = 64, gap = 40, right = width - 56;
constexpr double panel_width = (right - left - 2 * gap) / 3;

/// One curve and its axis.
struct Panel {
  Quantity quantity;
  const char *title, *axis, *unit;
  int value;             ///< of the block that is marked
  int tick, counted_by;  ///< between two ticks; what their labels count in
};

/// Positions within a panel.
struct Scale {
  int most;
  int max_warps;

  double x(double value) const { return value / (most + 1) * panel_width; }
  double y(double warps) const { return (bottom - top) * (1 - warps / max_warps); }
};

std::string value_text(const Panel& panel) {
  return fmt::format("{} {}", report::with_separators(static_cast<std::uint64_t>(panel.value)), panel.unit);
}

void draw_axes(Svg& svg, const Panel& panel, const Scale& scale) {
  for (int quarter = 0; quarter <= 4; ++quarter) {
    const double y = scale.y(scale.max_warps * quarter / 4.0);
    svg.line({0, y}, {panel_width, y}, Colour::empty);
    if (panel.quantity == Quantity::registers)
      svg.text({-8, y + 4}, fmt::format("{}", scale.max_warps * quarter / 4), 11, Colour::ink, Anchor::end);
    if (panel.quantity == Quantity::threads) svg.text({panel_width + 8, y + 4}, fmt::format("{} %", 25 * quarter), 11);
  }
  for (int value = 0; value <= scale.most + 1; value += panel.tick) {
    const double x = scale.x(value), floor = scale.y(0);
    svg.line({x, floor}, {x, floor + 4}, Colour::ink);
    svg.text({x, floor + 18}, fmt::format("{}", value / panel.counted_by), 11, Colour::ink, Anchor::middle);
  }
  svg.line({0, scale.y(0)}, {panel_width, scale.y(0)}, Colour::ink);
  svg.text({panel_width / 2, scale.y(0) + 38}, panel.axis, 12, Colour::ink, Anchor::middle);
}

void draw_curve(Svg& svg, const std::vector<OccupancyStep>& steps, const Scale& scale) {
  std::vector<Point> points;
  for (const OccupancyStep& step : steps) {
    points.push_back({scale.x(step.first), scale.y(step.warps)});
    points.push_back({scale.x(step.last + 1), scale.y(step.warps)});
  }
  svg.polyline(points, Colour::predicted);
  int labelled = -1;  // neighbours of as many blocks share a label
  for (const OccupancyStep& step : steps) {
    const std::string blocks = fmt::format("{}", step.blocks);
    const double from = scale.x(step.first), to = scale.x(step.last + 1);
    if (step.blocks == labelled || to - from < 9.0 * static_cast<double>(blocks.size())) continue;
    svg.text({(from + to) / 2, scale.y(step.warps) - 6}, blocks, 10.5, Colour::faint, Anchor::middle);
    labelled = step.blocks;
  }
}

void draw_mark(Svg& svg, const Panel& panel, const Occupancy& o, const Scale& scale) {
  const Point at{scale.x(panel.value), scale.y(o.warps())};
  svg.line({at.x, scale.y(0)}, at, Colour::ink, 1, true);
  const std::string text = fmt::format("{}: {} block{}, {} warps, {}", value_text(panel), o.blocks,
                                       o.blocks == 1 ? "" : "s", o.warps(), report::counted_percent(o.fraction()));
  svg.circle(at, 6.5, Colour::ink);
  svg.circle(at, 5, Colour::lane, text);
}

void draw_panel(Svg& svg, const Panel& panel, const Gpu& gpu, const Occupancy& o) {
  const std::vector<OccupancyStep> steps = occupancy_over(gpu, o.block, panel.quantity);
  const Scale scale{steps.back().last, gpu.max_warps_per_sm};
  svg.text({0, -24}, panel.title, 13, Colour::ink, Anchor::start, true);
  svg.text({panel_width, -24}, value_text(panel), 12, Colour::ink, Anchor::end);
  draw_axes(svg, panel, scale);
  draw_curve(svg, steps, scale);
  // A block that is too large, or whose registers are not known, is not on the curve.
  if (panel.value >= steps.front().first && panel.value <= steps.back().last) draw_mark(svg, panel, o, scale);
}

}  // namespace

Svg occupancy_picture(const std::string& title, const Gpu& gpu, const Occupancy& o) {
  Svg svg(width, height, fmt::format("Occupancy: {}", title));
  svg.text({24, 34}, title, 17, Colour::ink, Anchor::start, true);
  svg.text({24, 56},
           o.blocks > 0 ? fmt::format("{} of {} warps, {}; limited by {}", o.warps(), o.max_warps,
                                      report::counted_percent(o.fraction()), o.limiters())
                        : fmt::format("no block fits: {}", o.reason),
           12);
  const Panel panels[] = {
      {Quantity::registers, "over registers", "registers a thread", "registers", o.block.registers, 32, 1},
      {Quantity::shared_bytes, "over shared memory", "shared memory a block, KiB", "bytes", o.block.shared_bytes,
       32 * 1024, 1024},
      {Quantity::threads, "over block size", "threads a block", "threads", o.block.threads, 128, 1}};
  for (std::size_t i = 0; i < std::size(panels); ++i) {
    svg.begin_group({left + static_cast<double>(i) * (panel_width + gap), top});
    draw_panel(svg, panels[i], gpu, o);
    svg.end_group();
  }
  svg.text({20, (top + bottom) / 2}, "warps on a multiprocessor", 12, Colour::ink, Anchor::middle, false, -90);
  svg.circle({left + 6, height - 18}, 5, Colour::lane);
  svg.text({left + 17, height - 14}, "this block", 11, Colour::faint);
  svg.text({left + 100, height - 14}, "along the curves: how many blocks those are", 11, Colour::faint);
  return svg;
}

}  // namespace lapidary::pages
