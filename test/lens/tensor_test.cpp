// Kernels that multiply by wgmma, and whose tiles bulk copies bring, seen by the lens: counts that can be worked out by
// hand. The kernels are those that the emulated machine is tested with, taken for rungs.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "../emulator/test_kernel.hpp"
#include "../emulator/wgmma_case.hpp"
#include "kernels/built.hpp"
#include "lens/block_accesses.hpp"
#include "lens/explain.hpp"
#include "model/gpu.hpp"
#include "pages/rung_page.hpp"

namespace lapidary::test {
namespace plain {
TestKernels async_kernels();
std::span<const WgmmaCase> wgmma_cases();
}  // namespace plain
namespace instrumented {
TestKernels async_kernels();
std::span<const WgmmaCase> wgmma_cases();
}  // namespace instrumented
}  // namespace lapidary::test

namespace lapidary::lens {
namespace {

constexpr RungInfo info = {"wgmma_example", "", "idea", "change", "why", "counter", "cost", "exercise", 90};

/// D = A * B^T in f32 by clusters of two blocks, below each other, each of which loads a half of B's tile for both.
template <test::TestKernels (*kernels)()>
void launch_ring(const Stream& stream, const Problem& p, const Operands& o) {
  const test::TestKernel& kernel = kernels()["ring_of_cluster"];
  kernel.launch(stream, kernel.shape, const_cast<void*>(o.A), const_cast<void*>(o.B), o.D, static_cast<int>(p.M));
}

/// A kernel that a function launches.
template <Build build, void (*launch)(const Stream&, const Problem&, const Operands&)>
constexpr BuiltKernel launched_by = {.traits = {}, .refusal = nullptr, .prepare = [](const Problem& p, const Card&) {
                                       Prepared prepared;
                                       prepared.problem = p;
                                       prepared.build = build;
                                       prepared.kernel = &info;
                                       prepared.start = [](const Prepared& one, const Stream& stream,
                                                           const Operands& operands) {
                                         launch(stream, one.problem, operands);
                                       };
                                       return prepared;
                                     }};

KernelEntry ring() {
  KernelEntry kernel{{.tile = {64, 64, 32}, .kind = {Type::f32, Type::f32, Order::row_major, Order::column_major}},
                     info.name,
                     "",
                     {&launched_by<Build::plain, launch_ring<test::plain::async_kernels>>,
                      &launched_by<Build::instrumented, launch_ring<test::instrumented::async_kernels>>, nullptr}};
  // The grid is as wide as the matrix, and a multiple of a cluster high.
  kernel.order.at = [](std::int64_t position, std::int64_t, std::int64_t N) {
    const std::int64_t across = (N + 63) / 64;
    return RowCol<std::int64_t>{position / across * 64, position % across * 64};
  };
  return kernel;
}

/// The page of a rung, as text.
std::string page_of(const Explanation& e) {
  const pages::PageTarget target{[](std::string_view kernel) { return std::string(kernel); },
                                 [](std::string_view path) { return std::string(path); }};
  return pages::rung_page(e, target).markdown();
}

const MatrixTraffic& matrix(const Explanation& e, const char* name) {
  return *std::find_if(e.matrices.begin(), e.matrices.end(), [&](const MatrixTraffic& m) { return m.name == name; });
}

// Matrices of 200 x 200: 4 x 4 tiles, 7 steps along K.
TEST(TensorLens, SeesBoxesAndWhatAMulticastSpares) {
  const KernelEntry kernel = ring();
  const Rung rung{&info, "wgmma", "src/kernels/wgmma/example.cuh", {kernel}};
  const Explanation e = explain(
      {&rung, &kernel, {.kind = kernel.kind, .M = 200, .N = 200, .K = 200}, model::find_gpu("h200")});
  EXPECT_EQ(e.observation.blocks, 16);
  EXPECT_EQ(e.observation.tiles, 16);
  // By rank: whole tiles of both, and of the lower edge, which is of rank 1; each of them at the right edge, too.
  EXPECT_EQ(e.observation.blocks_run, 6);
  const double bytes = 200 * 200 * 4;
  EXPECT_EQ(matrix(e, "A").boxes, 16u * 7);
  EXPECT_EQ(matrix(e, "A").bytes, 4 * bytes);
  EXPECT_EQ(matrix(e, "A").multicast_bytes, 0);
  EXPECT_EQ(matrix(e, "A").bytes_per_result, 4 * 4 * 200 / 200.0);
  EXPECT_EQ(matrix(e, "A").accesses_per_result, 4);
  EXPECT_EQ(matrix(e, "B").bytes, 2 * bytes);
  EXPECT_EQ(matrix(e, "B").multicast_bytes, 2 * bytes);
  EXPECT_EQ(matrix(e, "D").boxes, 16u);
  EXPECT_EQ(matrix(e, "D").bytes, bytes);
  EXPECT_TRUE(matrix(e, "D").written);
  EXPECT_EQ(steps_in_flight(e), 3) << "three stages";
  EXPECT_FALSE(e.time);
  EXPECT_THROW(tile_owners(kernel), InvalidArgument) << "no thread stores";
  const std::string page = page_of(e);
  EXPECT_NE(page.find("B, in boxes"), page.npos) << page;
  EXPECT_NE(page.find("at most: 49,152 bytes, 3 steps along K"), page.npos) << page;
}

struct InColumns {
  static constexpr TileShape tile = {64, 32, 16};
  using Element = bf16;
  struct Walk {
    static constexpr bool row_by_row = false;
    int down;
    static Walk over(std::int64_t M, std::int64_t, const TileShape& shape, const ClusterShape&) {
      return {static_cast<int>((M + shape.m - 1) / shape.m)};
    }
    RowCol<int> tile(int number) const { return {number % down, number / down}; }
  };
  struct Steps {
    static constexpr bool there_and_back = true;
  };
};

TEST(TensorLens, TakesTheOrderOfTilesFromTheConfiguration) {
  const BuiltKernel own = built<InColumns>(nullptr);
  EXPECT_TRUE(own.order.there_and_back);
  const KernelEntry known{own.traits, "", "", {}, own.order};
  EXPECT_EQ(visiting_order(known, 100, 64), (std::vector<RowCol<int>>{{0, 0}, {1, 0}, {0, 1}, {1, 1}}));
  const KernelEntry plain{own.traits, "", "", {}};
  EXPECT_EQ(visiting_order(plain, 100, 64), (std::vector<RowCol<int>>{{0, 0}, {0, 1}, {1, 0}, {1, 1}}));
}

// Three stages, one of which is being used while the others fill; each thread has its part of them on its way.
TEST(TensorLens, CopiesOfAllThreadsAreOnTheirWayTogether) {
  const Rung& rung = find_rung("multistage");
  const Explanation e = explain({&rung,
                                 &rung.kernel(Type::f32, "128x128x32"),
                                 {.kind = Type::f32, .M = 128, .N = 128, .K = 256},
                                 model::find_gpu("h200")});
  EXPECT_EQ(e.observation.written.bytes_in_flight, 2u * (128 + 128) * 32 * 4);
  EXPECT_EQ(steps_in_flight(e), 2);
}

template <std::span<const test::WgmmaCase> (*cases)()>
void launch_product(const Stream& stream, const Problem&, const Operands& o) {
  for (const test::WgmmaCase& one : cases())
    if (std::string(one.types) == "bf16 to f32" && one.N == 128 && one.b_major == Major::k) {
      one.launch(stream, o.A, o.B, o.D);
      return;
    }
}

// 64 x 128 results by four products of one warpgroup.
TEST(TensorLens, ExplainsWgmmaWithoutMachineCode) {
  const KernelEntry kernel{
      {.tile = {64, 128, 64}, .kind = {Type::bf16, Type::f32, Order::row_major, Order::column_major}},
      info.name,
      "",
      {&launched_by<Build::plain, launch_product<test::plain::wgmma_cases>>,
       &launched_by<Build::instrumented, launch_product<test::instrumented::wgmma_cases>>, nullptr}};
  const Rung rung{&info, "wgmma", "src/kernels/wgmma/example.cuh", {kernel}};
  const Problem problem{.kind = kernel.kind, .M = 64, .N = 128, .K = 64};
  const Explanation e = explain({&rung, &kernel, problem, model::find_gpu("h200")});
  EXPECT_EQ(e.observation.written.total.wgmma.flop, 2u * 64 * 128 * 64);
  // Of A's 64 and B's 128 rows 32 bytes for each product.
  EXPECT_DOUBLE_EQ(e.shared_loads.per_fma, 4.0 * (64 + 128) * 16 / (64 * 128 * 64));
  ASSERT_TRUE(e.time) << e.no_time;
  ASSERT_TRUE(e.traffic);
  EXPECT_EQ(e.traffic->l2_to_sm_bytes, (64 + 128) * 64 * 2);
  EXPECT_TRUE(e.power);
  const std::string text = page_of(e);
  EXPECT_NE(text.find("4 wgmma, 131072 multiply-adds each"), text.npos) << text;
  EXPECT_NE(text.find("there is no record"), text.npos) << text;
  EXPECT_THROW(explain({&rung, &kernel, problem, model::find_gpu("v100 sxm2 16gb")}).time.value(),
               std::bad_optional_access)
      << "has no tensor cores for bf16";
}

}  // namespace
}  // namespace lapidary::lens
