// What the machine counts for the rungs, against counts made in another way: from the documented places of each thread,
// without the rungs' layouts, kernels and the rules of src/layout.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <ostream>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "bench/run.hpp"
#include "device/device.hpp"
#include "emulator/report.hpp"
#include "kernels/registry.hpp"

namespace lapidary {
namespace {

using emulator::Counters;
using emulator::GlobalCounters;
using emulator::SharedCounters;

std::string text(const GlobalCounters& counters) {
  return fmt::format("{} requests, {} sectors", counters.requests, counters.sectors);
}
std::string text(const SharedCounters& counters) {
  return fmt::format("{} instructions, {} wavefronts, minimum {}", counters.instructions, counters.wavefronts,
                     counters.minimum);
}
std::string text(const Counters& counters) {
  return fmt::format("global load: {}\nglobal store: {}\nshared load: {}\nshared store: {}\nfma: {}\n",
                     text(counters.global_load), text(counters.global_store), text(counters.shared_load),
                     text(counters.shared_store), counters.fma);
}

Counters count(const Rung& rung, const KernelEntry& kernel, const Problem& problem) {
  const auto device = open_emulator({.count = true});
  const auto result = bench::run_gemm(*device, rung, kernel, Build::instrumented,
                                      {.problem = problem, .beta = problem.reads_c() ? 1.0f : 0.0f});
  EXPECT_TRUE(result.verification.ok) << result.verification.message;
  return device->stream().machine->report().total;
}

constexpr std::int64_t nowhere = -1;

/// The traffic of a grid of blocks, added up warp by warp; every access is of one float.
class BruteForce {
 public:
  BruteForce(const Problem& problem, const TileShape& tile, int threads)
      : problem_(problem), tile_(tile), threads_(threads) {}

  Counters total;

  /// body(row, col) for each tile of D; within it the accesses of all warps of a block are added.
  template <class Body>
  void for_each_block(const Body& body) {
    for (std::int64_t row = 0; row < problem_.M; row += tile_.m)
      for (std::int64_t col = 0; col < problem_.N; col += tile_.n) body(row, col);
  }

  /// element(thread) is the index of the float that a thread accesses, or nowhere.
  template <class Element>
  void global(GlobalCounters& counters, const Element& element) {
    for_each_warp(element, [&](const std::vector<std::int64_t>& elements) {
      std::set<std::int64_t> sectors;
      for (const std::int64_t i : elements) sectors.insert(i / 8);
      ++counters.requests;
      counters.sectors += sectors.size();
    });
  }
  template <class Element>
  void shared(SharedCounters& counters, const Element& element) {
    for_each_warp(element, [&](const std::vector<std::int64_t>& elements) {
      std::array<std::set<std::int64_t>, 32> words_of_bank;
      for (const std::int64_t i : elements) words_of_bank[static_cast<std::size_t>(i % 32)].insert(i);
      std::size_t most = 0;
      for (const auto& words : words_of_bank) most = std::max(most, words.size());
      ++counters.instructions;
      counters.wavefronts += most;
      ++counters.minimum;
    });
  }

  /// The elements of a rows x cols matrix; nowhere outside of it.
  static std::int64_t element(std::int64_t row, std::int64_t col, std::int64_t rows, std::int64_t cols) {
    return row < rows && col < cols ? row * cols + col : nowhere;
  }
  std::int64_t of_a(std::int64_t row, std::int64_t k) const { return element(row, k, problem_.M, problem_.K); }
  std::int64_t of_b(std::int64_t k, std::int64_t col) const { return element(k, col, problem_.K, problem_.N); }
  std::int64_t of_d(std::int64_t row, std::int64_t col) const { return element(row, col, problem_.M, problem_.N); }

  /// A result of each thread: D is written, and with a beta C is read and added.
  template <class Element>
  void store_results(const Element& element) {
    global(total.global_store, element);
    if (!problem_.reads_c()) return;
    global(total.global_load, element);
    for (int thread = 0; thread < threads_; ++thread) total.fma += element(thread) != nowhere;
  }

 private:
  template <class Element, class Visit>
  void for_each_warp(const Element& element, const Visit& visit) {
    std::vector<std::int64_t> elements;
    for (int first = 0; first < threads_; first += 32) {
      elements.clear();
      for (int thread = first; thread < std::min(threads_, first + 32); ++thread)
        if (const std::int64_t i = element(thread); i != nowhere) elements.push_back(i);
      if (!elements.empty()) visit(elements);
    }
  }

