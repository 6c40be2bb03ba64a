#include "lens/observe.hpp"

#include <algorithm>
#include <functional>
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

constexpr std::int64_t line_bytes = 128, sector_bytes = 32;  ///< of L1; sectors lie within lines

/// Rows of tiles, or columns of them, of `extent` rows each, by kind: by the place within a unit of memory of
/// `per_unit` elements at which they begin, and the last one apart if the matrix ends within it. The offset of row i is
/// a multiple of i elements, whatever the leading dimension is: tiles that begin `per_unit` rows apart begin at the
/// same place of a unit. So it is with columns.
struct Kinds {
  std::int64_t tiles, period;
  bool ragged;

  Kinds(std::int64_t size, std::int64_t extent, std::int64_t per_unit)
      : tiles(ceil_div(size, extent)), period(per_unit / std::gcd(extent, per_unit)), ragged(size % extent != 0) {}
  std::int64_t of(std::int64_t tile) const { return ragged && tile == tiles - 1 ? period : tile % period; }
};

/// Blocks that do the same: the first and the last of them, and how many there are.
struct Group {
  std::uint32_t first, last;
  std::uint64_t count;

  static std::vector<BlockSample> sample(const std::vector<Group>& groups, bool last) {
    std::vector<BlockSample> samples;
    for (const Group& group : groups) samples.push_back({last ? group.last : group.first, group.count});
    return samples;
  }
};

/// The rank of a block in its cluster. Both number their parts with x moving fastest.
std::uint32_t rank_of(const LaunchShape& launch, std::uint32_t block) {
  const auto& [grid, by] = std::tie(launch.grid, launch.cluster);
  const std::uint32_t x = block % grid.x % by.x, y = block / grid.x % grid.y % by.y, z = block / grid.x / grid.y % by.z;
  return x + by.x * (y + by.y * z);
}

/// The blocks of a launch that go through kinds of tiles in the same order, and have the same rank in their clusters.
std::vector<Group> groups_of(const LaunchShape& launch, const std::vector<RowCol<int>>& order, const Kinds& rows,
                             const Kinds& cols) {
  std::map<std::vector<std::int64_t>, std::size_t> known;
  std::vector<Group> groups;
  const std::uint32_t blocks = launch.grid.x * launch.grid.y * launch.grid.z;
  std::vector<std::int64_t> tiles;
  for (std::uint32_t block = 0; block < blocks; ++block) {
    tiles.assign(1, rank_of(launch, block));
    for (std::size_t position = block; position < order.size(); position += blocks) {
      const auto [row, col] = order[position];
      tiles.push_back(order[position] == model::no_tile ? -1 : rows.of(row) * (cols.period + 1) + cols.of(col));
    }
    const auto [place, added] = known.try_emplace(tiles, groups.size());
    if (added) groups.push_back({block, block, 0});
    groups[place->second].last = block;
    ++groups[place->second].count;
  }
  return groups;
}

/// Memory of a device for one problem. What it holds does not matter: no access depends on it.
class Matrices {
 public:
  Matrices(Device& device, const Problem& problem)
      : a_(device, bytes(problem, Matrix::A), "A"),
        b_(device, bytes(problem, Matrix::B), "B"),
        c_(device, bytes(problem, Matrix::C), "C"),
        d_(device, bytes(problem, Matrix::D), "D"),
        operands_{
            .A = a_.data(), .B = b_.data(), .C = c_.data(), .D = d_.data(), .beta = problem.reads_c() ? 0.5f : 0.0f} {}

  const Operands& operands() const { return operands_; }

 private:
  static std::size_t bytes(const Problem& problem, Matrix matrix) {
    return static_cast<std::size_t>(shape_of(resolved(problem), matrix).bytes());
  }
  DeviceBuffer a_, b_, c_, d_;
  Operands operands_;
};

Report run_blocks(const KernelEntry& kernel, const Problem& problem, int multiprocessors, emulator::Options options) {
  options.multiprocessors = multiprocessors;
  const auto device = open_emulator(options);
  const Matrices matrices(*device, problem);
  run(kernel, options.count ? Build::instrumented : Build::plain, device->stream(), problem, matrices.operands());
  return device->stream().machine->report();
}

