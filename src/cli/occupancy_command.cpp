#include "model/occupancy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/command.hpp"
#include "cli/json.hpp"
#include "cli/options.hpp"
#include "cli/picture.hpp"
#include "core/error.hpp"
#include "kernels/registry.hpp"
#include "kernels/sources.hpp"
#include "lens/explain.hpp"
#include "lens/observe.hpp"
#include "lens/rung_record.hpp"
#include "model/sass.hpp"
#include "pages/occupancy_page.hpp"
#include "pages/occupancy_picture.hpp"
#include "report/table.hpp"
#include "report/text.hpp"

namespace lapidary::cli {
namespace {

using model::BlockResources;
using model::Occupancy;
using model::OccupancyStep;
using model::Quantity;

struct OccupancyArguments {
  std::string kernel, tile;
  std::optional<std::string> type;
  std::optional<int> threads, registers, shared_bytes, barriers;
  GpuChoice gpu;
  PictureFiles picture;
  bool json = false;
};

/// What is looked at: a block, and where its numbers are from.
struct Subject {
  BlockResources block;
  Json kernel, id, type, tile;  ///< null of numbers alone
  std::string title = "a block", source;
};

/// A kernel's registers and barriers, where they are not typed in, are those of the record of its machine code. What it
/// is launched with may depend on the problem: it is that of its page.
Subject subject_of_kernel(const OccupancyArguments& a, int multiprocessors) {
  const Rung& rung = lens::known_rung(a.kernel);
  const GemmKind kind = a.type ? parse_kind(*a.type) : rung.kernels.front().kind;
  const KernelEntry& kernel = rung.kernel(kind, a.tile);
  const TileShape& tile = kernel.tile;
  const bool built = kernel.builds[static_cast<std::size_t>(Build::plain)] != nullptr;
  const Problem problem = lens::page_problem(kernel);
  const LaunchShape launch = built ? lens::launch_of(kernel, problem, multiprocessors)
                                   : lens::observation_of_block(rung, kernel).launch;
  Subject subject;
  subject.block.threads = static_cast<int>(launch.block.x * launch.block.y * launch.block.z);
  subject.block.shared_bytes = static_cast<int>(launch.shared_bytes);
  subject.kernel = rung.name();
  subject.id = kernel.id();
  subject.type = to_string(kind);
  subject.tile = to_string(tile);
  subject.title = fmt::format("{} {} in {}", rung.name(), to_string(tile), to_string(kind));
  if (built) subject.source = fmt::format("launched for {} x {} x {}", problem.M, problem.N, problem.K);
  if (a.registers) return subject;
  const auto compiled = model::find_compiled(kernel.id());
  if (!compiled)
    throw InvalidArgument(
        fmt::format("there is no record of the machine code of {}, which tells its registers; --registers N gives them",
                    subject.title));
  subject.block.registers = compiled->registers;
  subject.block.barriers = compiled->barriers;
  subject.source += fmt::format(
      "{}registers and barriers as {} made the kernel for {}{}", subject.source.empty() ? "" : "; ", compiled->compiler,
      compiled->architecture,
      compiled->source_hash == rung_source_hash(rung.name()) ? "" : ", of another version of the source");
  return subject;
}

Subject subject_of(const OccupancyArguments& a, int multiprocessors) {
  if (a.kernel.empty() && !(a.threads && a.registers))
    throw InvalidArgument(
        "what a block takes is missing: name a kernel, or give --threads and --registers, as in --threads 256 "
        "--registers 64");
  Subject subject = a.kernel.empty() ? Subject{} : subject_of_kernel(a, multiprocessors);
  BlockResources& block = subject.block;
  block.threads = a.threads.value_or(block.threads);
  block.registers = a.registers.value_or(block.registers);
  block.shared_bytes = a.shared_bytes.value_or(block.shared_bytes);
  block.barriers = a.barriers.value_or(block.barriers);
  return subject;
}

/// The curves, in the order in which they are shown.
struct Curve {
  Quantity quantity;
  const char *key, *title;
  int BlockResources::*value;
};

constexpr std::array<Curve, 3> curves = {
    {{Quantity::registers, "registers", "registers a thread", &BlockResources::registers},
     {Quantity::shared_bytes, "shared_bytes", "shared memory a block", &BlockResources::shared_bytes},
     {Quantity::threads, "threads", "threads a block", &BlockResources::threads}}};

Json to_json(const OccupancyStep& step, int max_warps) {
  return {{"from", step.first},
          {"to", step.last},
          {"blocks", step.blocks},
          {"warps", step.warps},
          {"share", static_cast<double>(step.warps) / max_warps}};
}

/// The curves side by side, a row a step; the step that the block is on is marked.
report::Table steps_table(const model::Gpu& gpu, const Occupancy& occupancy) {
  using report::Cell, report::Column, report::Style;
  constexpr std::size_t width = 4;  // of a curve, in columns
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;
  for (std::size_t c = 0; c < curves.size(); ++c) {
    const Curve& curve = curves[c];
    for (const char* title : {"", "blocks", "warps", ""}) columns.push_back({title, Column::number, curve.title});
    const std::vector<OccupancyStep> steps = occupancy_over(gpu, occupancy.block, curve.quantity);
    if (rows.size() < steps.size()) rows.resize(steps.size(), std::vector<Cell>(width * curves.size()));
    const int value = occupancy.block.*curve.value;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const OccupancyStep& step = steps[i];
      const bool here = value >= step.first && value <= step.last;
      const Style style = here ? Style::heading : Style::plain;
      Cell* const cells = &rows[i][width * c];
      cells[0] = {fmt::format("{}{}-{}", here ? "* " : "", step.first, step.last), style};
      cells[1] = {fmt::format("{}", step.blocks), style};
      cells[2] = {fmt::format("{}", step.warps), style};
      cells[3] = {report::counted_percent(1.0 * step.warps / gpu.max_warps_per_sm), style};
    }
  }
  report::Table table(columns);
  for (std::vector<Cell>& row : rows) table.add_row(std::move(row));
  return table;
}

void print_page(const Subject& subject, const model::Gpu& gpu, const Occupancy& o) {
  const bool colour = report::wants_colour(stdout);
  const auto count = [](int number) { return report::with_separators(static_cast<std::uint64_t>(number)); };
  fmt::print("{} on {}: {} thread{}, {} registers a thread, {} bytes of shared memory\n", subject.title, gpu.name,
             count(o.block.threads), o.block.threads == 1 ? "" : "s", o.block.registers, count(o.block.shared_bytes));
  if (!subject.source.empty()) fmt::print("{}\n", subject.source);
  if (o.blocks > 0) {
    fmt::print("\n{} {} on a multiprocessor, {} of its {} warps, {}; limited by {}\n\n", o.blocks,
               o.blocks == 1 ? "block" : "blocks", o.warps(), o.max_warps, report::counted_percent(o.fraction()),
               o.limiters());
  } else {
    fmt::print("\n{}\n", report::paragraph("no block fits: " + o.reason, report::page_width));
  }
  fmt::print("{}\n{}\n{}", pages::limits_table(gpu, o).render(colour),
             report::paragraph("With another number in one of the places, and the rest as it is; * is this block:",
                               report::page_width),
             steps_table(gpu, o).render(colour));
}

ExitCode run(const OccupancyArguments& a) {
  const model::Gpu gpu = chosen_gpu(a.gpu);
  const Subject subject = subject_of(a, gpu.sms);
  const Occupancy occupancy = model::occupancy(gpu, subject.block);
  if (a.picture.wanted())
    write(pages::occupancy_picture(fmt::format("{} on {}", subject.title, gpu.name), gpu, occupancy), a.picture);
  if (!a.json) {
    print_page(subject, gpu, occupancy);
    return success;
  }
  Json over = Json::object();
  for (const Curve& curve : curves) {
    over[curve.key] = Json::array();
    for (const OccupancyStep& step : occupancy_over(gpu, subject.block, curve.quantity))
      over[curve.key].push_back(to_json(step, gpu.max_warps_per_sm));
  }
  print({{"gpu", gpu.name},
         {"kernel", subject.kernel},
         {"id", subject.id},
         {"type", subject.type},
         {"tile", subject.tile},
         {"threads", subject.block.threads},
         {"registers", subject.block.registers},
         {"shared_bytes", subject.block.shared_bytes},
         {"barriers", subject.block.barriers},
         {"occupancy", occupancy_json(occupancy)},
         {"over", over}});
  return success;
}

}  // namespace

