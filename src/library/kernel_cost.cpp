#include "library/kernel_cost.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "core/math.hpp"
#include "kernels/split.hpp"

namespace lapidary::library {
namespace {

constexpr KernelCost costs[] = {
#include "library/kernel_costs.inc"
};

constexpr std::string_view rungs[] = {
    "multistage",   "bulk_transposed", "split_k",          "mma_multistage",   "wgmma_specialized", "wgmma_persistent",
    "wgmma_staged", "wgmma_cluster",   "wgmma_energy",     "wgmma_staged_f32", "wgmma_overlapped",  "wgmma_shared",
    "wgmma_waves",  "wgmma_batched",   "wgmma_grouped",    "wgmma_promoted",   "wgmma_split_k",     "wgmma_unaligned",
    "wgmma_skinny", "wgmma_deferred",  "wgmma_equal_areas"};

/// Null if the library does not choose it.
const KernelCost* cost_of(const KernelEntry& kernel) {
  const auto found = std::find_if(std::begin(costs), std::end(costs), [&, id = kernel.id()](const KernelCost& c) {
    if (c.id == id) return true;
    if (!kernel.finishes) return false;
    const KernelId row = parse_kernel_id(c.id);
    return key_of(row.rung, row.traits) == key_of(kernel.rung, kernel);
  });
  return found == std::end(costs) ? nullptr : &*found;
}

/// As bulk copies take none of 3 elements that lie next to each other.
bool takes_no_odd_lines(const KernelEntry& kernel) {
  return !refusal(kernel, resolved({.kind = kernel.kind, .M = 3, .N = 3, .K = 3})).empty();
}

}  // namespace

LibraryKernel::Work LibraryKernel::work(const Problem& p, int multiprocessors) const {
  const auto [rows, columns] = tiles_of(*kernel, p.M, p.N);
  const std::int64_t tiles = rows * columns * p.batch.count, steps = ceil_div<std::int64_t>(p.K, kernel->tile.k);
  const int share = kernel->split ? kernel->split->blocks(tiles, p.K, multiprocessors) : 1;
  return {static_cast<double>(tiles * share), static_cast<double>(ceil_div<std::int64_t>(steps, share)), share};
}

std::span<const KernelCost> kernel_costs() { return costs; }

std::span<const LibraryKernel> library_kernels() {
  static const std::vector<LibraryKernel> known = [] {
    std::vector<LibraryKernel> found;
    for (const Rung& rung : ladder())
      for (const KernelEntry& entry : rung.kernels)
        if (const KernelCost* const cost = cost_of(entry))
          found.push_back({entry.id(), &rung, &entry, cost, measured_cost_of(entry), takes_no_odd_lines(entry),
                           parse_kernel_id(cost->id).rung != entry.rung});
    return found;
  }();
  return known;
}

const LibraryKernel* library_kernel(const KernelEntry& kernel) {
  const auto kernels = library_kernels();
  const auto found = std::find_if(kernels.begin(), kernels.end(),
                                  [&](const LibraryKernel& known) { return known.kernel == &kernel; });
  return found == kernels.end() ? nullptr : &*found;
}

std::span<const std::string_view> library_rungs() { return rungs; }

std::string to_source(const KernelCost& c) {
  std::string passes;
  for (const double cycles : c.pass_cycles)
    if (cycles > 0) passes += fmt::format("{}{:.1f}", passes.empty() ? "" : ", ", cycles);
  return fmt::format("{{\"{}\", {}, {}, {}, {}, {:g}, {:.0f}, {{{}}}}},\n", c.id, c.persistent, c.threads, c.registers,
                     c.shared_bytes, c.depth, c.start_cycles, passes);
}

}  // namespace lapidary::library
