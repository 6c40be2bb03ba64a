#include "lens/bank_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "layout/bank_conflict.hpp"
#include "lens/lanes.hpp"

namespace lapidary::lens {

BankView bank_view(const std::string& title, const WarpAccess& access, SharedAccess kind) {
  BankView view;
  view.title = title;
  view.access = access;
  view.misaligned = misaligned_lanes(access);
  if (view.misaligned != 0) return view;
  const bool store = kind == SharedAccess::write;
  view.groups = kind == SharedAccess::ldmatrix ? bank_report(access, 8) : bank_report(access, store);
  for (const BankGroup& group : view.groups) view.wavefronts += group.wavefronts;
  if (view.wavefronts == view.minimum()) return view;
  if (kind != SharedAccess::ldmatrix) {
    view.cause = conflict_cause(access, store);
    return view;
  }
  // The rows of one matrix are served together, whatever the hardware would merge of a load.
  for (const BankGroup& group : view.groups) {
    if (group.wavefronts == 1) continue;
    WarpAccess matrix = access;
    matrix.active &= 0xffu << group.first_lane;
    view.cause = conflict_cause(matrix);
    if (!view.cause.empty()) break;
  }
  return view;
}

std::vector<BankView> bank_views(const Observation& observation) {
  std::vector<BankView> views;
  for (const emulator::AccessSite& site : observation.written.sites) {
    if (is_global(site.access)) continue;
    const bool store = is_write(site.access);
    const std::string title = fmt::format("{}, {} a lane, {}:{}", store ? "store" : "load", bytes_text(site.bytes),
                                          site.file.substr(site.file.rfind('/') + 1), site.line);
    WarpAccess access = site.worst;
    std::uint64_t line = ~std::uint64_t{0};
    for (int lane = 0; lane < 32; ++lane)
      if ((access.active >> lane & 1) != 0) line = std::min(line, access.address[lane] / 128 * 128);
    for (std::uint64_t& address : access.address) address -= line;
    views.push_back(bank_view(title, access, store ? SharedAccess::write : SharedAccess::read));
  }
  return views;
}

std::string bank_verdict(const BankView& view) {
  std::string text;
  if (view.misaligned != 0) {
    text = fmt::format("{} of {} lanes are not aligned to {} bytes: the hardware faults (lanes {})",
                       std::popcount(view.misaligned), std::popcount(view.access.active), view.access.bytes,
                       lanes_text(view.misaligned));
  } else {
    text = fmt::format(
        "{} wavefront{}, {}", view.wavefronts, view.wavefronts == 1 ? "" : "s",
        view.wavefronts == view.minimum() ? "the minimum" : fmt::format("minimum {}: {}", view.minimum(), view.cause));
  }
  if (view.torn != 0) {
    text += fmt::format("; the elements of {} lanes do not lie side by side, so this is no access to them",
                        std::popcount(view.torn));
  }
  return text;
}

std::vector<std::uint64_t> touched_lines(const BankView& view) {
  std::vector<std::uint64_t> lines;
  for (const BankGroup& group : view.groups) {
    for (const BankWord& word : group.words) lines.push_back(word.address / 128);
  }
  std::sort(lines.begin(), lines.end());
  lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
  return lines;
}

WordUse use_of_word(const BankView& view, std::uint64_t address) {
  WordUse use;
  for (const BankGroup& group : view.groups) {
    for (const BankWord& word : group.words) {
      if (word.address != address) continue;
      use.lanes |= word.lanes;
      use.excess |= word.wavefront > 0;
    }
  }
  return use;
}

std::array<int, 32> words_in_banks(const BankGroup& group) {
  std::array<int, 32> count{};
  for (const BankWord& word : group.words) ++count[static_cast<std::size_t>(word.bank())];
  return count;
}

bool is_padding(const BankView& view, std::uint64_t address) {
  if (!view.layout) return false;
  const auto size = static_cast<std::uint64_t>(view.element_bytes);
  const auto first = static_cast<int>(address / size), count = static_cast<int>(std::max<std::uint64_t>(4 / size, 1));
  for (int e = first; e < first + count; ++e) {
    if (view.layout->inverse(e)) return false;
  }
  return true;
}

}  // namespace lapidary::lens
