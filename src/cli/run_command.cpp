#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>

#include "bench/run.hpp"
#include "cli/command.hpp"
#include "cli/counter_table.hpp"
#include "cli/json.hpp"
#include "cli/options.hpp"
#include "core/batch.hpp"
#include "core/error.hpp"
#include "device/device.hpp"
#include "kernels/registry.hpp"
#include "report/npy.hpp"
#include "report/progress.hpp"
#include "report/terminal.hpp"
#include "report/text.hpp"

namespace lapidary::cli {
namespace {

struct RunArguments {
  std::string kernel, tile, save;
  std::optional<std::string> type, device;
  std::optional<std::int64_t> m, n, k, lda, ldb, ldc, ldd;
  float alpha = 1, beta = 0;
  std::int64_t seed = 1, products = 1;
  int groups = 0;
  bool uneven = false, count = false, check = false, json = false;
};

bench::RandomProblem spec_of(const RunArguments& arguments, const GemmKind& kind, DeviceKind device) {
  const std::int64_t size = default_size(device);
  bench::RandomProblem spec = bench::resolve({.problem = {.kind = kind,
                                                          .M = arguments.m.value_or(size),
                                                          .N = arguments.n.value_or(size),
                                                          .K = arguments.k.value_or(size),
                                                          .lda = arguments.lda.value_or(0),
                                                          .ldb = arguments.ldb.value_or(0),
                                                          .ldc = arguments.ldc.value_or(0),
                                                          .ldd = arguments.ldd.value_or(0)},
                                              .alpha = arguments.alpha,
                                              .beta = arguments.beta,
                                              .seed = static_cast<std::uint64_t>(arguments.seed)});
  if (arguments.products > 1) spec.problem.batch = one_after_another(spec.problem, arguments.products);
  return arguments.groups > 0 ? bench::in_groups(spec, arguments.groups, arguments.uneven) : spec;
}

/// What is done several times: "3 products ", "9 groups of rows, ", or nothing.
std::string several(const Problem& p) {
  if (p.groups > 0) return fmt::format("{} groups of rows, ", p.groups);
  return p.batch.count == 1 ? "" : fmt::format("{} products ", p.batch.count);
}

Json json_of(const Rung& rung, const KernelEntry& kernel, const Device& device, const bench::RandomProblem& spec) {
  Json json = {{"kernel", rung.name()},
               {"id", kernel.id()},
               {"source", rung.source},
               {"device", name_of(device.kind())},
               {"device_name", device.properties().name}};
  const Json problem = problem_json(spec);
  for (const auto& [key, value] : problem.items()) {
    if (key == "alpha") json.update({{"type", to_string(spec.problem.kind)}, {"tile", to_string(kernel.tile)}});
    json[key] = value;
  }
  json["seed"] = spec.seed;
  return json;
}

void create_directory(const std::filesystem::path& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) throw InvalidArgument(fmt::format("cannot create {}: {}", directory.string(), error.message()));
}

void save(const std::filesystem::path& directory, const bench::HostProblem& problem, const bench::HostMatrix& D) {
  const auto write = [&](const char* name, const bench::HostMatrix& matrix) {
    report::write_npy(directory / name, matrix.type(), matrix.rows(), matrix.cols(), matrix.ld(), matrix.data(),
                      matrix.order());
  };
  write("A.npy", problem.A);
  write("B.npy", problem.B);
  write("C.npy", problem.C);
  write("D.npy", D);
}

void print_result(const Rung& rung, const KernelEntry& kernel, const Device& device, const bench::RandomProblem& spec,
                  const bench::RunResult& result) {
  const Problem& p = spec.problem;
  const bench::Verification& verification = result.verification;
  const std::string title = fmt::format("{} on {}: {}D = {} A B + {} C, {}, M = {}, N = {}, K = {}, tile {}, seed {}",
                                        rung.name(), title_of(device), several(p), spec.alpha, spec.beta,
                                        to_string(p.kind), p.M, p.N, p.K, to_string(kernel.tile), spec.seed);
  const std::string verdict = report::styled(verification.ok ? "right" : "WRONG",
                                             verification.ok ? report::Style::good : report::Style::bad,
                                             report::wants_colour(stdout));
  constexpr int verdict_width = 7;
  fmt::print("{}{}  {}", report::paragraph(title, report::page_width), verdict,
             report::paragraph(verification.message, report::page_width - verdict_width));
  if (!result.why.empty())
    fmt::print("{}", report::paragraph(fmt::format("{} ran: {}", result.ran, result.why), report::page_width));
}

ExitCode run(const RunArguments& arguments) {
  const Rung& rung = find_rung(arguments.kernel);
  const GemmKind kind = arguments.type ? parse_kind(*arguments.type) : rung.kernels.front().kind;
  const KernelEntry& kernel = rung.kernel(kind, arguments.tile);
  emulator::Options options = {.count = arguments.count, .check = arguments.check};
  options.multiprocessors = std::max(options.multiprocessors, kernel.cluster.down * kernel.cluster.across);
  const std::unique_ptr<Device> device = open_device(arguments.device, options);
  bench::require_support(rung, kind, *device);
  const bench::RandomProblem spec = spec_of(arguments, kind, device->kind());
  Json json = json_of(rung, kernel, *device, spec);

  std::optional<bench::Experiment> experiment;
  bench::RunResult result;
  try {
    report::Progress progress;
    experiment.emplace(*device, spec, [&](std::string_view step, double done) { progress.update(step, done); });
    if (!arguments.save.empty()) create_directory(arguments.save);
    result = experiment->run(rung, kernel, build_for(device->stream()));
  } catch (const KernelFault& fault) {
    if (!arguments.json) throw;
    add_fault(json, fault.what());
    print(json);
    return wrong_result;
  }
  if (!arguments.save.empty()) save(arguments.save, experiment->problem(), result.D);
  std::optional<emulator::Report> counted;
  if (arguments.count) counted = device->stream().machine->report();

  if (arguments.json) {
    json["ran"] = result.ran;
    json["why"] = result.why.empty() ? Json() : Json(result.why);
    add_verification(json, result.verification);
    if (counted) {
      json["counters"] = counters_json(counted->total);
      json["lines"] = lines_json(*counted);
      json["bytes_in_flight"] = counted->bytes_in_flight;
      json["divergent_intervals"] = counted->divergent_intervals;
    }
    print(json);
  } else {
    print_result(rung, kernel, *device, spec, result);
    if (arguments.check)
      fmt::print("checked: every access to memory and the order of the threads; there was no fault\n");
    if (!arguments.save.empty()) fmt::print("saved: A.npy, B.npy, C.npy and D.npy in {}\n", arguments.save);
    if (counted) print_counters(*counted);
  }
  return result.verification.ok ? success : wrong_result;
}

}  // namespace

