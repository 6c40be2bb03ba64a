#include "lens/observe.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "core/math.hpp"
#include "device/device.hpp"

namespace lapidary::lens {
namespace {

using emulator::AccessSite;
using emulator::BlockSample;
using emulator::Report;

constexpr std::int64_t line_bytes = 128;  ///< of L1; sectors lie within lines

/// Rows of tiles, or columns of them, of one kind.
struct Group {
  std::int64_t first, last, count;
};

/// The kinds of `tiles` rows of tiles with `extent` rows each: those that begin at the same place of a line of L1, and
/// the last one if the matrix ends within it. The offset of row i is a multiple of i elements, whatever the leading
/// dimension is: tiles that begin `per_line` rows apart begin at the same place of a line. So it is with columns.
std::vector<Group> groups_of(std::int64_t tiles, std::int64_t extent, bool ragged, std::int64_t per_line) {
  const std::int64_t whole = ragged ? tiles - 1 : tiles, period = per_line / std::gcd(extent, per_line);
  std::vector<Group> groups;
  for (std::int64_t first = 0; first < std::min(whole, period); ++first) {
    const std::int64_t count = ceil_div(whole - first, period);
    groups.push_back({first, first + (count - 1) * period, count});
  }
  if (ragged) groups.push_back({tiles - 1, tiles - 1, 1});
  return groups;
}

/// The kinds of tiles of a grid that walks them row by row (tile/grid.hpp).
struct Tiles {
  std::int64_t across;
  std::vector<Group> rows, cols;

  /// A block of each kind, the first or the last one of it, with the number of its kind.
  std::vector<BlockSample> sample(bool last) const {
    std::vector<BlockSample> samples;
    for (const Group& row : rows) {
      for (const Group& col : cols) {
        const std::int64_t block = last ? row.last * across + col.last : row.first * across + col.first;
        samples.push_back({static_cast<std::uint32_t>(block), static_cast<std::uint64_t>(row.count * col.count)});
      }
    }
    return samples;
  }
};

/// Memory of a device for one problem. What it holds does not matter: no access depends on it.
class Operands {
 public:
  Operands(Device& device, const RungVariant& variant, std::int64_t M, std::int64_t N, std::int64_t K, bool reads_c)
      : a_(device, bytes(variant.kind.type, M * K), "A"),
        b_(device, bytes(variant.kind.type, K * N), "B"),
        c_(device, bytes(variant.kind.result, M * N), "C"),
        d_(device, bytes(variant.kind.result, M * N), "D"),
        problem_(dense_problem(variant.kind, M, N, K)) {
    problem_.A = a_.data();
    problem_.B = b_.data();
    problem_.beta = reads_c ? 0.5f : 0.0f;
    problem_.C = c_.data();
    problem_.D = d_.data();
  }

  const GemmProblem& problem() const { return problem_; }

 private:
  static std::size_t bytes(Type type, std::int64_t elements) {
    return static_cast<std::size_t>(elements * size_of(type));
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
  const std::int64_t down = ceil_div<std::int64_t>(M, tile.m), across = ceil_div<std::int64_t>(N, tile.n);
  const std::int64_t per_line = line_bytes / size_of(variant.kind.type);
  const Tiles tiles{across, groups_of(down, tile.m, M % tile.m != 0, per_line),
                    groups_of(across, tile.n, N % tile.n != 0, per_line)};
  Observation found;
  found.blocks = down * across;
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
