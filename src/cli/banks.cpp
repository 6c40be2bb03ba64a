#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/access_grammar.hpp"
#include "cli/command.hpp"
#include "cli/json.hpp"
#include "cli/picture.hpp"
#include "core/error.hpp"
#include "layout/bank_conflict.hpp"
#include "layout/bank_report.hpp"
#include "report/svg.hpp"
#include "report/terminal.hpp"
#include "report/text.hpp"

namespace lapidary::cli {
namespace {

struct Arguments {
  std::string layout, access;
  int lane = 0;
  PictureFiles picture;
  bool json = false;
};

/// An access in one layout: as typed, or without its padding and swizzle.
struct View {
  Layout layout;
  WarpAccess access;
  std::uint32_t misaligned;
  std::uint32_t torn;             ///< lanes whose consecutive elements are not consecutive in memory
  std::vector<BankGroup> groups;  ///< none where a lane is misaligned
  int wavefronts = 0;
  std::string cause;

  int minimum() const { return static_cast<int>(groups.size()); }
};

std::int64_t offset_of(const Layout& layout, const TileAccess::Index& i) {
  switch (layout.rank()) {
    case 1: return layout(i[0]);
    case 2: return layout(i[0], i[1]);
    case 3: return layout(i[0], i[1], i[2]);
    default: return layout(i[0], i[1], i[2], i[3]);
  }
}

/// Whether the `count` elements from `first` on, along the layout's contiguous mode, lie side by side.
bool is_contiguous(const Layout& layout, TileAccess::Index first, int count) {
  if (count == 1) return true;
  int mode = 0;
  while (mode < layout.rank() && (layout.stride(mode) != 1 || layout.shape(mode) == 1)) ++mode;
  if (mode == layout.rank()) return false;
  const std::int64_t start = offset_of(layout, first);
  std::int64_t& index = first[static_cast<std::size_t>(mode)];
  if (index + count > layout.shape(mode)) return false;
  for (int e = 1; e < count; ++e) {
    ++index;
    if (offset_of(layout, first) != start + e) return false;
  }
  return true;
}

View view_of(const TileAccess& access, const Layout& layout, int element_bytes) {
  View view{layout, addresses(access, layout, element_bytes), 0, 0, {}, 0, ""};
  view.misaligned = misaligned_lanes(view.access);
  const int count = access.bits / 8 / element_bytes;
  for (int lane = 0; lane < 32; ++lane) {
    if ((access.active >> lane & 1) == 0) continue;
    if (!is_contiguous(layout, access.index[static_cast<std::size_t>(lane)], count)) {
      view.torn |= std::uint32_t{1} << lane;
    }
  }
  if (view.misaligned != 0) return view;
  const int lanes = access.lanes_per_group(view.access);
  view.groups = bank_report(view.access, lanes);
  for (const BankGroup& group : view.groups) view.wavefronts += group.wavefronts;
  if (view.wavefronts == view.minimum()) return view;
  if (access.kind != TileAccess::ldmatrix) {
    view.cause = conflict_cause(view.access, access.kind == TileAccess::write);
    return view;
  }
  // The rows of one matrix are served together, whatever the hardware would merge of a load.
  for (const BankGroup& group : view.groups) {
    if (group.wavefronts == 1) continue;
    WarpAccess matrix = view.access;
    matrix.active &= 0xffu << group.first_lane;
    view.cause = conflict_cause(matrix);
    if (!view.cause.empty()) break;
  }
  return view;
}

/// "0", "0-7" or "0,8,16": the lanes of a mask.
std::string lanes_text(std::uint32_t mask) {
  std::vector<std::string> runs;
  for (int lane = 0; lane < 32; ++lane) {
    if ((mask >> lane & 1) == 0) continue;
    int last = lane;
    while (last < 31 && (mask >> (last + 1) & 1) != 0) ++last;
    runs.push_back(last == lane ? std::to_string(lane)
                                : fmt::format("{}{}{}", lane, last == lane + 1 ? "," : "-", last));
    lane = last;
  }
  return fmt::format("{}", fmt::join(runs, ","));
}

std::string verdict(const View& view, const TileAccess& access) {
  std::string text;
  if (view.misaligned != 0) {
    text = fmt::format("{} of {} lanes are not aligned to {} bytes: the hardware faults (lanes {})",
                       std::popcount(view.misaligned), std::popcount(access.active), access.bits / 8,
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

/// The 128-byte lines of memory that an access touches, ascending.
std::vector<std::uint64_t> touched_lines(const View& view) {
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

Use use_of(const View& view, std::uint64_t address) {
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
bool is_padding(const View& view, std::uint64_t address, int element_bytes) {
  const auto size = static_cast<std::uint64_t>(element_bytes);
  const auto first = static_cast<int>(address / size), count = static_cast<int>(std::max<std::uint64_t>(4 / size, 1));
  for (int e = first; e < first + count; ++e) {
    if (view.layout.inverse(e)) return false;
  }
  return true;
}

std::string tile_title(const View& view, const TypedLayout& tile) { return tile.type + " " + to_string(view.layout); }

// ---- Text

void print_view(const View& view, const TypedLayout& tile, const TileAccess& access, bool colour) {
  using report::Style;
  fmt::print("{}\n  {}\n", report::styled(tile_title(view, tile), Style::heading, colour), verdict(view, access));
  if (view.groups.empty()) return;
  std::string header = "\n  bank         ";
  for (int bank = 0; bank < 32; ++bank) header += fmt::format("{:>3}", bank);
  fmt::print("{}\n", report::styled(header, Style::faint, colour));
  for (const BankGroup& group : view.groups) {
    for (int wavefront = 0; wavefront < group.wavefronts; ++wavefront) {
      std::string row = wavefront == 0 ? fmt::format("  lanes {:<7}", fmt::format("{}-{}", group.first_lane,
                                                                                  group.first_lane + group.lanes - 1))
                                       : std::string(15, ' ');
      for (int bank = 0; bank < 32; ++bank) {
        const auto word = std::find_if(group.words.begin(), group.words.end(),
                                       [&](const BankWord& w) { return w.bank() == bank && w.wavefront == wavefront; });
        row += word == group.words.end() ? fmt::format("{:>3}", ".")
                                         : fmt::format("{:>3}", std::countr_zero(word->lanes));
      }
      fmt::print("{}\n", wavefront > 0 ? report::styled(row, Style::bad, colour) : row);
    }
  }
}

// ---- Picture

constexpr double cell_width = 28, cell_height = 20, left = 92, margin = 20;

double height_of(const View& view) {
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
  const int lanes = std::popcount(use.lanes), first = std::countr_zero(use.lanes);
  const std::string label = lanes == 1 ? std::to_string(first) : fmt::format("{}+{}", first, lanes - 1);
  svg.text({x + cell_width / 2, y + cell_height / 2 + 3.5}, label, lanes == 1 ? 10.5 : 9,
           is_marked ? Colour::on_lane : Colour::on_colour, report::Anchor::middle);
}

void draw_view(report::Svg& svg, const View& view, const TypedLayout& tile, const TileAccess& access, int marked) {
  using report::Anchor, report::Colour;
  svg.text({0, 14}, tile_title(view, tile), 14, Colour::ink, Anchor::start, true);
  const bool bad = view.misaligned != 0 || view.torn != 0 || view.wavefronts > view.minimum();
  double y = 34;
  for (const std::string& line : report::wrap(verdict(view, access), 120)) {
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
      svg.line({left - 60, y}, {left + 32 * cell_width, y}, Colour::faint, 1, true);
    }
    svg.text({left - 8, y + 14}, std::to_string(lines[i] * 128), 10, Colour::faint, Anchor::end);
    for (std::uint64_t bank = 0; bank < 32; ++bank) {
      const std::uint64_t address = lines[i] * 128 + bank * 4;
      const double x = left + static_cast<double>(bank) * cell_width;
      const Use use = use_of(view, address);
      if (use.lanes != 0) {
        draw_word(svg, x, y, use, marked, address);
      } else {
        const bool padding = is_padding(view, address, tile.element_bytes);
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

report::Svg picture(const std::vector<View>& views, const TypedLayout& tile, const TileAccess& access,
                    const Arguments& arguments) {
  using report::Colour;
  const double width = 2 * margin + left + 32 * cell_width;
  double height = margin + 40 + 50;
  for (const View& view : views) height += height_of(view) + 14;
  report::Svg svg(width, height, fmt::format("Banks of shared memory: {} of {}", arguments.access, arguments.layout));
  svg.text({margin, margin + 12}, arguments.access, 17, Colour::ink, report::Anchor::start, true);
  double y = margin + 36;
  for (const View& view : views) {
    svg.begin_group({margin, y});
    draw_view(svg, view, tile, access, arguments.lane);
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
  entry(Colour::lane, fmt::format("lane {}", arguments.lane), 80);
  entry(Colour::padding, "no element", 100);
  svg.text(
      {margin, y + 21},
      "A cell is a 32-bit word, marked with the lane that wants it; 0+1 is lane 0 and another one. Below: words of the bank "
      "that are asked for",
      11, Colour::faint);
  return svg;
}

Json to_json(const View& view, const TypedLayout& tile) {
  Json groups = Json::array();
  for (const BankGroup& group : view.groups) {
    Json words = Json::array();
    for (const BankWord& word : group.words) {
      words.push_back(
          {{"address", word.address}, {"bank", word.bank()}, {"lanes", word.lanes}, {"wavefront", word.wavefront}});
    }
    groups.push_back(
        {{"first_lane", group.first_lane}, {"lanes", group.lanes}, {"wavefronts", group.wavefronts}, {"words", words}});
  }
  const bool counted = view.misaligned == 0;
  return {{"layout", to_string(view.layout)},
          {"type", tile.type},
          {"wavefronts", counted ? Json(view.wavefronts) : Json()},
          {"minimum", counted ? Json(view.minimum()) : Json()},
          {"cause", view.cause},
          {"misaligned_lanes", view.misaligned},
          {"torn_lanes", view.torn},
          {"groups", groups}};
}

ExitCode banks(const Arguments& arguments) {
  const TypedLayout tile = parse_layout(arguments.layout);
  const TileAccess access = parse_access(arguments.access, tile);
  std::vector<View> views;
  const Layout plain = tile.layout.padded(0, 0).swizzled(0, 0, 0);
  if (plain != tile.layout) views.push_back(view_of(access, plain, tile.element_bytes));
  views.push_back(view_of(access, tile.layout, tile.element_bytes));
  if (arguments.picture.wanted()) write(picture(views, tile, access, arguments), arguments.picture);
  if (arguments.json) {
    Json list = Json::array();
    for (const View& view : views) list.push_back(to_json(view, tile));
    print({{"access", arguments.access}, {"active", access.active}, {"bits", access.bits}, {"layouts", list}});
    return success;
  }
  const bool colour = report::wants_colour(stdout);
  fmt::print("{}\n\n", arguments.access);
  for (const View& view : views) {
    if (&view != &views.front()) fmt::print("\n");
    print_view(view, tile, access, colour);
  }
  return success;
}

}  // namespace

Command add_banks(CLI::App& program) {
  CLI::App* app = program.add_subcommand(
      "banks", "the banks of shared memory that a warp's access meets in, before and after padding or swizzling");
  const auto a = std::make_shared<Arguments>();
  app->add_option("LAYOUT", a->layout, "where the elements of a tile live; see below")->required();
  app->add_option("ACCESS", a->access, "what the lanes of a warp read or write; see below")->required();
  app->add_option("--lane", a->lane, "the lane that is marked in the picture (0)")->check(CLI::Range(0, 31));
  add_picture_options(*app, a->picture);
  app->add_flag("--json", a->json, "print JSON");
  app->footer(
      std::string("\n") + layout_grammar + "\n" + access_grammar +
      "\nHalf-precision tiles with two halves of padding after every 64, before and after:\n"
      "  lapidary banks \"f16 64x128+2/64\" \"read 32 [1, lane % 16 * 8]\" --svg banks.svg\n"
      "Their other accesses: \"write 32 [lane / 16, lane % 16 * 8]\" (B), \"write 16 [lane % 8 * 8, lane / 8]\" (A, "
      "transposed);\n\"read 128 [0, lane % 16 * 8]\" faults with the padding.");
  return {app, [a] { return banks(*a); }};
}

}  // namespace lapidary::cli
