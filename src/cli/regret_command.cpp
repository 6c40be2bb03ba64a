#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/host_problem.hpp"
#include "bench/receipt.hpp"
#include "bench/regret.hpp"
#include "bench/workload.hpp"
#include "cli/command.hpp"
#include "cli/interruption.hpp"
#include "cli/json.hpp"
#include "cli/measurements.hpp"
#include "cli/options.hpp"
#include "cli/problem_list.hpp"
#include "core/batch.hpp"
#include "core/error.hpp"
#include "device/device.hpp"
#include "kernels/registry.hpp"
#include "library/canonical.hpp"
#include "library/kernel_cost.hpp"
#include "report/progress.hpp"
#include "report/table.hpp"

namespace lapidary::cli {
namespace {

struct RegretArguments {
  std::vector<std::string> lists;
  std::string type = "f16";
  int every = 1;
  double most_seconds = 1e9;
  double within = 3;
  bool both = false, bursts = false;
  bool json = false;
  std::string output, table;
};

/// Of positive numbers.
struct Distribution {
  double geometric_mean = 1, median = 1, percentile_90 = 1, worst = 1;
};

Distribution distribution_of(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  double logarithms = 0;
  for (const double value : values) logarithms += std::log(value);
  const auto count = static_cast<double>(values.size());
  const auto reached_by = [&](double share) { return values[static_cast<std::size_t>(std::ceil(share * count)) - 1]; };
  return {std::exp(logarithms / count), reached_by(0.5), reached_by(0.9), values.back()};
}

Json to_json(const Distribution& d) {
  return {{"geometric_mean", d.geometric_mean},
          {"median", d.median},
          {"percentile_90", d.percentile_90},
          {"worst", d.worst}};
}

/// @param multiprocessors  of the card that timed it
Json to_json(const bench::Regret& r, const std::string& label, int multiprocessors) {
  Json ways = Json::array();
  for (const bench::TimedWay& way : r.ways) {
    Problem problem = library::with_row_major_results(r.plan.problem());
    if (way.way.parts > 1) problem.split = way.way.parts, problem.batch.count = way.way.parts;
    const library::LibraryKernel::Work work = library::library_kernel(find_kernel(way.way.kernel))
                                                  ->work(problem, multiprocessors);
    ways.push_back({{"kernel", way.way.kernel},
                    {"blocks", work.blocks},
                    {"steps", work.steps},
                    {"packs_a", way.way.packs_a},
                    {"packs_b", way.way.packs_b},
                    {"parts", way.way.parts},
                    {"waits", way.way.waits},
                    {"predicted_s", way.way.seconds},
                    {"measured_s", way.seconds}});
  }
  Json kernels = Json::array();
  for (const bench::CapturedKernel& kernel : r.cublas_kernels)
    kernels.push_back({{"name", kernel.name},
                       {"grid", {kernel.grid.x, kernel.grid.y, kernel.grid.z}},
                       {"cluster", {kernel.cluster.x, kernel.cluster.y, kernel.cluster.z}},
                       {"threads", kernel.threads}});
  return {{"plan", r.plan.id()},
          {"label", label},
          {"regret", r.regret()},
          {"cublas_s", measured_json(r.cublas_seconds)},
          {"cublas_kernels", kernels},
          {"bursts", measured_json(r.bursts)},
          {"ways", ways}};
}

/// The line of a table of choices (lapidary/gemm.hpp) that has the best way done.
std::string choice_of(const bench::Regret& r) {
  // Types and sizes are the third and fourth part of the plan's id.
  const std::string id = r.plan.id();
  const std::size_t types = id.find('.', id.find('.') + 1) + 1, sizes = id.find('.', types) + 1;
  const PlannedWay& best = r.best().way;
  return fmt::format("{} {} {} {}{}\n", id.substr(types, sizes - 1 - types),
                     id.substr(sizes, id.find('.', sizes) - sizes), best.kernel, best.packs_a ? "a" : "",
                     best.packs_b ? "b" : "");
}

/// "512", "128x6144x4096", "512 x64" of 64 products, "512 g64" or "512 u64" of 64 groups.
std::string sizes_and_products(const bench::TimedProblem& p) {
  const std::string sizes = bench::sizes_text(p.M, p.N, p.K);
  if (p.groups != 0) return fmt::format("{} {}{}", sizes, p.uneven ? 'u' : 'g', p.groups);
  return p.products == 1 ? sizes : fmt::format("{} x{}", sizes, p.products);
}

ExitCode regret(const RegretArguments& a) {
  if (gpu_count() == 0)
    throw InvalidArgument("regret needs a GPU: it times what the library chooses; see lapidary device");
  const std::unique_ptr<Device> device = open_gpu();
  Context context(*device);
  const GemmKind types = parse_kind(a.type);
  std::optional<OutputFile> output;
  if (!a.output.empty()) output.emplace(a.output);
  std::optional<OutputFile> choices;
  if (!a.table.empty()) choices.emplace(a.table);
  std::string better;
  std::vector<bench::TimedProblem> problems;
  for (const std::string& path : a.lists)
    for (const bench::TimedProblem& problem : problem_list(path)) problems.push_back(problem);
  using report::Column;
  report::Table table({{"M x N x K", Column::text, "", 20},
                       {"orders", Column::text, "", 6},
                       {"chosen", Column::number, "us", 8},
                       {"best", Column::number, "us", 8},
                       {"regret", Column::number, "", 6},
                       {"cuBLAS", Column::number, "us", 8},
                       {"ratio", Column::number, "", 5},
                       {"the best one, if it is another"}});
  if (!a.json) fmt::print("{}", table.render(report::wants_colour(stdout)));
  const Interruption interruption;
  const auto begin = std::chrono::steady_clock::now();
  std::vector<double> regrets, ratios;
  std::vector<double> of_methods;  ///< the choice's time over cuBLAS's as a list is timed, over the same by bursts
  std::string peer;
  Json list = Json::array();
  report::Progress progress;
  for (std::size_t i = 0; i < problems.size() && !interruption.requested(); i += static_cast<std::size_t>(a.every)) {
    if (std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() > a.most_seconds) break;
    const bench::TimedProblem& p = problems[i];
    Problem problem = {.kind = types, .M = p.M, .N = p.N, .K = p.K};
    if (p.orders) problem.kind = {types.type, types.result, p.orders->a, p.orders->b};
    if (p.products > 1) problem.batch = one_after_another(resolved(problem), p.products);
    bench::RegretOptions options = {.most_predicted = a.within, .both = a.both, .bursts = a.bursts};
    if (p.groups > 0) {
      const bench::RandomProblem groups = bench::in_groups({.problem = resolved(problem)}, p.groups, p.uneven);
      problem = groups.problem;
      options.group_ends = groups.group_ends;
    }
    const bench::Regret r = bench::measure_regret(*device, context, problem, options);
    if (r.bursts && r.cublas_seconds)
      of_methods.push_back(r.chosen_seconds() / *r.cublas_seconds * *r.bursts->cublas_seconds /
                           r.bursts->chosen_seconds);
    regrets.push_back(r.regret());
    if (!r.cublas.empty()) peer = r.cublas;
    if (&r.best() != &r.ways.front() && p.products == 1 && p.groups == 0) better += choice_of(r);
    if (r.cublas_seconds) ratios.push_back(*r.cublas_seconds / r.chosen_seconds());
    list.push_back(to_json(r, p.label, device->properties().multiprocessors));
    if (a.json) {
      progress.update(sizes_and_products(p), static_cast<double>(i) / static_cast<double>(problems.size()));
      continue;
    }
    const auto us = [](double seconds) { return fmt::format("{:.1f}", seconds * 1e6); };
    const bench::TimedWay& best = r.best();
    const std::string kind = to_string(problem.kind);
    fmt::print(
        "{}", table.render_row({{sizes_and_products(p)},
                                {kind.substr(kind.find(' ') == kind.npos ? kind.size() : kind.find(' ') + 1)},
                                {us(r.chosen_seconds())},
                                {us(best.seconds)},
                                {fmt::format("{:.2f}", r.regret())},
                                {r.cublas_seconds ? us(*r.cublas_seconds) : ""},
                                {r.cublas_seconds ? fmt::format("{:.2f}", *r.cublas_seconds / r.chosen_seconds()) : ""},
                                {&best == &r.ways.front() ? "" : best.way.kernel}},
                               report::wants_colour(stdout)));
    std::fflush(stdout);
  }
  const Distribution of_regret = distribution_of(regrets), of_ratio = distribution_of(ratios);
  const Json document = {
      {"receipt", bench::machine_receipt(*device)},
      {"peer", peer.empty() ? Json() : Json(peer)},
      {"type", to_string(types)},
      {"method",
       "launches back to back without rests, those below 0.1 ms in graphs, contestants in turns, medians of rounds; "
       "operands rotate over copies larger than 3 L2 caches"},
      {"regret", to_json(of_regret)},
      {"cublas_over_chosen", to_json(of_ratio)},
      {"list_over_bursts", a.bursts ? to_json(distribution_of(of_methods)) : Json()},
      {"problems", list}};
  if (output) output->write(document.dump() + "\n");
  if (choices) choices->write(better);
  if (a.json)
    print(document);
  else
    fmt::print(
        "\n{} problems: regret {:.3f} in the geometric mean, {:.2f} at the 90th percentile, {:.2f} at worst; cuBLAS "
        "takes {:.3f} of the chosen time in the geometric mean\n",
        regrets.size(), of_regret.geometric_mean, of_regret.percentile_90, of_regret.worst, of_ratio.geometric_mean);
  if (!a.json && !of_methods.empty()) {
    std::vector<double> off;
    for (const double ratio : of_methods) off.push_back(std::max(ratio, 1 / ratio));
    const Distribution of_off = distribution_of(off);
    fmt::print(
        "against bursts after rests, the chosen time over cuBLAS's is off by a factor of {:.3f} in the geometric "
        "mean, {:.3f} at the 90th percentile, {:.3f} at worst\n",
        of_off.geometric_mean, of_off.percentile_90, of_off.worst);
  }
  return success;
}

}  // namespace

Command add_regret(App program) {
  App app = program.add_subcommand(
      "regret", "times what the library chooses against all that it weighed, and cuBLAS, over lists of problems");
  const auto a = std::make_shared<RegretArguments>();
  app.add_option("LIST", a->lists, "files of problems, as bench --problems takes them").required().type_name("FILE");
  app.add_option("--type", a->type, "types of the problems, and orders of those that name none (f16)")
      .type_name("TYPE");
  app.add_option("--every", a->every, "only every so many of them (1)").check(in_range(1, 1000000));
  app.add_option("--seconds", a->most_seconds, "begin none after that").check(in_range(1, 1000000));
  app.add_option("--within", a->within,
                 "leave out ways of which more than so many times the choice's time is expected (3)")
      .check(in_range(1.0, 1e6));
  const Option table = app.add_option("--table", a->table,
                                      "write what was quicker than the choice as a table for GemmOptions::table")
                           .type_name("FILE");
  app.add_flag("--both", a->both, "time kernels that a plan may have wait for the launch before both ways")
      .excludes(table);
  app.add_flag("--bursts", a->bursts, "time the choice and cuBLAS by bursts after rests too, as bench does");
  app.add_option("-o,--output", a->output, "write JSON to a file").type_name("FILE");
  app.add_flag("--json", a->json, "print JSON");
  return {app, [a] { return regret(*a); }};
}

}  // namespace lapidary::cli
