// Runs `lapidary occupancy` as its user does.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "run_program.hpp"

namespace lapidary {
namespace {

using Json = nlohmann::json;

Json json(const std::string& arguments) {
  const Output output = run_program(arguments + " --json");
  EXPECT_EQ(output.code, 0) << output.text;
  return Json::parse(output.text);
}

TEST(OccupancyCommand, WorksOutNumbersThatAreTypedIn) {
  const std::string numbers = "occupancy --registers 37 --threads 1024 --shared 0 --gpu 'a100 sxm4 80gb'";
  const Json o = json(numbers)["occupancy"];
  EXPECT_EQ(o["blocks"], 1);
  EXPECT_EQ(o["warps"], 32);
  EXPECT_EQ(o["share"], 0.5);
  EXPECT_EQ(o["limiters"], "registers");
  EXPECT_EQ(o["blocks_by"],
            Json({{"warps", 2}, {"blocks", 32}, {"registers", 1}, {"shared_memory", 164}, {"barriers", nullptr}}));
  EXPECT_EQ(o["registers_per_warp"], 1280);
  EXPECT_EQ(o["registers_per_block"], 40960);
  const std::string text = run_program(numbers).text;
  for (const char* part :
       {"37 a thread x 32 lanes = 1,184, handed out by 256: 1,280 a warp, 40,960 a block of 32 warps",
        "0 bytes + 1,024 reserved = 1,024, handed out by 128", "* 33-64 "})
    EXPECT_NE(text.find(part), text.npos) << part << "\n" << text;
}

TEST(OccupancyCommand, CountsOneThreadAsOne) {
  const std::string text = run_program("occupancy --registers 37 --threads 1 --shared 0 --gpu h200").text;
  for (const char* part : {"H200: 1 thread, ", "1 thread is 1 warp; ", "a block of 1 warp; ", "largest carve-out"})
    EXPECT_NE(text.find(part), text.npos) << part << "\n" << text;
}

TEST(OccupancyCommand, TakesAKernelsNumbersFromItsLaunchAndItsMachineCode) {
  const Json o = json("occupancy vectorized --gpu h200");
  EXPECT_EQ(o["threads"], 256);
  EXPECT_EQ(o["shared_bytes"], 2 * 128 * 8 * 4);
  EXPECT_EQ(o["registers"], json("asm vectorized")["registers"]);
  // 64 registers in place of its own: four blocks of 8 warps each.
  const Json held = json("occupancy vectorized --registers 64 --gpu h200");
  EXPECT_EQ(held["shared_bytes"], o["shared_bytes"]);
  EXPECT_EQ(held["occupancy"]["blocks"], 4);
  for (const auto& [key, steps] : o["over"].items()) {
    const int value = o[key];
    int on = 0;
    for (const Json& step : steps)
      if (step["from"] <= value && value <= step["to"]) on += step["warps"] == o["occupancy"]["warps"];
    EXPECT_EQ(on, 1) << key;
  }
  if (!LAPIDARY_WITH_INSTRUMENTED) return;
  const std::string small = "explain vectorized -m 128 -n 256 -k 16 --gpu h200";
  EXPECT_EQ(json(small)["occupancy"], o["occupancy"]);
  EXPECT_NE(run_program(small).text.find("handed out by 256"), std::string::npos);
}

TEST(OccupancyCommand, LaunchesAKernelAsItsPageDoes) {
  if (!LAPIDARY_WITH_INSTRUMENTED) return;
  // What shared memory these ask for depends on how many blocks there are.
  const Json split = json("occupancy split_k --gpu h200"), skinny = json("occupancy wgmma_skinny --gpu h200");
  EXPECT_EQ(split["occupancy"], json("explain split_k --gpu h200")["occupancy"]);
  EXPECT_EQ(skinny["occupancy"], json("explain wgmma_skinny -m 16 -n 4096 -k 4096 --gpu h200")["occupancy"]);
  EXPECT_GT(skinny["occupancy"]["blocks"], 1);
  EXPECT_NE(run_program("occupancy wgmma_skinny --gpu h200").text.find("launched for 16 x 4096 x 4096"),
            std::string::npos);
}

TEST(OccupancyCommand, SaysWhichRuleABlockThatIsTooLargeBreaks) {
  const Json o = json("occupancy --registers 65 --threads 1024 --gpu 'rtx 4090'")["occupancy"];
  EXPECT_EQ(o["blocks"], 0);
  EXPECT_EQ(o["blocks_by"]["registers"], 0);
  EXPECT_EQ(o["reason"], "an SM has 65536 registers; 32 warps count as 32 with 2304 registers each, which is 73728");
}

TEST(OccupancyCommand, RefusesWhatItCannotWorkOut) {
  const auto expect_refused = [](const std::string& arguments, const std::string& why) {
    const Output output = run_program("occupancy " + arguments);
    EXPECT_EQ(output.code, 2) << output.text;
    EXPECT_NE(output.text.find(why), std::string::npos) << output.text;
  };
  expect_refused("", "name a kernel, or give --threads and --registers");
  expect_refused("--registers 64 --shared 4096", "name a kernel, or give --threads and --registers");
  expect_refused("--threads 0 --registers 64", "0 is not a whole number from 1");
  expect_refused("--tile 128x128x8 --threads 256 --registers 64", "--tile requires KERNEL");
  expect_refused("vectorised", "near it are vectorized");
  expect_refused("mma_tiles --type 'bf16 CC'", "--registers N gives them");
}

}  // namespace
}  // namespace lapidary