  Problem problem_;
  TileShape tile_;
  int threads_;
};

/// One thread a result. Neighbouring threads are below each other, or if coalesced beside each other.
Counters count_untiled(const Problem& p, const TileShape& tile, bool coalesced) {
  BruteForce force(p, tile, tile.m * tile.n);
  force.for_each_block([&](std::int64_t row0, std::int64_t col0) {
    const auto row = [&](int thread) { return row0 + (coalesced ? thread / tile.n : thread % tile.m); };
    const auto col = [&](int thread) { return col0 + (coalesced ? thread % tile.n : thread / tile.m); };
    const auto result = [&](int thread) { return force.of_d(row(thread), col(thread)); };
    for (std::int64_t k = 0; k < p.K; ++k) {
      force.global(force.total.global_load, [&](int t) { return result(t) == nowhere ? nowhere : row(t) * p.K + k; });
      force.global(force.total.global_load, [&](int t) { return result(t) == nowhere ? nowhere : k * p.N + col(t); });
    }
    for (int thread = 0; thread < tile.m * tile.n; ++thread) force.total.fma += result(thread) == nowhere ? 0 : p.K;
    force.store_results(result);
  });
  return force.total;
}

/// TM x TN results a thread, row-major tiles of A and B in shared memory, filled row by row with zeros past the edges.
/// An element of B's tile is read once for all TM results, or else for each of them.
Counters count_tiled(const Problem& p, const TileShape& tile, int TM, int TN, bool reuse = true) {
  const int threads = tile.m / TM * (tile.n / TN);
  BruteForce force(p, tile, threads);
  Counters& total = force.total;
  force.for_each_block([&](std::int64_t row0, std::int64_t col0) {
    const auto row = [&](int thread) { return thread / (tile.n / TN) * TM; };
    const auto col = [&](int thread) { return thread % (tile.n / TN) * TN; };
    for (std::int64_t k0 = 0; k0 < p.K; k0 += tile.k) {
      const auto fill = [&](int rows, int cols, const auto& source) {
        for (int first = 0; first < rows * cols; first += threads) {
          force.global(total.global_load, [&](int t) {
            return first + t < rows * cols ? source((first + t) / cols, (first + t) % cols) : nowhere;
          });
          force.shared(total.shared_store,
                       [&](int t) { return first + t < rows * cols ? std::int64_t{first + t} : nowhere; });
        }
      };
      fill(tile.m, tile.k, [&](int i, int k) { return force.of_a(row0 + i, k0 + k); });
      fill(tile.k, tile.n, [&](int k, int j) { return force.of_b(k0 + k, col0 + j); });
      for (int k = 0; k < tile.k; ++k) {
        for (int i = 0; i < TM; ++i)
          force.shared(total.shared_load, [&](int t) { return std::int64_t{(row(t) + i) * tile.k + k}; });
        for (int j = 0; j < TN * (reuse ? 1 : TM); ++j)
          force.shared(total.shared_load, [&](int t) { return std::int64_t{k * tile.n + col(t) + j % TN}; });
        total.fma += static_cast<std::uint64_t>(threads * TM * TN);
      }
    }
    for (int i = 0; i < TM; ++i)
      for (int j = 0; j < TN; ++j)
        force.store_results([&](int t) { return force.of_d(row0 + row(t) + i, col0 + col(t) + j); });
  });
  return total;
}

struct ByBruteForce {
  const char* rung;
  Counters (*count)(const Problem& problem, const TileShape& tile);

  friend std::ostream& operator<<(std::ostream& out, const ByBruteForce& rung) { return out << rung.rung; }
};

const ByBruteForce by_brute_force[] = {
    {"naive", [](const auto& p, const TileShape& tile) { return count_untiled(p, tile, false); }},
    {"coalesced", [](const auto& p, const TileShape& tile) { return count_untiled(p, tile, true); }},
    {"shared_tiles", [](const auto& p, const TileShape& tile) { return count_tiled(p, tile, 1, 1); }},
    {"thread_tiles_1d", [](const auto& p, const TileShape& tile) { return count_tiled(p, tile, 8, 1); }},
    {"thread_tiles_1d_swapped", [](const auto& p, const TileShape& tile) { return count_tiled(p, tile, 8, 1, false); }},
    {"thread_tiles_2d", [](const auto& p, const TileShape& tile) { return count_tiled(p, tile, 8, 8); }},
};

class Counts : public testing::TestWithParam<ByBruteForce> {};
INSTANTIATE_TEST_SUITE_P(Rung, Counts, testing::ValuesIn(by_brute_force),
                         [](const auto& info) { return info.param.rung; });

TEST_P(Counts, AreThoseOfBruteForce) {
  const Rung& rung = find_rung(GetParam().rung);
  for (const KernelEntry& kernel : rung.kernels) {
    // The last one is more than a lane's log holds where there is no barrier.
    for (const Problem& problem :
         {Problem{.M = 128, .N = 256, .K = 64}, Problem{.M = 250, .N = 131, .K = 77, .beta = Factor::one},
          Problem{.M = 33, .N = 40, .K = 5001}}) {
      EXPECT_EQ(text(count(rung, kernel, problem)), text(GetParam().count(problem, kernel.tile)))
          << to_string(kernel.tile) << ", M " << problem.M;
    }
  }
}

struct Known {
  const char *rung, *global_store, *shared_load, *shared_store;