Command add_occupancy(App program) {
  App app = program.add_subcommand(
      "occupancy", "how many blocks a multiprocessor holds, by each limit, and at which values that changes");
  const auto a = std::make_shared<OccupancyArguments>();
  constexpr int most = std::numeric_limits<int>::max();
  Option kernel = app.add_option("KERNEL", a->kernel, "a name that `lapidary list` shows; or none, and numbers")
                      .type_name("");
  app.add_option("--tile", a->tile, "which tile of the kernel (its first one)").needs(kernel).type_name("TILE");
  add_type_option(app, a->type).needs(kernel);
  app.add_option("--threads", a->threads, "of a block (the kernel's)").check(whole_number(1, most));
  app.add_option("--registers", a->registers, "of a thread (those of the record of the kernel's machine code)")
      .check(whole_number(1, most));
  app.add_option("--shared", a->shared_bytes, "bytes of a block, static and dynamic (the kernel's, or 0)")
      .check(whole_number(0, most));
  app.add_option("--barriers", a->barriers, "those of __syncthreads() and bar.sync that a block uses (1)")
      .check(whole_number(0, most));
  add_gpu_options(app, a->gpu);
  add_picture_options(app, a->picture);
  app.add_flag("--json", a->json, "print JSON");
  app.footer(
      "\nA number that is given beside a kernel stands in place of the kernel's own.\n\n"
      "  lapidary occupancy vectorized --gpu \"a100 sxm4 80gb\"\n"
      "  lapidary occupancy --registers 37 --threads 1024 --shared 0 --gpu \"rtx 4090\" --svg occupancy.svg\n"
      "  lapidary occupancy vectorized --registers 80      # what if the compiler were held to 80");
  return {app, [a] { return run(*a); }};
}

}  // namespace lapidary::cli
