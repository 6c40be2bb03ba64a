#include "kernels/registry.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <functional>
#include <iterator>
#include <set>
#include <string>

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
    ASSERT_FALSE(rung.variants.empty());
    for (const RungVariant& variant : rung.variants) {
      EXPECT_NE(variant.launch[static_cast<std::size_t>(Build::plain)], nullptr) << rung.name();
      EXPECT_EQ(&rung.variant(variant.kind, to_string(variant.tile)), &variant) << rung.name();
    }
  }
  EXPECT_EQ(ladder().front().name(), "naive");
  EXPECT_EQ(rung_source("no such rung"), "");
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
  const std::string tile = message_of([&] { naive.variant(Type::f32, "7x7x7"); });
  EXPECT_EQ(tile.find("naive has no tile 7x7x7 for f32; it has "), 0u) << tile;
  EXPECT_EQ(message_of([&] { naive.variant(Type::f16); }), "naive has no f16 kernel; it has f32");
}

TEST(Registry, WritesTiles) {
  EXPECT_EQ(to_string(TileShape{128, 64, 8}), "128x64x8");
  EXPECT_EQ(to_string(TileShape{32, 32, 0}), "32x32");
}

class Validate : public testing::Test {
 protected:
  float a[64], b[64], c[64], d[256];
  GemmProblem problem{Type::f32, 4, 5, 6, 1, a, 6, b, 5, 1, c, 5, d, 5};

  std::string message() const {
    return message_of([&] { validate(problem); });
  }
};

TEST_F(Validate, AcceptsWhatIsLegal) {
  EXPECT_EQ(message(), "");
  problem.beta = 0;
  problem.C = nullptr;
  problem.ldc = 0;
  EXPECT_EQ(message(), "");
  problem.M = 0;
  problem.A = problem.B = problem.D = nullptr;
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
  problem.A = nullptr;
  EXPECT_EQ(message(), "A is null; it must point to 4 x 6 elements");
  problem.K = 0;
  EXPECT_EQ(message(), "") << "an A without elements may be null";
  problem.D = reinterpret_cast<char*>(d) + 2;
  EXPECT_NE(message().find("must be a multiple of the 4 bytes of an element"), std::string::npos);
}

TEST_F(Validate, RefusesSharedElements) {
  problem.D = a;
  EXPECT_NE(message().find("D shares elements with A"), std::string::npos);
  problem.D = b + 29;
  EXPECT_NE(message().find("D shares elements with B"), std::string::npos);
  problem.D = b + 30;  // right behind the last element of B
  EXPECT_EQ(message(), "");
  problem.D = c + 1;
  EXPECT_NE(message().find("D shares elements with C"), std::string::npos);
  problem.beta = 0;  // C is not read
  EXPECT_EQ(message(), "");
}

TEST_F(Validate, AcceptsDThatIsC) {
  problem.C = d;
  EXPECT_EQ(message(), "");
  problem.ldd = 7;
  EXPECT_EQ(message(), "D is C, but ldc is 5 and ldd is 7; they must be equal");
}

TEST_F(Validate, AcceptsBlocksOfOneMatrix) {
  // C, D and A side by side in one matrix of 16 columns.
  problem.C = d;
  problem.D = d + 5;
  problem.A = d + 10;
  problem.ldc = problem.ldd = problem.lda = 16;
  EXPECT_EQ(message(), "");
  problem.D = d + 6;
  EXPECT_NE(message().find("D shares elements with A"), std::string::npos);
  problem.D = d + 4;
  EXPECT_NE(message().find("D shares elements with C"), std::string::npos);
}

TEST_F(Validate, AgreesWithBruteForceOnOverlaps) {
  for (int ldc = 5; ldc < 12; ++ldc) {
    for (int ldd = 5; ldd < 12; ++ldd) {
      for (int offset = -40; offset < 60; ++offset) {
        if (offset == 0) continue;
        problem.C = d + 100;
        problem.D = d + 100 + offset;
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
  const RungVariant& variant = find_rung("naive").variants.front();
  GemmProblem empty{Type::f32, 0, 0, 0, 1, nullptr, 0, nullptr, 0, 0, nullptr, 0, nullptr, 0};
  EXPECT_EQ(message_of([&] { run(variant, Build::plain, device->stream(), empty); }), "");
  EXPECT_NE(message_of([&] { run(variant, Build::plain, Stream(), empty); }).find("emulated machine"),
            std::string::npos);
  const auto counting = open_emulator({.count = true});
  EXPECT_NE(message_of([&] { run(variant, Build::plain, counting->stream(), empty); }).find("instrumented"),
            std::string::npos);
  empty.kind = Type::f16;
  EXPECT_NE(message_of([&] { run(variant, Build::plain, device->stream(), empty); }).find("instantiated for f32"),
            std::string::npos);
}

}  // namespace
}  // namespace lapidary
