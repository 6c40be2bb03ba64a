#include "model/gpu.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "core/csv.hpp"
#include "core/data_file.hpp"
#include "core/error.hpp"
#include "core/file.hpp"
#include "model/calibration.hpp"
#include "model/roofline.hpp"
#include "scratch_folder.hpp"

namespace lapidary::model {
namespace {

std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "no error";
}

/// A table with the columns that must be there, and one GPU whose sm_count, clock and L2 are given.
std::string table(const std::string& name, const std::string& sms, const std::string& clock = "1000",
                  const std::string& l2 = "1") {
  return "gpu,compute_capability,sm_count,boost_clock_mhz,fp32_lanes_per_sm,smem_per_sm_kib,smem_per_block_optin_kib,"
         "smem_reserved_per_block_bytes,smem_alloc_unit_bytes,smem_bytes_per_clk_sm,regs_per_sm,max_regs_per_thread,"
         "reg_alloc_unit_regs_per_warp,warp_alloc_unit_warps,max_threads_per_sm,max_warps_per_sm,max_blocks_per_sm,"
         "barriers_per_sm,l2_mib,dram_gb_per_s\n" +
         name + ",9.0," + sms + "," + clock + ",128,228,227,1024,128,128?,65536,255,256,4,2048,64,32,64," + l2 +
         ",1000\n";
}

TEST(Gpu, ResultsOfACardHaveAFolderWithoutItsSocket) {
  EXPECT_EQ(find_gpu("h200").results_folder(), "results/h200");
  EXPECT_EQ(find_gpu("h100 80gb hbm3").results_folder(), "results/h100") << "H100 SXM5";
  EXPECT_EQ(find_gpu("a100 pcie 80gb").results_folder(), "results/a100-pcie-80gb");
  std::map<std::string, std::string> cards;
  for (const Gpu& gpu : load_gpus())
    EXPECT_TRUE(cards.emplace(gpu.results_folder(), gpu.name).second)
        << cards[gpu.results_folder()] << ", " << gpu.name;
}

TEST(Gpu, ValuesHaveUnits) {
  const Gpu h200 = find_gpu("h200");
  EXPECT_EQ(h200.compute_capability, 90);
  EXPECT_EQ(h200.sms, 132);
  EXPECT_EQ(h200.clock_hz, 1.98e9);
  EXPECT_EQ(h200.shared_bytes_per_sm, 228 * 1024);
  EXPECT_EQ(h200.dram_bytes_per_s, 4.8e12);
  EXPECT_EQ(h200.published_f16_flops, 989.4e12);
  EXPECT_FALSE(h200.l2_read_bytes_per_clk);
  EXPECT_EQ(find_gpu("b200").l2_bytes, 253 << 19);  // 126.5 MiB
  EXPECT_EQ(find_gpu("v100 16gb").barriers_per_sm, 0);
}

// One figure of a bandwidth, whether it is asked of the table or of the calibration: what was measured of a card.
TEST(Gpu, MeasuredBandwidthsAreThoseOfTheCalibration) {
  for (const Gpu& gpu : load_gpus()) {
    bool own = false;
    const Calibration calibration = calibration_of(gpu, own);
    const double per_byte = gpu.sms * gpu.clock_hz;
    if (own && gpu.dram_read_measured_bytes_per_s) {
      EXPECT_NEAR(*gpu.dram_read_measured_bytes_per_s / (calibration["dram_bytes_all"] * per_byte), 1, 5e-4)
          << gpu.name;
    }
    if (own && gpu.l2_read_measured_bytes_per_s) {
      EXPECT_NEAR(*gpu.l2_read_measured_bytes_per_s / (calibration["tensor_bytes_4"] * per_byte), 1, 5e-4) << gpu.name;
    }
    // Of a card that was not calibrated they are the card's own all the same, not those of a multiprocessor elsewhere.
    EXPECT_LE(calibration["dram_bytes_all"] * per_byte, gpu.dram_bytes_per_s) << gpu.name;
    if (!own && gpu.l2_read_measured_bytes_per_s) {
      EXPECT_DOUBLE_EQ(calibration["l2_bytes_all"] * per_byte, *gpu.l2_read_measured_bytes_per_s) << gpu.name;
    }
    const MultiprocessorConstants constants = calibration.multiprocessor(gpu, 4096, 8);
    EXPECT_EQ(16 * constants.schedulers * constants.fma_halves, gpu.fp32_lanes) << gpu.name;
    EXPECT_EQ(128 / constants.wavefront_cycles, gpu.shared_bytes_per_clk) << gpu.name;
  }
}

// What L2 and DRAM give in a second does not go with the clock that a table says.
TEST(Gpu, ACalibrationIsToldInTheCyclesOfTheTablesClock) {
  Gpu slower = find_gpu("H200");
  bool own = false;
  const Calibration measured = calibration_of(slower, own);
  slower.clock_hz /= 2;
  const Calibration there = calibration_of(slower, own);
  EXPECT_TRUE(own);
  EXPECT_DOUBLE_EQ(there["dram_bytes_all"], 2 * measured["dram_bytes_all"]);
  EXPECT_DOUBLE_EQ(there["l2_latency"], measured["l2_latency"] / 2);
  EXPECT_EQ(there["barrier_4"], measured["barrier_4"]);
}

TEST(Gpu, TheH200IsTheCardThatWasMeasured) {
  std::ifstream file(data_file("results/h200/ladder.json"));
  const nlohmann::json card = nlohmann::json::parse(file)["receipt"]["card"];
  const Gpu gpu = find_gpu(card["name"].get<std::string>());
  EXPECT_EQ(gpu.name, "H200");
  EXPECT_EQ(gpu.l2_bytes, card["l2_bytes"]);
  EXPECT_EQ(gpu.sms, card["multiprocessors"]);
  EXPECT_EQ(gpu.clock_hz, card["max_sm_clock_mhz"].get<double>() * 1e6);
  EXPECT_EQ(gpu.power_limit_w, card["power_limit_w"]);
  EXPECT_NEAR(ceilings(gpu).f32_flops, card["fp32_ceiling_tflops"].get<double>() * 1e12, 1e6);
}

TEST(Gpu, OfL2InPartitionsOneHoldsWhatAllMultiprocessorsRead) {
  for (const char* const name : {"A100 SXM4 40GB", "A100 PCIe 80GB", "H100 SXM5", "H100 PCIe", "H200"}) {
    const Gpu gpu = find_gpu(name);
    EXPECT_EQ(gpu.l2_bytes_shared(), gpu.l2_bytes / 2) << name;
  }
  EXPECT_EQ(find_gpu("H200").l2_text(), "60 MiB of L2 in 2 partitions");
  const Gpu whole = find_gpu("RTX 4090");
  EXPECT_EQ(whole.l2_bytes_shared(), whole.l2_bytes);
  EXPECT_EQ(whole.l2_text(), "72 MiB of L2");
}

// A slipped digit or column shows: published peaks are lanes * SMs * clock, or less where they hold at a lower clock.
TEST(Gpu, PublishedPeaksFollowFromLanesAndClocks) {
  for (const Gpu& gpu : load_gpus()) {
    ASSERT_TRUE(gpu.published_f32_flops) << gpu.name;
    EXPECT_NEAR(*gpu.published_f32_flops / ceilings(gpu).f32_flops, 1, 0.015) << gpu.name;
    const std::pair<std::optional<double>, double> tensor[] = {{gpu.published_f16_flops, gpu.tensor_f16_flop_per_clk},
                                                               {gpu.published_bf16_flops, gpu.tensor_bf16_flop_per_clk},
                                                               {gpu.published_tf32_flops, gpu.tensor_tf32_flop_per_clk},
                                                               {gpu.published_fp8_flops, gpu.tensor_fp8_flop_per_clk},
                                                               {gpu.published_int8_ops, gpu.tensor_int8_op_per_clk}};
    for (const auto& [published, rate] : tensor) {
      if (!published || rate == 0) continue;
      EXPECT_GT(*published / tensor_peak(gpu, rate), 0.91) << gpu.name << " " << rate;
      EXPECT_LT(*published / tensor_peak(gpu, rate), 1.015) << gpu.name << " " << rate;
    }
    EXPECT_EQ(gpu.max_threads_per_sm, 32 * gpu.max_warps_per_sm) << gpu.name;
    EXPECT_FALSE(gpu.source.empty()) << gpu.name;
  }
}

TEST(Gpu, ShortNamesAndThoseOfDriversFindIt) {
  const std::pair<const char*, const char*> names[] = {{"h200", "H200"},
                                                       {"H200 SXM", "H200"},
                                                       {"NVIDIA H200", "H200"},
                                                       {"NVIDIA H100 80GB HBM3", "H100 SXM5"},
                                                       {"h100-pcie", "H100 PCIe"},
                                                       {"NVIDIA GeForce RTX 4090", "RTX 4090"},
                                                       {"rtx4090", "RTX 4090"},
                                                       {"4090", "RTX 4090"},
                                                       {"a10", "A10"},
                                                       {"a100 sxm 80gb", "A100 SXM4 80GB"},
                                                       {"a100 pcie 80gb", "A100 PCIe 80GB"},
                                                       {"NVIDIA A100 80GB PCIe", "A100 PCIe 80GB"},
                                                       {"NVIDIA A100-SXM4-40GB", "A100 SXM4 40GB"},
                                                       {"Tesla V100-SXM2-16GB", "Tesla V100 SXM2 16GB"}};
  const std::vector<Gpu> gpus = load_gpus();
  for (const auto& [asked, found] : names) EXPECT_EQ(find_gpu(gpus, asked).name, found) << asked;
}

TEST(Gpu, AmbiguousAndUnknownNamesAreRefusedWithWhatWasMeant) {
  const auto find = [](const char* name) { return error_of([&] { find_gpu(name); }); };
  EXPECT_EQ(find("a100"), "'a100' may be A100 SXM4 40GB or A100 SXM4 80GB or A100 PCIe 80GB; name one of them");
  EXPECT_EQ(find("a100 80gb"), "'a100 80gb' may be A100 SXM4 80GB or A100 PCIe 80GB; name one of them");
  EXPECT_EQ(find("h20O").find("no GPU is named 'h20O'; the nearest is H200."), 0u) << find("h20O");
  EXPECT_EQ(find("nonsense").find("no GPU is named 'nonsense'. lapidary gpus lists them"), 0u) << find("nonsense");
  EXPECT_EQ(find("rtx4080").find("no GPU is named 'rtx4080'; the nearest is RTX 4090."), 0u) << find("rtx4080");
  EXPECT_EQ(find("").find("no GPU is named ''"), 0u);
  EXPECT_EQ(find("nvidia").find("no GPU is named 'nvidia'"), 0u);
}

TEST(Gpu, EveryColumnIsDocumented) {
  const std::string text = read_file(data_file("docs/gpus.md")).value();
  for (const CsvValue& column : parse_csv(read_file(data_file("data/gpus.csv")).value(), "gpus.csv").header) {
    EXPECT_NE(text.find("`" + column.text + "`"), std::string::npos) << column.text << " is missing from docs/gpus.md";
  }
}

TEST(Gpu, UncertainValuesKeepTheirMark) {
  const std::vector<Gpu> gpus = parse_gpus(table("Mine", "10?"), "mine.csv");
  ASSERT_EQ(gpus.size(), 1u);
  EXPECT_EQ(gpus[0].sms, 10);
  EXPECT_TRUE(gpus[0].is_uncertain("sm_count"));
  EXPECT_TRUE(gpus[0].is_uncertain("smem_bytes_per_clk_sm"));
  EXPECT_FALSE(gpus[0].is_uncertain("boost_clock_mhz"));
}

TEST(Gpu, UsersAddAndReplaceRows) {
  const ScratchFolder folder;
  const std::string first = folder.file("first.csv"), second = folder.file("second.csv");
  std::ofstream(first) << table("H200", "7");
  std::ofstream(second) << table("Mine", "3");
  const std::size_t before = load_gpus().size();
  setenv("LAPIDARY_GPUS", first.c_str(), 1);
  const std::vector<Gpu> gpus = load_gpus(second);
  unsetenv("LAPIDARY_GPUS");
  EXPECT_EQ(gpus.size(), before + 1);
  EXPECT_EQ(find_gpu(gpus, "h200").sms, 7);
  EXPECT_EQ(find_gpu(gpus, "mine").sms, 3);
  EXPECT_NE(error_of([] { load_gpus("/nothing.csv"); }).find("cannot read /nothing.csv"), std::string::npos);
}

TEST(Gpu, MalformedFilesAreRefusedByLineAndColumn) {
  const auto parse = [](const std::string& text) { return error_of([&] { parse_gpus(text, "f.csv"); }); };
  EXPECT_EQ(parse(table("G", "x")),
            "f.csv:2:7: sm_count is 'x'; it must be a number above 0, with ? behind it if it is uncertain");
  EXPECT_EQ(parse(table("G", "0")).find("f.csv:2:7: sm_count is '0'; it must be a number above 0"), 0u);
  EXPECT_EQ(parse(table("G", "-1")).find("f.csv:2:7: sm_count is '-1'"), 0u);
  EXPECT_EQ(parse(table("G", "nan")).find("f.csv:2:7: sm_count is 'nan'"), 0u);
  EXPECT_EQ(parse(table("G", "1e300")).find("f.csv:2:7: sm_count is '1e300'"), 0u);
  EXPECT_EQ(parse(table("G", "1.5")), "f.csv:2:7: sm_count is '1.5'; it must come to a whole number");
  EXPECT_EQ(parse(table("G", "")).find("f.csv:2:7: sm_count is ''"), 0u);
  EXPECT_EQ(parse(table("", "1")), "f.csv:2:1: the name of the GPU is missing");
  EXPECT_EQ(parse(table("G", "1,1")).find("there are 21 values; the first line has 20 columns"), 12u);
  EXPECT_EQ(parse("gpu,sm_cuont\n"), "f.csv:1:5: no column is named 'sm_cuont'; the nearest is sm_count");
  EXPECT_EQ(parse("gpu,gpu\n"), "f.csv:1:1: there are two columns gpu; one is enough");
  EXPECT_EQ(parse("gpu\nG\n"), "f.csv:1:1: the column compute_capability is missing");
  EXPECT_EQ(parse(""), "f.csv:1:1: the line of column names is missing");
  std::string text = table("G", "1");
  text.replace(text.find("9.0"), 3, "9");
  EXPECT_EQ(parse(text), "f.csv:2:3: compute_capability is '9'; it is written as in 9.0");
}

}  // namespace
}  // namespace lapidary::model
