// Runs the program itself as a person or a script would.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "core/types.hpp"
#include "device/device.hpp"
#include "kernels/registry.hpp"
#include "scratch_folder.hpp"

namespace lapidary {
namespace {

using Json = nlohmann::json;

struct Output {
  int code;
  std::string out, err;
};

std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Ends a test that counts or checks, where the program was built without that.
#define REQUIRE_INSTRUMENTED_BUILD() \
  if (!LAPIDARY_WITH_INSTRUMENTED) GTEST_SKIP() << "built without LAPIDARY_INSTRUMENTED"

class Program : public testing::Test {
 protected:
  Output run(const std::string& arguments) const {
    const std::string out = folder_.file("out"), err = folder_.file("err");
    const int status = std::system(
        ("\"" LAPIDARY_PROGRAM "\" " + arguments + " >\"" + out + "\" 2>\"" + err + "\"").c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, contents(out), contents(err)};
  }

  Json json(const std::string& arguments, int code = 0) const {
    const Output output = run(arguments + " --json");
    EXPECT_EQ(output.code, code) << arguments << "\n" << output.err;
    EXPECT_EQ(output.err, "");
    return Json::parse(output.out, nullptr, false);
  }

  /// What json() has under a key, as a value: one can walk through it.
  Json part(const std::string& arguments, const char* key) const { return json(arguments).at(key); }

  /// Bad input: exit code 2, nothing on standard output, one line that contains a text, and another one.
  void expect_refused(const std::string& arguments, const std::string& text, const std::string& other = "") const {
    const Output output = run(arguments);
    EXPECT_EQ(output.code, 2) << arguments;
    EXPECT_EQ(output.out, "") << arguments;
    EXPECT_EQ(std::count(output.err.begin(), output.err.end(), '\n'), 1) << arguments << "\n" << output.err;
    EXPECT_EQ(output.err.find("lapidary: "), 0u) << arguments << "\n" << output.err;
    for (const std::string& part : {text, other})
      EXPECT_NE(output.err.find(part), std::string::npos) << arguments << "\n" << output.err;
  }

