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
#include "cli/source_text.hpp"
#include "report/progress.hpp"
#include "report/table.hpp"

namespace lapidary::cli {
namespace {

using lens::Explanation;
using report::Column;

struct Arguments {
  std::string kernel, tile;
  std::optional<std::string> type;
  std::int64_t m = 1024, n = 1024, k = 1024;
  bool beta = false, predict = false, json = false;
  GpuChoice gpu;
};

void print_paragraph(const std::string& text) { fmt::print("{}", report::paragraph(text, report::page_width)); }

void print_heading(const std::string& text) {
  fmt::print("\n{}\n", report::styled(text, report::Style::heading, report::wants_colour(stdout)));
}

std::string time_text(double seconds) {
  return seconds < 1e-3 ? fmt::format("{:.1f} us", seconds * 1e6) : fmt::format("{:.2f} ms", seconds * 1e3);
}

std::string rate_text(const Explanation& e, double seconds) {
  return fmt::format("{:.1f} TFLOP/s", e.flop / seconds / 1e12);
}

std::string percent(double share) { return fmt::format("{:.0f} %", 100 * share); }

void print_work(const Explanation& e) {
  const lens::Question& q = e.question;
  const RungInfo& info = *q.rung->info;
  print_heading(fmt::format("{}: {}", q.rung->name(), info.idea));
  if (*info.parent) print_paragraph(fmt::format("against {}: {}. {}.", info.parent, info.change, info.why));
  print_paragraph(fmt::format("{}, tile {}, M = {}, N = {}, K = {}, on {}", name_of(q.variant->type),
                              to_string(q.variant->tile), q.M, q.N, q.K, q.gpu.name));
  print_paragraph(fmt::format("{:.4g} GFLOP on at least {:.4g} MB: {:.1f} FLOP a byte", e.flop / 1e9,
                              e.compulsory_bytes / 1e6, e.intensity));
  if (e.observation.blocks_run < e.observation.blocks)
    print_paragraph(fmt::format("{} of {} blocks were run; the others do the same at other addresses",
                                e.observation.blocks_run,
                                report::with_separators(static_cast<std::uint64_t>(e.observation.blocks))));
}

void print_matrices(const Explanation& e) {
  print_heading("Global memory");
  report::Table table({{"matrix"},
                       {"requests", Column::number},
                       {"sectors", Column::number},
                       {"a request", Column::number},
                       {"used", Column::number},
                       {"bytes a result", Column::number},
                       {"accesses a result", Column::number}});
  for (const lens::MatrixTraffic& m : e.matrices) {
    table.add_row({{m.name + (m.written ? ", written" : "")},
                   {m.requests},
                   {m.sectors},
                   {fmt::format("{:.2f}", m.sectors_per_request)},
                   {percent(m.efficiency), m.efficiency < 0.5 ? report::Style::bad : report::Style::plain},
                   {fmt::format("{:.4g}", m.bytes_per_result)},
                   {fmt::format("{:.4g}", m.accesses_per_result)}});
  }
  fmt::print("{}", table.render(report::wants_colour(stdout)));
}

void print_shared(const Explanation& e) {
  if (e.shared.empty()) return;
  print_heading("Shared memory");
  report::Table table({{"source line"},
                       {"bytes", Column::number},
                       {"instructions", Column::number},
                       {"wavefronts", Column::number},
                       {"excess", Column::number},
                       {"why", Column::wrapped}});
  SourceText sources;
  std::string file;
  for (const lens::SharedTraffic& line : e.shared) {
    if (line.file != file) table.add_section(line.file);
    file = line.file;
    table.add_section(fmt::format("{:>5}  {}", line.line, sources.line(line.file, line.line)));
    const std::uint64_t excess = line.wavefronts - line.minimum;
    table.add_row({{line.store ? "       store" : "       load"},
                   {fmt::format("{}", line.bytes)},
                   {line.instructions},
                   {line.wavefronts},
                   {excess, excess > 0 ? report::Style::bad : report::Style::plain},
                   {line.cause}});
  }
  fmt::print("{}", table.render(report::wants_colour(stdout)));
  print_paragraph(fmt::format(
      "elements read for each multiply-add: {:.3g}; load instructions of a warp: {:.3g} as written, {:.3g} with "
      "neighbours merged to vectors",
      e.shared_loads_per_fma, e.instructions_per_fma, e.compiled_instructions_per_fma));
}

void print_compiled(const Explanation& e) {
  if (!e.compiled) return;
  print_heading(fmt::format("As compiled by {} for {}", e.compiled->compiler, e.compiled->architecture));
  if (e.stale) print_paragraph("recorded from another version of the source: script/compiled brings it up to date");
  const LaunchShape& launch = e.observation.launch;
  const unsigned threads = launch.block.x * launch.block.y * launch.block.z;
  std::string text = fmt::format("{} registers a thread, {} threads and {} bytes of shared memory a block",
                                 e.compiled->registers, threads, report::with_separators(launch.shared_bytes));
  if (e.compiled->spilled_bytes > 0) text += fmt::format(", {} bytes spilled", e.compiled->spilled_bytes);
  print_paragraph(text);
  if (e.occupancy) {
    if (e.occupancy->blocks > 0)
      print_paragraph(fmt::format("{} {} resident on a multiprocessor, {} of its warps; limited by {}",
                                  e.occupancy->blocks, e.occupancy->blocks == 1 ? "block" : "blocks",
                                  percent(e.occupancy->fraction()), e.occupancy->limiters()));
    else
      print_paragraph(fmt::format("no block fits: {}", e.occupancy->reason));
  }
  if (e.program)
    print_paragraph(fmt::format("main loop: {} instructions, {} of them multiply-adds, {:.4g} times",
                                e.program->programs.front().loop.size(), e.program->fma_per_iteration,
                                e.program->iterations));
}

void print_time(const Explanation& e) {
  print_heading("Time");
  if (!e.time) {
    print_paragraph(fmt::format("no prediction: {}", e.no_time));
    return;
  }
  const model::TimePrediction& t = *e.time;
  const model::Waves& waves = t.waves;
  std::string text = fmt::format("predicted {}, {}", time_text(t.seconds), rate_text(e, t.seconds));
  if (e.measured_seconds)
    text += fmt::format("; measured {}, {}: the prediction is {:+.0f} % off", time_text(*e.measured_seconds),
                        rate_text(e, *e.measured_seconds), 100 * (t.seconds / *e.measured_seconds - 1));
  print_paragraph(text);
  print_paragraph(fmt::format("limited by {}", t.limiter));
  std::string busy;
  for (const model::BusyShare& share : t.busy)
    busy += fmt::format("{}{} {}", busy.empty() ? "" : ", ", share.what, percent(share.share));
  print_paragraph(fmt::format("busy in the main loop: {}", busy));
  print_paragraph(fmt::format("{} blocks, {} at a time: {} {}, the last one {} full; launch {}, last wave {}",
                              waves.blocks, waves.per_wave, waves.count, waves.count == 1 ? "wave" : "waves",
                              percent(waves.last), time_text(t.launch_seconds), time_text(t.tail_seconds)));
  print_paragraph(fmt::format("caches: L1 holds {} of the sectors that loads ask for, L2 {} of the others",
                              percent(e.l1_hit), percent(e.l2_hit)));
  if (!e.own_calibration)
    print_paragraph(fmt::format("the constants are those of the H200: {} has not been calibrated (script/calibrate)",
                                e.question.gpu.name));
}

void print_counters_of_card(const Explanation& e) {
  if (e.counters.empty()) return;
  print_heading(fmt::format("Counters of the {}", e.question.gpu.name));
  report::Table table({{"counter"},
                       {"as written", Column::number},
                       {"as compiled", Column::number},
                       {"measured", Column::number},
                       {"", Column::number}});
  const auto count = [](double value) {
    return report::with_separators(static_cast<std::uint64_t>(std::llround(value)));
  };
  for (const lens::CounterComparison& c : e.counters) {
    const double off = c.measured != 0 ? c.compiled / c.measured - 1 : 0;
    table.add_row({{c.counter},
                   {count(c.written)},
                   {count(c.compiled)},
                   {count(c.measured)},
                   {c.compiled == c.measured ? "=" : fmt::format("{:+.2f} %", 100 * off)}});
  }
  fmt::print("{}", table.render(report::wants_colour(stdout)));
}

/// Asks for a guess before anything is told.
void ask_for_guess(const Explanation& e) {
  if (!e.time) return;
  fmt::print("{} at {} x {} x {} on {}: how many TFLOP/s? ", e.question.rung->name(), e.question.M, e.question.N,
             e.question.K, e.question.gpu.name);
  std::fflush(stdout);
  double guess = 0;
  if (std::cin >> guess && guess > 0) {
    const double predicted = e.flop / e.time->seconds / 1e12;
    fmt::print("your guess {:.1f}, the model {:.1f}{}\n", guess, predicted,
               e.measured_seconds ? fmt::format(", the card {:.1f}", e.flop / *e.measured_seconds / 1e12) : "");
  } else {
    fmt::print("no number\n");
  }
}

Json explanation_json(const Explanation& e) {
  const lens::Question& q = e.question;
  Json json = {{"kernel", q.rung->name()},
               {"type", name_of(q.variant->type)},
               {"tile", to_string(q.variant->tile)},
               {"gpu", q.gpu.name},
               {"m", q.M},
               {"n", q.N},
               {"k", q.K},
               {"flop", e.flop},
               {"compulsory_bytes", e.compulsory_bytes},
               {"flop_per_byte", e.intensity},
               {"blocks", e.observation.blocks},
               {"blocks_run", e.observation.blocks_run}};
  json["matrices"] = Json::array();
  for (const lens::MatrixTraffic& m : e.matrices)
    json["matrices"].push_back({{"matrix", m.name},
                                {"written", m.written},
                                {"requests", m.requests},
                                {"sectors", m.sectors},
                                {"efficiency", m.efficiency},
                                {"bytes", m.bytes},
                                {"bytes_per_result", m.bytes_per_result},
                                {"accesses_per_result", m.accesses_per_result}});
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
  json["shared_elements_per_fma"] = e.shared_loads_per_fma;
  json["shared_instructions_per_fma"] = {{"written", e.instructions_per_fma},
                                         {"compiled", e.compiled_instructions_per_fma}};
  json["compiled"] = nullptr;
  if (e.compiled)
    json["compiled"] = {{"compiler", e.compiled->compiler},
                        {"architecture", e.compiled->architecture},
                        {"stale", e.stale},
                        {"registers", e.compiled->registers},
                        {"spilled_bytes", e.compiled->spilled_bytes}};
  json["occupancy"] = nullptr;
  if (e.occupancy)
    json["occupancy"] = {{"blocks", e.occupancy->blocks},
                         {"warps", e.occupancy->warps()},
                         {"share", e.occupancy->fraction()},
                         {"limiters", e.occupancy->limiters()}};
  json["time"] = nullptr;
  if (e.time) {
    Json busy = Json::object();
    for (const model::BusyShare& share : e.time->busy) busy[share.what] = share.share;
    json["time"] = {{"predicted_s", e.time->seconds}, {"predicted_tflops", e.flop / e.time->seconds / 1e12},
                    {"limiter", e.time->limiter},     {"busy", busy},
                    {"waves", e.time->waves.count},   {"own_calibration", e.own_calibration}};
  }
  json["counters"] = Json::array();
  for (const lens::CounterComparison& c : e.counters)
    json["counters"].push_back(
        {{"counter", c.counter}, {"written", c.written}, {"compiled", c.compiled}, {"measured", c.measured}});
  json["measured_s"] = e.measured_seconds ? Json(*e.measured_seconds) : Json(nullptr);
  return json;
}

ExitCode run(const Arguments& a) {
  const Rung& rung = find_rung(a.kernel);
  const Type type = a.type ? parse_type(*a.type) : rung.variants.front().type;
  const RungVariant& variant = rung.variant(type, a.tile);
  Explanation e;
  {
    report::Progress progress;
    progress.update(rung.name(), -1);
    e = lens::explain({&rung, &variant, a.m, a.n, a.k, a.beta, chosen_gpu(a.gpu)});
  }
  if (a.json) {
    print(explanation_json(e));
    return success;
  }
  if (a.predict) ask_for_guess(e);
  print_work(e);
  print_matrices(e);
  print_shared(e);
  print_compiled(e);
  print_time(e);
  print_counters_of_card(e);
  return success;
}

}  // namespace

Command add_explain(CLI::App& program) {
  CLI::App* app = program.add_subcommand("explain", "what a kernel costs and why, on any card, without one");
  const auto a = std::make_shared<Arguments>();
  app->add_option("KERNEL", a->kernel, "a name that `lapidary list` shows")->required()->type_name("");
  app->add_option("-m", a->m, "rows of A and D (1024)")->check(whole_number(1, most_predicted_size));
  app->add_option("-n", a->n, "columns of B and D (1024)")->check(whole_number(1, most_predicted_size));
  app->add_option("-k", a->k, "columns of A and rows of B (1024)")->check(whole_number(1, most_predicted_size));
  app->add_option("--type", a->type, "f32 or f16 (the first one that the kernel has)")->type_name("TYPE");
  app->add_option("--tile", a->tile, "block tile, as `lapidary list` shows it (the first one)")->type_name("TILE");
  app->add_flag("--beta", a->beta, "beta is not 0: C is read");
  app->add_flag("--predict", a->predict, "ask for your guess first");
  app->add_flag("--json", a->json, "print JSON");
  add_gpu_options(*app, a->gpu);
  return {app, [a] { return run(*a); }};
}

}  // namespace lapidary::cli
