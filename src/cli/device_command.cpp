#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/json.hpp"
#include "cli/options.hpp"
#include "core/error.hpp"
#include "device/device.hpp"
#include "report/table.hpp"

namespace lapidary::cli {
namespace {

Json to_json(DeviceKind kind, const DeviceProperties& p) {
  return {{"kind", name_of(kind)},
          {"name", p.name},
          {"compute_capability", p.compute_capability},
          {"multiprocessors", p.multiprocessors},
          {"memory_bytes", p.memory_bytes},
          {"free_bytes", p.free_bytes},
          {"clock_mhz", p.clock_mhz},
          {"l2_bytes", p.l2_bytes}};
}

void print_properties(DeviceKind kind, const DeviceProperties& p) {
  const bool gpu = kind == DeviceKind::gpu;
  const auto gibibytes = [](std::size_t bytes) {
    return fmt::format("{:.1f} GiB", static_cast<double>(bytes) / (1 << 30));
  };
  fmt::print("{}\n", report::styled(fmt::format("{}  (--device {})", p.name, name_of(kind)), report::Style::heading,
                                    report::wants_colour(stdout)));
  fmt::print("  compute capability   {}.{}\n", p.compute_capability / 10, p.compute_capability % 10);
  fmt::print("  multiprocessors      {}{}\n", p.multiprocessors, gpu ? "" : "  (blocks that run at the same time)");
  fmt::print("  memory               {}, {} free\n", gibibytes(p.memory_bytes), gibibytes(p.free_bytes));
  if (!gpu) return;
  fmt::print("  maximum SM clock     {} MHz\n", p.clock_mhz);
  fmt::print("  L2 cache             {:.0f} MiB\n", static_cast<double>(p.l2_bytes) / (1 << 20));
}

ExitCode device(bool json) {
  std::vector<std::unique_ptr<Device>> devices;
  std::string no_gpu;
  try {
    devices.push_back(open_gpu());
  } catch (const InvalidArgument& error) {
    no_gpu = error.what();
  }
  devices.push_back(open_emulator());
  const std::string used = name_of(devices.front()->kind());
  if (json) {
    Json list = Json::array();
    for (const auto& d : devices) list.push_back(to_json(d->kind(), d->properties()));
    print({{"default", used}, {"devices", list}, {"no_gpu", no_gpu.empty() ? Json() : Json(no_gpu)}});
    return success;
  }
  for (const auto& d : devices) print_properties(d->kind(), d->properties());
  if (!no_gpu.empty()) fmt::print("{}", report::paragraph(no_gpu, report::page_width));
  fmt::print("kernels run on --device {} unless told otherwise\n", used);
  return success;
}

}  // namespace

Command add_device(App program) {
  App app = program.add_subcommand("device", "the machines that kernels can run on here");
  const auto json = std::make_shared<bool>(false);
  app.add_flag("--json", *json, "print JSON");
  return {app, [json] { return device(*json); }};
}

}  // namespace lapidary::cli
