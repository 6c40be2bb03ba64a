#include "kernels/registry.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "device/device.hpp"
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
      EXPECT_EQ(&rung.kernel(kernel.kind, to_string(kernel.tile)), &kernel) << rung.name();
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
  EXPECT_EQ(loops, 3) << "wgmma_tma, wgmma_specialized and wgmma_promoted write one out each";
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
  EXPECT_NE(message_of([] { parse_kernel_id("naive_32x32"); }).find("is no kernel's id"), std::string::npos);
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
  refused([](Problem& p) { p.groups = 2; }, "there are 2 groups");
  refused([](Problem& p) { p.order_d = Order::column_major; }, "C and D are column-major");
  refused([](Problem& p) { p.epilogue.bias = true; }, "a bias");
  refused([](Problem& p) { p.epilogue.activation = Activation::relu; }, "an activation");
  refused([](Problem& p) { p.scaling = Scaling::blocks; }, "A and B have scales");
  refused([](Problem& p) { p.split = 4; }, "K is to be split in 4");
  refused([](Problem& p) { p.kind = Type::f16; }, "instantiated for f32");
}

// A kernel that copies in bulk says what it cannot copy, and who runs it instead.
TEST(Registry, NamesTheKernelThatRunsInstead) {
  const GemmKind kind(Type::bf16, Type::bf16, Order::row_major, Order::column_major);
  const KernelEntry& kernel = find_rung("wgmma_cluster").kernel(kind);
  const Problem plain = {.kind = kind, .M = 128, .N = 128, .K = 64};
  EXPECT_EQ(choose(kernel, plain).kernel, &kernel);
  EXPECT_EQ(choose(kernel, plain).why, "");
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
  replaced([](Problem& p) { p.ldd = 132; }, "ldd is 132");
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
      EXPECT_EQ(message_of([&] { prepared.launch(device->stream(), moved); }),
                "D is C; the problem says that it is not");
      moved.D = b.data();
      EXPECT_NE(message_of([&] { prepared.launch(device->stream(), moved); }).find("D shares elements with B"),
                std::string::npos);
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

TEST(Registry, NamesTheNearestRungs) {
  EXPECT_EQ(message_of([] { find_rung("niave"); }), "no kernel is named 'niave'; near it are naive");
  EXPECT_EQ(message_of([] { find_rung("shared"); }), "no kernel is named 'shared'; near it are shared_tiles");
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

TEST_F(Validate, RefusesSharedElements) {
  operands.D = a;
  EXPECT_NE(message().find("D shares elements with A"), std::string::npos);
  operands.D = b + 29;
  EXPECT_NE(message().find("D shares elements with B"), std::string::npos);
  operands.D = b + 30;  // right behind the last element of B
  EXPECT_EQ(message(), "");
  operands.D = c + 1;
  EXPECT_NE(message().find("D shares elements with C"), std::string::npos);
  operands.beta = 0;  // C is not read
  EXPECT_EQ(message(), "");
}

TEST_F(Validate, AcceptsDThatIsC) {
  operands.C = d;
  EXPECT_EQ(message(), "");
  problem.ldd = 7;
  EXPECT_EQ(message(), "D is C, but ldc is 5 and ldd is 7; they must be equal");
}

TEST_F(Validate, AcceptsBlocksOfOneMatrix) {
  // C, D and A side by side in one matrix of 16 columns.
  operands.C = d;
  operands.D = d + 5;
  operands.A = d + 10;
  problem.ldc = problem.ldd = problem.lda = 16;
  EXPECT_EQ(message(), "");
  operands.D = d + 6;
  EXPECT_NE(message().find("D shares elements with A"), std::string::npos);
  operands.D = d + 4;
  EXPECT_NE(message().find("D shares elements with C"), std::string::npos);
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
