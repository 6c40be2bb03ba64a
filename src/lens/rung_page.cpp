#include "lens/rung_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <optional>
#include <vector>

#include "kernels/sources.hpp"
#include "lens/bank_picture.hpp"
#include "lens/block_accesses.hpp"
#include "lens/coalescing_picture.hpp"
#include "lens/counter_comparison.hpp"
#include "lens/explanation_page.hpp"
#include "lens/fragment_picture.hpp"
#include "lens/rung_record.hpp"
#include "lens/tile_picture.hpp"
#include "model/measured.hpp"
#include "model/roofline.hpp"
#include "report/diff.hpp"

namespace lapidary::lens {
namespace {

using model::PredictedTime;
using report::Column;
using report::Document;

double flop_of(std::int64_t size) { return 2 * std::pow(static_cast<double>(size), 3); }

std::string tflops_text(std::int64_t size, double seconds) {
  return fmt::format("{:.1f}", flop_of(size) / seconds / 1e12);
}

void add_idea(Document& page, const Rung& rung, const PageTarget& target) {
  const RungInfo& info = *rung.info;
  const auto& rungs = whole_ladder();
  const auto at = std::find_if(rungs.begin(), rungs.end(), [&](const Rung& r) { return r.name() == rung.name(); });
  std::vector<Document::Link> links = {{fmt::format("source of {}", info.name), target.source(rung.source)}};
  if (*info.parent) links.push_back({fmt::format("parent: {}", info.parent), target.page(info.parent)});
  if (at != rungs.end() && at + 1 != rungs.end())
    links.push_back({fmt::format("next: {}", at[1].get().name()), target.page(at[1].get().name())});
  page.links(std::move(links));
  page.paragraph(fmt::format("{}. {}.", info.change, info.why));
  page.paragraph(fmt::format("What should move: {}.", info.counter));
  page.paragraph(fmt::format("What it costs: {}.", info.cost));
}

void add_difference(Document& page, const Rung& rung) {
  Document part;
  if (!*rung.info->parent) {
    part.code(std::string(rung_source(rung.name())), "cuda");
    page.folded("The source", std::move(part));
    return;
  }
  const Rung& parent = known_rung(rung.info->parent);
  part.code(report::unified_diff(parent.source, rung_source(parent.name()), rung.source, rung_source(rung.name())),
            "diff");
  page.folded(fmt::format("The difference from {}", parent.name()), std::move(part));
}

/// The threads' places in the tile, and what limits a warp's accesses: banks where it uses shared memory, sectors
/// where it does not.
void add_pictures(Document& page, const Explanation& e) {
  const Question& q = e.question;
  const std::string name(q.rung->name());
  const std::string title = fmt::format("{} {}", q.rung->name(), to_string(q.kernel->tile));
  // Results that bulk copies store are no thread's.
  if (e.observation.written.total.bulk_store.requests == 0)
    page.picture(tile_picture(title, owners_of(*q.rung), 0), name + "-tiles",
                 "What thread 0 and its warp compute, and what of A and B they take.");
  std::vector<BankView> banks = bank_views(e.observation);
  if (banks.empty()) {
    std::vector<CoalescingView> loads;
    for (const GlobalAccess& access : global_accesses(*q.kernel, q.problem, 0))
      if (!access.store) loads.push_back(coalescing_view(access));
    if (loads.empty()) return;  // bulk copies do it all
    page.picture(coalescing_picture(title, loads, 0), name + "-sectors",
                 "The sectors of 32 bytes that the first warp's loads touch.");
    return;
  }
  const auto excess = [](const BankView& view) { return view.wavefronts - view.minimum(); };
  const auto conflicts = std::count_if(banks.begin(), banks.end(), [&](const BankView& v) { return excess(v) > 0; });
  if (conflicts > 0) std::erase_if(banks, [&](const BankView& view) { return excess(view) == 0; });
  page.picture(bank_picture(title, banks, 0), name + "-banks",
               conflicts > 0 ? "The accesses to shared memory that take more wavefronts than they have to."
                             : "The accesses to shared memory; each takes the fewest wavefronts that it can.");
}

/// Who holds what of the instruction of tensor cores that the machine code has, if it has one.
void add_fragment(Document& page, const Explanation& e) {
  if (!e.compiled) return;
  const auto& code = e.compiled->instructions;
  const auto found = std::find_if(code.begin(), code.end(),
                                  [](const auto& i) { return i.kind == model::InstructionClass::tensor; });
  if (found == code.end()) return;
  TensorInstruction instruction = parse_tensor_instruction(found->opcode);
  if (instruction.kind == TensorInstruction::Kind::wgmma) {
    // The code does not tell how tiles lie in shared memory: as the matrices do, with the swizzle of tile/tma_tile.hpp.
    const GemmKind kind = e.question.kernel->kind;
    instruction.a_shared = SharedForm{kind.a == Order::row_major ? Major::k : Major::mn, TensorSwizzle::bytes128};
    instruction.b_shared = SharedForm{kind.b == Order::row_major ? Major::mn : Major::k, TensorSwizzle::bytes128};
  }
  const std::string text = to_string(instruction);
  std::string name = "fragment " + text;  // rungs of the same instruction share its picture
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '-');
  page.picture(fragment_picture(fragment_of(instruction), 0), name,
               fmt::format("Which thread holds what of the operands of `{}`, the instruction of its products; as text: "
                           "`lapidary fragment {}`.",
                           found->opcode, text));
}

void add_times(Document& page, const Rung& rung, const model::Gpu& gpu, const model::Predictions& all) {
  std::map<std::pair<std::string, std::string>, std::map<std::int64_t, PredictedTime>> of_tiles;  // by tile and type
  std::map<std::int64_t, bool> sizes;
  for (const PredictedTime& time : all.times) {
    if (time.kernel != rung.name()) continue;
    of_tiles[{time.tile, time.type}].emplace(time.size, time);
    sizes[time.size] = true;
  }
  if (of_tiles.empty()) return;
  page.heading(3, fmt::format("Predicted and measured on the {}", gpu.name));
  std::vector<Column> columns = {{"type"}, {"tile"}};
  for (const auto& [size, there] : sizes) {
    const std::string group = fmt::format("{}³", size);
    columns.push_back({"predicted", Column::number, group});
    columns.push_back({"measured", Column::number, group});
  }
  columns.push_back({"limited by, predicted", Column::wrapped});
  report::Table table(std::move(columns));
  for (const KernelEntry& kernel : rung.kernels) {
    const auto times = of_tiles.find({to_string(kernel.tile), to_string(kernel.kind)});
    if (times == of_tiles.end()) continue;
    std::vector<report::Cell> cells = {{times->first.second}, {times->first.first}};
    for (const auto& [size, there] : sizes) {
      const auto time = times->second.find(size);
      const bool known = time != times->second.end();
      cells.push_back({known ? tflops_text(size, time->second.predicted_s) : "-"});
      cells.push_back({known ? tflops_text(size, time->second.measured_s) : "-"});
    }
    cells.push_back({times->second.rbegin()->second.limiter});
    table.add_row(std::move(cells));
  }
  page.table(std::move(table));
  page.paragraph("TFLOP/s of bursts at the card's full clock; the limiter is that of the largest size.");
}

/// Why a counter differs from what was computed, as far as that is known.
std::string reason_for(const model::PredictedCounter& c, const Explanation& e) {
  if (c.counter == "shared_store_wavefronts")
    return "a store that meets loads of other warps is arbitrated and takes wavefronts of its own, which depend on the "
           "moment";
  if (c.counter == "global_load_sectors")
    return "with two blocks a multiprocessor the card counts five sectors, not four, for each `LDGSTS.E` of 4 bytes a "
           "lane, with one block four; why is not known";
  if (c.counter == "instructions")
    return "the main loop is taken to run whole for each tile, but the last tile has no next one to load from";
  const bool empty_loads = e.compiled && std::any_of(e.compiled->instructions.begin(), e.compiled->instructions.end(),
                                                     [](const auto& i) { return i.text.starts_with("@!PT LDS"); });
  if (c.counter == "shared_load_instructions" || c.counter == "shared_load_wavefronts") {
    if (empty_loads)
      return "the code above is taken to run once for each tile, but the last tile has no next one to load from; "
             "`@!PT LDS RZ, [RZ]`, which the compiler puts before a run of `LDGSTS`, is counted and moves nothing";
    return "loads of one width are taken to cost the average of what the emulated machine counted for that width";
  }
  return "";
}

void add_counters(Document& page, const Explanation& e, const model::Predictions& all) {
  const Rung& rung = *e.question.rung;
  const model::Gpu& gpu = e.question.gpu;
  const KernelEntry& shown = *e.question.kernel;
  for (const model::PredictedCounters& launch : all.counters) {
    if (launch.kernel != rung.name() || launch.type != to_string(shown.kind) || launch.tile != to_string(shown.tile) ||
        launch.M != 1024)
      continue;
    page.heading(3, fmt::format("Counters of the {}", gpu.name));
    report::Table table({{"counter"},
                         {"as written", Column::number},
                         {"as compiled", Column::number},
                         {"measured", Column::number},
                         {"off", Column::number}});
    const auto count = [](double value) { return static_cast<std::uint64_t>(std::llround(value)); };
    std::vector<std::pair<std::string, std::string>> reasons;  // counters, and why
    for (const model::PredictedCounter& c : launch.counters) {
      const bool same = count(c.compiled) == count(c.measured);
      table.add_row({{c.counter},
                     {count(c.written)},
                     {count(c.compiled)},
                     {count(c.measured)},
                     {same ? "" : fmt::format("{:+.1f} %", 100 * (c.compiled / c.measured - 1)),
                      same ? report::Style::plain : report::Style::bad}});
      const std::string reason = same ? "" : reason_for(c, e);
      if (reason.empty()) continue;
      if (!reasons.empty() && reasons.back().second == reason) {
        reasons.back().first += fmt::format(", `{}`", c.counter);
      } else {
        reasons.emplace_back(fmt::format("`{}`", c.counter), reason);
      }
    }
    page.table(std::move(table));
    for (const auto& [counters, reason] : reasons) page.paragraph(fmt::format("{}: {}.", counters, reason));
    std::string stalls;
    for (const model::MeasuredCounters& measured : model::measured_counters(gpu)) {
      if (measured.id != launch.id || measured.M != launch.M) continue;
      for (const Stall& stall : stalls_of(measured.counters))
        if (stall.share >= 0.05)
          stalls += fmt::format("{}`{}` {:.0f} %", stalls.empty() ? "" : ", ", stall.reason, 100 * stall.share);
      break;
    }
    page.paragraph(fmt::format("Read by Nsight Compute at {} x {} x {} with beta = 0.5. Its warps waited for: {}.",
                               launch.M, launch.N, launch.K, stalls));
  }
}

/// The fastest tile of a rung's first type at page_size, by what was measured.
std::optional<PredictedTime> fastest(const model::Predictions& all, const Rung& rung) {
  std::optional<PredictedTime> best;
  for (const PredictedTime& time : all.times)
    if (time.kernel == rung.name() && time.type == to_string(rung.kernels.front().kind) && time.size == page_size &&
        (!best || time.measured_s < best->measured_s))
      best = time;
  return best;
}

/// The peer at page_size in a type, median over its runs beside the rungs.
std::optional<double> peer_flops(const model::Gpu& gpu, std::string_view type) {
  std::vector<double> rates;
  for (const model::MeasuredRate& rate : model::measured_rates(gpu))
    if (rate.size == page_size && rate.mode == "burst" && rate.type == type && rate.cublas_flops)
      rates.push_back(*rate.cublas_flops);
  if (rates.empty()) return std::nullopt;
  std::nth_element(rates.begin(), rates.begin() + static_cast<std::ptrdiff_t>(rates.size() / 2), rates.end());
  return rates[rates.size() / 2];
}

/// Kernels of the ladder that multiply with the same units, and what those reach.
struct Floor {
  std::string units;
  double ceiling;
  std::optional<double> peer;
  std::vector<PredictedTime> times;
};

std::vector<Floor> floors_of(const model::Gpu& gpu) {
  const model::Predictions all = model::recorded_predictions(gpu);
  const double tensor = model::tensor_peak(gpu, model::tensor_flop_per_clk(gpu, Type::bf16));
  Floor cuda{"f32", model::ceilings(gpu).f32_flops, peer_flops(gpu, "f32"), {}};
  Floor cores{"bf16", tensor, peer_flops(gpu, "bf16"), {}};
  for (const Rung& rung : whole_ladder()) {
    const auto best = fastest(all, rung);
    const bool simt = rung.family == "simt";
    // Of FP8, whose ceiling is another one, there is a single rung.
    if (best && (simt || rung.kernels.front().kind.type == Type::bf16)) (simt ? cuda : cores).times.push_back(*best);
  }
  std::vector<Floor> floors = {cuda};
  if (!cores.times.empty() && tensor > 0) floors.push_back(cores);
  return floors;
}

constexpr double bars_left = 190, bars_width = 600, bar_row = 26;

/// Bars from `top` on, below an axis of their own.
void draw_floor(report::Svg& svg, const Floor& floor, double top) {
  using report::Anchor, report::Colour;
  const double scale = bars_width / floor.ceiling;
  const double bottom = top + bar_row * static_cast<double>(floor.times.size());
  const int step = floor.ceiling > 200e12 ? 100 : 10;
  for (int tflops = 0; tflops * 1e12 < floor.ceiling; tflops += step) {
    const double x = bars_left + tflops * 1e12 * scale;
    svg.line({x, top}, {x, bottom}, Colour::padding, 1);
    svg.text({x, bottom + 16}, std::to_string(tflops), 11, Colour::faint, Anchor::middle);
  }
  double y = top;
  for (const PredictedTime& time : floor.times) {
    const double measured = flop_of(page_size) / time.measured_s, predicted = flop_of(page_size) / time.predicted_s;
    svg.text({bars_left - 10, y + 17}, time.kernel, 12, Colour::ink, Anchor::end);
    svg.rect(bars_left, y + 5, measured * scale, bar_row - 10, Colour::b,
             fmt::format("{}, tile {}: {:.1f} TFLOP/s measured", time.kernel, time.tile, measured * 1e-12));
    svg.line({bars_left + predicted * scale, y + 2}, {bars_left + predicted * scale, y + bar_row - 2}, Colour::conflict,
             3);
    const std::string value = fmt::format("{:.1f}", measured * 1e-12);
    if (measured * scale > 50) {
      svg.text({bars_left + 8, y + 17}, value, 11.5, Colour::on_colour, Anchor::start, true);
    } else {
      svg.text({bars_left + std::max(measured, predicted) * scale + 8, y + 17}, value, 11.5, Colour::ink, Anchor::start,
               true);
    }
    y += bar_row;
  }
  const auto limit = [&](double flops, const std::string& name) {
    const double x = bars_left + flops * scale;
    svg.line({x, top - 6}, {x, bottom}, Colour::ink, 1.5, true);
    svg.text({x, top - 12}, name, 11.5, Colour::ink, Anchor::middle);
  };
  if (floor.peer) limit(*floor.peer, fmt::format("cuBLAS {:.1f}", *floor.peer * 1e-12));
  limit(floor.ceiling, fmt::format("{} peak {:.1f}", floor.units, floor.ceiling * 1e-12));
}

}  // namespace

