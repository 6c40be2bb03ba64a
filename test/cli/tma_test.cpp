// Runs `lapidary tma` as its user does.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "run_program.hpp"

namespace lapidary {
namespace {

using Json = nlohmann::json;

Output run(const std::string& arguments) { return run_program("tma " + arguments); }

TEST(Tma, SaysWhereTheChunksOfARowGo) {
  const Output output = run("--size 4096,4096 --box 64,128 --swizzle 128 --at -8,4093 --json");
  ASSERT_EQ(output.code, 0) << output.text;
  const Json json = Json::parse(output.text);
  EXPECT_EQ(json["box_bytes"], 128 * 128);
  EXPECT_EQ(json["alignment"], 1024);
  ASSERT_EQ(json["rows"].size(), 128u);
  const Json& row = json["rows"][2];
  EXPECT_EQ(row["global"], 4095 * 8192 - 16);
  EXPECT_EQ(row["inside"], Json({16, 128}));
  EXPECT_EQ(row["chunks"], Json({288, 304, 256, 272, 352, 368, 320, 336}));  // chunk ^ 2
  EXPECT_EQ(json["rows"][3]["inside"], Json({0, 0}));
}

TEST(Tma, SaysWhatBecomesOfWhatIsOutside) {
  const std::string across = "--size 64,64 --box 8,8 --at -8,3";
  for (const auto& [fill, outside] : {std::pair{"zero", "becomes zero"}, std::pair{"nan", "becomes NaN"}})
    EXPECT_NE(run(across + " --fill " + fill).text.find(outside), std::string::npos) << fill;
  EXPECT_EQ(Json::parse(run(across + " --fill nan --json").text)["fill"], "nan");
  EXPECT_EQ(run("--size 64,64 --box 8,8 --fill nan").text.find("becomes"), std::string::npos);
}

TEST(Tma, RefusesWhatTheHardwareDoes) {
  const Output output = run("--size 4096,4096 --box 72,64 --swizzle 128");
  EXPECT_EQ(output.code, 2);
  EXPECT_NE(output.text.find("a row of the box is no longer than what the swizzle permutes; got 144, the nearest legal "
                             "value is 128"),
            std::string::npos)
      << output.text;
  const Output between = run("--size 4096,4096 --box 64,64 --at 9,0");
  EXPECT_EQ(between.code, 2);
  EXPECT_NE(between.text.find("a box begins at a multiple of 16 bytes, the nearest is 8"), std::string::npos)
      << between.text;
}

}  // namespace
}  // namespace lapidary
