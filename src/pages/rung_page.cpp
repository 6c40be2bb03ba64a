#include "pages/rung_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <optional>
#include <vector>

#include "kernels/sources.hpp"
#include "lens/bank_view.hpp"
#include "lens/block_accesses.hpp"
#include "lens/coalescing_view.hpp"
#include "lens/counter_comparison.hpp"
#include "lens/fragment_map.hpp"
#include "lens/product_instruction.hpp"
#include "lens/rung_record.hpp"
#include "model/measured.hpp"
#include "pages/bank_picture.hpp"
#include "pages/coalescing_picture.hpp"
#include "pages/explanation_page.hpp"
#include "pages/fragment_picture.hpp"
#include "pages/tile_picture.hpp"
#include "report/diff.hpp"

namespace lapidary::pages {
namespace {

using lens::BankView, lens::CoalescingView, lens::Explanation, lens::Question;
using model::PredictedTime;
using report::Column;
using report::Document;

void add_idea(Document& page, const Rung& rung, const PageTarget& target) {
  const RungInfo& info = *rung.info;
  const auto& rungs = lens::whole_ladder();
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
  const Rung& parent = lens::known_rung(rung.info->parent);
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
    page.picture(tile_picture(title, lens::owners_of(*q.rung), 0), name + "-tiles",
                 "What thread 0 and its warp compute, and what of A and B they take.");
  std::vector<BankView> banks = lens::bank_views(e.observation);
  if (banks.empty()) {
    std::vector<CoalescingView> loads;
    for (const lens::GlobalAccess& access : lens::global_accesses(*q.kernel, q.problem, 0))
      if (!access.store) loads.push_back(coalescing_view(access));
    if (loads.empty()) return;  // bulk copies do it all
    page.picture(coalescing_picture(title, loads, 0), name + "-sectors",
                 "The sectors of 32 bytes that the first warp's loads touch.");
    return;
  }
  const auto conflicts = std::count_if(banks.begin(), banks.end(), [](const BankView& v) { return v.excess() > 0; });
  if (conflicts > 0) std::erase_if(banks, [](const BankView& view) { return view.excess() == 0; });
  page.picture(bank_picture(title, banks, 0), name + "-banks",
               conflicts > 0 ? "The accesses to shared memory that take more wavefronts than they have to."
                             : "The accesses to shared memory; each takes the fewest wavefronts that it can.");
}

/// Who holds what of the instruction of tensor cores that the machine code has, if it has one.
void add_fragment(Document& page, const Explanation& e) {
  const std::optional<lens::ProductInstruction> product = product_instruction(e);
  if (!product) return;
  const std::string text = to_string(product->instruction);
  std::string name = "fragment " + text;  // rungs of the same instruction share its picture
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '-');
  page.picture(fragment_picture(fragment_of(product->instruction), 0), name,
               fmt::format("Which thread holds what of the operands of `{}`, the instruction of its products; as text: "
                           "`lapidary fragment {}`.",
                           product->opcode, text));
}

/// @returns whether there are any
bool add_times(Document& page, const Rung& rung, const model::Gpu& gpu, const model::Predictions& all) {
  std::map<std::pair<std::string, std::string>, std::map<std::int64_t, PredictedTime>> of_tiles;  // by tile and type
  std::map<std::int64_t, bool> sizes;
  for (const PredictedTime& time : all.times) {
    if (time.kernel != rung.name()) continue;
    of_tiles[{time.tile, time.type}].emplace(time.size, time);
    sizes[time.size] = true;
  }
  if (of_tiles.empty()) return false;
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
      cells.push_back({known ? tflops_number(time->second.predicted_flops()) : "-"});
      cells.push_back({known ? tflops_number(time->second.measured_flops()) : "-"});
    }
    cells.push_back({times->second.rbegin()->second.limiter});
    table.add_row(std::move(cells));
  }
  page.table(std::move(table));
  page.paragraph("TFLOP/s of bursts after a rest; the limiter is that of the largest size.");
  return true;
}

/// @returns whether there are any
bool add_counters(Document& page, const Explanation& e, const model::Predictions& all) {
  bool found = false;
  const Rung& rung = *e.question.rung;
  const model::Gpu& gpu = e.question.gpu;
  const KernelEntry& shown = *e.question.kernel;
  for (const model::PredictedCounters& launch : all.counters) {
    if (launch.kernel != rung.name() || launch.type != to_string(shown.kind) || launch.tile != to_string(shown.tile) ||
        launch.M != 1024)
      continue;
    found = true;
    page.heading(3, fmt::format("Counters of the {}", gpu.name));
    report::Table table({{"counter"},
                         {"as written", Column::number},
                         {"as compiled", Column::number},
                         {"measured", Column::number},
                         {"off", Column::number}});
    std::vector<std::pair<std::string, std::string>> reasons;  // counters, and why
    for (const model::PredictedCounter& c : launch.counters) {
      const bool same = number_text(c.compiled) == number_text(c.measured);
      table.add_row({{c.counter},
                     {number_text(c.written)},
                     {number_text(c.compiled)},
                     {number_text(c.measured)},
                     {same ? "" : fmt::format("{:+.1f} %", 100 * (c.compiled / c.measured - 1)),
                      same ? report::Style::plain : report::Style::bad}});
      const std::string reason = same ? "" : why_off(c.counter, e);
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
      for (const lens::Stall& stall : lens::stalls_of(measured.counters))
        if (stall.share >= 0.05)
          stalls += fmt::format("{}`{}` {:.0f} %", stalls.empty() ? "" : ", ", stall.reason, 100 * stall.share);
      break;
    }
    page.paragraph(fmt::format("Read by Nsight Compute at {} x {} x {} with beta = 0.5. Its warps waited for: {}.",
                               launch.M, launch.N, launch.K, stalls));
  }
  return found;
}

}  // namespace

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
  const bool timed = add_times(page, rung, gpu, all), counted = add_counters(page, e, all);
  if (!timed || !counted)
    page.paragraph(fmt::format("Not on record: {}{}{}.", timed ? "" : fmt::format("times of cubes on an {}", gpu.name),
                               timed || counted ? "" : "; ",
                               counted ? "" : fmt::format("counters of an {} for this kernel", gpu.name)));
  page.heading(2, "Something to try");
  page.paragraph(rung.info->exercise);
  return page;
}

}  // namespace lapidary::pages
