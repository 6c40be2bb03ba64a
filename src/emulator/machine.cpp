#include "emulator/machine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <numeric>
#include <random>
#include <thread>
#include <tuple>
#include <vector>

#include "core/error.hpp"
#include "core/math.hpp"
#include "emulator/arena.hpp"
#include "emulator/cluster.hpp"
#include "emulator/counter_sums.hpp"
#include "emulator/grid_order.hpp"
#include "emulator/host_traps.hpp"
#include "emulator/launch_bounds.hpp"
#include "emulator/loop_watch.hpp"
#include "emulator/residents.hpp"

namespace lapidary::emulator {
namespace {

void check_limit(const LaunchShape& shape, const char* what, std::uint64_t value, std::uint64_t least,
                 std::uint64_t most) {
  if (value < least || value > most)
    throw InvalidArgument(
        fmt::format("kernel {} is launched with {} {}; {} to {} are legal", shape.kernel, value, what, least, most));
}

void validate(const LaunchShape& shape, const void* kernel) {
  check_limit(shape, "blocks in x", shape.grid.x, 1, LaunchLimits::grid_x);
  check_limit(shape, "blocks in y", shape.grid.y, 1, LaunchLimits::grid_yz);
  check_limit(shape, "blocks in z", shape.grid.z, 1, LaunchLimits::grid_yz);
  check_limit(shape, "threads in x", shape.block.x, 1, 1024);
  check_limit(shape, "threads in y", shape.block.y, 1, 1024);
  check_limit(shape, "threads in z", shape.block.z, 1, 64);
  check_limit(shape, "threads a block", std::uint64_t{shape.block.x} * shape.block.y * shape.block.z, 1,
              LaunchLimits::threads);
  const unsigned threads = shape.block.x * shape.block.y * shape.block.z, bounds = kernel ? launch_bounds(kernel) : 0;
  if (bounds && threads > bounds)
    throw InvalidArgument(fmt::format("kernel {} is launched with {} threads a block; its __launch_bounds__ allow {}",
                                      shape.kernel, threads, bounds));
  check_limit(shape, "blocks", std::uint64_t{shape.grid.x} * shape.grid.y * shape.grid.z, 1, LaunchLimits::grid_x);
  const auto& [x, y, z] = shape.cluster;
  check_limit(shape, "blocks a cluster", std::uint64_t{x} * y * z, 1, LaunchLimits::cluster);
  if (shape.grid.x % x || shape.grid.y % y || shape.grid.z % z)
    throw InvalidArgument(fmt::format(
        "kernel {} is launched with a grid of {} x {} x {} blocks, and clusters of {} x {} x {}; a grid is a multiple "
        "of its clusters in each direction, such as {} x {} x {}",
        shape.kernel, shape.grid.x, shape.grid.y, shape.grid.z, x, y, z, round_up(shape.grid.x, x),
        round_up(shape.grid.y, y), round_up(shape.grid.z, z)));
  check_limit(shape, "bytes of shared memory", shape.shared_bytes, 0, SharedMemory::dynamic_capacity);
}

// The clusters that multiprocessors of compute capability 9.0 have room for (CUDA Programming Guide, technical
// specifications). One at least.
unsigned most_resident(const LaunchShape& shape, int multiprocessors) {
  constexpr unsigned threads = 2048, blocks = 32, shared = 228 * 1024, shared_of_system = 1024;
  const unsigned of_block = round_up(shape.block.x * shape.block.y * shape.block.z, 32u);
  const unsigned fit = std::min({blocks, threads / of_block, shared / (shape.shared_bytes + shared_of_system)});
  return std::max(1u,
                  fit * static_cast<unsigned>(multiprocessors) / (shape.cluster.x * shape.cluster.y * shape.cluster.z));
}

}  // namespace

struct Machine::State {
  Options options;
  std::vector<std::string> memories = {""};  ///< labels of allocations, by MemoryRegion::id
  std::vector<LaunchShape> launches;
  Arena memory;
  GridOrder grid;
  std::vector<std::unique_ptr<ClusterRunner>> runners;
  std::mutex turn, companion_mutex;
  std::shared_ptr<void> companion;
};

Machine::Machine(const Options& options) : state_(std::make_unique<State>()) {
  state_->options = options;
  if (state_->options.threads == 0) state_->options.threads = std::max(1u, std::thread::hardware_concurrency());
}
// The companion gives its memory back to a machine that is still whole: some standard libraries have a unique_ptr null
// before what it owns ends.
Machine::~Machine() { state_->companion.reset(); }

const Options& Machine::options() const { return state_->options; }
Arena& Machine::memory() { return state_->memory; }
std::unique_lock<std::mutex> Machine::turn() { return std::unique_lock(state_->turn); }

void* Machine::companion(const std::function<std::shared_ptr<void>()>& make) {
  const std::lock_guard lock(state_->companion_mutex);
  if (!state_->companion) state_->companion = make();
  return state_->companion.get();
}

// The allocations of this launch. There are few labels, and SiteKey has room for few: what is beyond goes unnamed.
static std::vector<MemoryRegion> memory_regions(const Arena& memory, std::vector<std::string>& labels) {
  std::vector<MemoryRegion> regions;
  for (const auto& [base, allocation] : memory.allocations()) {
    auto label = std::find(labels.begin(), labels.end(), allocation.label);
    if (label == labels.end() && labels.size() < SiteKey::most_memories) label = labels.insert(label, allocation.label);
    const auto id = label == labels.end() ? 0 : static_cast<unsigned>(label - labels.begin());
    regions.push_back({base, allocation.end(), id});
  }
  return regions;
}

// The blocks of a cluster by rank; both are numbered with x moving fastest.
static std::vector<BlockSample> blocks_of(const LaunchShape& shape, std::uint32_t cluster) {
  const auto& [grid, by] = std::tie(shape.grid, shape.cluster);
  const std::uint32_t columns = grid.x / by.x, rows = grid.y / by.y;
  const std::uint32_t x = cluster % columns * by.x, y = cluster / columns % rows * by.y,
                      z = cluster / columns / rows * by.z;
  std::vector<BlockSample> blocks;
  for (std::uint32_t k = z; k < z + by.z; ++k)
    for (std::uint32_t j = y; j < y + by.y; ++j)
      for (std::uint32_t i = x; i < x + by.x; ++i) blocks.push_back({i + grid.x * (j + grid.y * k), 1});
  return blocks;
}

// The clusters of the chosen blocks. Blocks that only come along count nothing.
static std::vector<std::vector<BlockSample>> clusters_of(const LaunchShape& shape,
                                                         const std::vector<BlockSample>& samples) {
  const auto& [grid, by] = std::tie(shape.grid, shape.cluster);
  std::map<std::uint32_t, std::vector<BlockSample>> clusters;
  for (const auto& [block, weight] : samples) {
    const std::uint32_t x = block % grid.x / by.x, y = block / grid.x % grid.y / by.y,
                        z = block / grid.x / grid.y / by.z;
    const std::uint32_t cluster = x + grid.x / by.x * (y + grid.y / by.y * z);
    auto [found, added] = clusters.try_emplace(cluster);
    if (added) {
      found->second = blocks_of(shape, cluster);
      for (BlockSample& other : found->second) other.weight = 0;
    }
    for (BlockSample& other : found->second)
      if (other.block == block) other.weight += weight;
  }
  std::vector<std::vector<BlockSample>> list;
  for (auto& [cluster, blocks] : clusters) list.push_back(std::move(blocks));
  return list;
}

// In which order clusters begin. Those that have room at a time may begin in any, and none of those before them later.
static std::vector<std::uint32_t> order_of(std::uint32_t clusters, std::uint32_t resident, std::uint64_t seed) {
  std::vector<std::uint32_t> order(clusters);
  std::iota(order.begin(), order.end(), 0u);
  if (seed == 0) return order;
  std::minstd_rand random(static_cast<unsigned>(seed * 0x94d049bb133111ebu));
  for (std::uint32_t first = 0; first < clusters; first += resident)
    std::shuffle(order.begin() + first, order.begin() + std::min(clusters, first + resident), random);
  return order;
}

void Machine::run(const LaunchShape& shape, ThreadBody body) {
  validate(shape, body.kernel);
  const auto of_this_launch = turn();
  const std::uint32_t grid = shape.grid.x * shape.grid.y * shape.grid.z;
  std::vector<BlockSample> samples;
  if (state_->options.sample) samples = state_->options.sample(shape);
  for (const BlockSample& sample : samples)
    if (sample.block >= grid)
      throw InvalidArgument(
          fmt::format("block {} of kernel {} is to be run; there are {}", sample.block, shape.kernel, grid));
  const auto sampled = clusters_of(shape, samples);
  const std::uint32_t clusters = state_->options.sample ? static_cast<std::uint32_t>(sampled.size())
                                                        : grid / (shape.cluster.x * shape.cluster.y * shape.cluster.z);
  state_->launches.push_back(shape);
  if (clusters == 0) return;
  const std::vector<MemoryRegion> regions = memory_regions(state_->memory, state_->memories);
  state_->grid.begin_launch();
  if (state_->options.check) state_->memory.set_cells(true);

  const unsigned resident = most_resident(shape, state_->options.multiprocessors);
  const std::vector<std::uint32_t> order = order_of(clusters, resident, state_->options.seed);
  std::atomic<std::uint32_t> next{0};
  std::mutex mutex;
  std::exception_ptr failure;
  std::vector<std::thread> helpers;
  std::function<void(ClusterRunner&)> work;
  // A further host thread, if there is a cluster for it.
  const auto start = [&] {
    const std::lock_guard lock(mutex);
    if (next >= clusters) return false;
    const std::size_t number = helpers.size() + 1;
    try {
      while (state_->runners.size() <= number)
        state_->runners.push_back(std::make_unique<ClusterRunner>(state_->options, state_->memory, state_->grid));
      helpers.emplace_back(work, std::ref(*state_->runners[number]));
    } catch (const std::exception&) {
      // Those that wait find each other waiting, and end. It is a lane that asks: nothing may be thrown through it.
      if (!failure)
        failure = std::make_exception_ptr(
            InvalidArgument(fmt::format("{} blocks of kernel {} wait for others, and the host has no thread or memory "
                                        "for one more; launch fewer, or with fewer threads",
                                        number, shape.kernel)));
      next = clusters;
      return false;
    }
    return true;
  };
  Residents residents(resident, start);
  work = [&](ClusterRunner& runner) {
    runner.begin_launch(shape, body, regions, residents);
    const HostTraps traps;
    const LoopWatch watch(runner, state_->options.limit_s);
    try {
      for (std::uint32_t i; (i = next++) < clusters;)
        runner.run(sampled.empty() ? blocks_of(shape, order[i]) : sampled[order[i]]);
    } catch (...) {
      {
        const std::lock_guard lock(mutex);
        if (!failure) failure = std::current_exception();
      }
      next = clusters;  // the others finish those they are in, as far as they can
      residents.stop();
    }
    runner.end_launch();
  };
  if (state_->runners.empty())
    state_->runners.push_back(std::make_unique<ClusterRunner>(state_->options, state_->memory, state_->grid));
  for (unsigned i = 1; i < std::min(state_->options.threads, clusters) && start(); ++i) {
  }
  work(*state_->runners[0]);
  for (std::size_t joined = 0;; ++joined) {
    std::thread helper;
    {
      const std::lock_guard lock(mutex);
      if (joined == helpers.size()) break;
      helper = std::move(helpers[joined]);
    }
    helper.join();
  }
  if (state_->options.check) state_->memory.set_cells(false);
  if (failure) std::rethrow_exception(failure);
}

Report Machine::report() const {
  Sites sites;
  for (const auto& runner : state_->runners) runner->add_to(sites);
  Report report = report_of(sites, state_->memories);
  report.launches = state_->launches;
  for (const auto& runner : state_->runners) report.divergent_intervals += runner->divergent_intervals();
  return report;
}

void Machine::clear_report() {
  state_->launches.clear();
  for (const auto& runner : state_->runners) runner->clear_counters();
}

}  // namespace lapidary::emulator
