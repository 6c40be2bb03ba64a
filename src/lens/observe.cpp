#include "lens/observe.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "core/math.hpp"
#include "device/device.hpp"

namespace lapidary::lens {
namespace {

using emulator::AccessSite;
using emulator::BlockSample;
using emulator::Report;

/// The tiles of a grid that walks them row by row (tile/grid.hpp).
struct Tiles {
  std::int64_t down, across;
  bool ragged_m, ragged_n;

  /// Tiles of one kind: those within the matrix, and those along its edges.
  using Kind = std::pair<bool, bool>;
  Kind kind(std::int64_t block) const {
    return {ragged_m && block / across == down - 1, ragged_n && block % across == across - 1};
  }

  /// A block of each kind, the first or the last one of it, with the number of its kind.
  std::vector<BlockSample> sample(bool last) const {
    std::map<Kind, BlockSample> chosen;
    for (const std::int64_t row : {std::int64_t{0}, down - 2, down - 1}) {
      for (const std::int64_t col : {std::int64_t{0}, across - 2, across - 1}) {
        if (row < 0 || col < 0) continue;
        const std::int64_t block = row * across + col;
        const Kind of = kind(block);
        const std::int64_t rows = !ragged_m ? down : of.first ? 1 : down - 1;
        const std::int64_t cols = !ragged_n ? across : of.second ? 1 : across - 1;
        const BlockSample sample{static_cast<std::uint32_t>(block), static_cast<std::uint64_t>(rows * cols)};
        const auto [place, added] = chosen.emplace(of, sample);
        if (!added && last)
          place->second = std::max(place->second, sample,
                                   [](const auto& a, const auto& b) { return a.block < b.block; });
      }
    }
    std::vector<BlockSample> samples;
    for (const auto& [of, sample] : chosen) samples.push_back(sample);
    return samples;
  }
};

/// Memory of a device for one problem. What it holds does not matter: no access depends on it.
class Operands {
 public:
  Operands(Device& device, const RungVariant& variant, std::int64_t M, std::int64_t N, std::int64_t K, bool reads_c)
      : a_(device, bytes(variant, M * K), "A"),
        b_(device, bytes(variant, K * N), "B"),
        c_(device, bytes(variant, M * N), "C"),
        d_(device, bytes(variant, M * N), "D"),
        problem_{variant.type,          M,         N, K,         1, a_.data(), K, b_.data(), N,
                 reads_c ? 0.5f : 0.0f, c_.data(), N, d_.data(), N} {}

  const GemmProblem& problem() const { return problem_; }

 private:
  static std::size_t bytes(const RungVariant& variant, std::int64_t elements) {
    return static_cast<std::size_t>(elements * size_of(variant.type));
  }
  DeviceBuffer a_, b_, c_, d_;
  GemmProblem problem_;
};

Report run_blocks(const RungVariant& variant, std::int64_t M, std::int64_t N, std::int64_t K, bool reads_c,
                  const emulator::Options& options) {
  const auto device = open_emulator(options);
  const Operands operands(*device, variant, M, N, K, reads_c);
  run(variant, options.count ? Build::instrumented : Build::plain, device->stream(), operands.problem());
  return device->stream().machine->report();
}

bool same_counts(const Report& a, const Report& b) {
  const auto counts = [](const AccessSite& s) {
    return std::tie(s.file, s.line, s.access, s.memory, s.bytes, s.instructions, s.lanes, s.units, s.lines, s.minimum,
                    s.distinct_bytes);
  };
  return a.total.fma == b.total.fma &&
         std::equal(a.sites.begin(), a.sites.end(), b.sites.begin(), b.sites.end(),
                    [&](const AccessSite& x, const AccessSite& y) { return counts(x) == counts(y); });
}

/// Lets the scalar accesses of each source line to shared memory form vectors of 16 bytes where they lie side by side.
std::unordered_map<std::uintptr_t, emulator::Merge> merge_scalars(const Report& report) {
  std::unordered_map<std::uintptr_t, emulator::Merge> merges;
  std::map<std::pair<std::string, int>, unsigned> groups;
  for (const AccessSite& site : report.sites) {
    if (site.access != emulator::Access::shared_load || site.bytes >= 16) continue;
    const unsigned group = groups.emplace(std::pair(site.file, site.line), groups.size()).first->second;
    for (const std::uintptr_t pc : site.pcs) merges[pc] = {group, 16};
  }
  return merges;
}

}  // namespace

Observation observe(const RungVariant& variant, std::int64_t M, std::int64_t N, std::int64_t K, bool reads_c) {
  const TileShape& tile = variant.tile;
  const Tiles tiles{ceil_div<std::int64_t>(M, tile.m), ceil_div<std::int64_t>(N, tile.n), M % tile.m != 0,
                    N % tile.n != 0};
  Observation found;
  found.blocks = tiles.down * tiles.across;
  // The plain build's launch is that of a GPU: the other one's storage has red zones. No block of it is run.
  found.launch = run_blocks(variant, M, N, K, reads_c,
                            {.sample = [](const LaunchShape&) { return std::vector<BlockSample>(); }})
                     .launches.at(0);
  emulator::Options options{.count = true};
  const std::vector<BlockSample> first = tiles.sample(false), last = tiles.sample(true);
  if (static_cast<std::int64_t>(first.size()) < found.blocks) {
    options.sample = [first](const LaunchShape&) { return first; };
    found.written = run_blocks(variant, M, N, K, reads_c, options);
    options.sample = [last](const LaunchShape&) { return last; };
    if (!same_counts(found.written, run_blocks(variant, M, N, K, reads_c, options))) options.sample = nullptr;
  }
  found.blocks_run = options.sample ? static_cast<std::int64_t>(first.size()) : found.blocks;
  if (!options.sample) found.written = run_blocks(variant, M, N, K, reads_c, options);
  options.merge = merge_scalars(found.written);
  found.compiled = options.merge.empty() ? found.written : run_blocks(variant, M, N, K, reads_c, options);
  return found;
}

}  // namespace lapidary::lens
