#include "pages/bank_picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "lens/lanes.hpp"
#include "report/text.hpp"

namespace lapidary::pages {
namespace {

using lens::BankView, lens::WordUse;

constexpr double cell_width = 28, cell_height = 20, left = 92, margin = 20;

double height_of(const BankView& view) {
  if (view.groups.empty()) return 62;
  const auto lines = static_cast<double>(touched_lines(view).size());
  return 74 + cell_height * (lines + static_cast<double>(view.groups.size())) + 12;
}

void draw_word(report::Svg& svg, double x, double y, const WordUse& use, int marked, std::uint64_t address) {
  using report::Colour;
  const bool is_marked = (use.lanes >> marked & 1) != 0;
  const Colour fill = use.excess ? Colour::conflict : Colour::access;
  svg.rect(x + 0.5, y + 0.5, cell_width - 1, cell_height - 1, is_marked ? Colour::lane : fill,
           fmt::format("byte {}, bank {}: lanes {}", address, address / 4 % 32, lens::lanes_text(use.lanes)));
  if (is_marked && use.excess) svg.frame(x + 1.5, y + 1.5, cell_width - 3, cell_height - 3, Colour::conflict, 2);
  const std::string label = lens::short_lanes_text(use.lanes, 5);
  const double size = std::min(10.5, (cell_width - 3) / (0.68 * static_cast<double>(label.size())));
  svg.text({x + cell_width / 2, y + cell_height / 2 + 3.5}, label, size,
           is_marked ? Colour::on_lane : Colour::on_colour, report::Anchor::middle);
}

void draw_view(report::Svg& svg, const BankView& view, int marked) {
  using report::Anchor, report::Colour;
  svg.text({0, 14}, view.title, 14, Colour::ink, Anchor::start, true);
  double y = 34;
  for (const std::string& line : report::wrap(bank_verdict(view), 120)) {
    svg.text({0, y}, line, 12, view.is_bad() ? Colour::conflict : Colour::access);
    y += 16;
  }
  if (view.groups.empty()) return;
  const std::vector<std::uint64_t> lines = touched_lines(view);
  y = 62;
  svg.text({left - 8, y}, "byte \\ bank", 10, Colour::faint, Anchor::end);
  for (int bank = 0; bank < 32; ++bank) {
    svg.text({left + (bank + 0.5) * cell_width, y}, std::to_string(bank), 10, Colour::faint, Anchor::middle);
  }
  y += 6;
  for (std::size_t i = 0; i < lines.size(); ++i, y += cell_height) {
    // Lines that nobody touches are left out; a dashed rule is in their place.
    if (i > 0 && lines[i] != lines[i - 1] + 1) {
      svg.line({left - 62, y}, {left - 6, y}, Colour::faint, 0.75, true);
    }
    svg.text({left - 8, y + 14}, std::to_string(lines[i] * 128), 10, Colour::faint, Anchor::end);
    for (std::uint64_t bank = 0; bank < 32; ++bank) {
      const std::uint64_t address = lines[i] * 128 + bank * 4;
      const double x = left + static_cast<double>(bank) * cell_width;
      const WordUse use = use_of_word(view, address);
      if (use.lanes != 0) {
        draw_word(svg, x, y, use, marked, address);
      } else {
        const bool padding = is_padding(view, address);
        svg.rect(x + 0.5, y + 0.5, cell_width - 1, cell_height - 1, padding ? Colour::padding : Colour::empty,
                 padding ? fmt::format("byte {}: padding", address) : "");
      }
    }
  }
  y += 8;
  for (const BankGroup& group : view.groups) {
    const int last = group.first_lane + group.lanes - 1;
    svg.text({left - 8, y + 13}, fmt::format("lanes {}-{}", group.first_lane, last), 10, Colour::faint, Anchor::end);
    const std::array<int, 32> words = lens::words_in_banks(group);
    for (std::size_t bank = 0; bank < 32; ++bank) {
      svg.text({left + (static_cast<double>(bank) + 0.5) * cell_width, y + 13},
               words[bank] == 0 ? "·" : std::to_string(words[bank]), 10.5,
               words[bank] > 1   ? Colour::conflict
               : words[bank] > 0 ? Colour::access
                                 : Colour::faint,
               Anchor::middle, words[bank] > 1);
    }
    y += cell_height;
  }
}

}  // namespace

report::Svg bank_picture(const std::string& title, const std::vector<BankView>& views, int lane) {
  using report::Colour;
  const double width = 2 * margin + left + 32 * cell_width;
  double height = margin + 40 + 50;
  for (const BankView& view : views) height += height_of(view) + 14;
  report::Svg svg(width, height, "Banks of shared memory: " + title);
  svg.text({margin, margin + 12}, title, 17, Colour::ink, report::Anchor::start, true);
  double y = margin + 36;
  for (const BankView& view : views) {
    svg.begin_group({margin, y});
    draw_view(svg, view, lane);
    svg.end_group();
    y += height_of(view) + 14;
  }
  // The legend.
  double x = margin;
  const auto entry = [&](Colour colour, const std::string& text, double advance) {
    svg.rect(x, y - 9, 14, 12, colour);
    svg.text({x + 19, y + 1}, text, 11, Colour::faint);
    x += advance;
  };
  entry(Colour::access, "first wavefront of its lanes", 205);
  entry(Colour::conflict, "one more: a conflict", 165);
  entry(Colour::lane, fmt::format("lane {}", lane), 80);
  const bool pads = std::any_of(views.begin(), views.end(), [](const BankView& v) { return v.layout.has_value(); });
  if (pads) entry(Colour::padding, "no element", 100);
  svg.text(
      {margin, y + 21},
      "A cell is a 32-bit word with the lanes that want it: 0-3 are four of them, 0+3 is lane 0 with three others. "
      "Below: how many words are wanted of the bank",
      11, Colour::faint);
  return svg;
}

}  // namespace lapidary::pages