Explanation explain_for_page(const Rung& rung, const model::Gpu& gpu) {
  const KernelEntry& kernel = rung.kernels.front();
  return explain({&rung, &kernel, {.kind = kernel.kind, .M = page_size, .N = page_size, .K = page_size}, gpu});
}

Document rung_page(const Explanation& e, const PageTarget& target) {
  const Rung& rung = *e.question.rung;
  const model::Gpu& gpu = e.question.gpu;
  const model::Predictions all = model::recorded_predictions(gpu);
  Document page;
  page.heading(1, fmt::format("{}: {}", rung.name(), rung.info->idea));
  add_idea(page, rung, target);
  add_difference(page, rung);
  add_pictures(page, e);
  add_fragment(page, e);
  page.heading(2, "What it costs, computed");
  page.append(work_page(e));
  page.append(memory_page(e));
  page.append(compiled_page(e, true));
  page.append(time_page(e));
  page.heading(2, "What the card says");
  add_times(page, rung, gpu, all);
  add_counters(page, e, all);
  page.heading(2, "Something to try");
  page.paragraph(rung.info->exercise);
  return page;
}

report::Svg ladder_picture(const model::Gpu& gpu) {
  using report::Anchor, report::Colour;
  const std::vector<Floor> floors = floors_of(gpu);
  constexpr double first = 62, between = 70, right = 60;
  double bottom = first - between;
  for (const Floor& floor : floors) bottom += between + bar_row * static_cast<double>(floor.times.size());
  report::Svg svg(bars_left + bars_width + right, bottom + 62,
                  fmt::format("The ladder on {}: TFLOP/s of each kernel at M = N = K = {}", gpu.name, page_size));
  svg.text({20, 26}, fmt::format("The ladder on one {}, M = N = K = {}", gpu.name, page_size), 16, Colour::ink,
           Anchor::start, true);
  double top = first;
  for (const Floor& floor : floors) {
    draw_floor(svg, floor, top);
    top += between + bar_row * static_cast<double>(floor.times.size());
  }
  svg.rect(bars_left, bottom + 34, 22, 12, Colour::b);
  svg.text({bars_left + 28, bottom + 44}, "measured, TFLOP/s", 11.5, Colour::ink);
  svg.line({bars_left + 180, bottom + 31}, {bars_left + 180, bottom + 49}, Colour::conflict, 3);
  svg.text({bars_left + 188, bottom + 44}, "predicted", 11.5, Colour::ink);
  svg.text({bars_left + 270, bottom + 44}, "each with its fastest tile, in bursts at full clock", 11.5, Colour::faint);
  return svg;
}

report::Table ladder_table(const model::Gpu& gpu) {
  const model::Predictions all = model::recorded_predictions(gpu);
  report::Table table({{"kernel"},
                       {"idea", Column::wrapped},
                       {"type"},
                       {"tile"},
                       {"predicted", Column::number, "TFLOP/s"},
                       {"measured", Column::number, "TFLOP/s"},
                       {"limited by, predicted", Column::wrapped}});
  for (const Rung& rung : whole_ladder()) {
    const auto best = fastest(all, rung);
    table.add_row({{std::string(rung.name())},
                   {rung.info->idea},
                   {to_string(rung.kernels.front().kind)},
                   {best ? best->tile : to_string(rung.kernels.front().tile)},
                   {best ? tflops_text(page_size, best->predicted_s) : "-"},
                   {best ? tflops_text(page_size, best->measured_s) : "-"},
                   {best ? best->limiter : ""}});
  }
  return table;
}

}  // namespace lapidary::lens
