// What of a loop's integer instructions works for addresses: by hand on small loops, and on record for every rung.
#include "model/address_work.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "core/data_file.hpp"
#include "kernels/registry.hpp"

namespace lapidary::model {
namespace {

/// A loop of these instructions; a line with a multiply-add and the branch are added.
AddressWork work_of(const std::vector<std::string>& loop, const std::string& behind = "EXIT") {
  const std::string control = "  B------:R-:W-:-:S01  0000  ";
  std::string text = "L0:\n" + control + "FFMA R8, R40, R41, R8\n";
  for (const std::string& instruction : loop) text += control + instruction + "\n";
  text += control + "@P0 BRA L0\n" + control + behind + "\n";
  return address_work(parse_sass(text, "example.sass")).value();
}

TEST(AddressWork, IsWhatEndsInAnAddressOrAPredicate) {
  const AddressWork work = work_of({
      "IADD3 R2, R2, 0x20, RZ",          // the next iteration's address
      "LEA R4, R3, R2, 0x2",             // an address
      "LDS.128 R20, [R4+0x10]",          //
      "IADD3 R6, R6, 0x1, RZ",           // a counter
      "ISETP.GE.AND P0, PT, R6, R7, PT"  //
  });
  EXPECT_EQ(work.products, 1);
  EXPECT_EQ(work.integer, 4);
  EXPECT_EQ(work.data, 0);
  EXPECT_EQ(work.uniform, 0);
  EXPECT_FALSE(work.tensor);
}

TEST(AddressWork, IsNotTheUnpackingOfHalves) {
  const AddressWork work = work_of({
      "LDS R20, [R4]",                    //
      "IMAD.U32 R40, R20, 0x10000, RZ",   // the low half of two bf16
      "PRMT R21, R20, 0x7632, R21",       // the high half,
      "SHF.L.U32 R41, R21, 0x10, RZ",     // ... as a float
      "HADD2.F32 R42, -RZ, R20.H0_H0",    // a conversion, not an integer instruction
      "PRMT R24, RZ, 0x5410, RZ",         // zeros in the place of what lies outside
      "@!P1 PRMT R24, R20, 0x7610, R24",  //
      "STS.64 [R5], R24"                  //
  });
  EXPECT_EQ(work.integer, 0);
  EXPECT_EQ(work.data, 5);
}

// The same opcodes are one and the other: MOV, IMAD.MOV, SHF, PRMT.
TEST(AddressWork, GoesByWhatBecomesOfAResultAndNotByItsOpcode) {
  EXPECT_EQ(work_of({"MOV R10, R8", "STS [R2], R10"}).data, 1);
  EXPECT_EQ(work_of({"MOV R10, R8", "STS [R10], R8"}).integer, 1);
  EXPECT_EQ(work_of({"MOV R11, R8", "LDG.E R20, desc[UR4][R10.64]"}).integer, 1)
      << "an address of 64 bits is two registers";
  EXPECT_EQ(work_of({"SHF.R.U32.HI R10, RZ, 0x3, R9", "R2UR UR4, R10"}).integer, 1) << "for the uniform datapath";
  EXPECT_EQ(work_of({"MOV R13, R9", "IMAD.WIDE R10, R14, R15, R12", "LDG.E R20, desc[UR4][R10.64]"}).integer, 2);
  EXPECT_EQ(work_of({"IMAD.MOV.U32 R10, RZ, RZ, R9"}, "STS [R10], R8").integer, 1) << "behind the loop";
}

TEST(AddressWork, EndsWhereARegisterIsWrittenAnew) {
  EXPECT_EQ(work_of({"MOV R10, R9", "LDS.128 R8, [R4]", "STS [R10], R8"}).data, 1) << "R10 comes from the load";
  EXPECT_EQ(work_of({"MOV R10, R9", "@P1 LDS R10, [R4]", "STS [R10], R8"}).integer, 1) << "R10 may be the old one";
  EXPECT_EQ(work_of({"MOVM.16.MT88 R10, R9", "@P1 LEA R10, R2, R3, 0x1", "@P1 LDG.E R20, [R10]"}).data, 1)
      << "R10 is used only where it was written anew";
}

TEST(AddressWork, IsFollowedThroughWhatIsSpilled) {
  const std::vector<std::string> loop = {"IADD3 R10, R9, 0x1, RZ", "STL [R1+0x8], R10", "LDL R11, [R1+0x8]"};
  std::vector<std::string> address = loop, data = loop;
  address.push_back("LDS R20, [R11]");
  data.push_back("STS [R4], R11");
  EXPECT_EQ(work_of(address).integer, 1);
  EXPECT_EQ(work_of(data).data, 1);
}

TEST(AddressWork, OfTheUniformDatapathIsCountedApart) {
  const AddressWork work = work_of({"UIADD3 UR4, UR4, 0x1, URZ", "ULEA UR5, UR4, UR6, 0x3", "LEA R4, R2, UR5, 0x2",
                                    "LDS R20, [R4+UR5]", "HMMA.16816.F32.BF16 R12, R20, R22, R12"});
  EXPECT_EQ(work.uniform, 2);
  EXPECT_EQ(work.integer, 1);
  EXPECT_TRUE(work.tensor);
  EXPECT_EQ(work.products, 1);
}

/// A rung that computes more addresses than it should.
struct Exception {
  const char* reason;
  double per_product;  ///< at most
};

// By kernel, tile and type: small tiles, of which many blocks fit, are what the rung is about.
constexpr const char *few_results = "a thread has 16 or 32 results, over which an address is spread",
                     *short_steps = "a step along K is half as long as multistage's";
const std::map<std::string, Exception> exceptions = {
    {"split_k 32x32x16 f32", {few_results, 0.40}},    {"split_k 32x32x16 f32 RC", {few_results, 0.56}},
    {"split_k 32x32x16 f32 CR", {few_results, 0.32}}, {"split_k 32x32x16 f32 CC", {few_results, 0.37}},
    {"split_k 64x64x16 f32", {few_results, 0.24}},    {"split_k 64x64x16 f32 RC", {few_results, 0.27}},
    {"split_k 64x64x16 f32 CR", {few_results, 0.17}}, {"split_k 64x64x16 f32 CC", {few_results, 0.23}},
    {"split_k 128x64x16 f32", {short_steps, 0.15}},   {"split_k 128x64x16 f32 RC", {short_steps, 0.18}}};

// A thread with 8 x 8 results has 64 multiply-adds a step of k for 16 operands, whose addresses a loop can have in
// constants; more integer work than this is the kernel's fault and hides what a comparison of layouts asks for.
TEST(AddressWork, IsLittleOnEveryRungOfLargeThreadTiles) {
  int bounded = 0;
  for (const auto& file : std::filesystem::directory_iterator(data_file("results/compiled/sm_90a"))) {
    if (file.path().extension() != ".sass") continue;
    std::ifstream stream(file.path());
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    const CompiledKernel kernel = parse_sass(text, file.path().string());
    const std::string name = fmt::format("{} {} {}", kernel.kernel, kernel.tile, kernel.type);
    const auto work = address_work(kernel);
    ASSERT_TRUE(work) << name;
    EXPECT_GT(work->products, 0) << name;
    const auto rungs = lapidary::ladder();
    const auto rung = std::find_if(rungs.begin(), rungs.end(),
                                   [&](const Rung& r) { return r.name() == kernel.kernel; });
    // Rungs of fewer results a thread cannot spread an address over many products; wgmma's are of thousands. A program
    // that was built without an optional rung has its record all the same.
    const bool small = rung != rungs.end() && rung->family == "simt" && &*rung < &find_rung("thread_tiles_2d");
    if (small || kernel.is_warpgroup()) continue;
    ++bounded;
    const auto exception = exceptions.find(name);
    const double most = exception != exceptions.end() ? exception->second.per_product : work->tensor ? 3 : 0.12;
    EXPECT_LE(work->per_product(), most) << name << ": " << work->integer << " for " << work->products;
  }
  EXPECT_GE(bounded, 20);
}

}  // namespace
}  // namespace lapidary::model