  ScratchFolder folder_;
};

TEST_F(Program, ListsEveryRung) {
  const Json rungs = json("list")["rungs"];
  ASSERT_EQ(rungs.size(), ladder().size());
  for (std::size_t i = 0; i < rungs.size(); ++i) {
    for (const char* key : {"name", "parent", "family", "types", "tiles", "kernels", "architecture", "idea", "change",
                            "why", "counter", "cost", "exercise", "source"}) {
      EXPECT_TRUE(rungs[i].contains(key)) << key;
    }
    EXPECT_EQ(rungs[i]["name"], ladder()[i].name());
  }
  EXPECT_TRUE(rungs[0]["parent"].is_null());
}

TEST_F(Program, RunHasItsKeys) {
  const Json result = json(
      "run naive -m 37 -n 41 -k 29 --alpha 1.5 --beta -0.5 --lda 31 --ldd 50 --seed 7 --device emulator");
  for (const char* key :
       {"source", "device_name", "ldb", "ldc", "tile", "max_error", "bound", "row", "col", "message"}) {
    EXPECT_TRUE(result.contains(key)) << key;
  }
  EXPECT_EQ(result["kernel"], "naive");
  EXPECT_EQ(result["device"], "emulator");
  EXPECT_EQ(result["m"], 37);
  EXPECT_EQ(result["n"], 41);
  EXPECT_EQ(result["k"], 29);
  EXPECT_EQ(result["lda"], 31);
  EXPECT_EQ(result["ldd"], 50);
  EXPECT_EQ(result["type"], "f32");
  EXPECT_EQ(result["alpha"], 1.5);
  EXPECT_EQ(result["beta"], -0.5);
  EXPECT_EQ(result["seed"], 7);
  EXPECT_EQ(result["ok"], true);
  EXPECT_EQ(result["results"], 37 * 41);
  EXPECT_EQ(result["compared"], 37 * 41);
  EXPECT_EQ(result["wrong"], 0);
  EXPECT_EQ(result["outside"], 0);
  EXPECT_FALSE(result.contains("counters"));
}

TEST_F(Program, CountsOfNaiveAre256Cubed) {
  REQUIRE_INSTRUMENTED_BUILD();
  const Json result = json("run naive --tile 32x32 --count");
  const Json& counters = result["counters"];
  EXPECT_EQ(counters["global_load"], Json({{"requests", 1048576}, {"sectors", 17301504}}));
  EXPECT_EQ(counters["global_store"], Json({{"requests", 2048}, {"sectors", 65536}}));
  EXPECT_EQ(counters["shared_load"], Json({{"instructions", 0}, {"wavefronts", 0}, {"minimum", 0}}));
  EXPECT_EQ(counters["fma"], 16777216);
  std::uint64_t sectors = 0;
  for (const Json& line : result["lines"]) {
    EXPECT_GT(line["line"], 0);
    EXPECT_EQ(line["file"].get<std::string>().find("src/"), 0u) << line["file"];
    sectors += line["counters"].value("/global_load/sectors"_json_pointer, std::uint64_t{0});
    for (const auto& [name, counter] : line["counters"].items()) EXPECT_NE(counter, 0) << name;
  }
  EXPECT_EQ(sectors, 17301504u);
}

TEST_F(Program, CountAndCheckGoTogether) {
  REQUIRE_INSTRUMENTED_BUILD();
  const Json result = json("run shared_tiles -m 33 -n 31 -k 35 --count --check");
  EXPECT_EQ(result["ok"], true);
  EXPECT_EQ(result["device"], "emulator");
  EXPECT_TRUE(result.contains("counters"));
}

TEST_F(Program, LadderRunsEveryRung) {
  const Json result = json("ladder --size 64 --device emulator");
  EXPECT_EQ(result["device"], "emulator");
  EXPECT_EQ(result["size"], 64);
  EXPECT_EQ(result["ok"], true);
  EXPECT_EQ(result["next"].get<std::string>().find("lapidary run "), 0u);
  ASSERT_EQ(result["rungs"].size(), ladder().size());
  for (const Json& rung : result["rungs"]) {
    EXPECT_EQ(rung["ok"], true) << rung;
    // Products of mma.sync are no multiply-adds of threads.
    const bool cuda_cores = find_rung(rung["kernel"].get<std::string>()).family == "simt";
    if (LAPIDARY_WITH_INSTRUMENTED) {
      EXPECT_GE(rung["counters"]["fma"], cuda_cores ? 64 * 64 * 64 : 0) << rung;
    }
    EXPECT_FALSE(rung.contains("tflops"));
  }
}

// A tile of tensor cores multiplies whole, however much of it hangs over the edge; the tiles of a cluster do, too.
TEST_F(Program, LadderCountsTheProductsOfTensorCores) {
  REQUIRE_INSTRUMENTED_BUILD();
  std::istringstream lines(run("ladder --size 128 --type bf16 --device emulator").out);
  std::map<std::string, std::string> products;  // by rung
  for (std::string line; std::getline(lines, line);)
    if (line.find(" yes ") != std::string::npos)
      products[line.substr(0, line.find(' '))] = line.substr(line.rfind(' ') + 1);
  EXPECT_EQ(products["wmma"], "2,097,152");  // 128 x 128 x 128
  EXPECT_EQ(products["mma_swizzled"], "2,097,152");
  EXPECT_EQ(products["mma_multistage"], "4,194,304");     // its tile is 128 x 256
  EXPECT_EQ(products["wgmma_specialized"], "4,194,304");  // its tile is 128 x 256
  EXPECT_EQ(products["wgmma_cluster"], "8,388,608");      // two of them
}

// README's table is made of this file. What it has of optional rungs that this program was built without must be what
// their record has.
TEST_F(Program, RecordedCountsAreThoseOfTheKernels) {
  REQUIRE_INSTRUMENTED_BUILD();
  std::ifstream file(LAPIDARY_RESULTS "/emulator/ladder.json");
  const Json recorded = Json::parse(file);
  const Json measured = json("ladder --size 256 --device emulator");
  const char* const advice = "run script/measure --emulator and script/generate";
  auto seen = measured["rungs"].begin();
  for (const Json& row : recorded["rungs"]) {
    const auto optional = std::find_if(optional_rungs().begin(), optional_rungs().end(),
                                       [&](const OptionalRung& rung) { return row["kernel"] == rung.name; });
    if (optional == optional_rungs().end() || optional->built) {
      ASSERT_NE(seen, measured["rungs"].end()) << row["kernel"] << ": " << advice;
      for (const char* key : {"kernel", "idea", "tile", "counters"}) EXPECT_EQ(row[key], (*seen)[key]) << advice;
      ++seen;
      continue;
    }
    std::ifstream record(LAPIDARY_RESULTS "/emulator/" + std::string(optional->name) + ".json");
    const Json observed = Json::parse(record);
    EXPECT_EQ(row["idea"], observed["info"]["idea"]) << advice;
    const auto one = std::find_if(observed["observations"].begin(), observed["observations"].end(),
                                  [&](const Json& other) { return other["M"] == recorded["size"]; });
    ASSERT_NE(one, observed["observations"].end());
    for (const auto& [name, counter] : row["counters"].items())
      EXPECT_EQ(counter, (*one)["observation"]["written"]["total"][name]) << name << ": " << advice;
  }
  EXPECT_EQ(seen, measured["rungs"].end()) << advice;
}

TEST_F(Program, DevicesAreDescribed) {
  const Json result = json("device");
  const Json& emulator = result["devices"].back();
  EXPECT_EQ(emulator["kind"], "emulator");
  for (const char* key :
       {"name", "compute_capability", "multiprocessors", "memory_bytes", "free_bytes", "clock_mhz", "l2_bytes"}) {
    EXPECT_TRUE(emulator.contains(key)) << key;
  }
  EXPECT_EQ(result["no_gpu"].is_null(), result["default"] == "gpu");
}

TEST_F(Program, GpusAreListedAndExtended) {
  const Json gpus = json("gpus")["gpus"];
  ASSERT_GE(gpus.size(), 16u);
  const Json h200 = json("gpus h200")["gpus"];
  ASSERT_EQ(h200.size(), 1u);
  EXPECT_EQ(h200[0]["name"], "H200");
  EXPECT_EQ(h200[0]["sms"], 132);
  std::string text = contents(LAPIDARY_RESULTS "/../data/gpus.csv");
  const std::string header = text.substr(0, text.find('\n') + 1);
  const std::size_t row = text.find("\nH200,") + 1;
  std::ofstream(folder_.path() / "mine.csv")
      << header << "Mine" << text.substr(row + 4, text.find('\n', row) - row - 3);
  EXPECT_EQ(json("gpus mine --gpu-file " + (folder_.path() / "mine.csv").string())["gpus"][0]["sms"], 132);
  std::ofstream(folder_.path() / "broken.csv") << "gpu,sm_cuont\n";
  expect_refused("gpus --gpu-file " + (folder_.path() / "broken.csv").string(),
                 "broken.csv:1:5: no column is named 'sm_cuont'");
  expect_refused("gpus h20O", "the nearest is H200");
  expect_refused("roofline --gpu a100", "'a100' may be A100 SXM4 40GB or A100 SXM4 80GB");
}

TEST_F(Program, RasterComparesOrders) {
  const Json result = json("raster --gpu h200 -m 1000 -n 900 -k 800 --tile 128x128 --order rows,grouped:4");
  EXPECT_EQ(result["tiles"], 64);
  EXPECT_EQ(result["waves"], 1);
  ASSERT_EQ(result["orders"].size(), 2u);
  EXPECT_EQ(result["orders"][1]["order"], "grouped:4");
  EXPECT_EQ(result["orders"][0]["dram_read_bytes"], 4.0 * 800 * 1900) << "all fits L2";
  // Tiles of 128 x 128; two neighbours of a row share A.
  const Json own = json("raster --gpu h200 -m 1024 -n 1024 -k 512 --kernel mma_tiles --cluster 2 --order rows");
  EXPECT_EQ(own["tile"], "128x128x32");
  EXPECT_EQ(own["orders"][0]["order"], "its own");
  EXPECT_EQ(own["orders"][0]["l2_to_sm_bytes"], 64 * 256 * 512 * 2);
  EXPECT_EQ(own["orders"][0]["l2_read_bytes"], 32 * 384 * 512 * 2);
  EXPECT_EQ(own["orders"][0]["dram_read_bytes"], own["orders"][1]["dram_read_bytes"]);
  const Json staying = json("raster --gpu h200 -m 4096 -n 4096 -k 64 --kernel wgmma_persistent --order rows");
  EXPECT_EQ(staying["blocks_per_wave"], 128) << "as it is launched, not the 132 multiprocessors";
  EXPECT_EQ(staying["waves"], 4);
  EXPECT_EQ(staying["last_wave"], 1);
  // Two blocks below each other share columns of B.
  const Json shared = json("raster --gpu h200 -m 4096 -n 4096 -k 64 --kernel wgmma_cluster --order rows");
  EXPECT_EQ(shared["cluster"], 2);
  EXPECT_EQ(shared["orders"][0]["l2_to_sm_bytes"], 512 * (128 + 256) * 64 * 2);
  EXPECT_EQ(shared["orders"][0]["l2_read_bytes"], 512 * (128 + 256 / 2) * 64 * 2);
  // One row of tiles, and in each cluster another one beyond D.
  const Json beyond = json("raster --gpu h200 -m 128 -n 32768 -k 64 --kernel wgmma_cluster --order rows");
  EXPECT_EQ(beyond["tiles"], 128);
  EXPECT_EQ(beyond["blocks_per_wave"], 128);
  EXPECT_EQ(beyond["waves"], 2);
  // 169 tiles on 85 of 132 multiprocessors, twice.
  const char* const few =
      "raster --gpu h200 --kernel wgmma_waves --tile 128x128x64 -m 1664 -n 1664 -k 1664 --order rows";
  EXPECT_NE(run(few).out.find("99.4 % of all time used, of that of all 132 multiprocessors 64 %"), std::string::npos);
  const std::string drawn = run("raster --gpu h200 -m 256 -n 384 -k 8 --order rows").out;
  EXPECT_NE(drawn.find("\n111\n111\n"), std::string::npos) << drawn;
  expect_refused("raster --tile 128", "'128' is no tile; it is written as in 128x128 or 128x128x8");
  expect_refused("raster --tile 0x128", "'0x128' is no tile");
  expect_refused("raster --order spiral", "no order is named 'spiral'; there are rows, columns, grouped:N");
  for (const char* orders : {"rows,,columns", "rows,", ",rows", ","})
    expect_refused(std::string("raster --order ") + orders, std::string("values of '") + orders + "' is empty");
  EXPECT_EQ(part("raster --gpu h200 -m 512 -n 512 -k 64 --order rows columns --order hilbert", "orders").size(), 3u);
  EXPECT_EQ(json("raster --gpu h200 -m 512 -n 512 -k 64 --type half")["type"], "f16");
  for (const char* type : {"s32", "e4m3", "f64", "f16/f32", "'f16 RC'", "f31"})
    expect_refused(std::string("raster --type ") + type, "f32, f16 or bf16", "--kernel");
  expect_refused("raster --tile 1x1", "67108864 tiles");
  expect_refused("raster -k 99999999999", "99999999999 is not a whole number from 1 to 16777216");
}

TEST_F(Program, DiffIsAgainstTheParent) {
  const Json result = json("diff coalesced");
  EXPECT_EQ(result["from"], "naive");
  EXPECT_EQ(result["to"], "coalesced");
  EXPECT_EQ(
      result["diff"].get<std::string>().find("--- src/kernels/simt/naive.cuh\n+++ src/kernels/simt/coalesced.cuh\n@@ "),
      0u);
  EXPECT_EQ(json("diff naive coalesced"), result);
  EXPECT_EQ(run("diff coalesced").out, result["diff"].get<std::string>());
  EXPECT_EQ(json("diff naive naive")["diff"], "");
}

// A rung's idea is in its own file: the instruction, or the loop, that its parent has not.
TEST_F(Program, DiffShowsTheIdeaOfEachHopperRung) {
  for (const auto& [rung, parent, ideas] :
       {std::tuple<const char*, const char*, std::vector<const char*>>{
            "wgmma_specialized", "wgmma_tma", {"setmaxnreg_inc<", "pipeline.wait_empty(p)", "pipeline.wait_full(p)"}},
        {"wgmma_persistent", "wgmma_specialized", {"return number + stride"}},
        {"wgmma_staged", "wgmma_persistent", {"StagedSlice<", "BulkStore{"}},
        {"wgmma_cluster", "wgmma_staged", {"cp_async_bulk_tensor_multicast(", "barrier_cluster_arrive_relaxed()"}},
        {"wgmma_energy", "wgmma_cluster", {"steps - 1 - step"}},
        {"wgmma_staged_f32", "wgmma_energy", {"PairedSlice<", "BulkStore{"}},
        {"wgmma_overlapped", "wgmma_cluster", {"grid_launch_dependents()", "grid_wait()"}},
        {"wgmma_shared", "wgmma_overlapped", {"t.cluster = {.down = tile.down, .across = tile.across}"}},
        {"wgmma_waves", "wgmma_overlapped", {"setmaxnreg_inc<consumer>", "warpgroups_of(t.tile.m)"}},
        {"wgmma_pingpong", "wgmma_shared", {"Turns::wait(warpgroup)", "Turns::give(1 - warpgroup)"}},
        {"wgmma_batched", "wgmma_pingpong", {"product * this->rows + row", "Coordinates{col, row, place.product}"}},
        {"wgmma_turned", "wgmma_batched", {"wgmma_skinny::TransposedTile", "scale_turned(own, {origin.row"}},
        {"wgmma_turned_pingpong", "wgmma_turned", {"wgmma_pingpong::Roles", "pingpong_kernel<Config>"}},
        {"wgmma_promoted", "wgmma_energy", {"for (int step = 0; step < block.steps", "add(rD[0][1], right)"}},
        {"wgmma_split_k", "wgmma_overlapped", {"part_begin(block.steps, block.rank, ranks)", "Sums::add_up("}},
        {"wgmma_skinny", "wgmma_split_k", {"return {at.col, at.row}", "CachePolicy::evict_first"}}}) {
    const Json result = json(std::string("diff ") + rung);
    EXPECT_EQ(result["from"], parent);
    std::istringstream diff(result["diff"].get<std::string>());
    std::string added;
    for (std::string line; std::getline(diff, line);)
      if (line[0] == '+') added += line + "\n";
    for (const char* const idea : ideas) EXPECT_NE(added.find(idea), added.npos) << rung << ": " << idea;
  }
}

/// The elements of a .npy file, read by the description of its format alone.
struct Npy {
  std::int64_t rows = 0, cols = 0;
  std::vector<double> values;

