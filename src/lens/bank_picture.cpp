#include "lens/bank_picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "layout/bank_conflict.hpp"
#include "lens/lanes.hpp"
#include "report/text.hpp"

namespace lapidary::lens {
namespace {

/// The 128-byte lines of memory that an access touches, ascending.
std::vector<std::uint64_t> touched_lines(const BankView& view) {
  std::vector<std::uint64_t> lines;
  for (const BankGroup& group : view.groups) {
    for (const BankWord& word : group.words) lines.push_back(word.address / 128);
  }
  std::sort(lines.begin(), lines.end());
  lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
  return lines;
}

/// All that is wanted of a word: by which lanes, and whether in a wavefront that a group without conflicts has not.
struct Use {
  std::uint32_t lanes = 0;
  bool excess = false;
};

Use use_of(const BankView& view, std::uint64_t address) {
  Use use;
  for (const BankGroup& group : view.groups) {
    for (const BankWord& word : group.words) {
      if (word.address != address) continue;
      use.lanes |= word.lanes;
      use.excess |= word.wavefront > 0;
    }
  }
  return use;
}

std::array<int, 32> words_in_banks(const BankGroup& group) {
  std::array<int, 32> count{};
  for (const BankWord& word : group.words) ++count[static_cast<std::size_t>(word.bank())];
  return count;
}

/// No element lives in the word: every one of its elements is padding, or lies behind the tile.
bool is_padding(const BankView& view, std::uint64_t address) {
  if (!view.layout) return false;
  const auto size = static_cast<std::uint64_t>(view.element_bytes);
  const auto first = static_cast<int>(address / size), count = static_cast<int>(std::max<std::uint64_t>(4 / size, 1));
  for (int e = first; e < first + count; ++e) {
    if (view.layout->inverse(e)) return false;
  }
  return true;
}

constexpr double cell_width = 28, cell_height = 20, left = 92, margin = 20;

double height_of(const BankView& view) {
  if (view.groups.empty()) return 62;
  const auto lines = static_cast<double>(touched_lines(view).size());
  return 74 + cell_height * (lines + static_cast<double>(view.groups.size())) + 12;
}

void draw_word(report::Svg& svg, double x, double y, const Use& use, int marked, std::uint64_t address) {
  using report::Colour;
  const bool is_marked = (use.lanes >> marked & 1) != 0;
  const Colour fill = use.excess ? Colour::conflict : Colour::access;
  svg.rect(x + 0.5, y + 0.5, cell_width - 1, cell_height - 1, is_marked ? Colour::lane : fill,
           fmt::format("byte {}, bank {}: lanes {}", address, address / 4 % 32, lanes_text(use.lanes)));
  if (is_marked && use.excess) svg.frame(x + 1.5, y + 1.5, cell_width - 3, cell_height - 3, Colour::conflict, 2);
  const std::string label = short_lanes_text(use.lanes, 5);
  const double size = std::min(10.5, (cell_width - 3) / (0.68 * static_cast<double>(label.size())));
  svg.text({x + cell_width / 2, y + cell_height / 2 + 3.5}, label, size,
           is_marked ? Colour::on_lane : Colour::on_colour, report::Anchor::middle);
}

void draw_view(report::Svg& svg, const BankView& view, int marked) {
  using report::Anchor, report::Colour;
  svg.text({0, 14}, view.title, 14, Colour::ink, Anchor::start, true);
  const bool bad = view.misaligned != 0 || view.torn != 0 || view.wavefronts > view.minimum();
  double y = 34;
  for (const std::string& line : report::wrap(bank_verdict(view), 120)) {
    svg.text({0, y}, line, 12, bad ? Colour::conflict : Colour::access);
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
      const Use use = use_of(view, address);
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
    const std::array<int, 32> words = words_in_banks(group);
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

BankView bank_view(const std::string& title, const WarpAccess& access, SharedAccess kind) {
  BankView view;
  view.title = title;
  view.access = access;
  view.misaligned = misaligned_lanes(access);
  if (view.misaligned != 0) return view;
  view.groups = kind == SharedAccess::ldmatrix ? bank_report(access, 8) : bank_report(access);
  for (const BankGroup& group : view.groups) view.wavefronts += group.wavefronts;
  if (view.wavefronts == view.minimum()) return view;
  if (kind != SharedAccess::ldmatrix) {
    view.cause = conflict_cause(access, kind == SharedAccess::write);
    return view;
  }
  // The rows of one matrix are served together, whatever the hardware would merge of a load.
  for (const BankGroup& group : view.groups) {
    if (group.wavefronts == 1) continue;
    WarpAccess matrix = access;
    matrix.active &= 0xffu << group.first_lane;
    view.cause = conflict_cause(matrix);
    if (!view.cause.empty()) break;
  }
  return view;
}

std::vector<BankView> bank_views(const Observation& observation) {
  std::vector<BankView> views;
  for (const emulator::AccessSite& site : observation.written.sites) {
    if (is_global(site.access)) continue;
    const bool store = is_write(site.access);
    const std::string title = fmt::format("{}, {} a lane, {}:{}", store ? "store" : "load", bytes_text(site.bytes),
                                          site.file.substr(site.file.rfind('/') + 1), site.line);
    WarpAccess access = site.worst;
    std::uint64_t line = ~std::uint64_t{0};
    for (int lane = 0; lane < 32; ++lane)
      if ((access.active >> lane & 1) != 0) line = std::min(line, access.address[lane] / 128 * 128);
    for (std::uint64_t& address : access.address) address -= line;
    views.push_back(bank_view(title, access, store ? SharedAccess::write : SharedAccess::read));
  }
  return views;
}

std::string bank_verdict(const BankView& view) {
  std::string text;
  if (view.misaligned != 0) {
    text = fmt::format("{} of {} lanes are not aligned to {} bytes: the hardware faults (lanes {})",
                       std::popcount(view.misaligned), std::popcount(view.access.active), view.access.bytes,
                       lanes_text(view.misaligned));
  } else {
    text = fmt::format(
        "{} wavefront{}, {}", view.wavefronts, view.wavefronts == 1 ? "" : "s",
        view.wavefronts == view.minimum() ? "the minimum" : fmt::format("minimum {}: {}", view.minimum(), view.cause));
  }
  if (view.torn != 0) {
    text += fmt::format("; the elements of {} lanes do not lie side by side, so this is no access to them",
                        std::popcount(view.torn));
  }
  return text;
}

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

}  // namespace lapidary::lens
