// Runs `lapidary banks` as its user does.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "scratch_folder.hpp"

#include "run_program.hpp"

namespace lapidary {
namespace {

using Json = nlohmann::json;

Output run(const std::string& arguments, const std::string& redirection = "2>&1") {
  return run_program("banks " + arguments, redirection);
}

std::string quoted(const std::string& layout, const std::string& access) {
  return "\"" + layout + "\" \"" + access + "\"";
}

Json layouts(const std::string& layout, const std::string& access) {
  const Output output = run(quoted(layout, access) + " --json");
  EXPECT_EQ(output.code, 0) << output.text;
  return Json::parse(output.text)["layouts"];
}

TEST(Banks, TellWhatTwoHalvesOfPaddingDoToHalfPrecisionTiles) {
  const std::string tile = "f16 64x128+2/64";
  const auto expect = [&](const char* access, int before, int after) {
    const Json views = layouts(tile, access);
    ASSERT_EQ(views.size(), 2u);
    EXPECT_EQ(views[0]["wavefronts"], before) << access;
    EXPECT_EQ(views[1]["wavefronts"], after) << access;
  };
  expect("read 32 [1, lane % 16 * 8]", 2, 1);
  expect("write 32 [lane / 16, lane % 16 * 8]", 4, 1);
  expect("write 16 [lane % 8 * 8, lane / 8]", 8, 4);
  const Json wide = layouts(tile, "read 128 [0, lane % 16 * 8]");
  EXPECT_EQ(wide[0]["wavefronts"], wide[0]["minimum"]);
  EXPECT_TRUE(wide[1]["wavefronts"].is_null());
  EXPECT_EQ(wide[1]["misaligned_lanes"], 0xff00ff00u);
}

TEST(Banks, TakeTheNamesThatCudaGivesToTypes) {
  const std::string access = "\"write 32 [lane / 16, lane % 16 * 8]\"";
  EXPECT_EQ(run("\"half 64x128+2/64\" " + access).text, run("\"f16 64x128+2/64\" " + access).text);
  for (const char* const integers : {"s8", "u8", "int8", "uint8"})
    EXPECT_EQ(layouts(std::string(integers) + " 32x32", "read [lane, 0]")[0]["wavefronts"], 8) << integers;
  EXPECT_EQ(run("\"fp8 32x32\" \"read [0, lane]\"", "2>&1 >/dev/null").text, "note: fp8 is taken for e4m3, not e5m2\n");
}

TEST(Banks, ServeTheMatricesOfLdmatrixOneAfterTheOther) {
  const std::string access = "ldmatrix x4 [lane % 16, lane / 16 * 8]";
  const Json views = layouts("f16 64x64^3,3,3", access);
  EXPECT_EQ(views[0]["wavefronts"], 32);
  EXPECT_EQ(views[1]["wavefronts"], 4);
  EXPECT_EQ(layouts("bf16 64x64", "ldmatrix x1 [lane, 0] if lane < 8")[0]["wavefronts"], 8);
}

TEST(Banks, ShareAWordAmongLanesThatWantDifferentBytesOfIt) {
  EXPECT_EQ(layouts("e4m3 32x32", "read [0, lane]")[0]["wavefronts"], 1);
  EXPECT_EQ(layouts("32x32", "read [lane, 0]")[0]["wavefronts"], 32);
  EXPECT_EQ(layouts("32x32+1", "read [lane, 0]")[1]["wavefronts"], 1);
}

TEST(Banks, ReadExpressionsWithThePrecedenceOfC) {
  const auto active = [](const std::string& condition) {
    return Json::parse(run(quoted("32x32", "read [0, lane] if " + condition) + " --json").text)["active"];
  };
  EXPECT_EQ(active("lane < 16 & lane % 2 == 0"), 0x5555u);
  EXPECT_EQ(active("(lane & 3) == 1 << 1"), 0x44444444u);
  EXPECT_EQ(active("10 - 4 - 2 == lane"), 1u << 4);
}

/// What is wrong, and the column of the caret, counted from the text's first character.
void expect_error(const std::string& layout, const std::string& access, const std::string& message, int caret) {
  const Output output = run(quoted(layout, access));
  EXPECT_EQ(output.code, 2) << layout << " " << access;
  EXPECT_NE(output.text.find(message), std::string::npos) << output.text;
  EXPECT_NE(output.text.find("\n  " + std::string(static_cast<std::size_t>(caret), ' ') + "^\n"), std::string::npos)
      << output.text;
}

TEST(Banks, PointAtTheCharacterThatIsWrong) {
  expect_error("f16 64x", "read [0]", "expected an extent but the text ends", 7);
  expect_error("f12 64", "read [0]", "\"f12\" is no element type", 0);
  expect_error("(8,8):(1,4)", "read [0, 0]", "no two coordinates share an offset", 5);
  expect_error("8x8^3,2", "read [0, 0]", "expected \",\"", 7);
  expect_error("32x32", "read [lane, foo]", "\"foo\" is unknown", 12);
  expect_error("32x32", "read [lane + 1, 0]", "got 32 in lane 31", 6);
  expect_error("32x32", "read [lane]", "as many indices as modes", 10);
  expect_error("32x32", "read 48 [lane, 0]", "not 48", 5);
  expect_error("32x32", "read [lane / (lane - lane), 0]", "division by 0", 11);
  expect_error("32x32", "read [0, lane / 2.0]", "a whole one is needed", 9);
}

// The loads of B, 16 bytes each, of which every second quarter of a line is wanted by the other half of the lanes.
TEST(Banks, AreThoseOfAKernelsOwnAccesses) {
  const Output output = run("vectorized --json");
  if (output.text.find("instrumented") != std::string::npos) GTEST_SKIP() << "built without LAPIDARY_INSTRUMENTED";
  const Json accesses = Json::parse(output.text)["accesses"];
  ASSERT_EQ(accesses.size(), 4u);
  EXPECT_EQ(accesses[0]["wavefronts"], 2);
  EXPECT_EQ(accesses[0]["minimum"], 1);
  EXPECT_EQ(accesses[3]["bits"], 128);
  EXPECT_EQ(accesses[3]["wavefronts"], 8);
  EXPECT_EQ(accesses[3]["cause"], "lanes 0 and 4 read different words of bank 0, 2 in all");
  EXPECT_NE(run("32x32").text.find("there is no ACCESS"), std::string::npos);
  EXPECT_NE(run("naive").text.find("uses no shared memory"), std::string::npos);
  EXPECT_NE(run("wgmma_tma").text.find("no thread reads or writes its 99328 bytes of shared memory"),
            std::string::npos);
}

TEST(Banks, DrawAPictureThatIsWellFormed) {
  const ScratchFolder folder;
  const std::string file = folder.file("banks.svg");
  ASSERT_EQ(run(quoted("f16 64x64^3,3,3", "read 64 [lane % 8, 0] if lane < 8 & lane < 32") + " --svg " + file).code, 0);
  std::ifstream stream(file);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  EXPECT_EQ(text.rfind("<svg xmlns", 0), 0u);
  EXPECT_NE(text.find("lane &lt; 8 &amp; lane"), std::string::npos);
  if (std::system("command -v xmllint >/dev/null") == 0) {
    EXPECT_EQ(std::system(("xmllint --noout " + file).c_str()), 0);
  }
}

TEST(Banks, WriteAPngWhateverItsNameEndsIn) {
  if (std::system("command -v rsvg-convert >/dev/null") != 0) GTEST_SKIP() << "rsvg-convert makes it";
  const ScratchFolder folder;
  const std::string file = folder.file("banks");
  ASSERT_EQ(run(quoted("32x32", "read [lane, 0]") + " --png " + file).code, 0);
  std::ifstream stream(file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  EXPECT_EQ(text.rfind("\x89PNG", 0), 0u);
}

}  // namespace
}  // namespace lapidary