  double at(std::int64_t i, std::int64_t j) const { return values[static_cast<std::size_t>(i * cols + j)]; }
};

Npy read_npy(const std::filesystem::path& path) {
  const std::string file = contents(path);
  EXPECT_EQ(file.substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
  const std::size_t length = static_cast<unsigned char>(file.at(8)) + 256u * static_cast<unsigned char>(file.at(9));
  const std::string header = file.substr(10, length);
  const bool half = header.find("'<f2'") != std::string::npos;
  EXPECT_TRUE(half || header.find("'<f4'") != std::string::npos);
  Npy npy;
  const char* shape = header.c_str() + header.find("'shape': (");
  EXPECT_EQ(std::sscanf(shape, "'shape': (%ld, %ld)", &npy.rows, &npy.cols), 2);
  const std::size_t size = half ? 2 : 4;
  for (std::size_t at = 10 + length; at + size <= file.size(); at += size) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, file.data() + at, size);
    npy.values.push_back(half ? to_float(f16{static_cast<std::uint16_t>(bits)}) : std::bit_cast<float>(bits));
  }
  EXPECT_EQ(npy.values.size(), static_cast<std::size_t>(npy.rows * npy.cols));
  return npy;
}

TEST_F(Program, SavedMatricesFitTogether) {
  const std::string folder = folder_.path() / "saved" / "deep";
  const Json result = json(
      "run shared_tiles -m 20 -n 30 -k 40 --alpha 2 --beta 3 --lda 50 --ldb 51 --ldc 52 --ldd 53 --save " + folder);
  EXPECT_EQ(result["ok"], true);
  const Npy A = read_npy(folder + "/A.npy"), B = read_npy(folder + "/B.npy"), C = read_npy(folder + "/C.npy"),
            D = read_npy(folder + "/D.npy");
  ASSERT_EQ(A.rows, 20);
  ASSERT_EQ(A.cols, 40);
  ASSERT_EQ(B.rows, 40);
  ASSERT_EQ(B.cols, 30);
  ASSERT_EQ(C.rows, 20);
  ASSERT_EQ(C.cols, 30);
  ASSERT_EQ(D.rows, 20);
  ASSERT_EQ(D.cols, 30);
  for (std::int64_t i = 0; i < 20; ++i) {
    for (std::int64_t j = 0; j < 30; ++j) {
      double sum = 0;
      for (std::int64_t k = 0; k < 40; ++k) sum += A.at(i, k) * B.at(k, j);
      ASSERT_NEAR(D.at(i, j), 2 * sum + 3 * C.at(i, j), 1e-4) << i << ", " << j;
    }
  }
}

TEST_F(Program, RefusesBadInput) {
  expect_refused("", "the commands are list, run, ladder, ");
  expect_refused("frobnicate", "not expected: frobnicate; the commands are list, run, ladder, ");
  expect_refused("run", "KERNEL is required");
  expect_refused("run niave", "no kernel is named 'niave'; near it are naive");
  expect_refused("run naive --frobnicate", "--frobnicate");
  expect_refused("run naive -m -1", "-1 is not a whole number from 0 to 9223372036854775807");
  expect_refused("run naive -m 1.5", "1.5 is not a whole number");
  expect_refused("run naive -m abc", "abc is not a whole number");
  expect_refused("run naive -m 9223372036854775808", "9223372036854775808 is not a whole number");
  expect_refused("run naive -m 9223372036854775807", "less than 2^63 bytes");
  expect_refused("run naive -m 3000000000 -n 3000000000 -k 1", "less than 2^63 bytes");
  expect_refused("run naive -m 1000000 -n 1000000 -k 1 --device emulator", "free");
  expect_refused("run naive --lda 100 -k 101", "lda is 100; a row of A has K = 101 elements");
  expect_refused("run naive --lda 0", "0 is not a whole number from 1");
  expect_refused("run naive --alpha x", "x is not a finite number");
  expect_refused("run naive --beta nan", "nan is not a finite number");
  expect_refused("run naive --beta 1e39", "1e39 is not a finite number");
  expect_refused("run naive --type f64", "no kernel has elements of f64; there are f32, f16");
  expect_refused("run naive --type double", "no kernel has elements of f64; there are f32, f16");
  expect_refused("run naive --type f31", "no element type is named 'f31'; there are f32, f16");
  expect_refused("run naive --type half", "naive has no f16 kernel; it has f32");
  expect_refused("run naive --type f16", "naive has no f16 kernel; it has f32");
  expect_refused("run naive --tile 7x7", "naive has no tile 7x7 for f32; it has 32x32");
  expect_refused("run naive --device tpu", "no device is named 'tpu'; there are gpu, emulator");
  expect_refused("run naive --device gpu --count", "--count and --check need the emulated machine");
  expect_refused("run naive --device gpu --check", "--count and --check need the emulated machine");
  expect_refused("run naive --save /dev/null/x -m 1 -n 1 -k 1", "cannot create /dev/null/x");
  expect_refused("check", "KERNEL is missing");
  expect_refused("check niave", "no kernel is named 'niave'; near it are naive");
  expect_refused("check naive --schedules 0", "0 is not a whole number from 1");
  expect_refused("check naive -m 9223372036854775807", "less than 2^63 bytes");
  expect_refused("ladder --size 0", "0 is not a whole number from 1");
  expect_refused("ladder --size -5", "-5 is not a whole number from 1");
  expect_refused("ladder --size 9223372036854775807", "less than 2^63 bytes");
  expect_refused("diff naive", "naive has no parent");
  expect_refused("diff naive nothing", "no kernel is named 'nothing'");
  expect_refused("explain naive --gpu-file /", "cannot read /");
  expect_refused("try /", "cannot read /");
  if (gpu_count() == 0) expect_refused("run naive --device gpu", "no GPU");
}

// What is asked for is done, or it is said that it is not.
TEST_F(Program, RefusesOptionsThatWouldDoNothing) {
  const std::string file = folder_.path() / "file";
  for (const auto& [command, option, other] : std::vector<std::tuple<std::string, const char*, const char*>>{
           {"explain naive --json --predict", "--predict", "--json"},
           {"run naive --uneven", "--uneven", "--groups"},
           {"run wgmma_grouped --groups 3 --batch 2", "--groups", "--batch"},
           {"check naive --puzzle --type f32", "--puzzle", "--type"},
           {"check naive --puzzle --tile 32x32", "--puzzle", "--tile"},
           {"check naive --puzzle --schedules 7", "--puzzle", "--schedules"},
           {"check naive --puzzle -m 3", "--puzzle", "-m"},
           {"check naive --puzzle -n 3", "--puzzle", "-n"},
           {"check naive --puzzle -k 3", "--puzzle", "-k"},
           {"check naive --answer 3", "--answer", "--puzzle"},
           {"raster --gpu h200 --kernel wgmma_persistent -k 64 --blocks-per-sm 2", "--blocks-per-sm", "its grid"},
           {"bench naive --mode sustained --rounds 2", "--rounds", "--mode sustained"},
           {"bench naive --mode burst --seconds 2", "--seconds", "--mode burst"},
           {"calibrate --seconds 2 -o " + file, "--seconds", "--energy"},
           {"gemm --table " + file + " --kernel naive_32x32_f32", "--table", "--kernel"},
           {"gemm --table " + file + " --batch-invariant", "--table", "--batch-invariant"},
           {"gemm --bursts --gpu h200", "--bursts", "--gpu"},
           {"report --gpu h200 --costs " + file, "--gpu", "--costs"},
           {"report --gpu-file gpus.csv --record " + file, "--gpu-file", "--record"},
           {"asm naive --line 30 --summary", "--line", "--summary"},
           {"asm naive --line 30 --json", "--line", "--json"},
           {"banks naive --lane 3", "--lane", "--svg or --png"},
           {"coalescing naive --lane 3", "--lane", "--svg or --png"},
           {"roofline --gpu h200 --dark", "--dark", "--svg or --png"},
           {"fragment mma m16n8k16 bf16 --lane 3 --json", "--lane", "--json"},
           {"fragment --json", "--json", "INSTRUCTION"},
           {"fragment --svg " + file, "--svg", "INSTRUCTION"},
           {"tma --size 64,64 --box 8,8 --rows 2 --json", "--rows", "--json"},
           {"tma --size 64,64 --box 8,8 --element-strides 1,1,1", "--element-strides has 3", "--size"},
           {"tma --size 64,,64 --box 8,8", "--size", "'64,,64' is empty"}})
    expect_refused(command, option, other);
  // As a script's variable is that nobody has set.
  for (const char* command : {"run naive --save ''", "run naive --tile ''", "explain naive --html ''",
                              "bench naive --problems ''", "bench naive -o ''", "coalescing '' --warp 1"})
    expect_refused(command, "its value is empty");
  EXPECT_FALSE(std::filesystem::exists(file));
}

TEST_F(Program, BenchReadsItsProblemsBeforeItLooksForAGpu) {
  const std::string list = folder_.path() / "list";
  std::ofstream(list) << "16 16 16 RC\n16 16\n";
  expect_refused("bench naive --problems " + list, list + ":2: there are 2 words of at least 3");
  expect_refused("bench naive --problems /nowhere/list", "/nowhere/list cannot be read");
  expect_refused("bench naive --problems " + std::string(5000, 'a'), "aaa cannot be read");
  expect_refused("bench naive --problems /", "/ cannot be read; it is to be a list of problems");
  expect_refused("bench naive -m 16 --size 16", "excludes");
  expect_refused("bench naive -k 16 --problems " + list, "excludes");
  expect_refused("bench naive -n 0", "0 is not a whole number from 1 to 1048576");
  expect_refused("bench naive --size 1048577", "1048577 is not a whole number from 1 to 1048576");
  expect_refused("bench naive --mode fast", "no mode is named 'fast'; there are burst, sustained, both");
  if (gpu_count() > 0) return;
  // Lists of the program's own are found from anywhere.
  for (const char* problems : {"-m 16 -k 300", "--problems data/shapes/llm.txt --problems data/shapes/grid.txt"})
    expect_refused(std::string("bench naive ") + problems, "bench needs a GPU");
}

TEST_F(Program, ChecksASoundKernelOnProblemsOfItsTileOrOfOneSize) {
  REQUIRE_INSTRUMENTED_BUILD();
  const Json all = json("check shared_tiles --tile 16x16x16 --schedules 2 --seed 7");
  EXPECT_EQ(all["ok"], true);
  EXPECT_EQ(all["tile"], "16x16x16");
  EXPECT_EQ(all["seed"], 7);
  EXPECT_EQ(all["schedules"], 2);
  EXPECT_GE(all["problems"].size(), 5u);
  for (const Json& problem : all["problems"]) EXPECT_EQ(problem["ok"], true) << problem;

  const Json one = json("check naive -m 9 -n 7 -k 5 --schedules 1");
  for (const Json& problem : one["problems"]) EXPECT_EQ(problem["m"], 9) << problem;

  const std::string others = "not checked: its tiles 16x16x16, ";
  EXPECT_NE(run("check shared_tiles -m 9 -n 7 -k 5 --schedules 1").out.find(others), std::string::npos);
  EXPECT_EQ(run("check shared_tiles --tile 32x32x32 -m 9 -n 7 -k 5 --schedules 1").out.find(others), std::string::npos);
  const Output text = run("check naive -m 9 -n 7 -k 5 --schedules 1");
  EXPECT_EQ(text.code, 0);
  EXPECT_NE(text.out.find("sound  M = 9, N = 7, K = 5"), std::string::npos) << text.out;
}

/// A puzzle whose bug is a fault; others are wrong results. Which it is changes with the record of mutants.
struct FaultyPuzzle : Program {
  void SetUp() override {
    Program::SetUp();
    constexpr int most = 50;
    for (int seed = 1; seed <= most; ++seed) {
      command = "check shared_tiles --puzzle --seed " + std::to_string(seed);
      happens = json(command + " --answer 1", 1)["happens"].get<std::string>();
      if (happens.find("of kernel shared_tiles") != std::string::npos) return;
    }
    FAIL() << "none of " << most << " puzzles has a fault";
  }
  std::string command, happens;
};

TEST_F(FaultyPuzzle, TellsARightAnswerFromAWrongOneAndShowsTheFault) {
  // The line that the wrong answer names is the right one.
  const Output wrong = run(command + " --answer 1");
  EXPECT_EQ(wrong.code, 1) << wrong.err;
  const std::size_t verdict = wrong.out.find("Wrong: ");
  ASSERT_NE(verdict, std::string::npos) << wrong.out;
  const std::size_t number = wrong.out.find("line ", verdict) + 5;
  const std::string line = wrong.out.substr(number, wrong.out.find(' ', number) - number);
  EXPECT_NE(wrong.out.find(happens.substr(0, happens.find("\n"))), std::string::npos) << wrong.out;

  const Output right = run(command + " --answer " + line);
  EXPECT_EQ(right.code, 0) << right.err;
  EXPECT_NE(right.out.find("Right: "), std::string::npos) << right.out;

  std::ofstream(folder_.path() / "answer") << line << "\n";
  const Output asked = run(command + " < \"" + (folder_.path() / "answer").string() + "\"");
  EXPECT_EQ(asked.code, 0) << asked.err;
  EXPECT_EQ(right.out.substr(0, right.out.find("Right")), asked.out.substr(0, asked.out.find("Line: ")));
}

TEST_F(Program, PuzzlesOfARungAreOfTheKernelThatItRuns) {
  EXPECT_EQ(json("check warp_tiles --puzzle --seed 1")["kernel"], "vectorized");
}

TEST_F(FaultyPuzzle, AsDataHasItsAnswerOnlyBesideOne) {
  const Json puzzle = json(command);
  EXPECT_EQ(puzzle["kernel"], "shared_tiles");
  EXPECT_EQ(puzzle["again"], "lapidary " + command);
  for (const char* key : {"answer", "right", "line", "missing", "was", "happens"})
    EXPECT_FALSE(puzzle.contains(key)) << key;
  // The lines are those that people are shown.
  const std::string shown = run(command + " --answer 1").out;
  std::string lines;
  for (const Json& line : puzzle["lines"]) {
    const std::string number = std::to_string(line["line"].get<int>());
    lines += std::string(4 - number.size(), ' ') + number + "  " + line["text"].get<std::string>() + "\n";
  }
  EXPECT_NE(shown.find("\n\n" + lines + "\nWrong"), std::string::npos) << lines;
  EXPECT_NE(shown.find(puzzle["file"].get<std::string>()), std::string::npos);

  const Json wrong = json(command + " --answer 1", 1);
  EXPECT_EQ(wrong["right"], false);
  EXPECT_EQ(wrong["answer"], 1);
  EXPECT_EQ(wrong["lines"], puzzle["lines"]);
  EXPECT_EQ(wrong["happens"], happens);
  EXPECT_NE(shown.find("`" + wrong["was"].get<std::string>() + "`"), std::string::npos);
  const Json right = json(command + " --answer " + wrong["line"].dump());
  EXPECT_EQ(right["right"], true);
}

TEST_F(Program, EveryRecordedMutantIsOfTheSourcesAsTheyAre) {
  const Json mutants = Json::parse(contents(LAPIDARY_RESULTS "/emulator/mutants.json"))["mutants"];
  int puzzles = 0;
  for (const Json& mutant : mutants) {
    if (!mutant.contains("becomes")) continue;
    ++puzzles;
    std::istringstream file(contents(std::string(LAPIDARY_RESULTS "/../") + mutant["file"].get<std::string>()));
    std::string line;
    for (int i = 0; i < mutant["line"]; ++i) std::getline(file, line);
    EXPECT_EQ(line, mutant["source"].get<std::string>()) << "script/mutants renews the record";
    EXPECT_NE(mutant["becomes"], mutant["source"]);
  }
  EXPECT_GT(puzzles, 40);
}

TEST_F(Program, BadInputLeavesNothingBehind) {
  const std::string folder = folder_.path() / "saved";
  expect_refused("run naive --tile 7x7 --save " + folder, "no tile");
  expect_refused("run naive -m 1000000 -n 1000000 -k 1 --device emulator --save " + folder, "free");
  EXPECT_FALSE(std::filesystem::exists(folder));
}

TEST_F(Program, EmptyProblemsAreRight) {
  REQUIRE_INSTRUMENTED_BUILD();
  for (const char* sizes : {"-m 0", "-n 0", "-k 0", "-m 0 -n 0 -k 0", "-k 0 --beta 2"}) {
    EXPECT_EQ(json(std::string("run naive --device emulator ") + sizes)["ok"], true) << sizes;
    EXPECT_EQ(json(std::string("run shared_tiles --count --check ") + sizes)["ok"], true) << sizes;
  }
}

TEST_F(Program, PicturesAreWritten) {
  REQUIRE_INSTRUMENTED_BUILD();
  const std::string file = folder_.path() / "picture";
  for (const char* command :
       {"coalescing", "coalescing naive", "tiles warp_tiles --thread 75", "raster --gpu h200 -m 1024",
        "occupancy vectorized --gpu h200", "banks 32x32+1 'read [lane, 0]'"}) {
    const Output output = run(command + (" --svg " + file));
    EXPECT_EQ(output.code, 0) << command << output.err;
    const std::string svg = contents(file);
    EXPECT_EQ(svg.find("<svg xmlns"), 0u) << command;
    EXPECT_NE(svg.find("prefers-color-scheme:dark"), std::string::npos) << command;
    run(command + (" --dark --svg " + file));
    EXPECT_EQ(contents(file).find("prefers-color-scheme"), std::string::npos) << command;
    EXPECT_NE(contents(file), svg) << command;
  }
  // Once, as it takes seconds.
  const Json roofline = json("roofline --gpu h200 --svg " + file);
  EXPECT_EQ(contents(file).find("<svg xmlns"), 0u);
  EXPECT_EQ(roofline["gpu"], "H200");
  EXPECT_GE(roofline["rungs"].size(), ladder().size());
  for (const Json& rung : roofline["rungs"]) {
    if (!rung["measured_flops"].is_null()) {
      EXPECT_LT(rung["measured_flops"], rung["roof_flops"]) << rung;
    }
  }
  expect_refused("tiles naive --thread 1024", "1023");
  expect_refused("tiles vectorized --thread 256", "the threads 0 to 255; got 256");
  expect_refused("tiles naive --svg /nowhere/picture.svg", "cannot write /nowhere/picture.svg");
}

TEST_F(Program, CoalescingCountsSectorsOfKernelsAndOfAccesses) {
  REQUIRE_INSTRUMENTED_BUILD();
  EXPECT_EQ(json("coalescing")["sectors"], 4);
  EXPECT_EQ(json("coalescing --offset 1")["sectors"], 5);
  EXPECT_EQ(json("coalescing --columns 1")["sectors"], 32);
  // Rows that overlap: the lanes' addresses do not ascend.
  const Json touched = json("coalescing --columns 8 --ld 3 --offset 5")["touched"];
  for (std::size_t i = 1; i < touched.size(); ++i) EXPECT_LT(touched[i - 1]["address"], touched[i]["address"]);
  for (const Json& access : part("coalescing coalesced", "accesses")) {
    EXPECT_EQ(access["sectors"], access["matrix"] == "A" ? 1 : 4) << access;
  }
  expect_refused("coalescing --vector 2 --offset 1", "multiples of 2 elements");
  expect_refused("coalescing --vector 8", "the nearest legal --vector is 4");
  expect_refused("coalescing naive --ld 4", "excludes");
  expect_refused("coalescing f16_padded --warp 9", "the warps 0 to 7; got 9");
}

TEST_F(Program, OutputIsPlainAndFitsThePage) {
  REQUIRE_INSTRUMENTED_BUILD();
  for (const char* arguments :
       {"list", "device", "gpus", "gpus h200", "roofline", "occupancy vectorized --gpu h200", "raster",
        "raster --order hilbert", "coalescing naive", "tiles multistage", "ladder --size 40 --device emulator",
        "run shared_tiles --count -m 40 -n 40 -k 40", "run naive -m 100 -n 100 -k 100 --check"}) {
    const Output output = run(arguments);
    EXPECT_EQ(output.code, 0) << arguments << output.err;
    EXPECT_EQ(output.err, "") << arguments;
    EXPECT_EQ(output.out.find('\x1b'), std::string::npos) << arguments;
    EXPECT_EQ(output.out.find('\r'), std::string::npos) << arguments;
    std::istringstream lines(output.out);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 120u) << arguments << "\n" << line;
  }
}

