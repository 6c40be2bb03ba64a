#include "lens/explain.hpp"

#include <fmt/format.h>

#include <cmath>
#include <iostream>
#include <memory>
#include <optional>
#include <string>

#include "cli/command.hpp"
#include "cli/json.hpp"
#include "cli/options.hpp"
#include "lens/explanation.hpp"
#include "lens/rung_record.hpp"
#include "pages/explanation_page.hpp"
#include "report/page.hpp"
#include "report/progress.hpp"
#include "report/table.hpp"
#include "report/write_file.hpp"

namespace lapidary::cli {
namespace {

using lens::Explanation;

struct ExplainArguments {
  std::string kernel, tile, html;
  std::optional<std::string> type;
  std::int64_t m = lens::page_size, n = lens::page_size, k = lens::page_size;
  bool beta = false, predict = false, as_compiled = false, json = false;
  GpuChoice gpu;
};

/// The counters that the card was read of on this problem, or else on another one.
std::optional<Explanation> with_counters(const Explanation& e) {
  return e.counters.empty() ? lens::explain_on_record(e.question) : e;
}

report::Document page_of(const Explanation& e, bool as_compiled) {
  report::Document page;
  const RungInfo& info = *e.question.rung->info;
  page.heading(1, fmt::format("{}: {}", info.name, info.idea));
  if (*info.parent) page.paragraph(fmt::format("against {}: {}. {}.", info.parent, info.change, info.why));
  page.append(pages::work_page(e));
  page.append(pages::memory_page(e));
  page.append(pages::compiled_page(e, as_compiled));
  page.append(pages::time_page(e));
  if (const std::optional<Explanation> counted = with_counters(e))
    page.append(pages::counters_page(*counted));
  else
    page.paragraph(fmt::format("no counters of {} are on record for this kernel", e.question.gpu.name));
  return page;
}

/// Asks for a guess before anything is told.
void ask_for_guess(const Explanation& e) {
  if (!e.time) {
    fmt::print("no guess is asked for, as there is no prediction: {}\n", e.no_time);
    return;
  }
  fmt::print("{} at {} x {} x {} on {}: how many TFLOP/s? ", e.question.rung->name(), e.question.problem.M,
             e.question.problem.N, e.question.problem.K, e.question.gpu.name);
  std::fflush(stdout);
  double guess = 0;
  if (std::cin >> guess && guess > 0) {
    const double predicted = e.flop / e.time->seconds / 1e12;
    fmt::print("your guess {:.1f}, the model {:.1f}{}\n", guess, predicted,
               e.measured_seconds ? fmt::format(", the card {:.1f}{}", e.flop / *e.measured_seconds / 1e12,
                                                e.question.problem.reads_c() ? " with beta = 0" : "")
                                  : "");
  } else {
    fmt::print("no number\n");
  }
}

/// In seconds.
Json parts_json(const model::TimeParts& parts) {
  return {{"products", parts.products},   {"slower", parts.slower},       {"idle", parts.idle},
          {"epilogues", parts.epilogues}, {"start_end", parts.start_end}, {"launch", parts.launch}};
}

Json mix_json(const model::InstructionMix& mix) {
  Json classes = Json::object();
  for (std::size_t c = 0; c < model::instruction_classes; ++c)
    classes[name_of(static_cast<model::InstructionClass>(c))] = mix.counts[c];
  return {{"instructions", mix.all()},
          {"products", mix.products()},
          {"share", mix.products() / mix.all()},
          {"classes", classes}};
}

Json explanation_json(const Explanation& e) {
  const lens::Question& q = e.question;
  const KernelEntry& asked = e.instead ? *e.instead : *q.kernel;
  Json json = {{"kernel", asked.rung},
               {"id", asked.id()},
               {"type", to_string(asked.kind)},
               {"tile", to_string(asked.tile)},
               {"ran", q.kernel->id()},
               {"why", e.why.empty() ? Json() : Json(e.why)},
               {"gpu", q.gpu.name},
               {"m", q.problem.M},
               {"n", q.problem.N},
               {"k", q.problem.K},
               {"flop", e.flop},
               {"compulsory_bytes", e.compulsory_bytes},
               {"flop_per_byte", e.intensity},
               {"least_time",
                {{"memory_s", e.least.memory_seconds},
                 {"dram_bytes_per_s", e.least.dram_bytes_per_s},
                 {"dram_rate", e.least.dram_measured ? "measured" : "published"},
                 {"compute_s", e.least.compute_seconds ? Json(*e.least.compute_seconds) : Json()},
                 {"peak_flops", e.least.peak.flops},
                 {"peak", e.least.peak.name}}},
               {"tiles", e.observation.tiles},
               {"blocks", e.observation.blocks},
               {"blocks_run", e.observation.blocks_run}};
  json["matrices"] = Json::array();
  for (const lens::MatrixTraffic& m : e.matrices)
    json["matrices"].push_back({{"matrix", m.name},
                                {"written", m.written},
                                {"requests", m.requests},
                                {"sectors", m.sectors},
                                {"boxes", m.boxes},
                                {"multicast_bytes", m.multicast_bytes},
                                {"efficiency", m.efficiency},
                                {"bytes", m.bytes},
                                {"bytes_per_result", m.bytes_per_result},
                                {"accesses_per_result", m.accesses_per_result}});
  json["operand_reads"] = Json::array();
  for (const lens::OperandReads& reads : e.operand_reads)
    json["operand_reads"].push_back({{"matrix", reads.matrix},
                                     {"times", reads.times},
                                     {"tiles", reads.tiles},
                                     {"why", reads.why.empty() ? Json() : Json(reads.why)}});
  json["shared"] = Json::array();
  for (const lens::SharedTraffic& s : e.shared)
    json["shared"].push_back({{"file", s.file},
                              {"line", s.line},
                              {"store", s.store},
                              {"bytes", s.bytes},
                              {"instructions", s.instructions},
                              {"wavefronts", s.wavefronts},
                              {"minimum", s.minimum},
                              {"cause", s.cause}});
  json["shared_elements_per_fma"] = e.shared_loads.per_fma;
  json["shared_instructions_per_fma"] = {{"written", e.shared_loads.instructions_per_fma},
                                         {"compiled", e.shared_loads.compiled_instructions_per_fma}};
  const emulator::Counters& total = e.observation.written.total;
  json["products"] = {{"fma", total.fma},
                      {"mma", {{"instructions", total.mma.instructions}, {"flop", total.mma.flop}}},
                      {"wgmma",
                       {{"instructions", total.wgmma.instructions},
                        {"shared_bytes", total.wgmma.shared_bytes},
                        {"flop", total.wgmma.flop}}}};
  json["bytes_in_flight"] = e.observation.written.bytes_in_flight;
  json["steps_in_flight"] = lens::steps_in_flight(e);
  json["traffic"] = nullptr;
  if (e.traffic)
    json["traffic"] = {{"l2_to_sm_bytes", e.traffic->l2_to_sm_bytes},
                       {"l2_read_bytes", e.traffic->l2_read_bytes},
                       {"dram_read_bytes", e.traffic->dram_read_bytes},
                       {"dram_write_bytes", e.traffic->dram_write_bytes}};
  json["compiled"] = nullptr;
  if (e.compiled)
    json["compiled"] = {{"compiler", e.compiled->compiler},
                        {"architecture", e.compiled->architecture},
                        {"stale", e.stale},
                        {"registers", e.compiled->registers},
                        {"spilled_bytes", e.compiled->spilled_bytes}};
  json["executed"] = nullptr;
  if (e.executed)
    json["executed"] = {{"pass", mix_json(e.executed->pass)},
                        {"warp", e.executed->warp ? mix_json(*e.executed->warp) : Json(nullptr)},
                        {"passes", e.executed->warp ? Json(e.program->iterations) : Json(nullptr)}};
  json["addresses"] = e.addresses ? addresses_json(*e.addresses) : Json(nullptr);
  const LaunchShape& launch = e.observation.launch;
  json["threads"] = launch.block.x * launch.block.y * launch.block.z;
  json["shared_bytes"] = launch.shared_bytes;
  json["accesses"] = Json::array();
  for (const lens::CompiledAccess& access : e.compiled_accesses) {
    Json written = Json::object(), machine = Json::object();
    for (const auto& [bytes, count] : access.written) written[std::to_string(bytes)] = count;
    for (const auto& [bytes, count] : access.machine) machine[std::to_string(bytes)] = count;
    json["accesses"].push_back({{"file", access.file},
                                {"line", access.line},
                                {"kind", name_of(access.kind)},
                                {"written", written},
                                {"machine", machine},
                                {"merged", access.is_merged()},
                                {"split", access.is_split()}});
  }
  json["occupancy"] = nullptr;
  if (e.occupancy) json["occupancy"] = occupancy_json(*e.occupancy);
  json["time"] = nullptr;
  if (e.time) {
    Json busy = Json::object();
    for (const model::BusyShare& share : e.time->busy) busy[share.what] = share.share;
    json["time"] = {{"predicted_s", e.time->seconds},
                    {"predicted_tflops", e.flop / e.time->seconds / 1e12},
                    {"clock_mhz", e.time->clock_hz / 1e6},
                    {"limiter", e.time->limiter},
                    {"busy", busy},
                    {"waves", e.time->waves.count},
                    {"parts", e.time->parts ? parts_json(*e.time->parts) : Json()},
                    {"outside_s", e.time->outside_seconds},
                    {"c_s", e.time->c_seconds},
                    {"own_calibration", e.own_calibration},
                    {"documented_rates", e.documented_rates}};
  }
  json["power"] = nullptr;
  if (e.power) {
    const auto held = [&](const model::HeldClock& clock) {
      return Json{{"clock_mhz", clock.clock_hz / 1e6},
                  {"watts", clock.watts},
                  {"limited", clock.limited},
                  {"s", clock.seconds},
                  {"tflops", e.flop / clock.seconds / 1e12}};
    };
    json["power"] = {{"burst", held(e.power->burst)},       {"sustained", held(e.power->sustained)},
                     {"limit_w", e.power->limit_w},         {"joules", e.power->joules},
                     {"idle_joules", e.power->idle_joules}, {"own_calibration", e.power->own}};
  }
  json["counters_of"] = nullptr;
  json["counters"] = Json::array();
  json["stalls"] = Json::object();
  if (const std::optional<Explanation> counted = with_counters(e)) {
    const Problem& p = counted->question.problem;
    json["counters_of"] = {{"m", p.M}, {"n", p.N}, {"k", p.K}, {"reads_c", p.reads_c()}};
    for (const lens::CounterComparison& c : counted->counters)
      json["counters"].push_back(
          {{"counter", c.counter}, {"written", c.written}, {"compiled", c.compiled}, {"measured", c.measured}});
    for (const lens::Stall& stall : counted->stalls) json["stalls"][stall.reason] = stall.share;
  }
  json["measured_s"] = e.measured_seconds ? Json(*e.measured_seconds) : Json(nullptr);
  return json;
}

ExitCode run(const ExplainArguments& a) {
  const Rung& rung = lens::known_rung(a.kernel);
  const GemmKind kind = a.type ? parse_kind(*a.type) : rung.kernels.front().kind;
  const KernelEntry& kernel = rung.kernel(kind, a.tile);
  Explanation e;
  {
    report::Progress progress;
    progress.update(rung.name(), -1);
    const Problem problem{.kind = kind, .M = a.m, .N = a.n, .K = a.k, .beta = a.beta ? Factor::any : Factor::zero};
    e = lens::explain({&rung, &kernel, problem, chosen_gpu(a.gpu)});
  }
  if (a.predict) ask_for_guess(e);
  if (!a.html.empty())
    report::write_file(a.html, report::html_page(fmt::format("{} on {}", rung.name(), e.question.gpu.name), "",
                                                 page_of(e, a.as_compiled).html()));
  if (a.json)
    print(explanation_json(e));
  else if (a.html.empty())
    fmt::print("{}", page_of(e, a.as_compiled).terminal(report::wants_colour(stdout)));
  return success;
}

}  // namespace

Command add_explain(App program) {
  App app = program.add_subcommand("explain", "what a kernel costs and why, on any card, without one");
  const auto a = std::make_shared<ExplainArguments>();
  app.add_option("KERNEL", a->kernel, "a name that `lapidary list` shows").required().type_name("");
  app.add_option("-m", a->m, "rows of A and D (4096)").check(whole_number(1, most_predicted_size));
  app.add_option("-n", a->n, "columns of B and D (4096)").check(whole_number(1, most_predicted_size));
  app.add_option("-k", a->k, "columns of A and rows of B (4096)").check(whole_number(1, most_predicted_size));
  add_type_option(app, a->type);
  app.add_option("--tile", a->tile, "block tile, as `lapidary list` shows it (the first one)").type_name("TILE");
  app.add_flag("--beta", a->beta, "beta is not 0: C is read");
  app.add_flag(
      "--as-compiled", a->as_compiled,
      "also the mix of machine instructions, and each access to memory as written and as compiled (JSON always "
      "has them)");
  app.add_option("--html", a->html, "write the page into this file, as HTML that loads nothing").type_name("FILE");
  const Option predict = app.add_flag("--predict", a->predict, "ask for your guess first");
  app.add_flag("--json", a->json, "print JSON").excludes(predict);
  add_gpu_options(app, a->gpu);
  return {app, [a] { return run(*a); }};
}

}  // namespace lapidary::cli
