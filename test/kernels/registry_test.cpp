#include "kernels/registry.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <vector>

#include "core/error.hpp"
#include "device/device.hpp"
#include "emulator/machine.hpp"
#include "kernels/sources.hpp"

namespace lapidary {
namespace {

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "";
}

TEST(Registry, RungsAreConsistent) {
  std::set<std::string_view> seen;
  for (const Rung& rung : ladder()) {
    EXPECT_EQ(&find_rung(rung.name()), &rung);
    EXPECT_TRUE(rung.info->parent[0] == '\0' || seen.count(rung.info->parent)) << rung.name() << " precedes its parent";
    EXPECT_TRUE(seen.insert(rung.name()).second) << rung.name() << " is there twice";
    EXPECT_LE(std::string_view(rung.info->idea).size(), 60u) << rung.name();
    EXPECT_NE(rung_source(rung.name()), "");
    ASSERT_FALSE(rung.kernels.empty());
    for (const KernelEntry& kernel : rung.kernels) {
      EXPECT_NE(kernel.builds[static_cast<std::size_t>(Build::plain)], nullptr) << rung.name();
      EXPECT_EQ(&rung.kernel(kernel.kind, rung.tile_of(kernel)), &kernel) << rung.name();
      EXPECT_EQ(rung.kernel(kernel.kind, to_string(kernel.tile)).tile, kernel.tile) << rung.name();
    }
  }
  EXPECT_EQ(ladder().front().name(), "naive");
  EXPECT_EQ(rung_source("no such rung"), "");
}

// Whoever reads a main loop of wgmma has its three steps before his eyes: a wait for the stage, the products, the
// release of the stage.
TEST(HopperRungs, HaveTheStepsOfAMainLoopNextToEachOther) {
  const std::regex wait(R"(\bwait(_full)?\()"), multiply(R"(::multiply\w*\()"), release(R"(\brelease)");
  int loops = 0;
  for (const char* const folder : {"/src/kernels/wgmma", "/src/tile"}) {
    for (const auto& entry : std::filesystem::directory_iterator(std::string(LAPIDARY_SOURCE_DIR) + folder)) {
      std::ifstream file(entry.path());
      std::vector<std::string> lines;
      for (std::string line; std::getline(file, line);) lines.push_back(line);
      const auto has = [&](const std::regex& step, std::size_t begin) {
        return std::any_of(lines.begin() + static_cast<std::ptrdiff_t>(begin),
                           lines.begin() + static_cast<std::ptrdiff_t>(std::min(begin + 30, lines.size())),
                           [&](const std::string& line) { return std::regex_search(line, step); });
      };
      // Only a main loop waits for some products and not for all.
      const auto in_loop = [](const std::string& line) { return line.find("wgmma_wait_group<1>(") != line.npos; };
      for (auto at = std::find_if(lines.begin(), lines.end(), in_loop); at != lines.end();
           at = std::find_if(at + 1, lines.end(), in_loop)) {
        const auto here = static_cast<std::size_t>(at - lines.begin());
        bool together = false;
        for (std::size_t begin = here < 29 ? 0 : here - 29; begin <= here; ++begin)
          together = together || (has(wait, begin) && has(multiply, begin) && has(release, begin));
        EXPECT_TRUE(together) << entry.path() << ":" << here + 1;
        ++loops;
      }
    }
  }
  EXPECT_EQ(loops, 5)
      << "wgmma_tma, wgmma_specialized, wgmma_promoted, wgmma_pingpong and wgmma_deferred write one out each";
}

// Every kernel has an id of its own, which names it and is read back.
TEST(Registry, IdsAreInjectiveAndParse) {
  std::set<std::string> ids;
  for (const Rung& rung : ladder()) {
    for (const KernelEntry& kernel : rung.kernels) {
      EXPECT_TRUE(ids.insert(kernel.id()).second) << kernel.id() << " is there twice";
      EXPECT_EQ(&find_kernel(kernel.id()), &kernel) << kernel.id();
      const KernelId parsed = parse_kernel_id(kernel.id());
      EXPECT_EQ(parsed.rung, rung.name());
      EXPECT_EQ(parsed.traits, kernel.traits()) << kernel.id();
    }
  }
  EXPECT_EQ(ids.count("naive_32x32_f32"), 1u);
  EXPECT_EQ(ids.count("wgmma_cluster_128x256x64_s4_c2x1_e2x64_bf16-RC"), 1u);
  EXPECT_EQ(ids.count("mma_k8_plain_128x128x32_bf16-RC"), 1u);
}

// Two kernels that differ in one thing alone have two ids.
TEST(Registry, EveryTraitIsInTheId) {
  const KernelTraits all = {.tile = {128, 256, 64},
                            .kind = {Type::bf16, Type::f32, Order::row_major, Order::column_major},
                            .stages = 4,
                            .cluster = {2, 3},
                            .slices = 5,
                            .cols = 40};
  std::vector<KernelTraits> traits(1, all);
  const auto change = [&](auto member, auto value) {
    traits.push_back(all);
    traits.back().*member = value;
  };
  for (int TileShape::*side : {&TileShape::m, &TileShape::n, &TileShape::k}) {
    traits.push_back(all);
    traits.back().tile.*side = 96;
  }
  change(&KernelTraits::stages, 1);
  change(&KernelTraits::cluster, ClusterShape{1, 3});
  change(&KernelTraits::cluster, ClusterShape{2, 1});
  change(&KernelTraits::slices, 1);
  change(&KernelTraits::cols, 64);
  for (const GemmKind& kind : {GemmKind(Type::f16, Type::f32, Order::row_major, Order::column_major),
                               GemmKind(Type::bf16, Type::bf16, Order::row_major, Order::column_major),
                               GemmKind(Type::bf16, Type::f32, Order::column_major, Order::column_major),
                               GemmKind(Type::bf16, Type::f32, Order::row_major, Order::row_major)})
    change(&KernelTraits::kind, kind);
  std::set<std::string> ids;
  for (const KernelTraits& one : traits) {
    const std::string id = "a_rung_16x16_" + to_string(one);  // the name of a rung may look like a tile
    EXPECT_TRUE(ids.insert(id).second) << id;
    EXPECT_EQ(parse_kernel_id(id).traits, one) << id;
    EXPECT_EQ(parse_kernel_id(id).rung, "a_rung_16x16") << id;
  }
  for (const std::string_view text :
       {"naive_32x32", "", "naive_99999999999x32_f32", "naive_32x32_s4294967297_f32", "naive_32x32x0_f32",
        "naive_032x32_f32", "naive_32x32_s1_f32", "naive_32x32_c1x1_f32", "naive_32x32_e0x0_f32", "naive_32x32_f32-f32",
        "naive_32x32_f32-RR", "naive_32x32_f32 ", "naive_32x32_f32_"})
    EXPECT_NE(message_of([&] { parse_kernel_id(text); }).find("is no kernel's id"), std::string::npos) << text;
  EXPECT_LT(message_of([] { parse_kernel_id(std::string(1'000'000, 'a')); }).size(), 1000u);
  EXPECT_NE(message_of([] { parse_kernel_id("naive_32x32_f99"); }).find("no element type is named 'f99'"),
            std::string::npos);
  EXPECT_NE(message_of([] { find_kernel("naive_8x8_f32"); }).find("those of naive are naive_32x32_f32"),
            std::string::npos);
}

// What no kernel does yet is refused by name.
TEST(Registry, RefusesWhatNoKernelTakes) {
  const KernelEntry& kernel = find_rung("naive").kernels.front();
  const Problem plain = resolved({.M = 4, .N = 4, .K = 4});
  EXPECT_EQ(refusal(kernel, plain), "");
  const auto refused = [&](auto change, const char* rule) {
    Problem problem = plain;
    change(problem);
    EXPECT_NE(refusal(kernel, problem).find(rule), std::string::npos) << refusal(kernel, problem);
    EXPECT_EQ(message_of([&] { prepare(kernel, Build::plain, problem, {90, 132}); }), refusal(kernel, problem));
  };
  refused([](Problem& p) { p.alpha = Factor::in_device_memory; }, "alpha is in device memory");
  refused([](Problem& p) { p.beta = Factor::in_device_memory; }, "beta is in device memory");
  refused([](Problem& p) { p.batch.count = 3; }, "there are 3 products in the batch");
  refused([](Problem& p) { p.batch.count = 0; }, "there are 0 products in the batch");
  refused([](Problem& p) { p.groups = 2; }, "there are 2 groups");
  refused([](Problem& p) { p.order_d = Order::column_major; }, "C and D are column-major");
  refused([](Problem& p) { p.epilogue.bias = Bias::of_rows; }, "bias_of_rows is to follow");
  refused([](Problem& p) { p.epilogue.activation = Activation::silu; }, "silu is to follow");
  refused([](Problem& p) { p.epilogue.scale = p.epilogue.clamp = true; }, "scale-clamp is to follow");
  for (const Scaling scaling : {Scaling::matrices, Scaling::rows_and_columns, Scaling::blocks})
    refused([&](Problem& p) { p.scaling = scaling; }, "A and B have scales");
  refused([](Problem& p) { p.M = 0, p.groups = 2; }, "there are 2 groups");  // of problems without results, too
  refused([](Problem& p) { p.split = 4; }, "K is to be split in 4");
  refused([](Problem& p) { p.kind = Type::f16; }, "instantiated for f32");
}

TEST(Registry, CountsStepsInAsManyBitsAsThereAre) {
  const KernelEntry& kernel = find_rung("wgmma_unaligned").kernels.front();
  constexpr std::int64_t most = std::int64_t{1} << 32;
  const auto of_k = [&](std::int64_t K) { return resolved({.kind = kernel.kind, .M = 1, .N = 2, .K = K}); };
  EXPECT_EQ(refusal(kernel, of_k(most)), "");
  EXPECT_EQ(refusal(kernel, of_k(most + 1)), "K is 4294967297; this kernel takes at most 4294967296");
}

// What is in device memory is not taken from the host instead.
TEST(Run, RefusesFactorsInDeviceMemory) {
  const auto device = open_emulator();
  const KernelEntry& kernel = find_rung("naive").kernels.front();
  float numbers[3] = {};
  const Operands operands = {numbers, numbers + 1, nullptr, numbers + 2};
  const Problem problem = {.M = 1, .N = 1, .K = 1};
  for (Factor Problem::*factor : {&Problem::alpha, &Problem::beta}) {
    Problem asked = problem;
    asked.*factor = Factor::in_device_memory;
    EXPECT_NE(
        message_of([&] { run(kernel, Build::plain, device->stream(), asked, operands); }).find("in device memory"),
        std::string::npos);
  }
}

// Tiles are counted: what a grid or a coordinate has no number for is refused, and never wrapped around.
TEST(Registry, RefusesMoreTilesThanThereAreNumbers) {
  const std::int64_t blocks = LaunchLimits::grid_x - 1024;
  const KernelEntry& naive = find_kernel("naive_32x32_f32");
  const Problem column = {.M = 32 * blocks, .N = 1, .K = 0};
  EXPECT_EQ(refusal(naive, column), "");
  EXPECT_EQ(prepare(naive, Build::plain, column, {90, 132}).shape.grid.x, blocks);
  EXPECT_EQ(refusal(naive, {.M = 32 * blocks + 1, .N = 1, .K = 0}),
            fmt::format("D has {} x 1 tiles of 32 x 32; this kernel numbers at most {}", blocks + 1, blocks));
  EXPECT_EQ(refusal(naive, {.M = 1, .N = 32 * blocks + 1, .K = 0}),
            fmt::format("D has 1 x {} tiles of 32 x 32; this kernel numbers at most {}", blocks + 1, blocks));
  const std::int64_t side = std::int64_t{1} << 40;
  EXPECT_NE(refusal(naive, {.M = side, .N = side, .K = 0}), "");
  for (const Rung& rung : ladder())
    for (const KernelEntry& kernel : rung.kernels)
      EXPECT_NE(refusal(kernel, {.kind = kernel.kind, .M = side, .N = side, .K = 8}), "") << kernel.id();
}

// Of a batch in one launch rows, columns and tiles are counted through all products, and matrices are as far apart as a
// tensor map has room for; of one product alone no stride is walked.
TEST(Registry, TakesAsManyProductsInALaunchAsThereAreNumbers) {
  const KernelEntry &batched = find_kernel("wgmma_batched_128x128x64_s6_e2x64_bf16-RC"),
                    &in_pairs = find_kernel("wgmma_batched_128x192x64_s4_c2x1_e2x64_bf16-RC");
  constexpr std::int64_t most = (std::int64_t{1} << 30) - 1, pitch = std::int64_t{1} << 39;
  const auto said_by = [](const KernelEntry& kernel, std::int64_t M, std::int64_t N, const Batch& batch) {
    return refusal(kernel, {.kind = kernel.kind, .M = M, .N = N, .K = 8, .batch = batch});
  };
  const auto said = [&](std::int64_t M, std::int64_t N, const Batch& batch) { return said_by(batched, M, N, batch); };
  const auto takes = [&](const KernelEntry& kernel, std::int64_t M, std::int64_t N, std::int64_t count) {
    EXPECT_EQ(said_by(kernel, M, N, {.count = count}), "") << M << " x " << N;
    const std::string refused = said_by(kernel, M, N, {.count = count + 1});
    EXPECT_NE(refused.find(
                  fmt::format("there are {} products in the batch; of this size a launch takes {}", count + 1, count)),
              std::string::npos)
        << refused;
  };
  takes(batched, 8, 200, most / (2 * 128));               // of two columns of tiles
  takes(in_pairs, 8, 8, most / (2 * 128));                // of a pair of tiles, which is higher than wide
  takes(in_pairs, 8, 1000, most / (6 * 192));             // of six columns of pairs
  takes(batched, 3 * 128 - 8, 8, most / (3 * 128));       // of three rows of tiles
  takes(in_pairs, 3 * 128 - 8, 8, most / (4 * 128));      // of two rows of pairs
  takes(batched, 128 * 1000, 128 * 800, most / 800'000);  // of many tiles
  takes(batched, std::int64_t{1} << 30, 8, 1);
  EXPECT_EQ(said(0, 0, {.count = 3}), "");
  for (std::int64_t Batch::*stride : {&Batch::stride_a, &Batch::stride_b, &Batch::stride_d}) {
    const auto by = [&](std::int64_t count, std::int64_t elements) {
      Batch batch = {.count = count, .stride_a = 1024, .stride_b = 2048, .stride_d = 4096};
      batch.*stride = elements;
      return said(8, 16, batch);
    };
    EXPECT_EQ(by(2, 0), "");
    EXPECT_EQ(by(2, pitch - 8), "");
    EXPECT_NE(by(2, pitch).find("begin less than 2^40 bytes apart, 549755813888 elements"), std::string::npos);
    EXPECT_NE(by(2, 1028).find("begin at multiples of 16 bytes"), std::string::npos);
    EXPECT_EQ(by(1, 1027), "");
    EXPECT_EQ(by(1, pitch), "");
  }
  const Problem alone = {.kind = batched.kind, .M = 8, .N = 16, .K = 8, .batch = {1, 3, 5, 7, 9}};
  EXPECT_EQ(message_of([&] { prepare(batched, Build::plain, alone, {90, 132}); }), "");
}

// Before a cluster of more blocks than there are multiprocessors is divided by.
TEST(Registry, RefusesCardsThatAreTooSmall) {
  const KernelEntry& cluster = find_kernel("wgmma_cluster_128x256x64_s4_c2x1_e2x64_bf16-RC");
  const Problem problem = {.kind = cluster.kind, .M = 128, .N = 256, .K = 64};
  EXPECT_EQ(prepare(cluster, Build::plain, problem, {90, 2}).shape.grid.x, 2u);
  EXPECT_EQ(message_of([&] {
              prepare(cluster, Build::plain, problem, {90, 1});
            }),
            "the card has 1 multiprocessors; wgmma_cluster_128x256x64_s4_c2x1_e2x64_bf16-RC needs 2");
  EXPECT_NE(message_of([&] { prepare(find_kernel("naive_32x32_f32"), Build::plain, {.M = 1, .N = 1}, {90, 0}); }), "");
}

// Of a problem that is not legal, and for the card that a stream is of.
TEST(Registry, PreparesLegalProblemsForTheCardAtHand) {
  const KernelEntry& naive = find_kernel("naive_32x32_f32");
  EXPECT_EQ(message_of([&] {
              prepare(naive, Build::plain, {.M = 1, .N = -3, .K = 1}, {90, 132});
            }),
            "N is -3; sizes must be 0 or more");
  const KernelEntry& kernel = find_kernel("wgmma_persistent_128x256x64_s4_bf16-RC");
  const auto device = open_emulator({.multiprocessors = 5});
  const Problem problem = {.kind = kernel.kind, .M = 640, .N = 256, .K = 8};  // five tiles
  const DeviceBuffer a(*device, 640 * 8 * 2, "A"), b(*device, 256 * 8 * 2, "B"), d(*device, 640 * 256 * 2, "D");
  run(kernel, Build::plain, device->stream(), problem, {.A = a.data(), .B = b.data(), .D = d.data()});
  EXPECT_EQ(device->stream().machine->report().launches.back().grid.x, 5u);
}

// No more blocks have room on one multiprocessor than must where all run at a time; of those that stream, but where two
// launches have room beside each other.
TEST(Registry, SpreadsTheBlocksThatShareKAndThatStream) {
  const auto on_one = [](const char* rung, const char* tile, const Problem& problem) {
    const LaunchShape shape = prepare(find_rung(rung).kernel(problem.kind, tile), Build::plain, problem, {90, 132})
                                  .shape;
    // A multiprocessor has 228 KiB, of which each block takes 1 KiB more than it asks for.
    return std::tuple(shape.cluster.x, shape.grid.x, 228 * 1024 / (shape.shared_bytes + 1024));
  };
  const auto launch = [](unsigned cluster, unsigned blocks, unsigned most) {
    return std::tuple(cluster, blocks, most);
  };
  const auto split = [&](std::int64_t M, std::int64_t N, std::int64_t K) {
    return on_one("split_k", "64x64x16", {.M = M, .N = N, .K = K});
  };
  EXPECT_EQ(split(64, 64, 16384), launch(16, 16, 1));
  EXPECT_EQ(split(320, 952, 128), launch(2, 150, 2));
  EXPECT_EQ(split(512, 512, 4096), launch(2, 128, 1));
  EXPECT_EQ(split(512, 1024, 4096), launch(2, 256, 2));
  EXPECT_EQ(split(1024, 1024, 1024), launch(1, 256, 2));
  EXPECT_EQ(split(4096, 4096, 1024), launch(1, 4096, 4));
  const auto skinny = [&](const char* tile, std::int64_t N, std::int64_t K) {
    return on_one("wgmma_skinny", tile,
                  {.kind = {Type::bf16, Type::bf16, Order::row_major, Order::column_major}, .M = 8, .N = N, .K = K});
  };
  EXPECT_EQ(skinny("16x64x64", 64 * 128, 256), launch(1, 128, 1));
  EXPECT_EQ(skinny("16x64x64", 6144, 4096), launch(2, 192, 3));
  EXPECT_EQ(skinny("16x64x64", 64 * 99, 4096), launch(2, 198, 3));
  EXPECT_EQ(skinny("16x64x64", 64 * 100, 4096), launch(2, 200, 2));
  EXPECT_EQ(skinny("16x64x64", 7168, 8192), launch(2, 224, 2));
  EXPECT_EQ(skinny("16x64x64", 10240, 8192), launch(2, 320, 3));
  EXPECT_EQ(skinny("64x64x64", 4096, 4096), launch(2, 128, 1));
  // Of few columns the blocks of as many rows of A, and of each tile as many.
  const auto tall = [&](const char* tile, std::int64_t M, std::int64_t K) {
    return on_one("wgmma_skinny", tile,
                  {.kind = {Type::bf16, Type::bf16, Order::row_major, Order::column_major}, .M = M, .N = 8, .K = K});
  };
  EXPECT_EQ(tall("64x16x64", 64 * 128, 256), launch(1, 128, 1));
  EXPECT_EQ(tall("64x16x64", 6144, 4096), launch(2, 192, 3));
  EXPECT_EQ(tall("64x16x64", 64 * 100, 4096), launch(2, 200, 2));
  EXPECT_EQ(tall("64x32x64", 57344, 8192), launch(1, 896, 3));
  // Where there are many blocks as many share a multiprocessor as their tiles are made for.
  for (const auto& [tile, fit] : {std::pair("8x64x64", 3u), {"16x64x64", 3u}, {"32x64x64", 3u}, {"64x64x64", 2u}})
    EXPECT_EQ(skinny(tile, 57344, 8192), launch(1, 896, fit)) << tile;
}

// Of few tiles the blocks of a cluster share K, as many as there is room for on a card and as have enough of K each.
TEST(Registry, SplitsKAmongAsManyBlocksAsThereIsRoomFor) {
  const GemmKind kind(Type::bf16, Type::bf16, Order::row_major, Order::column_major);
  const auto split = [&](const char* rung, const char* tile, std::int64_t M, std::int64_t N, std::int64_t K) {
    const Problem problem = {.kind = kind, .M = M, .N = N, .K = K};
    const LaunchShape shape = prepare(find_rung(rung).kernel(kind, tile), Build::plain, problem, {90, 132}).shape;
    return std::pair(shape.cluster.x, shape.grid.x);
  };
  const auto blocks = [](unsigned cluster, unsigned all) { return std::pair(cluster, all); };
  const char* const square = "64x64x128";
  EXPECT_EQ(split("wgmma_split_k", square, 64, 64, 16384), blocks(16, 16));
  EXPECT_EQ(split("wgmma_split_k", square, 64, 7 * 64, 16384), blocks(16, 112));
  EXPECT_EQ(split("wgmma_split_k", square, 64, 8 * 64, 16384), blocks(8, 64));
  EXPECT_EQ(split("wgmma_split_k", square, 65, 15 * 64, 16384), blocks(4, 120));
  EXPECT_EQ(split("wgmma_split_k", square, 128, 2048, 8192), blocks(2, 128));
  EXPECT_EQ(split("wgmma_split_k", square, 512, 768, 3072), blocks(1, 96));
  EXPECT_EQ(split("wgmma_split_k", square, 64, 64, 1024), blocks(4, 4));
  EXPECT_EQ(split("wgmma_split_k", square, 64, 64, 504), blocks(1, 1));
  // Two blocks a multiprocessor, of which each has 64 of K at least; one with the largest tile.
  EXPECT_EQ(split("wgmma_unaligned", "64x64x64", 65, 65, 255), blocks(2, 8));
  EXPECT_EQ(split("wgmma_unaligned", "64x64x64", 65, 65, 256), blocks(4, 16));
  EXPECT_EQ(split("wgmma_unaligned", "64x64x64", 64, 61 * 64, 1001), blocks(2, 122));
  EXPECT_EQ(split("wgmma_unaligned", "64x64x64", 64, 60 * 64, 1001), blocks(4, 240));
  EXPECT_EQ(split("wgmma_unaligned", "128x128x64", 128, 60 * 128, 1001), blocks(2, 120));
  EXPECT_EQ(split("wgmma_unaligned", "64x64x64", 3, 5, 0), blocks(1, 1));
  EXPECT_EQ(split("wgmma_skinny", "16x64x64", 16, 4096, 8192), blocks(4, 256));
  EXPECT_EQ(split("wgmma_skinny", "16x64x64", 1, 8192, 8192), blocks(2, 256));
  EXPECT_EQ(split("wgmma_skinny", "16x64x64", 16, 10240, 8192), blocks(2, 320));
  EXPECT_EQ(split("wgmma_skinny", "16x64x64", 16, 57344, 8192), blocks(1, 896));
  EXPECT_EQ(split("wgmma_skinny", "16x128x64", 16, 8192, 8192), blocks(2, 128));
  EXPECT_EQ(split("wgmma_skinny", "64x128x64", 64, 10240, 8192), blocks(1, 80));
  Problem rows = {.kind = kind, .M = 64, .N = 64, .K = 64};
  EXPECT_EQ(refusal(find_rung("wgmma_skinny").kernel(kind), rows), "");
  rows.M = 65;
  EXPECT_EQ(refusal(find_rung("wgmma_skinny").kernel(kind), rows),
            "M is 65; this kernel is for at most 64 rows, and reads B once for each 16");
  EXPECT_EQ(split("wgmma_skinny", "64x16x64", 8192, 16, 8192), blocks(2, 256));
  EXPECT_EQ(refusal(find_rung("wgmma_skinny").kernel(kind, "64x32x64"), {.kind = kind, .M = 65, .N = 64, .K = 64}), "");
  EXPECT_EQ(refusal(find_rung("wgmma_skinny").kernel(kind, "64x32x64"), {.kind = kind, .M = 64, .N = 65, .K = 64}),
            "N is 65; this kernel is for at most 64 columns, and reads A once for each 32");
}

// As many blocks as there are multiprocessors for, but none that would only make the last round shorter.
TEST(Registry, LaunchesPersistentBlocksForFullRounds) {
  const GemmKind kind(Type::bf16, Type::bf16, Order::row_major, Order::column_major);
  const auto blocks = [&](const char* rung, std::int64_t size) {
    const Problem problem = {.kind = kind, .M = size, .N = size, .K = 64};
    return prepare(find_rung(rung).kernel(kind), Build::plain, problem, {90, 132}).shape.grid.x;
  };
  EXPECT_EQ(blocks("wgmma_specialized", 4096), 512u);
  for (const char* const rung : {"wgmma_persistent", "wgmma_staged", "wgmma_cluster"}) {
    EXPECT_EQ(blocks(rung, 4096), 128u) << rung;  // 512 tiles in 4 rounds
    EXPECT_EQ(blocks(rung, 1024), 32u) << rung;
    EXPECT_EQ(blocks(rung, 3072), 96u) << rung;  // 288 tiles in 3
  }
}

// A kernel that copies in bulk says what it cannot copy, and who runs it instead.
TEST(Registry, NamesTheKernelThatRunsInstead) {
  const GemmKind kind(Type::bf16, Type::bf16, Order::row_major, Order::column_major);
  const KernelEntry& kernel = find_rung("wgmma_cluster").kernel(kind);
  const Problem plain = {.kind = kind, .M = 128, .N = 128, .K = 64};
  EXPECT_EQ(choose(kernel, plain).kernel, &kernel);
  EXPECT_EQ(choose(kernel, plain).why, "");
  // What is just enough is taken.
  const auto taken = [&](auto change) {
    Problem problem = plain;
    change(problem);
    EXPECT_EQ(refusal(kernel, problem), "");
    EXPECT_EQ(message_of([&] { prepare(kernel, Build::plain, problem, {90, 132}); }), "");
  };
  constexpr std::int64_t most = (std::int64_t{1} << 31) - 1024, pitch = std::int64_t{1} << 39;
  taken([](Problem& p) { p.aligned = {16, 16, 16, 16}, p.N = 8, p.ldd = 8; });
  taken([](Problem& p) { p.lda = 72, p.ldb = 72, p.ldd = 136; });
  taken([](Problem& p) { p.M = most; });
  taken([](Problem& p) { p.N = most - most % 8, p.M = 8; });
  taken([](Problem& p) { p.K = most; });
  taken([](Problem& p) { p.lda = p.ldb = p.ldd = pitch - 8; });
  taken([](Problem& p) { p.M = 1, p.lda = 77, p.ldd = pitch + 1; });  // of one line no leading dimension is walked
  const auto replaced = [&](auto change, const char* rule) {
    Problem problem = plain;
    change(problem);
    const Choice choice = choose(kernel, problem);
    EXPECT_EQ(choice.kernel->rung, "mma_multistage");
    EXPECT_EQ(choice.why, "wgmma_cluster does not take it: " + refusal(kernel, problem));
    EXPECT_NE(choice.why.find(rule), std::string::npos) << choice.why;
  };
  replaced([](Problem& p) { p.aligned.A = 8; }, "A is known to be aligned to 8 bytes");
  replaced([](Problem& p) { p.aligned.B = 2; }, "B is known to be aligned to 2 bytes");
  replaced([](Problem& p) { p.aligned.D = 8; }, "D is known to be aligned to 8 bytes");
  replaced([](Problem& p) { p.K = 50; }, "A's leading dimension is 50");
  replaced([](Problem& p) { p.ldb = 66; }, "B's leading dimension is 66");
  replaced([](Problem& p) { p.ldd = 132; }, "D's leading dimension is 132");
  replaced([](Problem& p) { p.M = most + 1; }, "M is 2147482625; bulk copies count elements in 31 bits");
  replaced([](Problem& p) { p.N = most + 8, p.M = 8; }, "N is 2147482632");
  replaced([](Problem& p) { p.K = most + 8; }, "K is 2147482632");
  replaced([](Problem& p) { p.lda = pitch; }, "begin less than 2^40 bytes apart");
  replaced([](Problem& p) { p.ldd = pitch; }, "begin less than 2^40 bytes apart");
  replaced([](Problem& p) { p.N = 100, p.ldd = 104; }, "N is 100");
  replaced([](Problem& p) { p.K = 0; }, "K is 0");
  const GemmKind fp8(Type::e4m3, Type::f32, Order::row_major, Order::column_major);
  EXPECT_EQ(choose(find_rung("wgmma_promoted").kernel(fp8), {.kind = fp8, .M = 8, .N = 8, .K = 24}).kernel->rung,
            "mma_multistage");
}

// A launch that is prepared once runs on other operands, and refuses those that break what its problem says.
TEST(Prepared, RunsAgainOnOtherOperands) {
  const auto device = open_emulator();
  for (const char* const id : {"vectorized_128x128x8_f32", "wgmma_energy_128x256x32_s4_c2x1_tf32-f32-RC"}) {
    const KernelEntry& kernel = find_kernel(id);
    const std::int64_t M = 20, N = 36, K = 40;
    const Problem problem = {.kind = kernel.kind, .M = M, .N = N, .K = K, .alpha = Factor::any, .beta = Factor::any};
    const Prepared prepared = prepare(kernel, Build::plain, problem, card_of(device->stream()));
    const auto arguments = prepared.arguments;
    EXPECT_STREQ(prepared.shape.kernel, kernel.rung.c_str());
    for (const float value : {1.0f, 2.0f}) {
      const std::size_t bytes = static_cast<std::size_t>(K * N) * sizeof(float);
      const DeviceBuffer a(*device, bytes, "A"), b(*device, bytes, "B"), c(*device, bytes, "C"), d(*device, bytes, "D");
      for (const DeviceBuffer* buffer : {&a, &b, &c}) {
        std::fill_n(static_cast<float*>(buffer->data()), K * N, value);
      }
      const Operands operands = {a.data(), b.data(), c.data(), d.data(), 0.5f * value, 3};
      prepared.launch(device->stream(), operands);
      const auto* const results = static_cast<const float*>(d.data());
      for (std::int64_t i = 0; i < M * N; ++i)
        ASSERT_EQ(results[i], 0.5f * value * static_cast<float>(K) * value * value + 3 * value) << id << " " << i;
      Operands moved = operands;
      moved.A = static_cast<const float*>(a.data()) + 1;
      EXPECT_NE(message_of([&] { prepared.launch(device->stream(), moved); }).find("is a multiple of 256 bytes: say 4"),
                std::string::npos);
      moved = operands;
      moved.D = c.data();
      EXPECT_NE(message_of([&] { prepared.launch(device->stream(), moved); }).find("the problem says that D is not C"),
                std::string::npos);
      moved.D = b.data();
      EXPECT_NE(message_of([&] { prepared.launch(device->stream(), moved); }).find("shares elements with B"),
                std::string::npos);
      EXPECT_EQ(prepared.arguments, arguments);
      moved = operands;
      moved.C = nullptr;
      EXPECT_NE(message_of([&] { prepared.launch(device->stream(), moved); }).find("C is null"), std::string::npos);
      moved.beta = 0;  // C is not read then, whatever else it might have been
      for (const void* nowhere : {static_cast<const void*>(nullptr), static_cast<const void*>(d.data())}) {
        moved.C = nowhere;
        prepared.launch(device->stream(), moved);
        EXPECT_EQ(results[M * N - 1], 0.5f * value * static_cast<float>(K) * value * value) << id;
      }
    }
  }
  const Problem known = {.M = 4, .N = 4, .K = 4};
  const Prepared prepared = prepare(find_rung("naive").kernels.front(), Build::plain, known, {90, 132});
  float numbers[64];
  EXPECT_EQ(message_of([&] {
              prepared.launch(device->stream(), {numbers, numbers, nullptr, numbers, 2});
            }),
            "alpha is 2; the problem says that it is 1");
  EXPECT_EQ(message_of([&] {
              prepared.launch(device->stream(), {numbers, numbers, numbers, numbers, 1, 2});
            }),
            "beta is 2; the problem says that it is 0");
}

// The same value from several threads, each with an emulated machine of its own, and from a copy.
TEST(Prepared, IsLaunchedByThreads) {
  for (const char* const id : {"vectorized_128x128x8_f32", "wgmma_energy_128x256x32_s4_c2x1_tf32-f32-RC"}) {
    const KernelEntry& kernel = find_kernel(id);
    const std::int64_t size = 40;
    const Prepared prepared = prepare(kernel, Build::plain, {.kind = kernel.kind, .M = size, .N = size, .K = size},
                                      {90, 2});
    // Memory is one for all machines, and not to be changed while a kernel runs.
    const auto device = open_emulator();
    const std::size_t bytes = size * size * sizeof(float);
    std::vector<std::unique_ptr<DeviceBuffer>> buffers;
    const auto filled = [&](float value) {
      buffers.push_back(std::make_unique<DeviceBuffer>(*device, bytes, "a matrix"));
      std::fill_n(static_cast<float*>(buffers.back()->data()), size * size, value);
      return buffers.back()->data();
    };
    std::vector<Operands> operands;
    for (int number = 0; number < 4; ++number)
      operands.push_back({.A = filled(static_cast<float>(number)), .B = filled(1), .D = filled(-1)});
    std::vector<std::thread> threads;
    for (const Operands& each : operands)
      threads.emplace_back([&prepared, &each, copy = prepared] {
        const auto machine = open_emulator({.multiprocessors = 2});
        for (int again = 0; again < 3; ++again)
          for (const Prepared* const launched : {&prepared, &copy}) launched->launch(machine->stream(), each);
      });
    for (std::thread& thread : threads) thread.join();
    for (const Operands& each : operands)
      EXPECT_EQ(static_cast<const float*>(each.D)[size * size - 1],
                static_cast<float>(size) * *static_cast<const float*>(each.A))
          << id;
  }
}

// A stream of another machine than the build's is refused, also without run().
TEST(Prepared, RefusesStreamsOfOtherMachines) {
  const Prepared prepared = prepare(find_kernel("naive_32x32_f32"), Build::plain, {.M = 1, .N = 1, .K = 1}, {90, 1});
  float numbers[3] = {};
  const Operands operands = {numbers, numbers + 1, nullptr, numbers + 2};
  EXPECT_NE(message_of([&] { prepared.launch(Stream(), operands); }).find("belongs to a GPU"), std::string::npos);
  const auto counting = open_emulator({.count = true});
  EXPECT_NE(message_of([&] { prepared.launch(counting->stream(), operands); }).find("instrumented"), std::string::npos);
  EXPECT_NE(message_of([&] { require_stream_for(Build::gpu, counting->stream()); }).find("belongs to the emulated"),
            std::string::npos);
}

TEST(Registry, NamesTheNearestRungs) {
  EXPECT_EQ(message_of([] { find_rung("niave"); }), "no kernel is named 'niave'; near it are naive");
  EXPECT_EQ(message_of([] { find_rung("shared"); }),
            "no kernel is named 'shared'; near it are shared_tiles, wgmma_shared");
  EXPECT_NE(message_of([] { find_rung("xyzzy"); }).find("there are naive, coalesced"), std::string::npos);
  EXPECT_NE(message_of([] { find_rung(""); }).find("there are naive, coalesced"), std::string::npos);
}

TEST(Registry, TellsHowToGetWhatAnOptionalRungNeeds) {
  std::ifstream page(LAPIDARY_SOURCE_DIR "/docs/cute.md");
  const std::string text{std::istreambuf_iterator<char>(page), {}};
  for (const OptionalRung& rung : optional_rungs()) {
    EXPECT_NE(rung_source(rung.name), "");
    EXPECT_EQ(rung_source_hash(rung.name).size(), 16u);
    const std::string message = message_of([&] { find_rung(rung.name); });
    EXPECT_EQ(message.empty(), rung.built);
    if (rung.built) continue;
    EXPECT_EQ(message.find(fmt::format("this program was built without {}, which needs ", rung.name)), 0u) << message;
    for (const char* command : {"pip install --no-deps ", "cmake -S . -B build -D", "cmake --build build --target "}) {
      const std::size_t begin = message.find(command);
      ASSERT_NE(begin, std::string::npos) << command;
      const std::string whole = message.substr(begin, message.find(" &&", begin) - begin);
      EXPECT_NE(text.find(whole + "\n"), std::string::npos) << whole;
    }
  }
}

TEST(Registry, NamesTheTilesAndTypesThatThereAre) {
  const Rung& naive = find_rung("naive");
  const std::string tile = message_of([&] { naive.kernel(Type::f32, "7x7x7"); });
  EXPECT_EQ(tile.find("naive has no tile 7x7x7 for f32; it has "), 0u) << tile;
  EXPECT_EQ(message_of([&] { naive.kernel(Type::f16); }), "naive has no f16 kernel; it has f32");
}

TEST(Registry, WritesTiles) {
  EXPECT_EQ(to_string(TileShape{128, 64, 8}), "128x64x8");
  EXPECT_EQ(to_string(TileShape{32, 32, 0}), "32x32");
}

class Validate : public testing::Test {
 protected:
  float a[64], b[64], c[64], d[256];
  Problem problem{.M = 4, .N = 5, .K = 6, .lda = 6, .ldb = 5, .ldc = 5, .ldd = 5};
  Operands operands{.A = a, .B = b, .C = c, .D = d, .beta = 1};

  std::string message() const {
    return message_of([&] {
      const Problem known = with_known(problem, operands);
      validate(known);
      validate(known, operands);
    });
  }
};

TEST_F(Validate, AcceptsWhatIsLegal) {
  EXPECT_EQ(message(), "");
  operands.beta = 0;
  operands.C = nullptr;
  problem.ldc = 0;
  EXPECT_EQ(message(), "");
  problem.M = 0;
  operands.A = operands.B = operands.D = nullptr;
  EXPECT_EQ(message(), "");
}

TEST_F(Validate, RefusesSizes) {
  problem.N = -3;
  EXPECT_EQ(message(), "N is -3; sizes must be 0 or more");
}

TEST_F(Validate, RefusesLeadingDimensionsBelowTheRow) {
  problem.lda = 5;
  EXPECT_EQ(message(), "lda is 5; a row of A has K = 6 elements, so it must be at least 6");
  problem.lda = 6;
  problem.ldd = -1;
  EXPECT_EQ(message(), "ldd is -1; a row of D has N = 5 elements, so it must be at least 5");
}

TEST_F(Validate, RefusesExtentsThatOverflow) {
  problem.M = INT64_MAX / 4;
  EXPECT_NE(message().find("must take less than 2^63 bytes"), std::string::npos);
  problem.M = 4;
  problem.ldb = INT64_MAX / 8;
  EXPECT_NE(message().find("B is 6 x 5 f32"), std::string::npos) << message();
  problem.K = 1;  // the leading dimension of a single row is never walked
  EXPECT_EQ(message(), "");
}

TEST_F(Validate, RefusesPointers) {
  operands.A = nullptr;
  EXPECT_EQ(message(), "A is null; it must point to 4 x 6 elements");
  problem.K = 0;
  EXPECT_EQ(message(), "") << "an A without elements may be null";
  operands.D = reinterpret_cast<char*>(d) + 2;
  EXPECT_NE(message().find("must be a multiple of the 4 bytes of an element"), std::string::npos);
}

// Of each matrix alone.
TEST_F(Validate, RefusesEachPointer) {
  const auto refused = [&](const Problem& known, auto member, auto value, const std::string& rule) {
    Operands moved = operands;
    moved.*member = value;
    const std::string told = message_of([&] { validate(known, moved); });
    EXPECT_EQ(told.rfind(rule, 0), 0u) << told;
  };
  Problem known = with_known(problem, operands);
  known.aligned = {4, 4, 4, 4};
  refused(known, &Operands::A, nullptr, "A is null");
  refused(known, &Operands::B, nullptr, "B is null");
  refused(known, &Operands::C, nullptr, "C is null");
  refused(known, &Operands::D, nullptr, "D is null");
  const auto off = [](auto* pointer) { return reinterpret_cast<char*>(const_cast<float*>(pointer)) + 1; };
  const std::string element = "its address must be a multiple of the 4 bytes of an element";
  for (const char* const name : {"A", "B", "C"}) {
    const auto member = *name == 'A' ? &Operands::A : *name == 'B' ? &Operands::B : &Operands::C;
    const void* const moved = off(*name == 'A' ? a : *name == 'B' ? b : c);
    refused(known, member, moved, fmt::format("{} is at {}; {}", name, moved, element));
  }
  void* const moved_d = off(d);
  refused(known, &Operands::D, moved_d, fmt::format("D is at {}; {}", moved_d, element));
  for (int Alignments::*matrix : {&Alignments::A, &Alignments::B, &Alignments::C, &Alignments::D}) {
    Problem strict = known;
    strict.aligned.*matrix = 1 << 30;
    EXPECT_NE(message_of([&] { validate(strict, operands); }).find("is a multiple of 1073741824 bytes"),
              std::string::npos);
    strict.aligned.*matrix = 24;
    EXPECT_NE(message_of([&] { validate(strict); }).find("said to be aligned to 24 bytes"), std::string::npos);
  }
  const void* const end = reinterpret_cast<const void*>(~std::uintptr_t{15});
  refused(known, &Operands::B, end, fmt::format("B is at {} and takes 120 bytes; it must end below 2^63", end));
}

TEST_F(Validate, RefusesValuesThatTypesHaveNot) {
  const auto refused = [&](auto change, const char* rule) {
    Problem changed = problem;
    change(changed);
    EXPECT_NE(message_of([&] { validate(changed); }).find(rule), std::string::npos) << rule;
  };
  refused([](Problem& p) { p.kind.type = static_cast<Type>(99); }, "the element type of A and B has value 99");
  refused([](Problem& p) { p.kind.result = static_cast<Type>(99); }, "the element type of C and D has value 99");
  refused([](Problem& p) { p.kind.b = static_cast<Order>(2); }, "the order of B has value 2; values are 0 to 1");
  refused([](Problem& p) { p.alpha = static_cast<Factor>(9); },
          "what is known of alpha has value 9; values are 0 to 3");
  refused([](Problem& p) { p.beta = static_cast<Factor>(4); }, "what is known of beta has value 4");
  refused([](Problem& p) { p.epilogue.activation = static_cast<Activation>(5); }, "the activation has value 5");
  refused([](Problem& p) { p.epilogue.bias = static_cast<Bias>(3); }, "the bias has value 3");
  refused([](Problem& p) { p.scaling = static_cast<Scaling>(4); }, "the scaling has value 4");
  refused([](Problem& p) { p.order_d = static_cast<Order>(7); }, "the order of D has value 7");
}

TEST_F(Validate, KnowsWhatOperandsShow) {
  const Problem known = with_known(problem, operands);
  EXPECT_EQ(known.alpha, Factor::one);
  EXPECT_EQ(known.beta, Factor::one);
  EXPECT_FALSE(known.in_place);
  alignas(4096) static float page[16];
  Operands at = operands;
  at.A = page;
  at.B = page + 4;
  at.C = nullptr;
  EXPECT_EQ(with_known(problem, at).aligned.A, 256);
  EXPECT_EQ(with_known(problem, at).aligned.B, 16);
  EXPECT_EQ(with_known(problem, at).aligned.C, 256);
  at.C = at.D = nullptr;
  EXPECT_FALSE(with_known(problem, at).in_place) << "nothing is nowhere";
}

// Each matrix decides, C only where it is read.
TEST_F(Validate, SaysWhatVectorsWalk) {
  Problem even = {.M = 8, .N = 8, .K = 8, .beta = Factor::any};
  even = resolved(even);
  even.aligned = {16, 16, 16, 16};
  EXPECT_TRUE(vectorizable(even));
  for (int Alignments::*matrix : {&Alignments::A, &Alignments::B, &Alignments::C, &Alignments::D}) {
    Problem p = even;
    p.aligned.*matrix = 8;
    EXPECT_FALSE(vectorizable(p));
    p.beta = Factor::zero;
    EXPECT_EQ(vectorizable(p), matrix == &Alignments::C);
  }
  for (std::int64_t Problem::*ld : {&Problem::lda, &Problem::ldb, &Problem::ldc, &Problem::ldd}) {
    Problem p = even;
    p.*ld = 10;
    EXPECT_FALSE(vectorizable(p));
    p.*ld = 12;
    EXPECT_TRUE(vectorizable(p));
  }
  Problem p = even;
  p.N = 6, p.ldb = p.ldc = p.ldd = 8;
  EXPECT_FALSE(vectorizable(p));
}

TEST_F(Validate, RefusesSharedElements) {
  operands.D = a;
  EXPECT_NE(message().find("shares elements with A"), std::string::npos);
  operands.D = b + 29;
  EXPECT_NE(message().find("shares elements with B"), std::string::npos);
  operands.D = b + 30;  // right behind the last element of B
  EXPECT_EQ(message(), "");
  operands.D = c + 1;
  EXPECT_NE(message().find("shares elements with C"), std::string::npos);
  operands.beta = 0;  // C is not read
  EXPECT_EQ(message(), "");
}

TEST_F(Validate, AcceptsDThatIsC) {
  operands.C = d;
  EXPECT_EQ(message(), "");
  problem.ldd = 7;
  EXPECT_EQ(message(), "D is C, but ldc is 5 and ldd is 7; they must be equal");
  problem.beta = Factor::zero;
  problem.in_place = true;
  EXPECT_NO_THROW(validate(problem)) << "C is not read";
  const Problem given = resolved({.M = 4, .N = 5, .K = 6, .ldd = 7, .beta = Factor::one, .in_place = true});
  EXPECT_EQ(given.ldc, 7);
  EXPECT_EQ(resolved({.M = 4, .N = 5, .K = 6, .ldc = 8, .beta = Factor::one, .in_place = true}).ldd, 8);
  Problem elsewhere = given;
  elsewhere.aligned = {4, 4, 4, 4};
  EXPECT_NE(message_of([&] {
              validate(elsewhere, {a, b, c, d, 1, 1});
            }).find("; the problem says that D is C"),
            std::string::npos);
}

TEST_F(Validate, AcceptsBlocksOfOneMatrix) {
  // C, D and A side by side in one matrix of 16 columns.
  operands.C = d;
  operands.D = d + 5;
  operands.A = d + 10;
  problem.ldc = problem.ldd = problem.lda = 16;
  EXPECT_EQ(message(), "");
  operands.D = d + 6;
  EXPECT_NE(message().find("shares elements with A"), std::string::npos);
  operands.D = d + 4;
  EXPECT_NE(message().find("shares elements with C"), std::string::npos);
}

TEST_F(Validate, AgreesWithBruteForceOnOverlaps) {
  for (int ldc = 5; ldc < 12; ++ldc) {
    for (int ldd = 5; ldd < 12; ++ldd) {
      for (int offset = -40; offset < 60; ++offset) {
        if (offset == 0) continue;
        operands.C = d + 100;
        operands.D = d + 100 + offset;
        problem.ldc = ldc;
        problem.ldd = ldd;
        std::set<int> elements;
        for (int i = 0; i < 20; ++i) elements.insert(i / 5 * ldc + i % 5);
        bool shared = false;
        for (int i = 0; i < 20; ++i) shared = shared || elements.count(offset + i / 5 * ldd + i % 5);
        ASSERT_EQ(message() != "", shared) << "ldc " << ldc << " ldd " << ldd << " offset " << offset;
      }
    }
  }
}

TEST(Run, RefusesBuildsThatDoNotFit) {
  const auto device = open_emulator();
  const KernelEntry& kernel = find_rung("naive").kernels.front();
  Problem empty;
  EXPECT_EQ(message_of([&] { run(kernel, Build::plain, device->stream(), empty, {}); }), "");
  EXPECT_NE(message_of([&] { run(kernel, Build::plain, Stream(), empty, {}); }).find("emulated machine"),
            std::string::npos);
  const auto counting = open_emulator({.count = true});
  EXPECT_NE(message_of([&] { run(kernel, Build::plain, counting->stream(), empty, {}); }).find("instrumented"),
            std::string::npos);
  empty.kind = Type::f16;
  EXPECT_NE(message_of([&] { run(kernel, Build::plain, device->stream(), empty, {}); }).find("instantiated for f32"),
            std::string::npos);
}

}  // namespace
}  // namespace lapidary