TEST_F(Program, EmulatedTimeIsNoSpeed) {
  const std::string out = run("ladder --size 32 --device emulator").out;
  EXPECT_NE(out.find("M = N = K = 32"), std::string::npos);
  EXPECT_NE(out.find("the emulated machine"), std::string::npos);
  EXPECT_EQ(out.find("FLOP"), std::string::npos);
  const std::size_t last_line = out.rfind('\n', out.size() - 2) + 1;
  EXPECT_EQ(out.find("next: lapidary "), last_line);
}

TEST_F(Program, HelpIsASuccess) {
  for (const char* arguments : {"--help", "run --help", "ladder --help", "--version"}) {
    const Output output = run(arguments);
    EXPECT_EQ(output.code, 0) << arguments;
    EXPECT_NE(output.out, "") << arguments;
  }
}

TEST_F(Program, NoticesThatItsOutputIsLost) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "there is no /dev/full here";
  EXPECT_EQ(WEXITSTATUS(std::system("\"" LAPIDARY_PROGRAM "\" list >/dev/full 2>/dev/null")), 3);
}

TEST_F(Program, ExplainsAKernelOnAnotherCardWithoutOne) {
  REQUIRE_INSTRUMENTED_BUILD();
  const Json e = json("explain vectorized -m 512 -n 512 -k 256 --gpu \"a100 sxm4 80gb\"");
  ASSERT_TRUE(e.is_object());
  EXPECT_EQ(e["gpu"].get<std::string>().rfind("A100", 0), 0u);
  EXPECT_EQ(e["matrices"].size(), 3u);
  EXPECT_EQ(e["matrices"][0]["accesses_per_result"], 2.0);  // K / BN
  bool explained = false;
  for (const Json& line : e["shared"])
    explained |= line["cause"] == "lanes 0 and 4 read different words of bank 0, 2 in all";
  EXPECT_TRUE(explained);
  EXPECT_GT(e["time"]["predicted_s"], 0);
  EXPECT_EQ(e["time"]["own_calibration"], false);
}

