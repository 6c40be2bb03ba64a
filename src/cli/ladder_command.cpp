#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/run.hpp"
#include "bench/timing.hpp"
#include "cli/command.hpp"
#include "cli/json.hpp"
#include "cli/options.hpp"
#include "core/error.hpp"
#include "device/device.hpp"
#include "kernels/registry.hpp"
#include "report/progress.hpp"
#include "report/table.hpp"

namespace lapidary::cli {
namespace {

struct LadderArguments {
  std::optional<std::int64_t> size;
  std::optional<std::string> type, device;
  bool json = false;
};

/// What a rung of the ladder showed.
struct Entry {
  const Rung* rung;
  const KernelEntry* kernel;
  bench::Verification verification;
  std::string ran, why;                        ///< as of bench::RunResult
  std::string fault;                           ///< of a kernel that the emulated machine stopped
  std::optional<emulator::Counters> counters;  ///< on the emulated machine
  std::optional<bench::Timing> time, cublas;   ///< on a GPU; cuBLAS's for the same problem

  bool ok() const { return fault.empty() && verification.ok; }
};

/// The rungs to climb: each with its default kernel, or with the one of a type, without those that have none.
std::vector<Entry> entries(const std::optional<GemmKind>& kind, const Device& device) {
  std::vector<Entry> entries;
  for (const Rung& rung : lapidary::ladder()) {
    if (kind && !rung.has(*kind)) continue;
    const KernelEntry& kernel = rung.kernel(kind.value_or(rung.kernels.front().kind));
    if (!rung.runs_on(device.properties().compute_capability, kernel.kind)) continue;
    entries.push_back({&rung, &kernel, {}, {}, {}, {}, {}, {}, {}});
  }
  if (entries.empty()) throw InvalidArgument("no kernel has this type and runs on this device; see lapidary list");
  return entries;
}

void run_entry(Entry& entry, bench::Experiment& experiment, Device& device) {
  emulator::Machine* machine = device.stream().machine;
  if (machine) machine->clear_report();
  try {
    const bench::RunResult result = experiment.run(*entry.rung, *entry.kernel, build_for(device.stream()));
    entry.verification = result.verification;
    entry.ran = result.ran;
    entry.why = result.why;
    if (machine && machine->options().count) entry.counters = machine->report().total;
  } catch (const KernelFault& fault) {
    entry.fault = fault.what();
  }
}

/// Times the right ones among rungs of one type on a GPU, in turns with cuBLAS.
void time_entries(const std::vector<Entry*>& group, const bench::Experiment& experiment, Device& device,
                  const bench::OnProgress& progress) {
  std::vector<Entry*> right;
  std::vector<const KernelEntry*> kernels;
  for (Entry* entry : group) {
    if (!entry->ok()) continue;
    right.push_back(entry);
    kernels.push_back(entry->kernel);
  }
  if (right.empty()) return;
  const bench::LadderTimes times = bench::time_ladder(device, experiment.problem().spec.problem, kernels, progress);
  for (std::size_t i = 0; i < right.size(); ++i) {
    right[i]->time = times.rungs[i];
    right[i]->cublas = times.cublas;
  }
}

/// Runs all entries, those of one type on one and the same problem.
void climb(std::vector<Entry>& entries, Device& device, std::int64_t size) {
  report::Progress progress;
  std::size_t finished = 0;
  const auto show = [&](std::string_view step, double done) {
    progress.update(step, done >= 0 ? done : static_cast<double>(finished) / static_cast<double>(entries.size()));
  };
  std::vector<GemmKind> kinds;
  for (const Entry& entry : entries) {
    if (std::find(kinds.begin(), kinds.end(), entry.kernel->kind) == kinds.end()) kinds.push_back(entry.kernel->kind);
  }
  for (const GemmKind& kind : kinds) {
    std::vector<Entry*> group;
    for (Entry& entry : entries) {
      if (entry.kernel->kind == kind) group.push_back(&entry);
    }
    bench::Experiment experiment(device, {.problem = {.kind = kind, .M = size, .N = size, .K = size}}, show);
    for (Entry* entry : group) {
      run_entry(*entry, experiment, device);
      ++finished;
    }
    if (device.kind() == DeviceKind::gpu) time_entries(group, experiment, device, show);
  }
}

double tflops(std::int64_t size, const bench::Timing& time) {
  const double n = static_cast<double>(size);
  return 2 * n * n * n / (time.median_ms * 1e-3) / 1e12;
}

/// The rate of a rung over that of its parent; nothing unless both were timed with the same type.
std::optional<double> over_parent(const std::vector<Entry>& entries, const Entry& entry) {
  const auto parent = std::find_if(entries.begin(), entries.end(),
                                   [&](const Entry& e) { return e.rung->name() == entry.rung->info->parent; });
  if (parent == entries.end() || !parent->time || !entry.time || parent->kernel->kind != entry.kernel->kind)
    return std::nullopt;
  return parent->time->median_ms / entry.time->median_ms;
}

/// What a reader may want to do after the table.
std::string next_step(const std::vector<Entry>& entries) {
  for (const Entry& entry : entries) {
    if (!entry.ok()) {
      return fmt::format("lapidary run {} --check   stops at the first illegal access, if that is why it fails",
                         entry.rung->name());
    }
  }
  // The lines of the kernel with the most bank conflicts are the most worth a look.
  const auto excess = [](const Entry& e) {
    return e.counters ? e.counters->shared_load.wavefronts - e.counters->shared_load.minimum : 0;
  };
  const auto worst = std::max_element(entries.begin(), entries.end(),
                                      [&](const Entry& a, const Entry& b) { return excess(a) < excess(b); });
  const Entry& shown = excess(*worst) > 0 ? *worst : entries.back();
  return fmt::format("lapidary run {} --count   shows which line costs what", shown.rung->name());
}

Json to_json(const std::vector<Entry>& entries, const Entry& entry, std::int64_t size) {
  const RungInfo& info = *entry.rung->info;
  Json json = {{"kernel", info.name},
               {"id", entry.kernel->id()},
               {"parent", *info.parent ? Json(info.parent) : Json()},
               {"idea", info.idea},
               {"type", to_string(entry.kernel->kind)},
               {"tile", to_string(entry.kernel->tile)}};
  if (entry.fault.empty()) {
    json["ran"] = entry.ran;
    json["why"] = entry.why.empty() ? Json() : Json(entry.why);
    add_verification(json, entry.verification);
  } else {
    add_fault(json, entry.fault);
  }
  if (entry.counters) json["counters"] = counters_json(*entry.counters);
  if (entry.time) {
    json["tflops"] = tflops(size, *entry.time);
    json["median_ms"] = entry.time->median_ms;
    json["min_ms"] = entry.time->min_ms;
    json["max_ms"] = entry.time->max_ms;
    json["cublas_tflops"] = entry.cublas ? Json(tflops(size, *entry.cublas)) : Json();
    const std::optional<double> gain = over_parent(entries, entry);
    json["over_parent"] = gain ? Json(*gain) : Json();
  }
  return json;
}

report::Cell verdict(const Entry& entry) {
  if (entry.ok()) return {"yes", report::Style::good};
  return {entry.fault.empty() ? "NO" : "FAULT", report::Style::bad};
}

report::Table emulator_table(const std::vector<Entry>& entries) {
  using report::Column;
  report::Table table({{"kernel"},
                       {"tile"},
                       {"right"},
                       {"requests", Column::number, "global reads"},
                       {"sectors", Column::number, "global reads"},
                       {"s/req", Column::number, "global reads"},
                       {"instr.", Column::number, "shared loads"},
                       {"wavefronts", Column::number, "shared loads"},
                       {"minimum", Column::number, "shared loads"},
                       {"excess", Column::number, "shared loads"},
                       {"multiply-adds", Column::number}});
  for (const Entry& entry : entries) {
    std::vector<report::Cell> row = {
        {std::string(entry.rung->name())}, {to_string(entry.kernel->tile)}, verdict(entry)};
    if (entry.counters) {
      // Asynchronous and bulk copies read what loads do in other kernels.
      const emulator::Counters& c = *entry.counters;
      const std::uint64_t requests = c.global_load.requests + c.async_copy.requests + c.bulk_load.requests;
      const std::uint64_t sectors = c.global_load.sectors + c.async_copy.sectors + c.bulk_load.sectors;
      const emulator::SharedCounters& shared = entry.counters->shared_load;
      const double each = requests == 0 ? 0 : static_cast<double>(sectors) / static_cast<double>(requests);
      const std::uint64_t excess = shared.wavefronts - shared.minimum;
      row.insert(row.end(), {{requests},
                             {sectors},
                             {fmt::format("{:.1f}", each)},
                             {shared.instructions},
                             {shared.wavefronts},
                             {shared.minimum},
                             {excess, excess > 0 ? report::Style::bad : report::Style::plain},
                             {c.multiply_adds()}});
    }
    table.add_row(std::move(row));
  }
  return table;
}

report::Table gpu_table(const std::vector<Entry>& entries, std::int64_t size) {
  using report::Column;
  report::Table table({{"kernel"},
                       {"tile"},
                       {"type"},
                       {"right"},
                       {"TFLOP/s", Column::number},
                       {"over parent", Column::number},
                       {"cuBLAS", Column::number},
                       {"share", Column::number},
                       {"median", Column::number, "ms a launch"},
                       {"min", Column::number, "ms a launch"},
                       {"max", Column::number, "ms a launch"}});
  for (const Entry& entry : entries) {
    std::vector<report::Cell> row = {{std::string(entry.rung->name())},
                                     {to_string(entry.kernel->tile)},
                                     {to_string(entry.kernel->kind)},
                                     verdict(entry)};
    if (entry.time) {
      const double rate = tflops(size, *entry.time);
      const double cublas = entry.cublas ? tflops(size, *entry.cublas) : 0;
      const std::optional<double> gain = over_parent(entries, entry);
      row.insert(row.end(), {{fmt::format("{:.2f}", rate)},
                             {gain ? fmt::format("{:.2f}x", *gain) : "-"},
                             {entry.cublas ? fmt::format("{:.2f}", cublas) : "-"},
                             {entry.cublas ? fmt::format("{:.1f} %", 100 * rate / cublas) : "-"},
                             {fmt::format("{:.3f}", entry.time->median_ms)},
                             {fmt::format("{:.3f}", entry.time->min_ms)},
                             {fmt::format("{:.3f}", entry.time->max_ms)}});
    }
    table.add_row(std::move(row));
  }
  return table;
}

ExitCode climb_ladder(const LadderArguments& arguments) {
  std::optional<GemmKind> kind;
  if (arguments.type) kind = parse_kind(*arguments.type);
  const bool emulated = arguments.device ? parse_device(*arguments.device) == DeviceKind::emulator : gpu_count() == 0;
  const bool count = emulated && LAPIDARY_WITH_INSTRUMENTED;
  const std::unique_ptr<Device> device = open_device(arguments.device, {.count = count});
  const std::int64_t size = arguments.size.value_or(default_size(device->kind()));
  std::vector<Entry> climbed = entries(kind, *device);
  climb(climbed, *device, size);

  const bool ok = std::all_of(climbed.begin(), climbed.end(), [](const Entry& e) { return e.ok(); });
  if (arguments.json) {
    Json rungs = Json::array();
    for (const Entry& entry : climbed) rungs.push_back(to_json(climbed, entry, size));
    print({{"device", name_of(device->kind())},
           {"device_name", device->properties().name},
           {"size", size},
           {"ok", ok},
           {"rungs", rungs},
           {"next", next_step(climbed)}});
    return ok ? success : wrong_result;
  }
  fmt::print("M = N = K = {}, random normal data, on {}{}\n\n", size, title_of(*device),
             count ? ", where memory traffic is counted and time means nothing" : "");
  const report::Table table = emulated ? emulator_table(climbed) : gpu_table(climbed, size);
  fmt::print("{}\n", table.render(report::wants_colour(stdout)));
  for (const Entry& entry : climbed) {
    if (!entry.why.empty())
      fmt::print("{}", report::paragraph(fmt::format("{}: ran {}, as {}", entry.rung->name(), entry.ran, entry.why),
                                         report::page_width));
    if (entry.ok()) continue;
    if (entry.fault.empty()) {
      const std::string text = fmt::format("{}: {}", entry.rung->name(), entry.verification.message);
      fmt::print("{}", report::paragraph(text, report::page_width));
    } else {
      fmt::print("{}: {}\n", entry.rung->name(), entry.fault);
    }
  }
  fmt::print("next: {}\n", next_step(climbed));
  return ok ? success : wrong_result;
}

}  // namespace

Command add_ladder(App program) {
  App app = program.add_subcommand("ladder", "run every kernel on one problem, check it and show what it costs");
  const auto a = std::make_shared<LadderArguments>();
  app.add_option("--size", a->size, "M = N = K (256, on a GPU 4096)").check(whole_number(1));
  app.add_option("--type", a->type,
                 "types as `lapidary list` shows them, as in f32, bf16/f32, 'bf16 RC' (of each kernel the first one)")
      .type_name("TYPE");
  app.add_option("--device", a->device, "gpu or emulator (gpu where there is one)").type_name("DEVICE");
  app.add_flag("--json", a->json, "print JSON");
  return {app, [a] { return climb_ladder(*a); }};
}

}  // namespace lapidary::cli
