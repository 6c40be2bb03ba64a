#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "bench/receipt.hpp"
#include "bench/regret.hpp"
#include "cli/command.hpp"
#include "cli/json.hpp"
#include "cli/measurements.hpp"
#include "cli/options.hpp"
#include "core/batch.hpp"
#include "core/error.hpp"
#include "core/file.hpp"
#include "device/device.hpp"
#include "lapidary/gemm.hpp"
#include "library/cards.hpp"
#include "report/progress.hpp"
#include "report/table.hpp"

namespace lapidary::cli {
namespace {

struct GemmArguments {
  std::int64_t m = 4096, n = 4096, k = 4096, lda = 0, ldb = 0, ldd = 0, products = 1;
  std::string type = "bf16 RC", epilogue = "none";
  std::optional<std::string> gpu;
  GemmOptions options;
  std::string table;
  bool bursts = false, json = false;
};

/// What is launched beside the kernel: copies of A and B, and what makes results of sums, or of those of parts of K. A
/// kernel that waits, though it could begin before the launch in front of it ends, is the only one.
std::string others(const PlannedWay& way) {
  std::string text = way.packs_a && way.packs_b ? "copies of A, B"
                     : way.packs_a              ? "copy of A"
                     : way.packs_b              ? "copy of B"
                                                : "";
  const std::string last = way.parts > 1 ? fmt::format("sum of {} parts", way.parts) : way.finishes ? "epilogue" : "";
  if (way.waits) return "waits for the one before";
  return text.empty() || last.empty() ? text + last : text + ", " + last;
}

std::string microseconds(const std::optional<double>& seconds) {
  return seconds ? fmt::format("{:.1f}", *seconds * 1e6) : "";
}

/// The ways of a plan, and where there is a GPU of that name how long they took.
report::Table table_of(const Plan& plan, const std::optional<bench::Regret>& measured) {
  using report::Column;
  std::vector<report::Column> columns = {{"kernel"},
                                         {"beside it"},
                                         {"workspace", Column::number, "bytes"},
                                         {"predicted", Column::number, "us"},
                                         {"measured", Column::number, "us"}};
  const std::optional<bench::BurstTimes> bursts = measured ? measured->bursts : std::nullopt;
  if (bursts) columns.push_back({"in bursts", Column::number, "us"});
  columns.push_back({"the time goes to"});
  report::Table table(columns);
  const auto add = [&](std::vector<report::Cell> row, const std::optional<double>& seconds,
                       const std::optional<double>& of_burst, const std::string& limiter) {
    row.push_back({microseconds(seconds)});
    if (bursts) row.push_back({microseconds(of_burst)});
    row.push_back({limiter});
    table.add_row(row);
  };
  for (std::size_t i = 0; i < plan.ways().size(); ++i) {
    const PlannedWay& way = plan.ways()[i];
    add({{way.kernel}, {others(way)}, {std::uint64_t{way.workspace_bytes}}, {microseconds(way.seconds)}},
        measured && i < measured->ways.size() ? std::optional(measured->ways[i].seconds) : std::nullopt,
        bursts && i == 0 ? std::optional(bursts->chosen_seconds) : std::nullopt, way.limiter);
  }
  if (measured && measured->alone_seconds)
    add({{"the product alone"}, {}, {}, {}}, measured->alone_seconds, bursts ? bursts->alone_seconds : std::nullopt,
        "");
  if (measured && measured->cublas_seconds)
    add({{measured->cublas}, {}, {}, {}}, measured->cublas_seconds, bursts ? bursts->cublas_seconds : std::nullopt, "");
  return table;
}

/// The card that was named; otherwise the one at hand, or the H200 that most was measured on.
std::string card_of(const GemmArguments& a) {
  if (a.gpu) return *a.gpu;
  if (gpu_count() == 0) return library::h200().gpu.name;
  const DeviceProperties card = open_gpu()->properties();
  return library::card_of_device(card.name, card.compute_capability).gpu.name;
}

ExitCode gemm(const GemmArguments& a) {
  GemmOptions options = a.options;
  if (!a.table.empty()) {
    const std::optional<std::string> text = read_file(a.table);
    if (!text) throw InvalidArgument(fmt::format("cannot read {}", a.table));
    options.table = std::make_shared<const ChoiceTable>(*text);
  }
  Problem problem = {.kind = parse_kind(a.type),
                     .M = a.m,
                     .N = a.n,
                     .K = a.k,
                     .lda = a.lda,
                     .ldb = a.ldb,
                     .ldd = a.ldd,
                     .aligned = {16, 16, 16, 16},
                     .epilogue = parse_epilogue(a.epilogue)};
  // As product_of() has it, so that the plan is the one of a program's call.
  if (problem.kind.result != Type::s32) problem.alpha = Factor::any;
  if (a.products != 1) {
    problem.batch = one_after_another(resolved(problem), a.products);
    if (problem.epilogue.residual) problem.batch.stride_residual = problem.batch.stride_d;
  }
  std::optional<bench::Regret> measured;
  Json receipt;
  Plan planned = plan(problem, card_of(a), options);
  if (a.bursts && gpu_count() == 0)
    throw InvalidArgument("--bursts times launches on the GPU of this machine, which has none; leave it out");
  if (gpu_count() > 0 && !a.gpu && !planned.way().kernel.empty()) {
    const std::unique_ptr<Device> device = open_gpu();
    Context context(*device);
    report::Progress progress;
    measured = bench::measure_regret(*device, context, problem, {.choice = options, .bursts = a.bursts},
                                     [&](std::string_view step, double done) { progress.update(step, done); });
    planned = measured->plan;
    receipt = bench::machine_receipt(*device);
  }
  if (a.json) {
    Json ways = Json::array();
    for (std::size_t i = 0; i < planned.ways().size(); ++i) {
      const PlannedWay& way = planned.ways()[i];
      const bool timed = measured && i < measured->ways.size();
      ways.push_back({{"kernel", way.kernel},
                      {"packs_a", way.packs_a},
                      {"packs_b", way.packs_b},
                      {"finishes", way.finishes},
                      {"parts", way.parts},
                      {"waits", way.waits},
                      {"workspace_bytes", way.workspace_bytes},
                      {"predicted_s", way.seconds},
                      {"measured_s", timed ? Json(measured->ways[i].seconds) : Json()},
                      {"limiter", way.limiter}});
    }
    print({{"plan", planned.id()},
           {"card", planned.card()},
           {"why", planned.why()},
           {"ways", ways},
           {"alone_s", measured_json(measured ? measured->alone_seconds : std::nullopt)},
           {"cublas_s", measured_json(measured ? measured->cublas_seconds : std::nullopt)},
           {"cublas", measured && measured->cublas_seconds ? Json(measured->cublas) : Json()},
           {"bursts", measured_json(measured ? measured->bursts : std::nullopt)},
           {"receipt", receipt}});
    return success;
  }
  fmt::print("{}D = A B{}, {} x {} x {} in {} on {}\n\n{}\n\nplan {}\n{}.\n",
             a.products == 1 ? "" : fmt::format("{} products ", a.products),
             problem.epilogue == Epilogue{} ? "" : fmt::format(" with {}", to_string(problem.epilogue)), a.m, a.n, a.k,
             to_string(problem.kind), planned.card(), table_of(planned, measured).render(report::wants_colour(stdout)),
             planned.id(), planned.why());
  return success;
}

}  // namespace

Command add_gemm(App program) {
  App app = program.add_subcommand("gemm", "how the library computes a product, why so, and what else it weighed");
  const auto a = std::make_shared<GemmArguments>();
  app.add_option("-m", a->m, "rows of A and D (4096)").check(whole_number(0, most_predicted_size));
  app.add_option("-n", a->n, "columns of B and D (4096)").check(whole_number(0, most_predicted_size));
  app.add_option("-k", a->k, "columns of A, rows of B (4096)").check(whole_number(0, most_predicted_size));
  for (const auto& [name, ld, line] : {std::tuple("--lda", &a->lda, "row of A, or a column of a column-major one"),
                                       {"--ldb", &a->ldb, "row of B, or a column of a column-major one"},
                                       {"--ldd", &a->ldd, "row of D"}})
    app.add_option(name, *ld, fmt::format("leading dimension in elements (the length of a {})", line))
        .check(whole_number(1));
  app.add_option("--batch", a->products, "so many products, whose matrices follow one another (1)")
      .check(whole_number(0, most_predicted_size));
  app.add_option("--type", a->type, "types and orders of A and B, as in f16, \"bf16 RC\" or bf16/f32 (\"bf16 RC\")")
      .type_name("TYPE");
  app.add_option("--epilogue", a->epilogue,
                 "what follows, as in relu or bias_of_columns-gelu_tanh-scale-residual-clamp (none)")
      .type_name("TEXT");
  const Option kernel = app.add_option("--kernel", a->options.kernel,
                                       "the only one that may be chosen, by its id: `lapidary list --json`")
                            .type_name("ID");
  // The library asks no table where something else decides.
  const Option table = app.add_option("--table", a->table, "a table of choices, as regret --table writes one")
                           .type_name("FILE")
                           .excludes(kernel);
  app.add_flag("--batch-invariant", a->options.batch_invariant, "a row's results shall not depend on M")
      .excludes(table);
  const Option gpu = app.add_option("--gpu", a->gpu,
                                    "the card to plan for, one of those that the library was built with (the one at "
                                    "hand, or h200)")
                         .type_name("NAME");
  app.add_flag("--bursts", a->bursts, "on the GPU at hand: time the choice by bursts after rests too, as bench does")
      .excludes(gpu);
  app.add_flag("--json", a->json, "print JSON");
  return {app, [a] { return gemm(*a); }};
}

}  // namespace lapidary::cli