// A, B, C and D are 3,014,656 bytes, and there are 125,829,120 FLOP.
TEST_F(Program, ExplainTellsMemoryTimeComputeTimeAndReadsOfEachElement) {
  REQUIRE_INSTRUMENTED_BUILD();
  const std::string problem = "explain vectorized -m 384 -n 640 -k 256 --beta --gpu \"a100 pcie 80gb\"";
  const Json e = json(problem);
  EXPECT_NEAR(e["least_time"]["memory_s"], 1.558e-6, 1e-9);
  EXPECT_NEAR(e["least_time"]["compute_s"], 6.4555e-6, 1e-9);
  EXPECT_EQ(e["least_time"]["dram_rate"], "published");
  EXPECT_EQ(e["operand_reads"], Json::parse(R"([{"matrix": "A", "times": 5, "tiles": 5, "why": null},
                                                {"matrix": "B", "times": 3, "tiles": 3, "why": null}])"));
  std::string text;  // without its line breaks
  std::istringstream words(run(problem).out);
  for (std::string word; words >> word;) text += word + " ";
  for (const char* sentence :
       {"memory 1.56 us: 3.015 MB at 1.935 TB/s of DRAM, as published; compute 6.46 us: 0.1258 GFLOP at 19.5 TFLOP/s "
        "of f32 on CUDA cores; compute takes 4.14 times as long",
        "each element of A is read 5 times over the grid, once for each of ceil(N / BN) = ceil(640 / 128) = 5 tiles "
        "across D",
        "each element of B is read 3 times over the grid, once for each of ceil(M / BM) = ceil(384 / 128) = 3 tiles "
        "down D"})
    EXPECT_NE(text.find(sentence), text.npos) << sentence << "\n" << text;
}