bool same_counts(const Report& a, const Report& b) {
  const auto counts = [](const AccessSite& s) {
    return std::tie(s.file, s.line, s.access, s.memory, s.bytes, s.instructions, s.lanes, s.units, s.lines, s.minimum,
                    s.distinct_bytes, s.shared_bytes, s.multicast_bytes);
  };
  return a.total.fma == b.total.fma && a.total.mma.flop == b.total.mma.flop &&
         a.total.wgmma.flop == b.total.wgmma.flop &&
         std::equal(a.sites.begin(), a.sites.end(), b.sites.begin(), b.sites.end(),
                    [&](const AccessSite& x, const AccessSite& y) { return counts(x) == counts(y); });
}

/// Whether bulk copies alone reach global memory, which know of sectors and of no lines.
bool copies_alone(const Report& report) {
  const emulator::Counters& total = report.total;
  return total.global_load.requests + total.global_store.requests + total.async_copy.requests == 0;
}

/// Whether as many bytes of D were written as it has: all of it, once.
bool writes_all(const Report& report, std::int64_t bytes) {
  std::uint64_t written = 0;
  for (const AccessSite& site : report.sites)
    if (site.memory == "D" && is_write(site.access)) written += site.distinct_bytes;
  return written == static_cast<std::uint64_t>(bytes);
}

/// Of the launch that multiplies the blocks given; of those before it, which pack operands, all.
std::function<std::vector<BlockSample>(const LaunchShape&)> sampler(const LaunchShape& launch,
                                                                    std::vector<BlockSample> blocks) {
  return [launch, blocks = std::move(blocks)](const LaunchShape& shape) {
    const auto same = [](const Extent3& a, const Extent3& b) { return a.x == b.x && a.y == b.y && a.z == b.z; };
    if (same(shape.grid, launch.grid) && same(shape.block, launch.block)) return blocks;
    std::vector<BlockSample> all;
    for (std::uint32_t block = 0; block < shape.grid.x * shape.grid.y * shape.grid.z; ++block)
      all.push_back({block, 1});
    return all;
  };
}

}  // namespace

std::unordered_map<std::uintptr_t, emulator::Merge> merged_loads(
    const Report& report, const std::function<unsigned(const std::string& file, int line)>& widest) {
  std::unordered_map<std::uintptr_t, emulator::Merge> merges;
  std::map<std::pair<std::string, int>, unsigned> groups;
  for (const AccessSite& site : report.sites) {
    const unsigned bytes = widest ? widest(site.file, site.line) : 16;
    if (site.access != emulator::Access::shared_load || static_cast<unsigned>(site.bytes) >= bytes) continue;
    const unsigned group = groups.emplace(std::pair(site.file, site.line), groups.size()).first->second;
    for (const std::uintptr_t pc : site.pcs) merges[pc] = {group, bytes};
  }
  return merges;
}

std::vector<RowCol<int>> visiting_order(const KernelEntry& kernel, std::int64_t M, std::int64_t N) {
  const TileShape& tile = kernel.tile;
  const std::int64_t down = ceil_div<std::int64_t>(M, tile.m), across = ceil_div<std::int64_t>(N, tile.n);
  if (!kernel.order.at) return model::visiting_order(down, across, model::Raster{});
  return model::visiting_order_by(down, across, [&](std::int64_t position) {
    const auto [row, col] = kernel.order.at(position, M, N);
    if (row < 0 || row >= M || col < 0 || col >= N) return model::no_tile;
    return RowCol<int>{static_cast<int>(row / tile.m), static_cast<int>(col / tile.n)};
  });
}

