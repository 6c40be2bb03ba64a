// What the threads of a block touch, against what the kernels' configurations say.
#include "lens/block_accesses.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "core/error.hpp"
#include "kernels/simt/vectorized.cuh"
#include "kernels/simt/warp_tiles.cuh"
#include "layout/sector_report.hpp"

namespace lapidary::lens {
namespace {

const KernelEntry& default_kernel(std::string_view rung) { return find_rung(rung).kernels.front(); }

constexpr Problem problem = {.M = 64, .N = 96, .K = 128};

const GlobalAccess& access_to(const std::vector<GlobalAccess>& all, std::string_view matrix) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const GlobalAccess& a) { return a.matrix == matrix; });
  if (found == all.end()) throw Error("no access to that matrix");
  return *found;
}

TEST(GlobalAccesses, OfNeighboursInAColumnTouchASectorEach) {
  const auto accesses = global_accesses(default_kernel("naive"), problem, 0);
  ASSERT_EQ(accesses.size(), 3u);
  const GlobalAccess &a = access_to(accesses, "A"), &b = access_to(accesses, "B"), &d = access_to(accesses, "D");
  EXPECT_EQ(sectors(a.first), 32);
  EXPECT_EQ(sectors(b.first), 1);
  EXPECT_EQ(sectors(d.first), 32);
  EXPECT_TRUE(d.store);
  EXPECT_EQ(a.count, 128u);
  EXPECT_EQ(b.sectors, 128u);
  // Lanes are rows, of 128 elements of A.
  EXPECT_EQ(a.first.address[3], 3u * 128 * 4);
}

TEST(GlobalAccesses, OfNeighboursInARowShareFour) {
  const auto accesses = global_accesses(default_kernel("coalesced"), problem, 1);
  EXPECT_EQ(sectors(access_to(accesses, "A").first), 1);
  EXPECT_EQ(sectors(access_to(accesses, "B").first), 4);
  EXPECT_EQ(sectors(access_to(accesses, "D").first), 4);
  EXPECT_THROW(global_accesses(default_kernel("coalesced"), problem, 32), InvalidArgument);
}

TEST(SectorReport, IsByAddressWhereLanesAreNot) {
  WarpAccess access{{}, 0xf, 4};
  const std::uint64_t addresses[] = {100, 4, 36, 0};
  std::copy(std::begin(addresses), std::end(addresses), access.address);
  const std::vector<Sector> report = sector_report(access);
  ASSERT_EQ(report.size(), 3u);
  EXPECT_EQ(report[0].address, 0u);
  EXPECT_EQ(report[0].lanes, 0b1010u);
  EXPECT_EQ(report[1].address, 32u);
  EXPECT_EQ(report[2].lanes, 0b0001u);
}

/// The owners as a configuration has them: thread t has result (i, j) at its row(t, i) and col(t, j).
template <class Config>
void expect_owners(const KernelEntry& kernel, int rows, int cols) {
  const TileOwners owners = tile_owners(kernel);
  ASSERT_EQ(owners.threads, Config::threads);
  for (int thread = 0; thread < Config::threads; ++thread)
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < cols; ++j)
        ASSERT_EQ(owners.thread(Config::row(thread, i), Config::col(thread, j)), thread) << i << ", " << j;
}

TEST(TileOwners, AreThoseOfTheConfiguration) {
  expect_owners<vectorized::Config<128, 128, 8>>(default_kernel("vectorized"), 8, 8);
  expect_owners<warp_tiles::Default>(default_kernel("warp_tiles"), 8, 8);
}

/// None of a kernel whose results bulk copies store.
std::optional<TileOwners> owners_if_threads_store(const KernelEntry& kernel) {
  try {
    return tile_owners(kernel);
  } catch (const InvalidArgument& error) {
    EXPECT_NE(std::string(error.what()).find("bulk copies do"), std::string::npos) << error.what();
    EXPECT_GT(kernel.slices, 0);
    return std::nullopt;
  }
}

TEST(TileOwners, ShareTheTileOfEveryKernelEvenly) {
  for (const Rung& rung : ladder())
    for (const KernelEntry& kernel : rung.kernels) {
      // Bulk copies store what is staged in slices; a rung's first kernel shows it.
      if (kernel.slices > 0 && &kernel != &rung.kernels.front()) continue;
      SCOPED_TRACE(std::string(rung.name()) + " " + to_string(kernel.tile));
      const std::optional<TileOwners> found = owners_if_threads_store(kernel);
      if (!found) continue;
      const TileOwners& owners = *found;
      std::vector<int> results(static_cast<std::size_t>(owners.threads));
      for (const int thread : owners.owner) ++results.at(static_cast<std::size_t>(thread));
      // A warp that loads for others has none.
      std::erase(results, 0);
      ASSERT_FALSE(results.empty());
      EXPECT_EQ(std::count(results.begin(), results.end(), results[0]), std::ssize(results));
      EXPECT_EQ(results[0] * std::ssize(results), kernel.tile.m * kernel.tile.n);
    }
}

}  // namespace
}  // namespace lapidary::lens