/// Fails if a page would load anything.
void expect_alone(const std::string& html) {
  EXPECT_EQ(html.find("<!DOCTYPE html>"), 0u);
  for (const char* loads : {"<link", " src=", "@import", "url(", "href=\"http"})
    EXPECT_EQ(html.find(loads), std::string::npos) << loads;
  const std::string call = "fetch(";  // as a word of its own: a kernel shown on a page may call prefetch()
  for (std::size_t at = html.find(call); at != html.npos; at = html.find(call, at + 1))
    EXPECT_TRUE(at > 0 && std::isalpha(static_cast<unsigned char>(html[at - 1]))) << html.substr(at, 40);
}

TEST_F(Program, ExplainWritesAPageAndWhereTheCompilerMergedAccesses) {
  REQUIRE_INSTRUMENTED_BUILD();
  const std::string file = folder_.path() / "page.html";
  const Output output = run("explain thread_tiles_1d -m 256 -n 256 -k 64 --gpu h200 --as-compiled --html " + file);
  EXPECT_EQ(output.code, 0) << output.err;
  const std::string html = contents(file);
  expect_alone(html);
  EXPECT_NE(html.find("merged by ptxas"), std::string::npos);
  const Json e = json("explain thread_tiles_1d -m 1024 -n 1024 -k 1024 --gpu h200 --beta --html " + file);
  EXPECT_NE(contents(file), html) << "the other problem's";
  expect_alone(contents(file));
  // 64 x 64 x 8 by 512 threads, 128 times; beta takes 8 more.
  EXPECT_EQ(e["executed"]["pass"]["products"], 64);
  EXPECT_EQ(e["executed"]["warp"]["products"], 128 * 64 + 8);
  EXPECT_EQ(e["executed"]["passes"], 128);
  EXPECT_EQ(e["addresses"]["tensor"], false);
  bool merged = false;
  for (const Json& access : e["accesses"])
    merged |= access["kind"] == "shared load" && access["merged"] == true && access["machine"].contains("16");
  EXPECT_TRUE(merged) << e["accesses"].dump(1);
  EXPECT_GT(e["stalls"]["short_scoreboard"], 0.1);
}

