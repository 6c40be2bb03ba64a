// Runs `lapidary fragment` as its user does.
#include <gtest/gtest.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "scratch_folder.hpp"

#include "run_program.hpp"

namespace lapidary {
namespace {

using Json = nlohmann::json;

Output run(const std::string& arguments) { return run_program("fragment " + arguments); }

Json json(const std::string& arguments) {
  const Output output = run(arguments + " --json");
  EXPECT_EQ(output.code, 0) << output.text;
  return Json::parse(output.text, nullptr, false);
}

TEST(FragmentCommand, TellsWhereTheElementsOfALaneAre) {
  const Json mma = json("mma m16n8k16 bf16");
  EXPECT_EQ(mma["instruction"], "mma m16n8k16 bf16");
  EXPECT_EQ(mma["name"], "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32");
  EXPECT_EQ(mma["threads"], 32);
  const Json &a = mma["operands"][0], &b = mma["operands"][1], &d = mma["operands"][2];
  EXPECT_EQ(a["registers"], 4);
  EXPECT_EQ(a["elements_per_register"], 2);
  EXPECT_EQ(a["elements"][5], Json::parse("[[1,2],[1,3],[9,2],[9,3],[1,10],[1,11],[9,10],[9,11]]"));
  EXPECT_EQ(Json({b["rows"], b["cols"]}), Json({16, 8}));
  EXPECT_EQ(b["elements"][5], Json::parse("[[2,1],[3,1],[10,1],[11,1]]"));
  EXPECT_EQ(d["type"], "f32");
  EXPECT_EQ(d["elements"][5], Json::parse("[[1,2],[1,3],[9,2],[9,3]]"));
  const Json ldmatrix = json("ldmatrix x2.trans");
  EXPECT_EQ(ldmatrix["operands"][1]["first_register"], 1);
  EXPECT_EQ(ldmatrix["operands"][1]["address_lanes"], Json({8, 9, 10, 11, 12, 13, 14, 15}));
}

TEST(FragmentCommand, KnowsTheOtherNamesOfTypes) {
  for (const auto& [asked, meant] :
       {std::pair{"mma m16n8k16 half", "mma m16n8k16 f16"}, std::pair{"mma m16n8k16 fp16/FP16", "mma m16n8k16 f16/f16"},
        std::pair{"mma m16n8k32 fp8", "mma m16n8k32 e4m3"}, std::pair{"mma m16n8k32 int8", "mma m16n8k32 s8"},
        std::pair{"mma m16n8k32 int8 uint8", "mma m16n8k32 s8 u8"},
        std::pair{"mma.m16n8k16.float.half.half.float", "mma m16n8k16 f16"},
        std::pair{"mma m8n8k4 fp64", "mma m8n8k4 f64"}, std::pair{"mma m16n8k8 bfloat16", "mma m16n8k8 bf16"},
        std::pair{"wmma 16x16x16 half", "wmma m16n16k16 f16"},
        std::pair{"wgmma m64n128k32 int8", "wgmma m64n128k32 s8"}}) {
    const Output output = run_program(std::string("fragment ") + asked + " --json", "2>/dev/null");
    ASSERT_EQ(output.code, 0) << asked;
    EXPECT_EQ(Json::parse(output.text)["instruction"].get<std::string>().substr(0, std::string(meant).size()), meant);
  }
}

// The bytes that `lapidary descriptor` says an instruction reads.
TEST(FragmentCommand, AgreesWithTheDescriptorThatItNames) {
  const Json b = json("wgmma m64n96k16 bf16 b=mn/64")["operands"][1];
  EXPECT_EQ(b["leading"], 16 * 64);
  EXPECT_EQ(b["stride"], 8 * 64);
  const std::string bits = b["descriptor"];
  const Json read = Json::parse(run_program("descriptor " + bits + " --major mn --mn 96 --json").text);
  ASSERT_EQ(read["core_matrices"].size(), 2u * 96 / 8);
  for (const Json& core : read["core_matrices"])
    for (std::size_t row = 0; row < 8; ++row)
      EXPECT_EQ(core["rows"][row], b["offsets"][core["k"].get<std::size_t>() + row][core["mn"].get<std::size_t>()]);
}

TEST(FragmentCommand, DrawsAGridAndMarksALane) {
  const std::string text = run("mma m16n8k16 bf16 --lane 5").text;
  EXPECT_NE(text.find("\n  9     T4 {a2,a3} >T5 {a2,a3}  T6 {a2,a3}"), std::string::npos) << text;
  EXPECT_NE(text.find("\n    2         a4 (1, 10), a5 (1, 11)\n"), std::string::npos) << text;
  // Whatever has wide cells stays on the page.
  for (const char* instruction :
       {"mma m16n8k32 e5m2", "mma m16n8k16 f64", "wmma 8x32x16 f16", "wgmma m64n256k16 f16 a=k/64 b=mn/none", ""}) {
    std::istringstream lines(run(instruction).text);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 120u) << instruction << "\n" << line;
  }
}

TEST(FragmentCommand, WritesPictures) {
  const ScratchFolder folder;
  const std::string file = folder.file("fragment.svg");
  EXPECT_EQ(run("wgmma m64n64k16 bf16 --lane 127 --svg " + file).code, 0);
  std::FILE* const picture = std::fopen(file.c_str(), "r");
  ASSERT_NE(picture, nullptr);
  std::fclose(picture);
}

TEST(FragmentCommand, RefusesWhatThereIsNot) {
  const Output shape = run("mma m16n8k32 bf16");
  EXPECT_EQ(shape.code, 2);
  EXPECT_NE(shape.text.find("there are m16n8k8, m16n8k16"), std::string::npos) << shape.text;
  const Output lane = run("mma m16n8k16 bf16 --lane 40");
  EXPECT_EQ(lane.code, 2);
  EXPECT_NE(lane.text.find("32 threads, 0 to 31; got 40"), std::string::npos) << lane.text;
}

}  // namespace
}  // namespace lapidary
