#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>

#include "bench/regret.hpp"
#include "cli/command.hpp"
#include "cli/json.hpp"
#include "cli/options.hpp"
#include "core/error.hpp"
#include "core/file.hpp"
#include "device/device.hpp"
#include "lapidary/gemm.hpp"
#include "report/progress.hpp"
#include "report/table.hpp"

namespace lapidary::cli {
namespace {

struct GemmArguments {
  std::int64_t m = 4096, n = 4096, k = 4096;
  std::string type = "bf16 RC", epilogue = "none";
  GpuChoice gpu;
  GemmOptions options;
  std::string table;
  bool json = false;
};

/// What is launched beside the kernel: copies of A and B, and what makes results of sums.
std::string others(const PlannedWay& way) {
  std::string text = way.packs_a && way.packs_b ? "copies of A, B"
                     : way.packs_a              ? "copy of A"
                     : way.packs_b              ? "copy of B"
                                                : "";
  if (way.finishes) text += text.empty() ? "epilogue" : ", epilogue";
  return text;
}

/// The ways of a plan, and where there is a GPU of that name how long they took.
report::Table table_of(const Plan& plan, const std::optional<bench::Regret>& measured) {
  using report::Column;
  report::Table table({{"kernel"},
                       {"beside it"},
                       {"workspace", Column::number, "bytes"},
                       {"predicted", Column::number, "us"},
                       {"measured", Column::number, "us"},
                       {"the time goes to"}});
  for (std::size_t i = 0; i < plan.ways().size(); ++i) {
    const PlannedWay& way = plan.ways()[i];
    const bool timed = measured && i < measured->ways.size();
    table.add_row({{way.kernel},
                   {others(way)},
                   {std::uint64_t{way.workspace_bytes}},
                   {fmt::format("{:.1f}", way.seconds * 1e6)},
                   {timed ? fmt::format("{:.1f}", measured->ways[i].seconds * 1e6) : ""},
                   {way.limiter}});
  }
  if (measured && measured->cublas_seconds)
    table.add_row({{measured->cublas}, {}, {}, {}, {fmt::format("{:.1f}", *measured->cublas_seconds * 1e6)}, {}});
  return table;
}

ExitCode gemm(const GemmArguments& a) {
  GemmOptions options = a.options;
  if (!a.table.empty()) {
    const std::optional<std::string> text = read_file(a.table);
    if (!text) throw InvalidArgument(fmt::format("cannot read {}", a.table));
    options.table = std::make_shared<const ChoiceTable>(*text);
  }
  const Problem problem = {
      .kind = parse_kind(a.type), .M = a.m, .N = a.n, .K = a.k, .epilogue = parse_epilogue(a.epilogue)};
  std::optional<bench::Regret> measured;
  const std::string card = chosen_gpu(a.gpu).name;
  Plan planned = plan(problem, card, options);
  if (gpu_count() > 0 && !a.gpu.name && !planned.way().kernel.empty()) {
    const std::unique_ptr<Device> device = open_gpu();
    Context context(*device);
    report::Progress progress;
    measured = bench::measure_regret(*device, context, problem, {.choice = options},
                                     [&](std::string_view step, double done) { progress.update(step, done); });
    planned = measured->plan;
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
                      {"workspace_bytes", way.workspace_bytes},
                      {"predicted_s", way.seconds},
                      {"measured_s", timed ? Json(measured->ways[i].seconds) : Json()},
                      {"limiter", way.limiter}});
    }
    print({{"plan", planned.id()},
           {"card", planned.card()},
           {"why", planned.why()},
           {"ways", ways},
           {"cublas_s", measured && measured->cublas_seconds ? Json(*measured->cublas_seconds) : Json()},
           {"cublas", measured && measured->cublas_seconds ? Json(measured->cublas) : Json()}});
    return success;
  }
  fmt::print("D = A B{}, {} x {} x {} in {} on {}\n\n{}\n\nplan {}\n{}.\n",
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
  app.add_option("--type", a->type, "types and orders of A and B, as in f16, \"bf16 RC\" or bf16/f32 (\"bf16 RC\")")
      .type_name("TYPE");
  app.add_option("--epilogue", a->epilogue,
                 "what follows, as in relu or bias_of_columns-gelu_tanh-scale-residual-clamp (none)")
      .type_name("TEXT");
  app.add_option("--kernel", a->options.kernel, "the only one that may be chosen, by its id: `lapidary list --json`")
      .type_name("ID");
  app.add_option("--table", a->table, "a table of choices, as regret --table writes one").type_name("FILE");
  app.add_flag("--batch-invariant", a->options.batch_invariant, "a row's results shall not depend on M");
  add_gpu_options(app, a->gpu);
  app.add_flag("--json", a->json, "print JSON");
  return {app, [a] { return gemm(*a); }};
}

}  // namespace lapidary::cli
