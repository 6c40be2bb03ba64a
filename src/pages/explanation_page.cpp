#include "pages/explanation_page.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "lens/source_text.hpp"
#include "pages/occupancy_page.hpp"

namespace lapidary::pages {
namespace {

using lens::CompiledAccess, lens::CounterComparison, lens::Executed, lens::Explanation, lens::LeastTime;
using lens::MatrixTraffic, lens::OperandReads, lens::Question, lens::SharedTraffic, lens::SourceText, lens::Stall;
using report::Column;
using report::Document;

/// Of what is estimated or measured.
std::string percent(double share) { return fmt::format("{:.0f} %", 100 * share); }

std::string plural(std::int64_t count, const char* noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

void add_matrices(Document& page, const Explanation& e) {
  page.heading(3, "Global memory");
  report::Table table({{"matrix"},
                       {"requests", Column::number},
                       {"sectors", Column::number},
                       {"a request", Column::number},
                       {"used", Column::number},
                       {"bytes a result", Column::number},
                       {"elements a result", Column::number}});
  for (const MatrixTraffic& m : e.matrices) {
    const char* const boxes = m.boxes == 0 ? "" : m.boxes == m.requests ? ", in boxes" : ", partly in boxes";
    table.add_row(
        {{m.name + (m.written ? ", written" : "") + boxes},
         {m.requests},
         {m.sectors},
         {fmt::format("{:.2f}", m.sectors_per_request)},
         {report::counted_percent(m.efficiency), m.efficiency < 0.5 ? report::Style::bad : report::Style::plain},
         {number_text(m.bytes_per_result)},
         {number_text(m.accesses_per_result)}});
  }
  page.table(std::move(table));
}

/// How often the elements of A and B are read, beside how many tiles need them.
void add_operand_reads(Document& page, const Explanation& e) {
  const Question& q = e.question;
  for (const OperandReads& reads : e.operand_reads) {
    const char* const plural = reads.tiles == 1 ? "" : "s";
    const std::string tiles = reads.matrix == "A" ? fmt::format("ceil(N / BN) = ceil({} / {}) = {} tile{} across D",
                                                                q.problem.N, q.kernel->tile.n, reads.tiles, plural)
                                                  : fmt::format("ceil(M / BM) = ceil({} / {}) = {} tile{} down D",
                                                                q.problem.M, q.kernel->tile.m, reads.tiles, plural);
    const std::string text = fmt::format("each element of {} is read {} over the grid", reads.matrix,
                                         reads.times == 1 ? "once" : fmt::format("{:.4g} times", reads.times));
    page.paragraph(reads.why.empty() ? fmt::format("{}, once for each of {}", text, tiles)
                                     : fmt::format("{}, while {} need it: {}", text, tiles, reads.why));
  }
}

std::string bytes_text(double bytes) {
  return bytes < 1e6   ? fmt::format("{:.4g} kB", bytes * 1e-3)
         : bytes < 1e9 ? fmt::format("{:.4g} MB", bytes * 1e-6)
                       : fmt::format("{:.4g} GB", bytes * 1e-9);
}

/// Memory's time against that of what multiplies, in one unit.
std::string least_time_text(const Explanation& e) {
  const LeastTime& least = e.least;
  const double compute = least.compute_seconds.value_or(0), longer = std::max(least.memory_seconds, compute);
  const auto time = [&](double seconds) {
    const double value = longer < 1e-3 ? seconds * 1e6 : seconds * 1e3;
    const char* const unit = longer < 1e-3 ? "us" : "ms";
    return value < 100 ? fmt::format("{:.3g} {}", value, unit) : fmt::format("{:.0f} {}", value, unit);
  };
  const std::string memory = fmt::format(
      "memory {}: {:.4g} MB at {:.4g} TB/s of DRAM, as {}", time(least.memory_seconds), e.compulsory_bytes / 1e6,
      least.dram_bytes_per_s * 1e-12, least.dram_measured ? "measured" : "published");
  if (!least.peak.known) return fmt::format("{}; compute: {}", memory, unknown_rate_text(least.peak, e.question.gpu));
  if (!least.compute_seconds)
    return fmt::format("{}; compute: {} has no {}", memory, e.question.gpu.name, least.peak.name);
  return fmt::format(
      "{}; compute {}: {:.4g} GFLOP at {:.1f} TFLOP/s of {}; {} takes {:.3g} times as long", memory, time(compute),
      e.flop / 1e9, least.peak.flops * 1e-12, least.peak.name == "f32" ? "f32 on CUDA cores" : least.peak.name,
      compute > least.memory_seconds ? "compute" : "memory", longer / std::min(least.memory_seconds, compute));
}

/// What lies between the multiprocessors and memory, and what is on its way to a block.
void add_traffic(Document& page, const Explanation& e) {
  if (const std::uint64_t bytes = e.observation.written.bytes_in_flight; bytes > 0)
    page.paragraph(fmt::format("on their way to a block's shared memory, at most: {} bytes, {:.3g} steps along K",
                               report::with_separators(bytes), steps_in_flight(e)));
  if (!e.traffic) return;
  const model::RasterTraffic& t = *e.traffic;
  const double spared = t.l2_to_sm_bytes - t.l2_read_bytes;
  page.paragraph(fmt::format(
      "from L2 to the multiprocessors: {}{}; DRAM: {} read, {} written, simulated with blocks in step, tiles "
      "{}",
      bytes_text(t.l2_to_sm_bytes),
      spared > 0 ? fmt::format(", of which {} leave L2 and multicast does the rest", bytes_text(t.l2_read_bytes)) : "",
      bytes_text(t.dram_read_bytes), bytes_text(t.dram_write_bytes),
      e.question.kernel->order.at      ? "in the kernel's own order"
      : e.question.kernel->order.tiles ? fmt::format("of one size {} rows at a time", lens::rows_of_several_sizes)
                                       : std::string("row by row")));
}

/// What tensor cores read, and what for.
void add_products(Document& page, const Explanation& e) {
  const emulator::Counters& total = e.observation.written.total;
  const auto count = [](std::uint64_t value) { return report::with_separators(value); };
  if (total.mma.instructions > 0)
    page.paragraph(fmt::format("products of tensor cores: {} instructions of warps, {:.0f} multiply-adds each",
                               count(total.mma.instructions),
                               static_cast<double>(total.mma.flop) / 2 / static_cast<double>(total.mma.instructions)));
  if (total.wgmma.instructions == 0) return;
  const double flop = static_cast<double>(total.wgmma.flop), bytes = static_cast<double>(total.wgmma.shared_bytes);
  std::string text = fmt::format("products of tensor cores: {} wgmma, {:.0f} multiply-adds each, on {} of operands",
                                 count(total.wgmma.instructions),
                                 flop / 2 / static_cast<double>(total.wgmma.instructions), bytes_text(bytes));
  const model::Gpu& gpu = e.question.gpu;
  // A card without wgmma has a peak, too, but none of these.
  if (const double rate = model::tensor_flop_per_clk(gpu, e.question.kernel->kind.type);
      rate > 0 && e.least.compute_seconds)
    text += fmt::format(" from shared memory: {:.0f} bytes a cycle at the peak rate, where it has {:.0f}",
                        bytes / (flop / rate), gpu.shared_bytes_per_clk);
  page.paragraph(text);
}

void add_shared(Document& page, const Explanation& e) {
  if (e.shared.empty()) return;
  page.heading(3, "Shared memory");
  report::Table table({{"source line"},
                       {"bytes", Column::number},
                       {"instructions", Column::number},
                       {"wavefronts", Column::number},
                       {"excess", Column::number},
                       {"why", Column::wrapped}});
  SourceText sources;
  std::string file;
  for (const SharedTraffic& line : e.shared) {
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
  page.table(std::move(table));
  if (e.observation.written.total.multiply_adds() == 0 || e.shared_loads.instructions_per_fma == 0) return;
  page.paragraph(fmt::format(
      "elements read for each multiply-add: {:.3g}; load instructions of a warp: {:.3g} as written, {:.3g} with "
      "neighbours merged to vectors",
      e.shared_loads.per_fma, e.shared_loads.instructions_per_fma, e.shared_loads.compiled_instructions_per_fma));
}

template <class Count>
std::string widths_text(const std::map<int, Count>& counts, bool with_counts) {
  std::vector<std::string> texts;
  for (const auto& [bytes, count] : counts)
    texts.push_back(with_counts ? fmt::format("{} x {} B", count, bytes) : fmt::format("{} B", bytes));
  return fmt::format("{}", fmt::join(texts, ", "));
}

/// "4096 of them multiply-adds (47 %)"
std::string products_text(const model::InstructionMix& mix) {
  const bool tensor = mix[model::InstructionClass::tensor] > 0;
  return fmt::format("{} of them {} ({})", number_text(mix.products()),
                     tensor ? "products of tensor cores" : "multiply-adds",
                     report::counted_percent(mix.products() / mix.all()));
}

/// What a warp executes, and what of it is there for addresses.
void add_executed(Document& page, const Explanation& e) {
  if (e.executed) {
    const auto& [pass, warp] = *e.executed;
    if (warp)
      page.paragraph(fmt::format("main loop: {} instructions, {}, {:.4g} times; all that a warp executes: {}, {}",
                                 number_text(pass.all()), products_text(pass), e.program->iterations,
                                 number_text(warp->all()), products_text(*warp)));
    else
      page.paragraph(
          fmt::format("one pass of the loop around the products, by a warp that copies nothing: {} instructions, {}",
                      number_text(pass.all()), products_text(pass)));
  }
  if (e.addresses) page.paragraph(addresses_text(*e.addresses));
}

/// Class by class.
void add_mix(Document& page, const Executed& executed) {
  const auto& [pass, warp] = executed;
  std::vector<Column> columns = {{"instructions executed"}};
  std::vector<const model::InstructionMix*> mixes = {&pass};
  if (warp) mixes.push_back(&*warp);
  for (const model::InstructionMix* mix : mixes) {
    const char* const group = mix == &pass ? "a pass" : "a warp";
    columns.push_back({"number", Column::number, group});
    columns.push_back({"share", Column::number, group});
  }
  report::Table table(std::move(columns));
  for (std::size_t c = 0; c < model::instruction_classes; ++c) {
    if (mixes.back()->counts[c] == 0) continue;
    std::vector<report::Cell> cells = {{name_of(static_cast<model::InstructionClass>(c))}};
    for (const model::InstructionMix* mix : mixes) {
      cells.push_back({number_text(mix->counts[c])});
      cells.push_back({fmt::format("{:.1f} %", 100 * mix->counts[c] / mix->all())});
    }
    table.add_row(std::move(cells));
  }
  page.table(std::move(table));
}

void add_accesses(Document& page, const Explanation& e) {
  report::Table table({{"source line"}, {"a lane, as written"}, {"machine instructions"}, {""}});
  SourceText sources;
  std::string file;
  int line = 0;
  for (const CompiledAccess& a : e.compiled_accesses) {
    if (a.file != file) table.add_section(a.file);
    if (a.file != file || a.line != line)
      table.add_section(fmt::format("{:>5}  {}", a.line, sources.line(a.file, a.line)));
    file = a.file;
    line = a.line;
    const bool parts = a.is_merged() || a.is_split();
    const auto is_written = [&](const auto& width) { return a.written.contains(width.first); };
    const bool elsewhere = a.exchanged && !a.written.empty() &&
                           !std::all_of(a.machine.begin(), a.machine.end(), is_written);
    table.add_row({{fmt::format("       {}", name_of(a.kind))},
                   {a.written.empty() ? "not on this problem" : widths_text(a.written, false)},
                   {widths_text(a.machine, true)},
                   {a.is_merged()  ? "merged by ptxas"
                    : a.is_split() ? "split by ptxas"
                    : elsewhere    ? "some are another line's"
                                   : "",
                    parts ? report::Style::good : report::Style::plain}});
  }
  page.table(std::move(table));
}

/// "it goes to products on all multiprocessors 118.2 us (86 %), …"
std::string parts_text(const model::TimeParts& parts) {
  std::vector<std::string> texts;
  const auto add = [&](const char* what, double seconds) {
    if (seconds > 0)
      texts.push_back(fmt::format("{} {} ({})", what, time_text(seconds), percent(seconds / parts.sum())));
  };
  add("products on all multiprocessors", parts.products);
  add("waiting for the slowest of operands, L2 and DRAM", parts.slower);
  add("multiprocessors without a tile", parts.idle);
  add("epilogues", parts.epilogues);
  add("the first copies and the last results", parts.start_end);
  add("launch", parts.launch);
  return fmt::format("it goes to: {}", fmt::join(texts, ", "));
}

std::string held_text(const Explanation& e, const model::HeldClock& held) {
  return fmt::format("{:.0f} MHz at {:.0f} W, {}, {}", held.clock_hz / 1e6, held.watts, time_text(held.seconds),
                     rate_text(e, held.seconds));
}

std::string clocks_text(const Explanation& e, const lens::Power& power) {
  return fmt::format("in a burst {}{}; launch after launch {}{}{}", held_text(e, power.burst),
                     power.burst.limited ? ", which power limits" : "", held_text(e, power.sustained),
                     power.sustained.limited ? fmt::format(", at the limit of {:.0f} W", power.limit_w) : "",
                     power.own ? "" : " (by the energies of an H100)");
}

/// What the energy of a launch among many goes to, the most first.
std::string joules_text(const lens::Power& power) {
  std::vector<std::pair<std::string, double>> parts(power.joules.begin(), power.joules.end());
  parts.emplace_back("an idle card", power.idle_joules);
  double sum = 0;
  for (const auto& [what, joules] : parts) sum += joules;
  std::stable_sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::string> texts;
  for (const auto& [what, joules] : parts) texts.push_back(fmt::format("{} {}", what, percent(joules / sum)));
  return fmt::format("of the latter's {:.3g} J: {}", sum, fmt::join(texts, ", "));
}

}  // namespace

std::string addresses_text(const model::AddressWork& work) {
  return fmt::format(
      "addresses, counters and predicates in the loop of products: {} integer instructions for {} {}, {}; {} of the "
      "uniform datapath",
      work.integer, work.products, work.tensor ? "products of tensor cores" : "multiply-adds",
      work.tensor ? fmt::format("{:.2f} each", work.per_product()) : percent(work.per_product()), work.uniform);
}

std::string number_text(double value) {
  return value < 1000 ? fmt::format("{:.4g}", value)
                      : report::with_separators(static_cast<std::uint64_t>(std::llround(value)));
}

std::string time_text(double seconds) {
  return seconds < 1e-3 ? fmt::format("{:.1f} us", seconds * 1e6) : fmt::format("{:.2f} ms", seconds * 1e3);
}

std::string tflops_number(double flops) { return fmt::format("{:.1f}", flops / 1e12); }

std::string rate_text(const Explanation& e, double seconds) { return tflops_number(e.flop / seconds) + " TFLOP/s"; }

Document work_page(const Explanation& e) {
  const Question& q = e.question;
  Document page;
  if (e.instead) page.paragraph(fmt::format("what follows is of {}, which runs instead: {}", q.kernel->id(), e.why));
  page.paragraph(fmt::format("{}, tile {}, M = {}, N = {}, K = {}, on {}", to_string(q.kernel->kind),
                             to_string(q.kernel->tile), q.problem.M, q.problem.N, q.problem.K, q.gpu.name));
  page.paragraph(fmt::format("{:.4g} GFLOP on at least {:.4g} MB: {:.1f} FLOP a byte", e.flop / 1e9,
                             e.compulsory_bytes / 1e6, e.intensity));
  page.paragraph(least_time_text(e));
  if (e.observation.blocks < e.observation.tiles)
    page.paragraph(fmt::format("{} go through {} tiles of D, one after the other",
                               plural(e.observation.blocks, "block"),
                               report::with_separators(static_cast<std::uint64_t>(e.observation.tiles))));
  if (e.observation.blocks_run < e.observation.blocks)
    page.paragraph(fmt::format("{} of {} blocks {} run; the others do the same at other addresses",
                               e.observation.blocks_run,
                               report::with_separators(static_cast<std::uint64_t>(e.observation.blocks)),
                               e.observation.blocks_run == 1 ? "was" : "were"));
  return page;
}

Document memory_page(const Explanation& e) {
  Document page;
  add_matrices(page, e);
  add_operand_reads(page, e);
  add_traffic(page, e);
  add_shared(page, e);
  add_products(page, e);
  return page;
}

Document compiled_page(const Explanation& e, bool accesses) {
  Document page;
  if (!e.compiled) {
    const LaunchShape& launch = e.observation.launch;
    page.paragraph(
        fmt::format("{} threads and {} bytes of shared memory a block; of its machine code there is no record "
                    "(script/compiled writes one)",
                    launch.block.x * launch.block.y * launch.block.z, report::with_separators(launch.shared_bytes)));
    return page;
  }
  page.heading(3, fmt::format("As compiled by {} for {}", e.compiled->compiler, e.compiled->architecture));
  if (e.stale) page.paragraph("recorded from another version of the source: script/compiled brings it up to date");
  const LaunchShape& launch = e.observation.launch;
  const unsigned threads = launch.block.x * launch.block.y * launch.block.z;
  std::string text = fmt::format("{} registers a thread, {} threads and {} bytes of shared memory a block",
                                 e.compiled->registers, threads, report::with_separators(launch.shared_bytes));
  if (e.compiled->spilled_bytes > 0)
    text += fmt::format(", {} bytes of spill stores and loads", e.compiled->spilled_bytes);
  page.paragraph(text);
  if (e.occupancy) {
    if (e.occupancy->blocks > 0)
      page.paragraph(fmt::format("{} resident on a multiprocessor, {} of its warps; limited by {}",
                                 plural(e.occupancy->blocks, "block"), report::counted_percent(e.occupancy->fraction()),
                                 e.occupancy->limiters()));
    else
      page.paragraph(fmt::format("no block fits: {}", e.occupancy->reason));
    page.table(limits_table(e.question.gpu, *e.occupancy));
  }
  add_executed(page, e);
  if (accesses) {
    if (e.executed) add_mix(page, *e.executed);
    add_accesses(page, e);
  }
  return page;
}

Document time_page(const Explanation& e) {
  Document page;
  page.heading(3, "Time");
  if (!e.time) {
    page.paragraph(fmt::format("no prediction: {}", e.no_time));
    return page;
  }
  const model::TimePrediction& t = *e.time;
  const model::Waves& waves = t.waves;
  std::string text = fmt::format("predicted {}, {}", time_text(t.seconds), rate_text(e, t.seconds));
  if (e.measured_seconds && e.question.problem.reads_c())
    text += fmt::format("; measured with beta = 0, which reads no C: {}, {}", time_text(*e.measured_seconds),
                        rate_text(e, *e.measured_seconds));
  else if (e.measured_seconds)
    text += fmt::format("; measured {}, {}: the prediction is {:+.0f} % off", time_text(*e.measured_seconds),
                        rate_text(e, *e.measured_seconds), 100 * (t.seconds / *e.measured_seconds - 1));
  page.paragraph(text);
  page.paragraph(fmt::format("limited by {}{}", t.limiter,
                             t.limiter.starts_with("latency")
                                 ? ": nothing is busy all the time, warps wait for each other or for answers"
                                 : ""));
  std::vector<std::string> busy, stalls;
  for (const model::BusyShare& share : t.busy) busy.push_back(fmt::format("{} {}", share.what, percent(share.share)));
  page.paragraph(fmt::format("busy in the main loop: {}", fmt::join(busy, ", ")));
  if (t.parts)
    page.paragraph(parts_text(*t.parts));
  else if (t.c_seconds > 0 || t.limiter == model::outside_main_loop)
    page.paragraph(fmt::format("before and behind the main loop: {} ({})", time_text(t.outside_seconds),
                               percent(t.outside_seconds / t.seconds)));
  if (t.c_seconds > 0)
    page.paragraph(
        fmt::format("reading C in epilogues: {} ({})", time_text(t.c_seconds), percent(t.c_seconds / t.seconds)));
  // What is rarer tells nothing.
  for (const Stall& stall : e.stalls)
    if (stall.share >= 0.05) stalls.push_back(fmt::format("`{}` {}", stall.reason, percent(stall.share)));
  if (!stalls.empty()) page.paragraph(fmt::format("the card's warps waited for: {}", fmt::join(stalls, ", ")));
  const bool persistent = e.observation.blocks < e.observation.tiles;
  page.paragraph(fmt::format(
      "{}, {} at a time: {}, the last one {} full; launch {}{}", plural(waves.blocks, persistent ? "tile" : "block"),
      waves.per_wave, plural(waves.count, "wave"), report::counted_percent(waves.last), time_text(t.launch_seconds),
      t.tail_seconds > 0 ? fmt::format(", last wave {}", time_text(t.tail_seconds)) : ""));
  if (e.observation.written.total.wgmma.instructions == 0)
    page.paragraph(fmt::format("caches: L1 holds {} of the sectors that loads ask for, L2 {} of the others",
                               percent(e.l1_hit), percent(e.l2_hit)));
  if (e.power) {
    page.paragraph(clocks_text(e, *e.power));
    page.paragraph(joules_text(*e.power));
  }
  if (e.documented_rates)
    page.paragraph(
        "the rates of tensor cores are from texts: no measurement of this card is on record (script/calibrate)");
  if (!e.own_calibration)
    page.paragraph(fmt::format(
        "the constants are those of the H200, with the bandwidths and lanes that `lapidary gpus` has of {}, which has "
        "not been calibrated (script/calibrate)",
        e.question.gpu.name));
  return page;
}

Document counters_page(const Explanation& e) {
  Document page;
  if (e.counters.empty()) return page;
  const Problem& p = e.question.problem;
  page.heading(3, fmt::format("Counters of the {} at {} x {} x {}{}", e.question.gpu.name, p.M, p.N, p.K,
                              p.reads_c() ? " with beta" : ""));
  report::Table table({{"counter"},
                       {"as written", Column::number},
                       {"as compiled", Column::number},
                       {"measured", Column::number},
                       {"", Column::number}});
  for (const CounterComparison& c : e.counters) {
    const double off = c.measured != 0 ? c.compiled / c.measured - 1 : 0;
    table.add_row({{c.counter},
                   {number_text(c.written)},
                   {number_text(c.compiled)},
                   {number_text(c.measured)},
                   {c.compiled == c.measured ? "=" : fmt::format("{:+.2f} %", 100 * off)}});
  }
  page.table(std::move(table));
  return page;
}

}  // namespace lapidary::pages
