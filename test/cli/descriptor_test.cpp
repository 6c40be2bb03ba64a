// Runs `lapidary descriptor` as its user does.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "run_program.hpp"

namespace lapidary {
namespace {

using Json = nlohmann::json;

Output run(const std::string& arguments) { return run_program("descriptor " + arguments); }

// Rows of 128 bytes: the chunk within a row is that of the element XOR the row's number modulo 8.
TEST(Descriptor, ShowsWhereTheRowsOfACoreMatrixAre) {
  const Output output = run("0x4000004000010240 --json");
  ASSERT_EQ(output.code, 0) << output.text;
  const Json json = Json::parse(output.text);
  EXPECT_EQ(json["start"], 0x2400);
  EXPECT_EQ(json["leading"], 16);
  EXPECT_EQ(json["stride"], 1024);
  EXPECT_EQ(json["swizzle"], 128);
  EXPECT_TRUE(json["problem"].is_null());
  ASSERT_EQ(json["core_matrices"].size(), 16u);
  const Json& second = json["core_matrices"][3];
  EXPECT_EQ(second["mn"], 8);
  EXPECT_EQ(second["k"], 8);
  for (int row = 0; row < 8; ++row) EXPECT_EQ(second["rows"][row], 0x2800 + 128 * row + 16 * (1 ^ row));
}

TEST(Descriptor, ShowsColumnsOfMnMajorMatrices) {
  const Json json = Json::parse(run("0x4000004002000040 --major mn --mn 128 --json").text);
  EXPECT_EQ(json["leading"], 8192);
  const Json& last = json["core_matrices"].back();
  EXPECT_EQ(last["mn"], 120);
  EXPECT_EQ(last["k"], 8);
  for (int k = 0; k < 8; ++k) EXPECT_EQ(last["rows"][k], 0x400 + 8192 + 1024 + 128 * k + 16 * (7 ^ k));
}

TEST(Descriptor, TellsWhatIsWrongWithIt) {
  EXPECT_NE(run("0x4000004000010248").text.find("first of the swizzle's 8 rows"), std::string::npos);
  EXPECT_EQ(run("0x40g0").code, 2);
  EXPECT_EQ(run("0x4000004000010240 --major mn --type e4m3").code, 2);
  EXPECT_EQ(run("0x4000004000010240 --mn 12").code, 2);
}

}  // namespace
}  // namespace lapidary
