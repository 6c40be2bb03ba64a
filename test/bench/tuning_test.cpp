#include "bench/tuning.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "core/error.hpp"
#include "scratch_folder.hpp"

namespace lapidary::bench {
namespace {

using Json = TuningRecord::Json;

Json measurement(const char* tile, double rate, double cublas, const char* receipt) {
  return {{"type", "bf16 RC"},
          {"size", 4096},
          {"mode", "burst"},
          {"kernel", "wgmma_tma"},
          {"tile", tile},
          {"tflops", {{"median", rate}}},
          {"cublas_tflops", {{"median", cublas}}},
          {"receipt", receipt}};
}

TEST(TuningRecord, KeepsTheLatestOfAKernelAndTheBestBesideCublas) {
  TuningRecord record("");
  for (const char* date : {"monday", "tuesday", "wednesday"}) record.add_receipt({{"date", date}});
  record.add_measurement(measurement("128x128x64", 500, 500, "monday"));
  record.add_measurement(measurement("128x128x64", 450, 500, "tuesday"));
  record.add_measurement(measurement("128x256x64", 440, 440, "wednesday"));
  Json fast = measurement("256x128x64", 900, 500, "wednesday");
  fast["fast_accumulation"] = true;
  record.add_measurement(fast);
  Json alone = measurement("64x64x64", 100, 1, "tuesday");
  alone["mode"] = "sustained";
  alone["cublas_tflops"] = nullptr;
  record.add_measurement(alone);
  const Json document = record.document();
  ASSERT_EQ(document["measured"].size(), 4u);
  EXPECT_EQ(document["measured"][0]["tflops"]["median"], 450) << "the later one, though it is slower";
  ASSERT_EQ(document["receipts"].size(), 2u);
  EXPECT_EQ(document["receipts"][0]["date"], "tuesday") << "nothing refers to monday's";
  ASSERT_EQ(document["best"].size(), 2u);
  EXPECT_EQ(document["best"][0]["tile"], "128x256x64") << "as fast as cuBLAS beside it";
  EXPECT_EQ(document["best"][0]["share"], 1);
  EXPECT_EQ(document["best"][1]["tile"], "64x64x64");
  EXPECT_TRUE(document["best"][1]["share"].is_null());
}

TEST(TuningRecord, GoesOnWhereAFileEnds) {
  const ScratchFolder folder;
  const std::string path = folder.file("tuning.json");
  TuningRecord first("");
  first.add_receipt({{"date", "monday"}});
  first.add_measurement(measurement("128x128x64", 500, 500, "monday"));
  std::ofstream(path) << first.document();
  EXPECT_EQ(TuningRecord(path).document(), first.document());
  std::ofstream(path) << "{";
  EXPECT_THROW(TuningRecord{path}, InvalidArgument);
}

}  // namespace
}  // namespace lapidary::bench