// A kernel that does not take a problem is neither explained nor found sound by it.
TEST_F(Program, NamesWhatRanWhereverAKernelDoesNotTakeAProblem) {
  REQUIRE_INSTRUMENTED_BUILD();
  const std::string sizes = "-m 40 -n 36 -k 50", other = "mma_multistage_128x256x32_s4_bf16-RC";
  const auto expect_other = [&](const Json& result) {
    EXPECT_EQ(result["ran"], other) << result;
    EXPECT_NE(result["why"].get<std::string>().find("wgmma_cluster does not take it: A's leading dimension is 50"),
              std::string::npos)
        << result;
  };
  expect_other(json("run wgmma_cluster --device emulator " + sizes));
  const Json explained = json("explain wgmma_cluster " + sizes);
  expect_other(explained);
  EXPECT_EQ(explained["kernel"], "wgmma_cluster");
  EXPECT_EQ(explained["threads"], 256) << "of mma_multistage";
  EXPECT_TRUE(json("explain wgmma_cluster -m 128 -n 256 -k 64")["why"].is_null());
  EXPECT_NE(run("explain wgmma_cluster " + sizes).out.find("what follows is of " + other), std::string::npos);
  const Json checked = json("check wgmma_cluster --schedules 1 " + sizes);
  for (const Json& problem : checked["problems"]) EXPECT_EQ(problem["ran"], other);
  const std::string verdict = run("check wgmma_cluster --schedules 1 " + sizes).out;
  EXPECT_NE(verdict.find("by " + other), std::string::npos) << verdict;
  EXPECT_NE(verdict.find("wgmma_cluster takes none of these problems"), std::string::npos) << verdict;
  const std::string some = run("check wgmma_tma --schedules 1").out;
  EXPECT_NE(some.find("of 48 problems are another kernel's, as wgmma_tma does not take them"), std::string::npos)
      << some;
  for (const Json& rung : part("ladder --size 20 --device emulator --type 'bf16 RC'", "rungs")) {
    const std::string name = rung["kernel"];
    const bool in_bulk = name.starts_with("wgmma") && name != "wgmma_unaligned";
    EXPECT_EQ(rung["why"].is_null(), !in_bulk) << rung;
    EXPECT_EQ(rung["ran"] == rung["id"], !in_bulk) << rung;
  }
  EXPECT_NE(run("ladder --size 20 --device emulator --type 'bf16 RC'").out.find("wgmma_tma: ran " + other),
            std::string::npos);
}

TEST_F(Program, ExplainSaysOfWhichLaunchTheMeasuredTimeIs) {
  REQUIRE_INSTRUMENTED_BUILD();
  const std::string command = "explain vectorized -m 4096 -n 4096 -k 4096 --gpu h200";
  EXPECT_NE(run(command).out.find("the prediction is"), std::string::npos);
  const std::string beta = run(command + " --beta").out;
  EXPECT_NE(beta.find("measured with beta = 0, which reads no C"), std::string::npos) << beta;
  EXPECT_EQ(beta.find("the prediction is"), std::string::npos) << beta;
}

// The card was read at 1024^3 with beta, and explain is of 4096^3 unless it is told otherwise.
TEST_F(Program, ExplainComparesTheCardsCountersWithItsOwnCountOfTheirProblem) {
  REQUIRE_INSTRUMENTED_BUILD();
  const Json e = json("explain conflict_free --gpu h200"),
             read = json("explain conflict_free --gpu h200 -m 1024 -n 1024 -k 1024 --beta");
  EXPECT_EQ(e["m"], 4096);
  EXPECT_EQ(e["counters_of"], Json::parse(R"({"m": 1024, "n": 1024, "k": 1024, "reads_c": true})"));
  EXPECT_EQ(e["counters"], read["counters"]);
  EXPECT_EQ(e["counters"][0]["counter"], "ffma_threads");
  EXPECT_EQ(e["counters"][0]["written"], 1024.0 * 1024 * 1025);
  EXPECT_NE(run("explain conflict_free --gpu h200").out.find("Counters of the H200 at 1024 x 1024 x 1024 with beta"),
            std::string::npos);
  EXPECT_TRUE(json("explain conflict_free --gpu \"rtx 4090\"")["counters_of"].is_null()) << "nobody read such a card";
}

// 16 tiles of 128 x 256 are one on 16 of 132 multiprocessors.
TEST_F(Program, ExplainSaysHowManyMultiprocessorsHaveNoTile) {
  REQUIRE_INSTRUMENTED_BUILD();
  const std::string command = "explain wgmma_persistent -m 512 -n 1024 -k 512 --gpu h200";
  EXPECT_NE(run(command).out.find("16 blocks, 132 at a time: 1 wave, the last one 12.1 % full"), std::string::npos)
      << run(command).out;
  const Json parts = json(command)["time"]["parts"];
  EXPECT_NEAR(parts["idle"].get<double>() / parts["products"].get<double>(), (132 - 16) / 16.0, 1e-9);
}

