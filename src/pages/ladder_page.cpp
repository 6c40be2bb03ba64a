#include "pages/ladder_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "lens/explain.hpp"
#include "lens/ladder_rates.hpp"
#include "lens/rung_record.hpp"
#include "model/measured.hpp"
#include "pages/explanation_page.hpp"

namespace lapidary::pages {
namespace {

using lens::LadderFloor, lens::page_size;
using model::PredictedTime;
using report::Column;

constexpr double bars_left = 190, bars_width = 600, bar_row = 26;

/// Bars from `top` on, below an axis of their own.
void draw_floor(report::Svg& svg, const LadderFloor& floor, double top) {
  using report::Anchor, report::Colour;
  const double scale = bars_width / floor.ceiling;
  const double bottom = top + bar_row * static_cast<double>(floor.times.size());
  const int step = floor.ceiling > 200e12 ? 100 : 10;
  for (int tflops = 0; tflops * 1e12 < floor.ceiling; tflops += step) {
    const double x = bars_left + tflops * 1e12 * scale;
    svg.line({x, top}, {x, bottom}, Colour::padding, 1);
    svg.text({x, bottom + 16}, std::to_string(tflops), 11, Colour::faint, Anchor::middle);
  }
  double y = top;
  for (const PredictedTime& time : floor.times) {
    const double measured = time.measured_flops(), predicted = time.predicted_flops();
    svg.text({bars_left - 10, y + 17}, time.kernel, 12, Colour::ink, Anchor::end);
    svg.rect(bars_left, y + 5, measured * scale, bar_row - 10, Colour::b,
             fmt::format("{}, tile {}: {:.1f} TFLOP/s measured", time.kernel, time.tile, measured * 1e-12));
    svg.line({bars_left + predicted * scale, y + 2}, {bars_left + predicted * scale, y + bar_row - 2}, Colour::conflict,
             3);
    const std::string value = fmt::format("{:.1f}", measured * 1e-12);
    if (measured * scale > 50) {
      svg.text({bars_left + 8, y + 17}, value, 11.5, Colour::on_colour, Anchor::start, true);
    } else {
      svg.text({bars_left + std::max(measured, predicted) * scale + 8, y + 17}, value, 11.5, Colour::ink, Anchor::start,
               true);
    }
    y += bar_row;
  }
  const auto limit = [&](double flops, const std::string& name) {
    const double x = bars_left + flops * scale;
    svg.line({x, top - 6}, {x, bottom}, Colour::ink, 1.5, true);
    svg.text({x, top - 12}, name, 11.5, Colour::ink, Anchor::middle);
  };
  if (floor.peer) limit(*floor.peer, fmt::format("cuBLAS {:.1f}", *floor.peer * 1e-12));
  limit(floor.ceiling, fmt::format("{} peak {:.1f}", floor.units, floor.ceiling * 1e-12));
}

}  // namespace

report::Svg ladder_picture(const model::Gpu& gpu) {
  using report::Anchor, report::Colour;
  const std::vector<LadderFloor> floors = lens::ladder_floors(gpu);
  constexpr double first = 62, between = 70, right = 60;
  double bottom = first - between;
  for (const LadderFloor& floor : floors) bottom += between + bar_row * static_cast<double>(floor.times.size());
  report::Svg svg(bars_left + bars_width + right, bottom + 62,
                  fmt::format("The ladder on {}: TFLOP/s of each kernel at M = N = K = {}", gpu.name, page_size));
  svg.text({20, 26}, fmt::format("The ladder on one {}, M = N = K = {}", gpu.name, page_size), 16, Colour::ink,
           Anchor::start, true);
  double top = first;
  for (const LadderFloor& floor : floors) {
    draw_floor(svg, floor, top);
    top += between + bar_row * static_cast<double>(floor.times.size());
  }
  svg.rect(bars_left, bottom + 34, 22, 12, Colour::b);
  svg.text({bars_left + 28, bottom + 44}, "measured, TFLOP/s", 11.5, Colour::ink);
  svg.line({bars_left + 180, bottom + 31}, {bars_left + 180, bottom + 49}, Colour::conflict, 3);
  svg.text({bars_left + 188, bottom + 44}, "predicted", 11.5, Colour::ink);
  svg.text({bars_left + 270, bottom + 44}, "each with its fastest tile, in bursts after a rest", 11.5, Colour::faint);
  return svg;
}

report::Table ladder_table(const model::Gpu& gpu) {
  const model::Predictions all = model::recorded_predictions(gpu);
  report::Table table({{"kernel"},
                       {"idea", Column::wrapped},
                       {"type"},
                       {"tile"},
                       {"predicted", Column::number, "TFLOP/s"},
                       {"measured", Column::number, "TFLOP/s"},
                       {"limited by, predicted", Column::wrapped}});
  for (const Rung& rung : lens::whole_ladder()) {
    const auto best = lens::fastest_tile(all, rung);
    table.add_row({{std::string(rung.name())},
                   {rung.info->idea},
                   {to_string(rung.kernels.front().kind)},
                   {best ? best->tile : to_string(rung.kernels.front().tile)},
                   {best ? tflops_number(best->predicted_flops()) : "-"},
                   {best ? tflops_number(best->measured_flops()) : "-"},
                   {best ? best->limiter : ""}});
  }
  return table;
}

}  // namespace lapidary::pages
