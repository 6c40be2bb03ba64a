#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>

#include "bench/regret.hpp"
#include "cli/command.hpp"
#include "cli/json.hpp"
#include "cli/options.hpp"
#include "core/error.hpp"
#include "device/device.hpp"
#include "lapidary/gemm.hpp"
#include "report/progress.hpp"
#include "report/table.hpp"

namespace lapidary::cli {
namespace {

struct GemmArguments {
  std::int64_t m = 4096, n = 4096, k = 4096;
  std::string type = "bf16 RC";
  GpuChoice gpu;
  GemmOptions options;
  bool json = false;
};

std::string packed(const PlannedWay& way) {
  return way.packs_a && way.packs_b ? "A, B" : way.packs_a ? "A" : way.packs_b ? "B" : "";
}

/// The ways of a plan, and where there is a GPU of that name how long they took.
report::Table table_of(const Plan& plan, const std::optional<bench::Regret>& measured) {
  using report::Column;
  report::Table table({{"kernel"},
                       {"copied"},
                       {"workspace", Column::number, "bytes"},
                       {"predicted", Column::number, "us"},
                       {"measured", Column::number, "us"},
                       {"the time goes to"}});
  for (std::size_t i = 0; i < plan.ways().size(); ++i) {
    const PlannedWay& way = plan.ways()[i];
    const bool timed = measured && i < measured->ways.size();
    table.add_row({{way.kernel},
                   {packed(way)},
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
  const Problem problem = {.kind = parse_kind(a.type), .M = a.m, .N = a.n, .K = a.k};
  std::optional<bench::Regret> measured;
  const std::string card = chosen_gpu(a.gpu).name;
  Plan planned = plan(problem, card, a.options);
  if (gpu_count() > 0 && !a.gpu.name && !planned.way().kernel.empty()) {
    const std::unique_ptr<Device> device = open_gpu();
    Context context(*device);
    report::Progress progress;
    measured = bench::measure_regret(*device, context, problem, {.choice = a.options},
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
  fmt::print("D = A B, {} x {} x {} in {} on {}\n\n{}\n\nplan {}\n{}.\n", a.m, a.n, a.k, to_string(problem.kind),
             planned.card(), table_of(planned, measured).render(report::wants_colour(stdout)), planned.id(),
             planned.why());
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
  app.add_option("--kernel", a->options.kernel, "the only one that may be chosen, by its id: `lapidary list --json`")
      .type_name("ID");
  app.add_flag("--batch-invariant", a->options.batch_invariant, "a row's results shall not depend on M");
  add_gpu_options(app, a->gpu);
  app.add_flag("--json", a->json, "print JSON");
  return {app, [a] { return gemm(*a); }};
}

}  // namespace lapidary::cli
