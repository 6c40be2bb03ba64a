#include "cli/measurements.hpp"

#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "cli/interruption.hpp"
#include "core/error.hpp"
#include "kernels/registry.hpp"
#include "scratch_folder.hpp"

namespace lapidary::cli {
namespace {

bench::LadderMeasurement measured(const bench::TimedProblem& problem) {
  const Rung& rung = find_rung("naive");
  const KernelEntry& kernel = rung.kernels.front();
  return {{&rung, &kernel}, kernel.id(), problem, bench::Mode::burst, {{2, 1, 3}, {1, 1, 1}, {}, 3, {}}};
}

TEST(MeasurementsAsJson, HaveTheSizesOfTheirProblem) {
  const Json cube = measured_json(measured({512, 512, 512}));
  EXPECT_EQ(cube["size"], 512);
  EXPECT_EQ(cube["m"], 512);
  EXPECT_TRUE(cube["label"].is_null());
  const Json other = measured_json(measured({.M = 16, .N = 1760, .K = 300, .label = "training_set"}));
  EXPECT_TRUE(other["size"].is_null());
  EXPECT_EQ(other["m"], 16);
  EXPECT_EQ(other["n"], 1760);
  EXPECT_EQ(other["k"], 300);
  EXPECT_EQ(other["label"], "training_set");
  EXPECT_EQ(other["tflops"]["median"], 2);
  EXPECT_TRUE(other["cublas_tflops"].is_null());
}

TEST(MeasurementsAsJson, ReportHasItsKeys) {
  bench::LadderReport report;
  report.results.push_back(measured({512, 512, 512}));
  report.peers.push_back({Type::f32, {1, 2, 3}, bench::Mode::burst, "cuBLAS", report.results[0].measurement});
  report.left_out.push_back({"naive", parse_kind("f32 RC"), 4, 5, 6, "it has no such kernel"});
  const Json json = measured_json(report);
  for (const char* key : {"receipt", "ok", "complete", "wrong", "left_out", "results", "peers"})
    EXPECT_TRUE(json.contains(key)) << key;
  EXPECT_EQ(json["complete"], false);
  EXPECT_EQ(json["ok"], true);
  EXPECT_EQ(json["peers"][0]["n"], 2);
  EXPECT_EQ(
      json["left_out"][0],
      Json::parse(R"({"kernel": "naive", "type": "f32 RC", "m": 4, "n": 5, "k": 6, "why": "it has no such kernel"})"));
}

TEST(OutputFile, IsReplacedAsAWholeAndLeavesNothingBeside) {
  const ScratchFolder scratch;
  const std::filesystem::path& folder = scratch.path();
  const std::filesystem::path path = folder / "results.json";
  const auto content = [&] {
    std::ifstream file(path);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  const auto files = [&] {
    return std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator());
  };
  std::ofstream(path) << "from before";
  const OutputFile file(path.string());
  EXPECT_EQ(content(), "from before");
  EXPECT_EQ(files(), 1);
  for (const char* text : {"a longer text", "a text"}) {
    file.write(text);
    EXPECT_EQ(content(), text);
    EXPECT_EQ(files(), 1);
  }
  std::filesystem::remove_all(folder);
  EXPECT_THROW(file.write("lost"), Error);
  EXPECT_THROW(OutputFile("/nowhere/results.json"), InvalidArgument);
}

TEST(Interruption, IsRememberedOnceAndGivesBackWhatWasThere) {
  struct sigaction before, after;
  sigaction(SIGINT, nullptr, &before);
  {
    const Interruption interruption;
    EXPECT_FALSE(interruption.requested());
    raise(SIGINT);
    EXPECT_TRUE(interruption.requested());
    sigaction(SIGINT, nullptr, &after);
    EXPECT_EQ(after.sa_handler, SIG_DFL) << "the second one ends the program";
  }
  sigaction(SIGINT, nullptr, &after);
  EXPECT_EQ(after.sa_handler, before.sa_handler);
  EXPECT_FALSE(Interruption().requested());
}

}  // namespace
}  // namespace lapidary::cli
