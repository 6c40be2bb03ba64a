#include "lens/block_accesses.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <tuple>

#include "core/error.hpp"
#include "device/device.hpp"
#include "emulator/symbols.hpp"

namespace lapidary::lens {
namespace {

using emulator::ObservedAccess;

/// Sees an access to one of the matrices, whose first byte is at `base`.
using Visit = std::function<void(const ObservedAccess&, const char* matrix, std::uint64_t base)>;

/// Runs the first block of a problem. Returns how many threads it has.
int run_block(const KernelEntry& kernel, const Problem& problem, const Visit& visit) {
  struct Range {
    const char* name;
    std::uint64_t begin, end;
  };
  std::vector<Range> matrices;
  emulator::Options options{.count = true, .multiply = false, .threads = 1};
  options.multiprocessors = std::max(options.multiprocessors, kernel.cluster.down * kernel.cluster.across);
  options.sample = [](const LaunchShape&) { return std::vector<emulator::BlockSample>{{0, 1}}; };
  options.observe = [&](const ObservedAccess& seen) {
    if (!is_global(seen.kind) || seen.block != 0) return;  // others of its cluster come along
    const std::uint64_t address = seen.access.address[std::countr_zero(seen.access.active)];
    for (const Range& m : matrices)
      if (address >= m.begin && address < m.end) visit(seen, m.name, m.begin);
  };
  const auto device = open_emulator(options);
  const auto allocate = [&](Matrix matrix) {
    DeviceBuffer buffer(*device, static_cast<std::size_t>(shape_of(resolved(problem), matrix).bytes()),
                        name_of(matrix));
    const auto begin = reinterpret_cast<std::uintptr_t>(buffer.data());
    matrices.push_back({name_of(matrix), begin, begin + buffer.bytes()});
    return buffer;
  };
  // What the matrices hold does not matter: no access depends on it.
  const DeviceBuffer a = allocate(Matrix::A), b = allocate(Matrix::B), c = allocate(Matrix::C), d = allocate(Matrix::D);
  run(kernel, Build::instrumented, device->stream(), problem,
      {.A = a.data(), .B = b.data(), .C = c.data(), .D = d.data(), .beta = problem.reads_c() ? 0.5f : 0.0f});
  const Extent3 block = device->stream().machine->report().launches.at(0).block;
  return static_cast<int>(block.x * block.y * block.z);
}

}  // namespace

std::vector<GlobalAccess> global_accesses(const KernelEntry& kernel, const Problem& problem, int warp) {
  struct Instruction {
    std::uintptr_t pc;
    GlobalAccess access;
  };
  std::vector<Instruction> instructions;
  const int threads = run_block(
      kernel, problem, [&](const ObservedAccess& seen, const char* matrix, std::uint64_t base) {
        if (static_cast<int>(seen.warp) != warp) return;
        auto at = std::find_if(instructions.begin(), instructions.end(), [&](const Instruction& i) {
          return i.pc == seen.pc && i.access.matrix == matrix && i.access.first.bytes == seen.access.bytes;
        });
        if (at == instructions.end()) {
          GlobalAccess access;
          access.matrix = matrix;
          access.store = is_write(seen.kind);
          access.first = seen.access;
          for (std::uint64_t& address : access.first.address) address -= base;
          at = instructions.insert(at, {seen.pc, access});
        }
        ++at->access.count;
        at->access.sectors += static_cast<std::uint64_t>(sectors(seen.access));
      });
  const int warps = (threads + 31) / 32;
  if (warp < 0 || warp >= warps) {
    throw InvalidArgument(fmt::format("a block of this kernel has the warps 0 to {}; got {}", warps - 1, warp));
  }
  std::vector<std::uintptr_t> pcs;
  for (const Instruction& i : instructions) pcs.push_back(i.pc);
  const auto lines = emulator::source_lines(pcs);
  std::vector<GlobalAccess> found;
  for (Instruction& i : instructions) {
    if (const auto line = lines.find(i.pc); line != lines.end()) {
      i.access.file = line->second.file;
      i.access.line = line->second.line;
    }
    const auto key = [](const GlobalAccess& a) { return std::tie(a.file, a.line, a.matrix, a.store, a.first.bytes); };
    const auto same = std::find_if(found.begin(), found.end(),
                                   [&](const GlobalAccess& other) { return key(other) == key(i.access); });
    if (same == found.end()) {
      found.push_back(i.access);
    } else {
      same->count += i.access.count;
      same->sectors += i.access.sectors;
    }
  }
  const auto place = [](const GlobalAccess& a) { return std::tie(a.file, a.line, a.matrix); };
  std::stable_sort(found.begin(), found.end(),
                   [&](const GlobalAccess& a, const GlobalAccess& b) { return place(a) < place(b); });
  return found;
}

TileOwners tile_owners(const KernelEntry& kernel) {
  const TileShape& tile = kernel.tile;
  constexpr int nobody = -1;
  TileOwners owners{tile, 0, std::vector<int>(static_cast<std::size_t>(tile.m * tile.n), nobody)};
  const auto size = static_cast<std::uint64_t>(size_of(kernel.kind.result));
  const auto store = [&](std::uint64_t element, int thread) {
    int& owner = owners.owner.at(element);
    if (owner != nobody && owner != thread) {
      throw Error(fmt::format("the kernel stores element {} of its tile of D from threads {} and {}; it must be one",
                              element, owner, thread));
    }
    owner = thread;
  };
  // A problem of one tile: the elements of D are in the order of the tile's.
  owners.threads = run_block(kernel, {.kind = kernel.kind, .M = tile.m, .N = tile.n, .K = std::max(tile.k, 1)},
                             [&](const ObservedAccess& seen, const char* matrix, std::uint64_t base) {
                               if (*matrix != 'D') return;
                               for (int lane = 0; lane < 32; ++lane) {
                                 if ((seen.access.active >> lane & 1) == 0) continue;
                                 const std::uint64_t first = (seen.access.address[lane] - base) / size;
                                 const std::uint64_t count = static_cast<std::uint64_t>(seen.access.bytes) / size;
                                 for (std::uint64_t e = first; e < first + count; ++e)
                                   store(e, static_cast<int>(seen.warp) * 32 + lane);
                               }
                             });
  if (std::all_of(owners.owner.begin(), owners.owner.end(), [](int owner) { return owner == nobody; }))
    throw InvalidArgument(
        "no thread of the kernel stores results: bulk copies do, so that none of them can be said to be a thread's");
  const auto left_out = std::find(owners.owner.begin(), owners.owner.end(), nobody);
  if (left_out != owners.owner.end()) {
    throw Error(fmt::format("the kernel stores no element {} of its tile of D; it must store all of them",
                            left_out - owners.owner.begin()));
  }
  return owners;
}

}  // namespace lapidary::lens