/// How often a text stands in another.
int count_of(const std::string& part, const std::string& text) {
  int count = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST_F(Program, PagesAreWholeInABrowserToWhichTheirScriptAddsASwitchOnly) {
  REQUIRE_INSTRUMENTED_BUILD();
  if (std::system("command -v chromium >/dev/null") != 0) GTEST_SKIP() << "there is no chromium here";
  const std::string page = folder_.path() / "page.html", dom = folder_.path() / "dom",
                    profile = folder_.path() / "profile";
  ASSERT_EQ(run("explain naive -m 64 -n 64 -k 64 --gpu h200 --html " + page).code, 0);
  const std::string browser = "chromium --headless --no-sandbox --disable-gpu --user-data-dir=" + profile;
  ASSERT_EQ(std::system((browser + " --dump-dom file://" + page + " >" + dom + " 2>/dev/null").c_str()), 0);
  EXPECT_EQ(count_of("<button>", contents(page)), 0);
  EXPECT_EQ(count_of("<button>", contents(dom)), 1);
  for (const char* element : {"<h1", "<h2", "<h3", "<p>", "<table", "<tr"})
    EXPECT_EQ(count_of(element, contents(page)), count_of(element, contents(dom))) << element;
}

TEST_F(Program, ReportIsOnePageAndTheLaddersPagesAreThoseThatItWrites) {
  REQUIRE_INSTRUMENTED_BUILD();
  const Json report = json("report --gpu h200 -o " + folder_.path().string() +
                           " --check --markdown " LAPIDARY_SOURCE_DIR "/docs/ladder");
  EXPECT_EQ(report["ok"], true);
  EXPECT_EQ(report["stale"], Json::array());
  EXPECT_EQ(report["unknown"], Json::array());
  EXPECT_EQ(report["gpu"].get<std::string>().find("H200"), 0u) << report["gpu"];
  EXPECT_EQ(report["files"], Json::array({(folder_.path() / "index.html").string()}));
  const std::string html = contents(folder_.path() / "index.html");
  expect_alone(html);
  std::vector<std::string> names = {"f16_cute"};  // also where it is not built
  for (const Rung& rung : ladder()) names.emplace_back(rung.name());
  for (const std::string& name : names) {
    EXPECT_NE(html.find("<section id=\"" + name + "\">"), std::string::npos) << name;
    EXPECT_NE(html.find("href=\"#" + name + "\""), std::string::npos) << name;
  }
  // What it links to is on it.
  const std::string link = "href=\"";
  for (std::size_t at = html.find(link); at != std::string::npos; at = html.find(link, at)) {
    at += link.size();
    const std::string target = html.substr(at, html.find('"', at) - at);
    ASSERT_EQ(target.substr(0, 1), "#") << target;
    EXPECT_NE(html.find("id=\"" + target.substr(1) + "\""), std::string::npos) << target;
  }
  expect_refused("report --check", "--markdown DIR");
}

TEST_F(Program, PicturesOfThePagesAreWhatTheCommandsOfTheirCaptionsDraw) {
  REQUIRE_INSTRUMENTED_BUILD();
  const std::filesystem::path pages = LAPIDARY_SOURCE_DIR "/docs/ladder";
  const std::regex captioned(R"(^!\[.*`lapidary ([^`]*)`\.\]\((.*)\)$)");
  std::map<std::string, std::string> drawn;  // commands by pictures
  for (const auto& page : std::filesystem::directory_iterator(pages)) {
    if (page.path().extension() != ".md") continue;
    std::istringstream lines(contents(page.path()));
    std::smatch found;
    for (std::string line; std::getline(lines, line);)
      if (std::regex_match(line, found, captioned)) drawn[found[2]] = found[1];
  }
  EXPECT_GT(drawn.size(), 5u);
  for (const auto& [picture, command] : drawn) {
    const bool of_card = command.starts_with("raster") || command.starts_with("roofline");
    const std::string file = (folder_.path() / picture).string();
    run(command + (of_card ? " --gpu h200" : "") + " --svg " + file);
    EXPECT_EQ(contents(file), contents(pages / picture)) << command;
  }
}

TEST_F(Program, ExplainRefusesWhatItDoesNotKnow) {
  expect_refused("explain vectorized --gpu h2000", "h2000");
  expect_refused("explain vectorized --tile 7x7x7", "no tile 7x7x7");
  expect_refused("explain vectorized -m 0", "-m");
}

TEST_F(Program, ShowsOfAnOptionalRungWhatIsOnRecord) {
  const Json code = json("asm f16_cute");
  EXPECT_EQ(code["stale"], false);
  // 64 results a thread, eight steps of k.
  EXPECT_EQ(code["product_loop"]["multiply-add"], 64 * 8);
  EXPECT_EQ(json("diff f16_cute")["from"], "f16_padded");
  if (optional_rungs().front().built) return;
  for (const char* command : {"run", "coalescing"})
    expect_refused(std::string(command) + " f16_cute", "this program was built without f16_cute, which needs CUTLASS");
  REQUIRE_INSTRUMENTED_BUILD();  // for what it is compared with
  // Its record is of some problems.
  expect_refused("explain f16_cute -m 512", "has M x N x K = 4096 x 4096 x 4096, 256 x 256 x 256");
  expect_refused("explain f16_cute -m 256 -n 256 -k 256 --beta", "with beta = 0, and not");
  const std::string page = " --gpu h200";
  EXPECT_EQ(json("explain f16_cute" + page)["shared"].size(), json("explain f16_padded" + page)["shared"].size());
  EXPECT_EQ(json("occupancy f16_cute --gpu h200")["threads"], 256);
  const Json twin = json("tiles f16_cute"), parent = json("tiles f16_padded");
  EXPECT_EQ(twin["thread_has"], parent["thread_has"]);
  std::map<int, int> wavefronts[2];  // how many accesses have so many
  for (const bool own : {false, true})
    for (const Json& access : part(own ? "banks f16_cute" : "banks f16_padded", "accesses"))
      ++wavefronts[own][access["wavefronts"].get<int>()];
  EXPECT_EQ(wavefronts[0], wavefronts[1]);
  EXPECT_EQ(json("list")["not_built"][0]["name"], "f16_cute");
}

TEST_F(Program, GemmShowsWhatTheLibraryChoosesAndFollowsATable) {
  const std::string problem = "gemm -m 512 -n 512 -k 64 --type \"f16 RC\" --gpu h200";
  const Json own = json(problem);
  ASSERT_GT(own["ways"].size(), 1u);
  EXPECT_EQ(own["ways"][0]["finishes"], false);
  const std::string other = own["ways"][1]["kernel"], table = folder_.file("choices.txt");
  std::ofstream(table) << "f16-RCR 512x512x64 " << other << "\n";
  const Json told = json(problem + " --table " + table);
  EXPECT_EQ(told["ways"][0]["kernel"], other);
  EXPECT_NE(told["plan"].get<std::string>().find("-t"), std::string::npos);
  const Json finished = json(problem + " --epilogue bias_of_rows-silu");
  EXPECT_TRUE(finished["ways"][0]["kernel"].get<std::string>().starts_with("wgmma_fused"));
  EXPECT_EQ(finished["ways"][0]["finishes"], false);
  EXPECT_EQ(finished["ways"].back()["finishes"], true);
  EXPECT_GT(finished["ways"][0]["predicted_s"], own["ways"][0]["predicted_s"]);
  // Rows of 65 and columns of 72 elements, of which the first begin anywhere and the others at multiples of 16 bytes.
  const Json odd = json(problem + " --lda 65 --ldb 72 --ldd 513");
  EXPECT_NE(odd["plan"].get<std::string>().find(".ld65-72-512-513."), std::string::npos) << odd["plan"];
  const std::string kernel = odd["ways"][0]["kernel"];
  EXPECT_TRUE(odd["ways"][0]["packs_a"] == true || kernel.starts_with("wgmma_unaligned")) << kernel;
  EXPECT_EQ(odd["ways"][0]["packs_b"], false);
  // Lines farther apart than bulk copies count are copied first.
  const Json far = json(problem + " --lda 549755813888 --kernel wgmma_waves_64x64x64_s13_e1x64_f16-RC");
  EXPECT_EQ(far["ways"][0]["packs_a"], true);
  expect_refused(problem + " --lda 63", "it must be at least 64");
  // Plans are for the cards that the library was built with.
  expect_refused(problem + " --gpu-file mine.csv", "--gpu-file");
  expect_refused("gemm --gpu h20l", "the nearest is H20");
  expect_refused(problem + " --epilogue silu-bias_of_rows", "'silu-bias_of_rows' is no epilogue");
  expect_refused(problem + " --table " + folder_.file("none"), "cannot read");
}

TEST_F(Program, AsmCountsTheInstructionsOfTheMainLoop) {
  const Json code = json("asm conflict_free");
  ASSERT_TRUE(code.is_object());
  EXPECT_EQ(code["stale"], false);
  EXPECT_EQ(code["main_loop"]["multiply-add"], 512);
  EXPECT_EQ(code["main_loop"]["shared load"], 32);
  const Json ptx = json("asm conflict_free --ptx");
  ASSERT_TRUE(ptx.is_object());
  EXPECT_EQ(ptx["code"], "ptx");
  EXPECT_EQ(ptx["main_loop"]["multiply-add"], 512);
  EXPECT_EQ(ptx["main_loop_accesses"], code["main_loop_accesses"]);
  expect_refused("asm conflict_free --ptx --sass", "excludes");
  EXPECT_EQ(code["product_loop"], code["main_loop"]);
  EXPECT_EQ(code["addresses"]["products"], 512);
  EXPECT_LT(code["addresses"]["per_product"], 0.1);
  EXPECT_TRUE(ptx["addresses"].is_null());
  const Json warpgroups = json("asm wgmma_cluster");
  EXPECT_EQ(warpgroups["main_loop"]["tensor"], 4);
  EXPECT_EQ(warpgroups["main_loop"]["multiply-add"], 0) << "those of the epilogue";
}

}  // namespace
}  // namespace lapidary
