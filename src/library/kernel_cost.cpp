#include "library/kernel_cost.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/batch.hpp"
#include "core/math.hpp"
#include "kernels/split.hpp"

namespace lapidary::library {
namespace {

constexpr KernelCost costs[] = {
#include "library/kernel_costs.inc"
};

constexpr std::string_view rungs[] = {
    "multistage",       "bulk_transposed",       "split_k",        "mma_multistage",   "wgmma_specialized",
    "wgmma_persistent", "wgmma_staged",          "wgmma_cluster",  "wgmma_energy",     "wgmma_staged_f32",
    "wgmma_overlapped", "wgmma_shared",          "wgmma_waves",    "wgmma_pingpong",   "wgmma_batched",
    "wgmma_turned",     "wgmma_turned_pingpong", "wgmma_grouped",  "wgmma_promoted",   "wgmma_split_k",
    "wgmma_unaligned",  "wgmma_skinny",          "wgmma_deferred", "wgmma_equal_areas"};

/// Null if the library does not choose it.
const KernelCost* cost_of(const KernelEntry& kernel, const std::string& id) {
  const std::string tile = to_string(kernel.tile);
  const auto found = std::find_if(std::begin(costs), std::end(costs), [&](const KernelCost& c) {
    if (c.id == id) return true;
    // To take an id apart takes long.
    if (!kernel.finishes || c.id.find(tile) == c.id.npos) return false;
    const KernelId row = parse_kernel_id(c.id);
    return key_of(row.rung, row.traits) == key_of(kernel.rung, kernel);
  });
  return found == std::end(costs) ? nullptr : &*found;
}

/// Whether a rung is `ancestor`, or changes what does.
bool descends_from(std::string_view rung, std::string_view ancestor) {
  if (rung == ancestor) return true;
  const std::string_view parent = find_rung(rung).info->parent;
  return !parent.empty() && descends_from(parent, ancestor);
}

/// Whether a kernel takes a problem but not with a matrix whose lines, or whose first one, begin at an odd element.
bool asks_for_begins(const KernelEntry& kernel, std::int64_t Problem::*ld, int Alignments::*aligned) {
  Problem p = resolved({.kind = kernel.kind, .M = 64, .N = 64, .K = 64, .aligned = {16, 16, 16, 16}});
  if (kernel.batches) p.batch = one_after_another(p, 2);
  if (kernel.groups) {
    p.groups = 2;
    p.batch.stride_b = p.K * p.N;
  }
  if (!refusal(kernel, p).empty()) return false;
  Problem odd_lines = p, odd_base = p;
  odd_lines.*ld += 1;
  odd_base.aligned.*aligned = 1;
  return !refusal(kernel, odd_lines).empty() && !refusal(kernel, odd_base).empty();
}

/// As bulk copies take none of 3 elements that lie next to each other.
bool takes_no_odd_lines(const KernelEntry& kernel) {
  return !refusal(kernel, resolved({.kind = kernel.kind, .M = 3, .N = 3, .K = 3})).empty();
}

}  // namespace

LibraryKernel::Work LibraryKernel::work(const Problem& p, int multiprocessors) const {
  const RowCol<std::int64_t> of_one = tiles_of(*kernel, p.M, p.N);
  const std::int64_t tiles = of_one.row * of_one.col * p.batch.count,
                     steps = ceil_div<std::int64_t>(part_of_k(p), kernel->tile.k);
  const int share = kernel->split ? kernel->split->blocks(tiles, p.K, multiprocessors) : 1;
  return {of_one, static_cast<double>(tiles * share), static_cast<double>(ceil_div<std::int64_t>(steps, share)), share};
}

SumOrder LibraryKernel::sum_order() const {
  const Type type = kernel->kind.type;
  if (type == Type::s8) return SumOrder::exact;
  if (kernel->split || kernel->order.there_and_back) return SumOrder::depends;
  if (type != Type::e4m3 || cost->depth > 0) return SumOrder::along_k;
  // No kernel leaves whole sums of e4m3 to tensor cores of warpgroups, nor parts of another length, that does not walk
  // there and back.
  return kernel->fast_accumulation || kernel->tile.k != 128 ? SumOrder::depends : SumOrder::promoted;
}

std::span<const KernelCost> kernel_costs() { return costs; }

std::span<const LibraryKernel> library_kernels() {
  static const std::vector<LibraryKernel> known = [] {
    std::vector<LibraryKernel> found;
    std::unordered_map<std::string, std::size_t> families;
    for (const Rung& rung : ladder())
      for (const KernelEntry& entry : rung.kernels) {
        std::string id = entry.id();
        const KernelCost* const cost = cost_of(entry, id);
        if (!cost) continue;
        const bool as_parent = cost->id != id && parse_kernel_id(cost->id).rung != entry.rung;
        KernelTraits alike = entry;
        alike.kind.a = alike.kind.b = Order::row_major;
        const std::size_t family = families.try_emplace(std::string(rung.name()) + to_string(alike), families.size())
                                       .first->second;
        found.push_back({std::move(id), &rung, &entry, cost, measured_cost_of(entry), family, takes_no_odd_lines(entry),
                         as_parent, entry.batches && rung.name() == "wgmma_batched",
                         descends_from(rung.name(), "wgmma_overlapped"),
                         asks_for_begins(entry, &Problem::lda, &Alignments::A),
                         asks_for_begins(entry, &Problem::ldb, &Alignments::B),
                         asks_for_begins(entry, &Problem::ldd, &Alignments::D)});
      }
    return found;
  }();
  return known;
}

std::span<const LibraryKernel* const> library_kernels(Type operands, Order a, Order b) {
  static const auto known = [] {
    std::array<std::vector<const LibraryKernel*>, 4 * std::size(operand_types)> found;
    for (std::size_t i = 0; i < found.size(); ++i) {
      std::array<std::vector<const LibraryKernel*>, 3> by_turns;  // by how many orders are others
      for (const LibraryKernel& kernel : library_kernels())
        if (const GemmKind& kind = kernel.kernel->kind; kind.type == static_cast<Type>(i / 4))
          by_turns[(kind.a != static_cast<Order>(i / 2 % 2)) + (kind.b != static_cast<Order>(i % 2))].push_back(
              &kernel);
      for (const auto& kernels : by_turns) found[i].insert(found[i].end(), kernels.rbegin(), kernels.rend());
    }
    return found;
  }();
  return known[4 * static_cast<std::size_t>(operands) + 2 * static_cast<std::size_t>(a) + static_cast<std::size_t>(b)];
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
