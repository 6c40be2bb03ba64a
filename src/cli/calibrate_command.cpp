#include "bench/calibrate.hpp"

#include <fmt/format.h>

#include <fstream>
#include <memory>
#include <string>

#include "bench/energy_loads.hpp"
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
  bool energy = false, json = false;
  double seconds = 2;
};

void write(const Json& json, const std::string& output) {
  std::ofstream file(output);
  file << json.dump(1) << '\n';
  if (!file.flush()) throw InvalidArgument(fmt::format("{} cannot be written", output));
}

/// What each load takes, told as it is measured.
ExitCode run_energy(const CalibrateArguments& a) {
  const std::unique_ptr<Device> gpu = open_gpu();
  const auto tell = [&](const bench::EnergyLoad& load) {
    if (a.json) return;
    fmt::print("{}: {}, {:.0f} MHz, {:.0f} MHz in the first launch after a rest\n", load.name,
               load.power_w ? fmt::format("{:.0f} W", *load.power_w) : "unknown power", load.clock_mhz,
               load.burst_clock_mhz);
    for (const auto& [what, number] : load.per_second) fmt::print("    {:.4g} {} a second\n", number, what);
    std::fflush(stdout);
  };
  const std::vector<bench::EnergyLoad> loads = bench::measure_energy(*gpu, a.seconds, tell);
  Json json = {{"receipt", bench::machine_receipt(*gpu)}, {"seconds", a.seconds}, {"loads", Json::array()}};
  for (const bench::EnergyLoad& load : loads)
    json["loads"].push_back({{"name", load.name},
                             {"meaning", load.meaning},
                             {"per_second", load.per_second},
                             {"power_w", load.power_w ? Json(*load.power_w) : Json()},
                             {"clock_mhz", load.clock_mhz},
                             {"burst_clock_mhz", load.burst_clock_mhz},
                             {"burst_share", load.burst_share}});
  if (!a.output.empty()) write(json, a.output);
  if (a.json) print(json);
  return success;
}

ExitCode run(const CalibrateArguments& a) {
  if (a.energy) return run_energy(a);
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
  if (!a.output.empty()) write(json, a.output);
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
  const Option energy = app.add_flag("--energy", a->energy,
                                     "measure instead what the card takes under loads of one thing each");
  app.add_option("--seconds", a->seconds, "of each of these loads (2)").check(in_range(0.2, 60.0)).needs(energy);
  app.add_flag("--json", a->json, "print JSON");
  return {app, [a] { return run(*a); }};
}

}  // namespace lapidary::cli
