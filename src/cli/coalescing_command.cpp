#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/json.hpp"
#include "cli/options.hpp"
#include "cli/picture.hpp"
#include "core/error.hpp"
#include "layout/sector_report.hpp"
#include "lens/block_accesses.hpp"
#include "lens/coalescing_view.hpp"
#include "lens/lanes.hpp"
#include "lens/source_text.hpp"
#include "pages/coalescing_picture.hpp"
#include "report/terminal.hpp"
#include "report/text.hpp"

namespace lapidary::cli {
namespace {

using lens::CoalescingView;

struct CoalescingArguments {
  std::string kernel, tile;
  std::optional<std::string> type;
  std::int64_t m = 1024, n = 1024, k = 1024;
  int warp = 0;

  int element_bytes = 4, vector = 1, columns = 32;
  std::int64_t ld = 1024, offset = 0;

  int lane = 0;
  PictureFiles picture;
  bool json = false;
};

/// Lane n is at row n / columns, vector n % columns of a row-major matrix whose row 0 begins at a 128-byte line.
CoalescingView typed_access(const CoalescingArguments& a) {
  WarpAccess access{{}, ~std::uint32_t{0}, a.element_bytes * a.vector};
  if (access.bytes > 16) {
    throw InvalidArgument(fmt::format("an access is at most 16 bytes wide; got {}, the nearest legal --vector is {}",
                                      access.bytes, 16 / a.element_bytes));
  }
  for (int lane = 0; lane < 32; ++lane) {
    const std::int64_t element = a.offset + lane / a.columns * a.ld + std::int64_t{lane % a.columns} * a.vector;
    access.address[lane] = static_cast<std::uint64_t>(element * a.element_bytes);
  }
  if (misaligned_lanes(access) != 0) {
    throw InvalidArgument(
        fmt::format("an access of {} bytes must be aligned to them: --offset and --ld are multiples of {} elements; "
                    "got {} and {}",
                    access.bytes, a.vector, a.offset, a.ld));
  }
  const std::string shape = a.columns == 32  ? "a row"
                            : a.columns == 1 ? "a column"
                                             : fmt::format("rows of {}", a.columns);
  return {fmt::format("{} of a matrix, {} a lane, ld {}", shape, lens::bytes_text(access.bytes), a.ld), access};
}

/// What one warp of a kernel does, by source line.
struct KernelAccesses {
  std::string title;
  std::vector<lens::GlobalAccess> accesses;
  std::vector<CoalescingView> views;
};

KernelAccesses accesses_of(const CoalescingArguments& a) {
  const Rung& rung = find_rung(a.kernel);
  const GemmKind kind = a.type ? parse_kind(*a.type) : rung.kernels.front().kind;
  const KernelEntry& kernel = rung.kernel(kind, a.tile);
  KernelAccesses found;
  found.title = fmt::format("{} {}, {} x {} x {} in {}, warp {}", rung.name(), to_string(kernel.tile), a.m, a.n, a.k,
                            to_string(kind), a.warp);
  found.accesses = lens::global_accesses(kernel, {.kind = kind, .M = a.m, .N = a.n, .K = a.k}, a.warp);
  if (found.accesses.empty())
    throw InvalidArgument(
        fmt::format("no thread of warp {} of {} accesses global memory; what bulk copies move is told by "
                    "`lapidary explain {}`",
                    a.warp, rung.name(), rung.name()));
  for (const lens::GlobalAccess& g : found.accesses) found.views.push_back(lens::coalescing_view(g));
  return found;
}

Json to_json(const WarpAccess& access) {
  Json touched = Json::array();
  for (const Sector& s : sector_report(access)) touched.push_back({{"address", s.address}, {"lanes", s.lanes}});
  return {{"sectors", sectors(access)},
          {"lines", lines(access)},
          {"bytes", distinct_bytes(access)},
          {"efficiency", lens::coalescing_efficiency(access)},
          {"touched", touched}};
}

void print_sectors(const WarpAccess& access) {
  const bool colour = report::wants_colour(stdout);
  const std::vector<Sector> touched = sector_report(access);
  fmt::print("  {}\n\n{}\n", lens::coalescing_verdict(access),
             report::styled("  sector at byte  lanes", report::Style::faint, colour));
  // A column's sectors differ in nothing but the lane: the first ones tell all.
  constexpr std::size_t most = 8;
  const std::size_t shown = touched.size() > most + 1 ? most : touched.size();
  for (std::size_t i = 0; i < shown; ++i) {
    fmt::print("  {:>14}  {}\n", report::with_separators(touched[i].address), lens::lanes_text(touched[i].lanes));
  }
  if (shown < touched.size()) fmt::print("  {:>14}  and {} more\n", "", touched.size() - shown);
}

ExitCode coalescing_of_kernel(const CoalescingArguments& a) {
  const KernelAccesses found = accesses_of(a);
  if (a.picture.wanted()) write(pages::coalescing_picture(found.title, found.views, a.lane), a.picture);
  if (a.json) {
    Json list = Json::array();
    for (const lens::GlobalAccess& g : found.accesses) {
      Json one = {{"file", g.file},          {"line", g.line},   {"matrix", g.matrix},
                  {"store", g.store},        {"count", g.count}, {"bytes_a_lane", g.first.bytes},
                  {"all_sectors", g.sectors}};
      one.update(to_json(g.first));
      list.push_back(one);
    }
    print({{"kernel", a.kernel}, {"warp", a.warp}, {"accesses", list}});
    return success;
  }
  const bool colour = report::wants_colour(stdout);
  lens::SourceText sources;
  fmt::print("{}\n", found.title);
  for (std::size_t i = 0; i < found.views.size(); ++i) {
    const lens::GlobalAccess& g = found.accesses[i];
    fmt::print("\n{}\n  {}\n", report::styled(found.views[i].title, report::Style::heading, colour),
               report::styled(sources.line(g.file, g.line), report::Style::faint, colour));
    print_sectors(g.first);
  }
  return success;
}

ExitCode coalescing(const CoalescingArguments& a) {
  if (!a.kernel.empty()) return coalescing_of_kernel(a);
  const CoalescingView view = typed_access(a);
  if (a.picture.wanted()) write(pages::coalescing_picture("What a warp moves", {view}, a.lane), a.picture);
  if (a.json) {
    print(to_json(view.access));
    return success;
  }
  fmt::print("{}\n", view.title);
  print_sectors(view.access);
  return success;
}

}  // namespace

Command add_coalescing(App program) {
  App app = program.add_subcommand("coalescing", "which lanes of a warp touch which 32-byte sectors");
  const auto a = std::make_shared<CoalescingArguments>();
  Option kernel = app.add_option(
      "KERNEL", a->kernel,
      "whose accesses to global memory are shown, as its first block makes them; without it, the "
      "access that the options below describe");
  app.add_option("--tile", a->tile, "which tile of the kernel (its first one)").needs(kernel).type_name("TILE");
  add_type_option(app, a->type).needs(kernel);
  app.add_option("-m", a->m, "rows of A and D (1024)").needs(kernel).check(whole_number(1, 1 << 14));
  app.add_option("-n", a->n, "columns of B and D (1024)").needs(kernel).check(whole_number(1, 1 << 14));
  app.add_option("-k", a->k, "columns of A, rows of B (1024)").needs(kernel).check(whole_number(1, 1 << 14));
  app.add_option("--warp", a->warp, "which warp of the block (0)").needs(kernel).check(in_range(0, 31));
  const auto shape = [&](Option option) { option.excludes(kernel).group("The access without a KERNEL"); };
  shape(app.add_option("--element", a->element_bytes, "bytes of an element: 1, 2, 4 or 8 (4)")
            .check(one_of({1, 2, 4, 8})));
  shape(app.add_option("--vector", a->vector, "elements that a lane reads at once: 1, 2, 4, 8 or 16 (1)")
            .check(one_of({1, 2, 4, 8, 16})));
  shape(app.add_option("--columns", a->columns,
                       "lanes side by side in a row; the next ones are a row below. 1: a column (32)")
            .check(in_range(1, 32)));
  shape(app.add_option("--ld", a->ld, "elements from one row to the next (1024)").check(whole_number(1, 1 << 24)));
  shape(
      app.add_option("--offset", a->offset, "element of row 0 that lane 0 reads (0)").check(whole_number(0, 1 << 24)));
  const Option lane = app.add_option("--lane", a->lane, "the lane that is marked in the picture (0)")
                          .check(in_range(0, 31));
  const auto [svg, png] = add_picture_options(app, a->picture);
  lane.needs_one_of({svg, png});
  app.add_flag("--json", a->json, "print JSON");
  app.footer(
      "\n  lapidary coalescing naive          each access of the kernel\n"
      "  lapidary coalescing                one row of f32: 4 sectors, all of them wanted\n"
      "  lapidary coalescing --offset 1     shifted by one element: 5 sectors\n"
      "  lapidary coalescing --columns 1    a column: 32 sectors, 12.5 % wanted\n");
  return {app, [a] { return coalescing(*a); }};
}

}  // namespace lapidary::cli
