// Tensor cores of the emulated machine against what a card computed, bit for bit: results/h200/golden, which
// script/golden records.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "emulator/tensor_core.hpp"
#include "golden/tiles.hpp"

namespace lapidary::test {
namespace plain {
std::span<const Instruction> instructions();
}
namespace instrumented {
std::span<const Instruction> instructions();
}
namespace {

class Golden : public testing::TestWithParam<const Instruction*> {};

std::string test_name(const testing::TestParamInfo<const Instruction*>& info) {
  std::string name = info.param->name;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}
std::vector<const Instruction*> pointers(std::span<const Instruction> all) {
  std::vector<const Instruction*> found;
  for (const Instruction& one : all) found.push_back(&one);
  return found;
}
INSTANTIATE_TEST_SUITE_P(Instruction, Golden, testing::ValuesIn(pointers(plain::instructions())), test_name);

std::uint64_t element(const std::vector<unsigned char>& bytes, const Operand& operand, std::size_t index) {
  const std::size_t size = static_cast<std::size_t>(emulator::width_of(operand.number)) / 8;
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < size; ++i) bits |= std::uint64_t{bytes[index * size + i]} << (8 * i);
  return bits;
}

TEST_P(Golden, ResultsAreThoseOfTheCard) {
  const Instruction& instruction = *GetParam();
  const std::filesystem::path path = std::filesystem::path(LAPIDARY_GOLDEN) / (std::string(instruction.name) + ".json");
  if (!std::filesystem::exists(path))
    GTEST_SKIP() << path.string() << " is not there; script/golden records it on a GPU";
  std::vector<Tile> tiles;
  std::vector<std::vector<unsigned char>> expected;
  const nlohmann::json record = nlohmann::json::parse(std::ifstream(path));
  for (const auto& tile : record.at("tiles")) {
    tiles.push_back({tile.at("data"), from_hex(tile.at("a")), from_hex(tile.at("b")), from_hex(tile.at("c"))});
    expected.push_back(from_hex(tile.at("d")));
  }
  ASSERT_FALSE(tiles.empty());
  const auto device = open_emulator();
  const auto results = execute(*device, instruction, tiles);
  std::map<std::string, int> wrong;
  std::string first;
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    for (std::size_t n = 0; n < static_cast<std::size_t>(instruction.d.elements); ++n) {
      const std::uint64_t right = element(expected[i], instruction.d, n), got = element(results[i], instruction.d, n);
      if (right == got) continue;
      if (wrong.empty())
        first = fmt::format("first in tile {} ({}), element {}: {:#x} instead of {:#x}", i, tiles[i].data, n, got,
                            right);
      ++wrong[tiles[i].data];
    }
  }
  std::string counts;
  for (const auto& [data, count] : wrong) counts += fmt::format("{}: {} wrong; ", data, count);
  EXPECT_TRUE(wrong.empty()) << counts << first;
}

// The operands reach their places in the fragments: the kernel's results are those of the model on whole matrices.
TEST_P(Golden, KernelsGiveWhatTheModelDoes) {
  const Instruction& instruction = *GetParam();
  const std::string_view name = instruction.name;
  const bool wgmma = name.starts_with("wgmma");
  if (!wgmma && !name.starts_with("mma")) GTEST_SKIP() << "moves data";
  const bool wide = instruction.d.elements == 128;
  emulator::TensorOperation what = {.instruction = wgmma ? emulator::TensorOperation::Instruction::wgmma
                                                         : emulator::TensorOperation::Instruction::mma_sync,
                                    .a = instruction.a.number,
                                    .b = instruction.b.number,
                                    .d = instruction.d.number,
                                    .M = wgmma  ? 64
                                         : wide ? 16
                                                : 8,
                                    .N = 8,
                                    .K = instruction.b.elements / 8,
                                    .saturate = name.find("satfinite") != name.npos};
  const auto tiles = make_tiles(instruction);
  const auto device = open_emulator({.check = LAPIDARY_WITH_INSTRUMENTED != 0});
#if LAPIDARY_WITH_INSTRUMENTED
  const Instruction& executed = *find(instrumented::instructions(), name);
#else
  const Instruction& executed = instruction;
#endif
  const auto results = execute(*device, executed, tiles);
  std::set<std::uint64_t> different;
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    const auto numbers = [&](const std::vector<unsigned char>& bytes, const Operand& operand) {
      std::vector<std::uint64_t> all;
      for (int n = 0; n < operand.elements; ++n) all.push_back(element(bytes, operand, static_cast<std::size_t>(n)));
      return all;
    };
    std::vector<std::uint64_t> d = numbers(tiles[i].c, instruction.c);
    emulator::multiply(what, numbers(tiles[i].a, instruction.a).data(), numbers(tiles[i].b, instruction.b).data(),
                       d.data(), d.data());
    EXPECT_EQ(numbers(results[i], instruction.d), d) << "tile " << i << ", " << tiles[i].data;
    different.insert(d.begin(), d.end());
  }
  EXPECT_GT(different.size(), tiles.size() * 8) << "the tiles try too little";
}

}  // namespace
}  // namespace lapidary::test