  friend std::ostream& operator<<(std::ostream& out, const Known& known) { return out << known.rung; }
};

// 256^3 are 4 blocks of 8 warps and 32 steps of k. In each of them a warp reads A by two 128-bit loads, of which pairs
// of lanes agree (2 wavefronts each), and B by two without agreement (4 each, 8 with the conflict) or by eight of 32
// bits (4 each); it writes one vector of A as four words (1 wavefront each, 2 with the conflict) and one of B (4) or
// its words (4 each).
const Known known[] = {
    {"vectorized", "512 requests, 16384 sectors", "32768 instructions, 163840 wavefronts, minimum 98304",
     "5120 instructions, 12288 wavefronts, minimum 8192"},
    {"padded_folk", "512 requests, 16384 sectors", "81920 instructions, 294912 wavefronts, minimum 98304",
     "8192 instructions, 24576 wavefronts, minimum 8192"},
    {"conflict_free", "512 requests, 8192 sectors", "32768 instructions, 98304 wavefronts, minimum 98304",
     "5120 instructions, 8192 wavefronts, minimum 8192"},
};

class KnownCounts : public testing::TestWithParam<Known> {};
INSTANTIATE_TEST_SUITE_P(Rung, KnownCounts, testing::ValuesIn(known), [](const auto& info) { return info.param.rung; });

TEST_P(KnownCounts, AreThoseOfTheLayouts) {
  const Rung& rung = find_rung(GetParam().rung);
  const Counters total = count(rung, rung.kernel(Type::f32, "128x128x8"), {.M = 256, .N = 256, .K = 256});
  EXPECT_EQ(text(total.global_load), "2048 requests, 32768 sectors");
  EXPECT_EQ(text(total.global_store), GetParam().global_store);
  EXPECT_EQ(text(total.shared_load), GetParam().shared_load);
  EXPECT_EQ(text(total.shared_store), GetParam().shared_store);
  EXPECT_EQ(total.fma, 256u * 256 * 256);
}

TEST_P(KnownCounts, AreInWholeTilesForRaggedProblems) {
  const Rung& rung = find_rung(GetParam().rung);
  const Counters whole = count(rung, rung.kernel(Type::f32, "128x128x8"), {.M = 256, .N = 256, .K = 80});
  const Counters ragged = count(rung, rung.kernel(Type::f32, "128x128x8"), {.M = 250, .N = 131, .K = 77});
  EXPECT_EQ(text(ragged.shared_load), text(whole.shared_load));
  EXPECT_EQ(ragged.shared_store.wavefronts, whole.shared_store.wavefronts);
  EXPECT_EQ(ragged.fma, whole.fma);
}

class ConflictFree : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Rung, ConflictFree,
                         testing::Values("bulk_transposed", "mma_padded", "mma_swizzled", "mma_multistage"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(ConflictFree, NoAccessOfAnyOrderTakesMoreThanTheMinimum) {
  const Rung& rung = find_rung(GetParam());
  for (const KernelEntry& kernel : rung.kernels) {
    const Counters total = count(rung, kernel, {.kind = kernel.kind, .M = 256, .N = 256, .K = 128});
    EXPECT_EQ(total.shared_load.wavefronts, total.shared_load.minimum) << to_string(kernel.kind);
    EXPECT_EQ(total.shared_store.wavefronts, total.shared_store.minimum) << to_string(kernel.kind);
    EXPECT_GT(total.shared_load.minimum, 0u);
  }
}

#if LAPIDARY_WITH_CUTLASS
TEST(CuteTwin, MakesTheAccessesOfItsParent) {
  const Rung &twin = find_rung("f16_cute"), &parent = find_rung("f16_padded");
  // By vectors, ragged by vectors, and without vectors.
  for (const Problem& problem : {Problem{.kind = Type::f16, .M = 256, .N = 128, .K = 128},
                                 Problem{.kind = Type::f16, .M = 200, .N = 264, .K = 136, .beta = Factor::one},
                                 Problem{.kind = Type::f16, .M = 131, .N = 35, .K = 67, .beta = Factor::one}}) {
    const Counters total = count(twin, twin.kernel(Type::f16), problem);
    EXPECT_EQ(text(total), text(count(parent, parent.kernel(Type::f16), problem))) << "M " << problem.M;
  }
}
#endif

// Which tiles of its clusters D has nothing of a kernel finds out where K has more than nine steps.
TEST(Clusters, CopyAndMultiplyInManyStepsForTilesOfDAlone) {
  for (const char* id :
       {"wgmma_cluster_128x256x64_s4_c2x1_e2x64_bf16-RC", "wgmma_shared_128x112x64_s7_c2x4_e2x32_bf16-RC",
        "wgmma_pingpong_64x208x64_s6_c1x2_e2x32_bf16-RC", "wgmma_turned_96x128x64_s7_c1x4_e2x48_bf16-RC",
        "wgmma_turned_pingpong_104x128x64_s6_c4x1_e1x104_bf16-RC", "wgmma_batched_64x64x64_s13_c2x2_e1x64_bf16-RC",
        "wgmma_deferred_128x256x64_s4_c2x1_e2x64_bf16-RC", "wgmma_promoted_128x192x128_s5_c2x1_e4m3-f32-RC"}) {
    const KernelEntry& kernel = find_kernel(id);
    const auto& [m, n, k] = kernel.tile;
    const auto [down, across] = kernel.cluster;
    // Three rows of clusters, and two columns: warpgroups that take turns have tiles of both kinds.
    const std::int64_t M = 2 * down * m + 1, N = across * n + 8, rows = ceil_div<std::int64_t>(M, m),
                       cols = ceil_div<std::int64_t>(N, n);
    const std::int64_t all_rows = 3 * down, all_cols = 2 * across;
    for (const int steps : {9, 10}) {
      const auto device = open_emulator({.count = true, .multiprocessors = down * across, .check = true});
      const auto result = bench::run_gemm(*device, find_rung(kernel.rung), kernel, Build::instrumented,
                                          {.problem = {.kind = kernel.kind, .M = M, .N = N, .K = steps * k}});
      EXPECT_TRUE(result.verification.ok) << id << ": " << result.verification.message;
      ASSERT_EQ(result.ran, id);
      const Counters total = device->stream().machine->report().total;
      const bool passes = steps > 9;
      const std::int64_t of_rows = passes ? rows : all_rows, of_cols = passes ? cols : all_cols;
      EXPECT_EQ(total.wgmma.flop, 2 * steps * k * m * n * of_rows * of_cols) << id << ", " << steps << " steps";
      // What reaches shared memory: A where D has rows of the tile, B where it has columns.
      const std::int64_t lines = of_rows * all_cols * m + of_cols * all_rows * n;
      EXPECT_EQ(total.bulk_load.shared_bytes, steps * k * lines * size_of(kernel.kind.type))
          << id << ", " << steps << " steps";
    }
  }
}

// Tiles of 128 x 128 and 32 along K are computed whole, edges included, by products of 16 x 8 x 16.
TEST(TensorCores, MultiplyWholeTiles) {
  const Rung& rung = find_rung("mma_tiles");
  const KernelEntry& kernel = rung.kernels.front();
  ASSERT_EQ(to_string(kernel.tile), "128x128x32");
  for (const auto& [M, N, K, products] :
       {std::tuple{256, 128, 64, 256 * 128 * 64 / (16 * 8 * 16)}, {200, 130, 40, 256 * 256 * 64 / (16 * 8 * 16)}}) {
    const Counters total = count(rung, kernel, {.kind = kernel.kind, .M = M, .N = N, .K = K});
    EXPECT_EQ(total.mma.instructions, static_cast<unsigned>(products));
    EXPECT_EQ(total.mma.flop, 2ull * 16 * 8 * 16 * static_cast<unsigned>(products));
    EXPECT_EQ(total.multiply_adds(), total.mma.flop / 2);
  }
}

}  // namespace
}  // namespace lapidary
