#include "pages/roofline_picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>
#include <set>

#include "report/axis.hpp"
#include "report/text.hpp"

namespace lapidary::pages {
namespace {

using lens::Roofline, lens::RooflineEntry;
using report::Anchor, report::Colour, report::LogAxis, report::Point, report::Svg;

constexpr double width = 1180, height = 630;
constexpr double names = width - 262, names_end = width - 24;  ///< a column beside the plot
constexpr double left = 76, right = names - 44, top = 76, bottom = height - 84;

struct Ceiling {
  std::string level, title;
  double bytes_per_s;
};

struct Chart {
  const Roofline& roofline;
  std::vector<const RooflineEntry*> entries;  ///< the default kernel of each rung
  std::vector<Ceiling> ceilings;
  LogAxis x, y;

  std::vector<std::pair<double, std::string>> peaks;  ///< of what multiplies, the lowest first

  double peak() const { return peaks.back().first; }
  Point at(double intensity, double rate) const { return {x.at(intensity), y.at(rate)}; }
};

Chart chart_of(const Roofline& roofline) {
  Chart chart{roofline, {}, {}, {1, 1, left, right}, {1, 1, bottom, top}, {}};
  std::map<double, std::string> peaks = {{roofline.ceilings.f32_flops, "f32 on CUDA cores"}};
  for (const RooflineEntry& e : roofline.entries) {
    if (e.kernel != &e.rung->kernels.front()) continue;
    chart.entries.push_back(&e);
    std::string& title = peaks[e.peak];
    if (e.peak_is != "f32" && title.find(e.peak_is) == title.npos) title += (title.empty() ? "" : ", ") + e.peak_is;
  }
  chart.peaks.assign(peaks.begin(), peaks.end());
  const auto add = [&](const char* level, const char* title, std::optional<double> rate) {
    if (rate) chart.ceilings.push_back({level, fmt::format("{} {:.1f} TB/s", title, *rate * 1e-12), *rate});
  };
  add("L1", "L1 and shared memory", roofline.ceilings.shared_bytes_per_s);
  add("L2", "L2", roofline.ceilings.l2_bytes_per_s);
  add("DRAM", "DRAM", roofline.ceilings.dram_bytes_per_s);
  double least_x = std::numeric_limits<double>::infinity(), most_x = 0, least_y = chart.peaks.front().first;
  for (const Ceiling& c : chart.ceilings) {
    most_x = std::max(most_x, 2 * chart.peak() / c.bytes_per_s);
    least_x = std::min(least_x, 0.1 * chart.peaks.front().first / c.bytes_per_s);
    for (const RooflineEntry* e : chart.entries) {
      const std::optional<double> intensity = e->intensity(c.level);
      if (!intensity || !std::isfinite(*intensity)) continue;
      least_x = std::min(least_x, *intensity);
      most_x = std::max(most_x, *intensity);
    }
  }
  for (const RooflineEntry* e : chart.entries) least_y = std::min({least_y, e->roof, e->measured.value_or(e->roof)});
  chart.x = {least_x / 1.7, most_x * 1.7, left, right};
  chart.y = {std::min(least_y / 1.7, chart.peaks.front().first / 40), chart.peak() * 2, bottom, top};
  return chart;
}

std::string tick_text(double value) {
  return value < 1 ? fmt::format("{:g}", value) : report::with_separators(static_cast<std::uint64_t>(value + 0.5));
}

void draw_axes(Svg& svg, const Chart& chart) {
  for (const double decade : LogAxis{chart.x.low / 10, chart.x.high, 0, 1}.decades()) {
    for (const int step : {1, 2, 5}) {
      const double value = decade * step;
      if (value < chart.x.low || value > chart.x.high) continue;
      const double x = chart.x.at(value);
      svg.line({x, top}, {x, bottom}, Colour::empty, step == 1 ? 1.5 : 0.75);
      if (step == 1) svg.text({x, bottom + 18}, tick_text(value), 11, Colour::ink, Anchor::middle);
    }
  }
  for (const double decade : LogAxis{chart.y.low / 10, chart.y.high, 0, 1}.decades()) {
    for (const int step : {1, 2, 5}) {
      const double value = decade * step;
      if (value < chart.y.low || value > chart.y.high) continue;
      const double y = chart.y.at(value);
      svg.line({left, y}, {right, y}, Colour::empty, step == 1 ? 1.5 : 0.75);
      svg.text({left - 8, y + 4}, tick_text(value * 1e-12), 11, Colour::ink, Anchor::end);
    }
  }
  svg.line({left, bottom}, {right, bottom}, Colour::ink);
  svg.line({left, top}, {left, bottom}, Colour::ink);
  svg.text({(left + right) / 2, bottom + 40}, "FLOP for each byte of the memory whose roof it is", 12, Colour::ink,
           Anchor::middle);
  svg.text({left - 46, (top + bottom) / 2}, "TFLOP/s", 12, Colour::ink, Anchor::middle, false, -90);
}

/// Where a kernel is and what it could be.
struct Mark {
  const RooflineEntry* entry;
  Point roof, measured;  ///< the same if nothing was measured
  const Point& shown() const { return measured; }
};

std::vector<Mark> marks_of(const Chart& chart) {
  std::vector<Mark> marks;
  for (const RooflineEntry* e : chart.entries) {
    marks.push_back(
        {e, chart.at(e->level_intensity, e->roof), chart.at(e->level_intensity, e->measured.value_or(e->roof))});
  }
  return marks;
}

/// The title of a slanted roof, along it, where the marks are farthest.
void draw_title(Svg& svg, const Chart& chart, const Ceiling& ceiling, const std::vector<Mark>& marks) {
  const double ridge = chart.peak() / ceiling.bytes_per_s;
  const double start = std::max(chart.x.low, chart.y.low / ceiling.bytes_per_s);
  const Point from = chart.at(start, start * ceiling.bytes_per_s), to = chart.at(ridge, chart.peak());
  const double length = std::hypot(to.x - from.x, to.y - from.y);
  const double half = 3.2 * static_cast<double>(ceiling.title.size());
  Point best = from;
  double best_distance = -1;
  for (double along = half + 8; along < length - half - 8; along += 8) {
    const Point at{from.x + (to.x - from.x) * along / length, from.y + (to.y - from.y) * along / length};
    double distance = std::numeric_limits<double>::infinity();
    for (const Mark& mark : marks) {
      for (const Point& p : {mark.roof, mark.measured}) {
        // The nearest point of the text's line.
        const double t = std::clamp(((p.x - at.x) * (to.x - from.x) + (p.y - at.y) * (to.y - from.y)) / length, -half,
                                    half);
        distance = std::min(
            distance, std::hypot(p.x - at.x - t * (to.x - from.x) / length, p.y - at.y - t * (to.y - from.y) / length));
      }
    }
    // Of equals the lowest: the roofs come together at the top.
    if (std::min(distance, 40.0) > best_distance) best = at, best_distance = std::min(distance, 40.0);
  }
  const double angle = std::atan2(to.y - from.y, to.x - from.x);
  constexpr double above = 7;
  svg.text({best.x + above * std::sin(angle), best.y - above * std::cos(angle)}, ceiling.title, 11.5, Colour::ceiling,
           Anchor::middle, true, angle * 180 / std::numbers::pi);
}

void draw_roofs(Svg& svg, const Chart& chart, const std::vector<Mark>& marks) {
  double first_ridge = std::numeric_limits<double>::infinity();
  for (const Ceiling& c : chart.ceilings) {
    const double ridge = chart.peak() / c.bytes_per_s;
    first_ridge = std::min(first_ridge, ridge);
    const double start = std::max(chart.x.low, chart.y.low / c.bytes_per_s);
    svg.line(chart.at(start, start * c.bytes_per_s), chart.at(ridge, chart.peak()), Colour::ceiling, 1.75);
    draw_title(svg, chart, c, marks);
  }
  for (const auto& [peak, title] : chart.peaks) {
    const bool highest = peak == chart.peak();
    svg.line(chart.at(first_ridge * peak / chart.peak(), peak), chart.at(chart.x.high, peak), Colour::ceiling, 1.75);
    svg.text({right, chart.y.at(peak) + (highest ? -26 : 17)}, fmt::format("{} {:.1f} TFLOP/s", title, peak * 1e-12),
             11.5, Colour::ceiling, Anchor::end, true);
  }
  // Where the kernels would meet the roofs that do not stop them.
  for (const Ceiling& c : chart.ceilings) {
    for (const auto& [peak, title] : chart.peaks) {
      std::set<double> intensities;
      for (const RooflineEntry* e : chart.entries)
        if (e->peak == peak && e->level != c.level && e->intensity(c.level)) intensities.insert(*e->intensity(c.level));
      double sum = 0;
      int flat = 0;  // of them under the peak, where no title says whose they are
      for (const double i : intensities) {
        const Point p = chart.at(i, std::min(peak, i * c.bytes_per_s));
        svg.ring(p, 3, Colour::ceiling, 1.25, fmt::format("{:.3g} FLOP for each byte of {}", i, c.level));
        if (i * c.bytes_per_s < peak) continue;
        sum += p.x;
        ++flat;
      }
      // Right below another roof there is room for its title alone.
      const auto below = [&](const auto& other) {
        return other.first > peak && chart.y.at(peak) - chart.y.at(other.first) < 30;
      };
      if (flat == 0 || std::any_of(chart.peaks.begin(), chart.peaks.end(), below)) continue;
      svg.text({sum / flat, chart.y.at(peak) - 9}, c.level, 10.5, Colour::ceiling, Anchor::middle);
    }
  }
}

constexpr double name_line = 15;

/// Names stand in a column to the right, by height: where those of marks do that are in this order.
std::vector<double> heights_of_names(const std::vector<Mark>& marks) {
  std::vector<double> heights;
  for (const Mark& m : marks) heights.push_back(m.shown().y);
  return report::spread(heights, name_line, top + name_line, bottom - 8);
}

/// From the marks to their names, under everything else.
void draw_leaders(Svg& svg, const std::vector<Mark>& marks) {
  const std::vector<double> heights = heights_of_names(marks);
  for (std::size_t i = 0; i < marks.size(); ++i) {
    svg.line(marks[i].shown(), {names - 22, heights[i]}, Colour::padding, 0.75);
    svg.line({names - 22, heights[i]}, {names - 5, heights[i]}, Colour::padding, 0.75);
  }
}

void draw_marks(Svg& svg, const std::vector<Mark>& marks) {
  for (const Mark& m : marks)
    if (m.entry->measured) svg.line(m.roof, m.measured, Colour::predicted, 1);
  const std::vector<double> heights = heights_of_names(marks);
  for (const Mark& m : marks) {
    const std::string tooltip = fmt::format("{}: {:.3g} FLOP for each byte of {}, roof {:.1f} TFLOP/s",
                                            m.entry->rung->name(), m.entry->level_intensity, m.entry->level,
                                            m.entry->roof * 1e-12);
    svg.ring(m.roof, 4, Colour::predicted, 1.75, tooltip);
  }
  for (const Mark& m : marks) {
    if (!m.entry->measured) continue;
    svg.circle(m.measured, 5, Colour::page);
    svg.circle(m.measured, 4, Colour::measured,
               fmt::format("{}: {:.1f} TFLOP/s measured", m.entry->rung->name(), *m.entry->measured * 1e-12));
  }
  const bool any = std::any_of(marks.begin(), marks.end(), [](const Mark& m) { return m.entry->measured.has_value(); });
  svg.text({names_end, heights.front() - name_line + 1}, any ? "TFLOP/s, of roof" : "roof, TFLOP/s", 10.5,
           Colour::faint, Anchor::end);
  for (std::size_t i = 0; i < marks.size(); ++i) {
    const RooflineEntry& e = *marks[i].entry;
    svg.text({names, heights[i] + 4}, e.rung->name(), 11.5);
    const std::string rates = e.measured ? fmt::format("{:.1f} of {:.1f}", *e.measured * 1e-12, e.roof * 1e-12)
                                         : fmt::format("{:.1f}", e.roof * 1e-12);
    svg.text({names_end, heights[i] + 4}, rates, 11.5, e.measured ? Colour::measured : Colour::predicted, Anchor::end);
  }
}

void draw_legend(Svg& svg, const Roofline& roofline, bool any_measured) {
  const double y = height - 18;
  double x = left;
  const auto entry = [&](const std::string& text, double advance) {
    svg.text({x + 11, y}, text, 11, Colour::faint);
    x += advance;
  };
  if (any_measured) {
    svg.circle({x, y - 4}, 4, Colour::measured);
    entry(fmt::format("measured, {}", roofline.mode), 130);
  }
  svg.ring({x, y - 4}, 4, Colour::predicted, 1.75);
  entry("its roof, at the memory that allows it the least", 300);
  svg.ring({x, y - 4}, 3, Colour::ceiling, 1.25);
  entry("where the kernels meet the roofs of the other memories", 300);
}

}  // namespace

Svg roofline_picture(const Roofline& roofline) {
  Svg svg(width, height, fmt::format("Roofline of {}", roofline.gpu.name));
  svg.text({24, 34}, fmt::format("{}: the ladder below its roofs", roofline.gpu.name), 17, Colour::ink, Anchor::start,
           true);
  svg.text({24, 56},
           fmt::format("M = N = K = {}, default tiles, {:.0f} MHz", roofline.size, roofline.gpu.clock_hz * 1e-6), 12,
           Colour::ink);
  const Chart chart = chart_of(roofline);
  std::vector<Mark> marks = marks_of(chart);
  std::stable_sort(marks.begin(), marks.end(), [](const Mark& a, const Mark& b) { return a.shown().y < b.shown().y; });
  draw_axes(svg, chart);
  draw_leaders(svg, marks);
  draw_roofs(svg, chart, marks);
  draw_marks(svg, marks);
  draw_legend(svg, roofline,
              std::any_of(marks.begin(), marks.end(), [](const Mark& m) { return m.entry->measured.has_value(); }));
  return svg;
}

}  // namespace lapidary::pages