Command add_run(App program) {
  App app = program.add_subcommand("run", "run one kernel on one problem and check the result");
  const auto a = std::make_shared<RunArguments>();
  app.add_option("KERNEL", a->kernel, "a name that `lapidary list` shows").required().type_name("");
  app.add_option("-m", a->m, "rows of A and D (256, on a GPU 4096)").check(whole_number(0));
  app.add_option("-n", a->n, "columns of B and D (256, on a GPU 4096)").check(whole_number(0));
  app.add_option("-k", a->k, "columns of A and rows of B (256, on a GPU 4096)").check(whole_number(0));
  const Option batch = app.add_option("--batch", a->products,
                                      "so many products, whose matrices follow one another; those saved are the "
                                      "first's (1)")
                           .check(whole_number(1));
  const Option groups = app.add_option("--groups", a->groups,
                                       "so many groups of the rows, with a B each, that end where the kernel reads "
                                       "it; those saved are the first's")
                            .check(whole_number(1))
                            .excludes(batch);
  app.add_flag("--uneven", a->uneven, "of --groups: of lengths at random, in place of equal ones").needs(groups);
  app.add_option("--alpha", a->alpha, "factor of A B (1)").check(finite_number());
  app.add_option("--beta", a->beta, "factor of C (0)").check(finite_number());
  app.add_option("--lda", a->lda, "leading dimension of A in elements (the length of a row)").check(whole_number(1));
  app.add_option("--ldb", a->ldb, "of B").check(whole_number(1));
  app.add_option("--ldc", a->ldc, "of C").check(whole_number(1));
  app.add_option("--ldd", a->ldd, "of D").check(whole_number(1));
  add_type_option(app, a->type);
  app.add_option("--tile", a->tile, "block tile, as `lapidary list` shows it (the first one)").type_name("TILE");
  app.add_option("--seed", a->seed, "seed of the random data (1)").check(whole_number(0));
  app.add_option("--device", a->device, "gpu or emulator (gpu where there is one and nothing is counted or checked)")
      .type_name("DEVICE");
  app.add_flag("--count", a->count, "count memory traffic by source line, on the emulated machine");
  app.add_flag("--check", a->check, "stop at the first illegal access or race, on the emulated machine");
  app.add_option("--save", a->save, "write A, B, C and D to this directory as .npy files").type_name("DIR");
  app.add_flag("--json", a->json, "print JSON");
  return {app, [a] { return run(*a); }};
}

}  // namespace lapidary::cli