std::vector<RowCol<int>> order_by_cluster(const KernelEntry& kernel, const LaunchShape& launch, std::int64_t M,
                                          std::int64_t N) {
  const auto& [grid, by] = std::tie(launch.grid, launch.cluster);
  const std::vector<RowCol<int>> order = visiting_order(kernel, M, N);
  if (by.y == 1 && by.z == 1) return order;
  std::vector<std::size_t> blocks;
  for (std::uint32_t cz = 0; cz < grid.z; cz += by.z)
    for (std::uint32_t cy = 0; cy < grid.y; cy += by.y)
      for (std::uint32_t cx = 0; cx < grid.x; cx += by.x)
        for (std::uint32_t z = cz; z < cz + by.z; ++z)
          for (std::uint32_t y = cy; y < cy + by.y; ++y)
            for (std::uint32_t x = cx; x < cx + by.x; ++x) blocks.push_back(x + grid.x * (y + std::size_t{grid.y} * z));
  std::vector<RowCol<int>> ordered;
  for (std::size_t first = 0; first < order.size(); first += blocks.size())
    for (const std::size_t block : blocks)
      ordered.push_back(first + block < order.size() ? order[first + block] : model::no_tile);
  return ordered;
}

std::int64_t tiles_of_d(const KernelEntry& kernel, std::int64_t M, std::int64_t N, int multiprocessors) {
  if (kernel.order.tiles) return kernel.order.tiles(M, N, multiprocessors);
  return ceil_div<std::int64_t>(M, kernel.tile.m) * ceil_div<std::int64_t>(N, kernel.tile.n);
}

LaunchShape launch_of(const KernelEntry& kernel, const Problem& problem, int multiprocessors) {
  // The plain build's launch is that of a GPU: the other one's storage has red zones.
  const auto no_block = [](const LaunchShape&) { return std::vector<BlockSample>(); };
  return run_blocks(kernel, problem, multiprocessors, {.sample = no_block}).launches.back();
}

Observation observe(const KernelEntry& kernel, const Problem& problem, int multiprocessors) {
  const std::int64_t M = problem.M, N = problem.N;
  const TileShape& tile = kernel.tile;
  Observation found;
  const auto run = [&](const emulator::Options& options) {
    return run_blocks(kernel, problem, multiprocessors, options);
  };
  found.launch = launch_of(kernel, problem, multiprocessors);
  const auto& [x, y, z] = found.launch.grid;
  found.blocks = static_cast<std::int64_t>(x) * y * z;
  found.tiles = tiles_of_d(kernel, M, N, multiprocessors);
  emulator::Options options{.count = true, .multiply = false};
  found.blocks_run = found.blocks;
  // A kernel without an order of its own goes row by row: block b of n has the tiles b, b + n, b + 2 n and so on. Of
  // one whose blocks share a tile, or whose clusters go through several, it is not known.
  const auto& [cx, cy, cz] = found.launch.cluster;
  const bool row_by_row = found.blocks <= found.tiles && (found.blocks == found.tiles || cx * cy * cz == 1);
  for (const std::int64_t unit : {sector_bytes, line_bytes}) {
    if (options.sample || !(kernel.order.at || row_by_row)) break;
    if (unit == sector_bytes && !kernel.order.at) continue;
    const std::int64_t per_unit = unit / size_of(kernel.kind.type);
    const std::vector<Group> groups = groups_of(found.launch, visiting_order(kernel, M, N), {M, tile.m, per_unit},
                                                {N, tile.n, per_unit});
    if (static_cast<std::int64_t>(groups.size()) >= found.blocks) continue;
    options.sample = sampler(found.launch, Group::sample(groups, false));
    found.written = run(options);
    options.sample = sampler(found.launch, Group::sample(groups, true));
    if ((unit == line_bytes || copies_alone(found.written)) &&
        writes_all(found.written, M * N * size_of(kernel.kind.result)) && same_counts(found.written, run(options)))
      found.blocks_run = static_cast<std::int64_t>(groups.size());
    else
      options.sample = nullptr;
  }
  if (!options.sample) found.written = run(options);
  options.merge = merged_loads(found.written);
  found.compiled = options.merge.empty() ? found.written : run(options);
  return found;
}

}  // namespace lapidary::lens
