#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/access_grammar.hpp"
#include "cli/command.hpp"
#include "cli/json.hpp"
#include "cli/options.hpp"
#include "cli/picture.hpp"
#include "core/error.hpp"
#include "kernels/registry.hpp"
#include "lens/bank_view.hpp"
#include "lens/observe.hpp"
#include "lens/rung_record.hpp"
#include "pages/bank_picture.hpp"
#include "report/terminal.hpp"
#include "report/text.hpp"

namespace lapidary::cli {
namespace {

using lens::BankView;

struct BanksArguments {
  std::string layout, access;  ///< or a kernel and nothing
  std::string tile;
  std::optional<std::string> type;
  int lane = 0;
  PictureFiles picture;
  bool json = false;
};

/// An access in one layout: as typed, or without its padding and swizzle.
BankView view_of(const TileAccess& access, const Layout& layout, const TypedLayout& tile) {
  const lens::SharedAccess kinds[] = {lens::SharedAccess::read, lens::SharedAccess::write,
                                      lens::SharedAccess::ldmatrix};
  BankView view = lens::bank_view(tile.type + " " + to_string(layout), addresses(access, layout, tile.element_bytes),
                                  kinds[access.kind]);
  view.layout = layout;
  view.element_bytes = tile.element_bytes;
  view.torn = torn_lanes(access, layout, tile.element_bytes);
  return view;
}

void print_view(const BankView& view, bool colour) {
  using report::Style;
  fmt::print("{}\n  {}\n", report::styled(view.title, Style::heading, colour), lens::bank_verdict(view));
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

Json to_json(const BankView& view) {
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
  return {{"wavefronts", counted ? Json(view.wavefronts) : Json()},
          {"minimum", counted ? Json(view.minimum()) : Json()},
          {"cause", view.cause},
          {"misaligned_lanes", view.misaligned},
          {"torn_lanes", view.torn},
          {"groups", groups}};
}

void print_views(const std::vector<BankView>& views) {
  const bool colour = report::wants_colour(stdout);
  for (const BankView& view : views) {
    fmt::print("\n");
    print_view(view, colour);
  }
}

/// @throws InvalidArgument saying that an access is missing, unless a kernel's name may be meant
const Rung& kernel_named(const std::string& name) {
  const bool word = std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) || c == '_'; });
  if (word && !std::isdigit(static_cast<unsigned char>(name.front()))) return lens::known_rung(name);
  throw InvalidArgument("there is no ACCESS, which all but a kernel needs, such as \"read [lane, 0]\"");
}

/// What a kernel's first block does on the emulated machine.
ExitCode banks_of_kernel(const BanksArguments& arguments) {
  const Rung& rung = kernel_named(arguments.layout);
  const GemmKind kind = arguments.type ? parse_kind(*arguments.type) : rung.kernels.front().kind;
  const KernelEntry& kernel = rung.kernel(kind, arguments.tile);
  const TileShape& tile = kernel.tile;
  const lens::Observation seen = lens::observation_of_block(rung, kernel);
  const std::vector<BankView> views = bank_views(seen);
  const std::string title = fmt::format("{} {} in {}", rung.name(), to_string(tile), to_string(kind));
  if (arguments.picture.wanted()) write(pages::bank_picture(title, views, arguments.lane), arguments.picture);
  if (arguments.json) {
    Json list = Json::array();
    for (const BankView& view : views) {
      Json one = {{"access", view.title}, {"active", view.access.active}, {"bits", 8 * view.access.bytes}};
      one.update(to_json(view));
      list.push_back(one);
    }
    print({{"kernel", rung.name()},
           {"id", kernel.id()},
           {"type", to_string(kind)},
           {"tile", to_string(tile)},
           {"accesses", list}});
    return success;
  }
  fmt::print("{}\n", title);
  if (views.empty() && seen.launch.shared_bytes == 0) fmt::print("\n  uses no shared memory\n");
  if (views.empty() && seen.launch.shared_bytes > 0)
    fmt::print(
        "\n  no thread reads or writes its {} bytes of shared memory: bulk copies bring tiles to them, and tensor cores\n"
        "  read these by descriptors; `lapidary tma` and `lapidary descriptor` show both\n",
        seen.launch.shared_bytes);
  print_views(views);
  return success;
}

ExitCode banks(const BanksArguments& arguments) {
  if (arguments.access.empty()) return banks_of_kernel(arguments);
  const TypedLayout tile = parse_layout(arguments.layout);
  const TileAccess access = parse_access(arguments.access, tile);
  std::vector<BankView> views;
  const Layout plain = tile.layout.padded(0, 0).swizzled(0, 0, 0);
  if (plain != tile.layout) views.push_back(view_of(access, plain, tile));
  views.push_back(view_of(access, tile.layout, tile));
  if (arguments.picture.wanted())
    write(pages::bank_picture(arguments.access, views, arguments.lane), arguments.picture);
  if (arguments.json) {
    Json list = Json::array();
    for (const BankView& view : views) {
      Json one = {{"layout", to_string(*view.layout)}, {"type", tile.type}};
      one.update(to_json(view));
      list.push_back(one);
    }
    print({{"access", arguments.access}, {"active", access.active}, {"bits", access.bits}, {"layouts", list}});
    return success;
  }
  fmt::print("{}\n", arguments.access);
  print_views(views);
  return success;
}

}  // namespace

Command add_banks(App program) {
  App app = program.add_subcommand(
      "banks", "the banks of shared memory that a warp's access meets in, before and after padding or swizzling");
  const auto a = std::make_shared<BanksArguments>();
  app.add_option("LAYOUT", a->layout,
                 "where the elements of a tile live, see below; or a kernel, whose own accesses are shown")
      .required();
  Option access = app.add_option("ACCESS", a->access, "what the lanes of a warp read or write; see below");
  app.add_option("--tile", a->tile, "which tile of the kernel (its first one)").excludes(access).type_name("TILE");
  app.add_option("--type", a->type,
                 "types as `lapidary list` shows them, as in f32, bf16/f32, 'bf16 RC' (the kernel's first one)")
      .excludes(access)
      .type_name("TYPE");
  const Option lane = app.add_option("--lane", a->lane, "the lane that is marked in the picture (0)")
                          .check(in_range(0, 31));
  const auto [svg, png] = add_picture_options(app, a->picture);
  lane.needs_one_of({svg, png});
  app.add_flag("--json", a->json, "print JSON");
  app.footer(std::string(
                 "\nA warp stores two rows of a half-precision tile, with two halves of padding after every 64 in 1 "
                 "wavefront instead of 4:\n"
                 "  lapidary banks \"half 64x128+2/64\" \"write 32 [lane / 16, lane % 16 * 8]\" --svg banks.svg\n"
                 "The tile's other accesses: \"read 32 [1, lane % 16 * 8]\" (2 to 1), \"write 16 [lane % 8 * 8, lane / "
                 "8]\" (A, transposed: 8 to 4);\n\"read 128 [0, lane % 16 * 8]\" (4, the least) faults with the "
                 "padding.\n\n") +
             layout_grammar + "\n" + access_grammar);
  return {app, [a] { return banks(*a); }};
}

}  // namespace lapidary::cli
