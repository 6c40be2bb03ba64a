#include "bench/calibrate.hpp"

#include <fmt/format.h>

#include <fstream>
#include <memory>
#include <string>

#include "bench/receipt.hpp"
#include "cli/command.hpp"
#include "cli/json.hpp"
#include "core/error.hpp"
#include "device/device.hpp"
#include "report/table.hpp"

namespace lapidary::cli {
namespace {

struct CalibrateArguments {
  std::string output;
  bool json = false;
};

ExitCode run(const CalibrateArguments& a) {
  const std::unique_ptr<Device> gpu = open_gpu();
  const std::vector<bench::Constant> constants = bench::calibrate(*gpu);
  // Behind the measurement, while the clock is what it was.
  Json json = {{"receipt", bench::machine_receipt(*gpu)}};
  json["constants"] = Json::array();
  for (const bench::Constant& c : constants)
    json["constants"].push_back({{"name", c.name},
                                 {"unit", c.unit},
                                 {"meaning", c.meaning},
                                 {"median", c.median},
                                 {"min", c.min},
                                 {"max", c.max}});
  if (!a.output.empty()) {
    std::ofstream file(a.output);
    file << json.dump(1) << '\n';
    if (!file.flush()) throw InvalidArgument(fmt::format("{} cannot be written", a.output));
  }
  if (a.json) {
    print(json);
    return success;
  }
  using report::Column;
  report::Table table({{"constant"},
                       {"median", Column::number},
                       {"min", Column::number},
                       {"max", Column::number},
                       {"unit"},
                       {"what it is", Column::wrapped}});
  for (const bench::Constant& c : constants)
    table.add_row({{c.name},
                   {fmt::format("{:.4g}", c.median)},
                   {fmt::format("{:.4g}", c.min)},
                   {fmt::format("{:.4g}", c.max)},
                   {c.unit},
                   {c.meaning}});
  fmt::print("{}", table.render(report::wants_colour(stdout)));
  return success;
}

}  // namespace

Command add_calibrate(App program) {
  App app = program.add_subcommand("calibrate", "measure the constants that predicted times are built on, on a GPU");
  const auto a = std::make_shared<CalibrateArguments>();
  app.add_option("-o,--output", a->output, "write them to this file as JSON").type_name("FILE");
  app.add_flag("--json", a->json, "print JSON");
  return {app, [a] { return run(*a); }};
}

}  // namespace lapidary::cli
