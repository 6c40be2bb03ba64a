#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "cli/command.hpp"
#include "cli/json.hpp"
#include "kernels/registry.hpp"
#include "report/table.hpp"
#include "report/terminal.hpp"
#include "report/text.hpp"

namespace lapidary::cli {
namespace {

/// Values in the order in which they first occur.
std::vector<std::string> distinct(std::vector<std::string> values) {
  std::vector<std::string> seen;
  for (std::string& value : values) {
    if (std::find(seen.begin(), seen.end(), value) == seen.end()) seen.push_back(std::move(value));
  }
  return seen;
}

std::vector<std::string> types_of(const Rung& rung) {
  std::vector<std::string> types;
  for (const KernelEntry& kernel : rung.kernels) types.push_back(to_string(kernel.kind));
  return distinct(types);
}

/// The same without the orders of A and B, and these alone: R for row-major, C for column-major.
std::vector<std::string> elements_of(const Rung& rung) {
  std::vector<std::string> types;
  for (const KernelEntry& kernel : rung.kernels) {
    GemmKind kind = kernel.kind;
    kind.a = kind.b = Order::row_major;
    types.push_back(to_string(kind));
  }
  return distinct(types);
}
std::vector<std::string> orders_of(const Rung& rung) {
  const auto letter = [](Order order) { return order == Order::row_major ? 'R' : 'C'; };
  std::vector<std::string> orders;
  for (const KernelEntry& kernel : rung.kernels) orders.push_back({letter(kernel.kind.a), letter(kernel.kind.b)});
  return distinct(orders);
}

std::vector<std::string> tiles_of(const Rung& rung) {
  std::vector<std::string> tiles;
  for (const KernelEntry& kernel : rung.kernels) tiles.push_back(rung.tile_of(kernel));
  return distinct(tiles);
}

Json to_json(const Rung& rung) {
  const RungInfo& info = *rung.info;
  Json kernels = Json::array();
  for (const KernelEntry& kernel : rung.kernels)
    kernels.push_back({{"id", kernel.id()}, {"type", to_string(kernel.kind)}, {"tile", rung.tile_of(kernel)}});
  return {{"name", info.name},
          {"parent", *info.parent ? Json(info.parent) : Json()},
          {"family", rung.family},
          {"types", types_of(rung)},
          {"architecture", info.architecture},
          {"tiles", tiles_of(rung)},
          {"kernels", kernels},
          {"idea", info.idea},
          {"change", info.change},
          {"why", info.why},
          {"counter", info.counter},
          {"cost", info.cost},
          {"exercise", info.exercise},
          {"source", rung.source}};
}

ExitCode list(bool json) {
  if (json) {
    Json rungs = Json::array();
    for (const Rung& rung : ladder()) rungs.push_back(to_json(rung));
    Json missing = Json::array();
    for (const OptionalRung& rung : optional_rungs())
      if (!rung.built) missing.push_back({{"name", rung.name}, {"source", rung.source}, {"needs", rung.needs}});
    print({{"rungs", rungs}, {"not_built", missing}});
    return success;
  }
  using report::Column;
  report::Table table({{"name"},
                       {"parent"},
                       {"types", Column::wrapped},
                       {"orders", Column::wrapped},
                       {"needs"},
                       {"tiles", Column::wrapped},
                       {"idea", Column::wrapped}});
  for (const Rung& rung : ladder()) {
    const RungInfo& info = *rung.info;
    table.add_row({{info.name, report::Style::heading},
                   {info.parent},
                   {fmt::format("{}", fmt::join(elements_of(rung), " "))},
                   {fmt::format("{}", fmt::join(orders_of(rung), " "))},
                   {fmt::format("sm_{}", info.architecture)},
                   {fmt::format("{}", fmt::join(tiles_of(rung), " "))},
                   {info.idea}});
  }
  fmt::print("{}", table.render(report::wants_colour(stdout)));
  for (const OptionalRung& rung : optional_rungs())
    if (!rung.built)
      fmt::print("\n{}",
                 report::paragraph(fmt::format("not in this program: {}, which needs {}", rung.name, rung.needs),
                                   report::page_width));
  return success;
}

}  // namespace

Command add_list(App program) {
  App app = program.add_subcommand("list", "the kernels: parent, types, architecture, tiles, idea");
  const auto json = std::make_shared<bool>(false);
  app.add_flag("--json", *json, "print JSON");
  return {app, [json] { return list(*json); }};
}

}  // namespace lapidary::cli
