#include "cli/counter_table.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <string>

#include "cli/counters.hpp"
#include "lens/source_text.hpp"
#include "report/table.hpp"
#include "report/text.hpp"

namespace lapidary::cli {
namespace {

void add_counters(report::Table& table, const emulator::Counters& counters) {
  const auto ratio = [](std::uint64_t a, std::uint64_t b) {
    return fmt::format("{:.2f}", static_cast<double>(a) / static_cast<double>(b));
  };
  for (const auto& [key, title, member, always] : global_counters) {
    const emulator::GlobalCounters& c = counters.*member;
    if (c.requests == 0) continue;
    table.add_row({{fmt::format("    {}", title)}, {c.requests}, {c.sectors}, {ratio(c.sectors, c.requests)}});
  }
  for (const auto& [key, title, member, always] : bulk_counters) {
    const emulator::BulkCounters& c = counters.*member;
    if (c.requests == 0) continue;
    table.add_row({{fmt::format("    {}", title)}, {c.requests}, {c.sectors}, {ratio(c.sectors, c.requests)}});
    table.add_row({{"      bytes of shared memory"}, {c.shared_bytes}});
    if (c.multicast_bytes != 0) table.add_row({{"      bytes by multicast"}, {c.multicast_bytes}});
  }
  for (const auto& [key, title, member, always] : shared_counters) {
    const emulator::SharedCounters& c = counters.*member;
    if (c.instructions == 0) continue;
    const std::uint64_t excess = c.wavefronts - c.minimum;
    table.add_row({{fmt::format("    {}", title)},
                   {c.instructions},
                   {},
                   {},
                   {c.wavefronts},
                   {c.minimum},
                   {excess, excess > 0 ? report::Style::bad : report::Style::plain}});
  }
  if (const emulator::MmaCounters& c = counters.mma; c.instructions != 0)
    table.add_row({{fmt::format("    mma, {} FLOP", report::with_separators(c.flop))}, {c.instructions}});
  if (const emulator::WgmmaCounters& c = counters.wgmma; c.instructions != 0)
    table.add_row({{fmt::format("    wgmma of {} bytes, {} FLOP", report::with_separators(c.shared_bytes),
                                report::with_separators(c.flop))},
                   {c.instructions}});
  if (counters.fma != 0) table.add_row({{"    fma"}, {counters.fma}});
}

}  // namespace

void print_counters(const emulator::Report& report) {
  using report::Column;
  report::Table table({{"source line, access"},
                       {"count", Column::number},
                       {"sectors", Column::number, "global memory"},
                       {"per request", Column::number, "global memory"},
                       {"wavefronts", Column::number, "shared memory"},
                       {"minimum", Column::number, "shared memory"},
                       {"excess", Column::number, "shared memory"}});
  lens::SourceText sources;
  std::string file;
  for (const emulator::LineCounters& line : report.lines) {
    if (line.file != file) table.add_section(line.file.empty() ? "(no line known)" : line.file);
    file = line.file;
    table.add_section(fmt::format("{:>5}  {}", line.line, sources.line(line.file, line.line)));
    add_counters(table, line.counters);
  }
  table.add_section("all lines");
  add_counters(table, report.total);
  fmt::print(
      "\n{}count: instructions of warps, in global memory requests; fma, bulk: of single threads; wgmma: of "
      "warpgroups\n",
      table.render(report::wants_colour(stdout)));
  if (report.bytes_in_flight > 0)
    fmt::print("on their way to a block's shared memory at a time, at most: {} bytes\n",
               report::with_separators(report.bytes_in_flight));
  if (report.divergent_intervals > 0) {
    fmt::print("{}",
               report::paragraph(
                   fmt::format("lanes of one warp took different paths {} times: accesses in loops that only some "
                               "of them walk may be matched wrongly",
                               report::with_separators(report.divergent_intervals)),
                   report::page_width));
  }
}

}  // namespace lapidary::cli
