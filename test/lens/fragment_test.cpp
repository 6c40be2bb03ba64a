// Which thread holds what, against the PTX ISA's figures, and against what a card did: results/h200/golden.
#include "lens/fragment_map.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "device/device.hpp"
#include "golden/tiles.hpp"
#include "lens/fragment_product.hpp"
#include "pages/fragment_picture.hpp"

namespace lapidary::test::plain {
std::span<const FragmentProduct> fragment_products();
}

namespace lapidary::lens {
namespace {

using Bytes = std::vector<unsigned char>;
using Kind = TensorInstruction::Kind;

Fragment read(const std::string& text) { return fragment_of(parse_tensor_instruction(text)); }

/// The tiles of an instruction's record.
nlohmann::json golden(const std::string& name) {
  std::ifstream file(std::filesystem::path(LAPIDARY_GOLDEN) / (name + ".json"));
  const nlohmann::json tiles = nlohmann::json::parse(file).at("tiles");
  EXPECT_GE(tiles.size(), 3u) << name;
  return tiles;
}

const InRegisters& registers(const FragmentOperand& operand) { return std::get<InRegisters>(operand.where); }
std::size_t at(const FragmentOperand& operand, int row, int col) {
  return static_cast<std::size_t>(row * operand.cols + col);
}

/// "T9 a2": who holds an element, of an operand by its index.
std::string holder(const std::string& instruction, std::size_t operand, int row, int col) {
  const Fragment fragment = read(instruction);
  const FragmentOperand& o = fragment.operands.at(operand);
  const FragmentPlace place = registers(o).places.at(at(o, row, col));
  return fmt::format("T{} {}{}", place.thread, registers(o).letter, registers(o).first + place.index);
}

enum { A, B, D };

// Read off the PTX ISA's figures, "Matrix Fragments for mma.m16n8k16 with floating point type" and its neighbours.
TEST(Fragment, HoldersAreThoseOfThePtxIsa) {
  EXPECT_EQ(holder("mma m16n8k16 bf16", A, 9, 2), "T5 a2");
  EXPECT_EQ(holder("mma m16n8k16 bf16", A, 9, 3), "T5 a3");
  EXPECT_EQ(holder("mma m16n8k16 bf16", A, 3, 13), "T14 a5");
  EXPECT_EQ(holder("mma m16n8k16 bf16", B, 11, 6), "T25 b3");
  EXPECT_EQ(holder("mma m16n8k16 bf16", D, 12, 7), "T19 d3");
  EXPECT_EQ(holder("mma m16n8k8 f16", A, 10, 5), "T10 a3");
  EXPECT_EQ(holder("mma m16n8k8 tf32", A, 11, 5), "T13 a3");
  EXPECT_EQ(holder("mma m16n8k4 tf32", A, 9, 2), "T6 a1");
  EXPECT_EQ(holder("mma m16n8k8 tf32", B, 5, 3), "T13 b1");
  EXPECT_EQ(holder("mma m16n8k32 s8", A, 2, 23), "T9 a11");
  EXPECT_EQ(holder("mma m16n8k32 e4m3", B, 20, 2), "T9 b4");
  EXPECT_EQ(holder("mma m8n8k4 f64", A, 7, 2), "T30 a0");
  EXPECT_EQ(holder("mma m8n8k4 f64", D, 4, 3), "T17 d1");
  EXPECT_EQ(holder("mma m16n8k16 f64", A, 12, 6), "T18 a3");
  EXPECT_EQ(holder("wgmma m64n40k16 bf16", A, 27, 12), "T46 a6");
  EXPECT_EQ(holder("wgmma m64n40k16 bf16", D, 60, 37), "T114 d19");
  EXPECT_EQ(holder("ldmatrix x4", 3, 6, 1), "T24 d7");
  EXPECT_EQ(holder("ldmatrix x4.trans", 3, 6, 1), "T7 d6");
}

TEST(Fragment, EveryInstructionHoldsEachElementOnce) {
  for (const TensorInstruction& instruction : tensor_instructions()) {
    SCOPED_TRACE(to_string(instruction));
    const Fragment fragment = fragment_of(instruction);
    for (const FragmentOperand& operand : fragment.operands) {
      SCOPED_TRACE(operand.name);
      if (!std::holds_alternative<InRegisters>(operand.where)) continue;
      const InRegisters& part = registers(operand);
      const std::size_t count = at(operand, operand.rows, 0);
      EXPECT_EQ(part.threads, instruction.kind == Kind::wgmma ? 128 : 32);
      EXPECT_EQ(static_cast<std::size_t>(part.threads * part.elements), count);
      std::vector<int> held(count);
      for (const auto& [thread, index] : part.places) {
        ASSERT_TRUE(thread >= 0 && thread < part.threads && index >= 0 && index < part.elements);
        ++held[static_cast<std::size_t>(thread * part.elements + index)];
      }
      EXPECT_EQ(held, std::vector<int>(count, 1));
    }
  }
}

TEST(Fragment, CellsCoverAnOperandAndAreOfOneThreadWhoseElementsFollowEachOther) {
  for (const TensorInstruction& instruction : tensor_instructions()) {
    SCOPED_TRACE(to_string(instruction));
    for (const FragmentOperand& operand : fragment_of(instruction).operands) {
      const auto* part = std::get_if<InRegisters>(&operand.where);
      std::vector<int> covered(at(operand, operand.rows, 0));
      bool follow = true;
      for (const FragmentCell& cell : cells_of(operand)) {
        const std::size_t first = at(operand, cell.row, cell.col);
        for (int i = 0; i < cell.rows * cell.cols; ++i) {
          const std::size_t next = cell.rows == 1 ? at(operand, cell.row, cell.col + i)
                                                  : at(operand, cell.row + i, cell.col);
          ++covered.at(next);
          follow &= !part || (part->places[next].thread == cell.thread &&
                              part->places[next].index == part->places[first].index + i);
        }
      }
      EXPECT_EQ(covered, std::vector<int>(covered.size(), 1)) << operand.name;
      EXPECT_TRUE(follow) << operand.name;
    }
  }
}

// Canonical layouts as the PTX ISA draws them: rows of the swizzle follow each other, eight make a pattern, in which
// row r has chunk c where chunk c ^ r would be (c ^ r / 2, c ^ r / 4 of 64 and 32 bytes).
TEST(Fragment, SharedMemoryIsAsWgmmaReadsIt) {
  const auto offset = [](const std::string& instruction, int row, int col) {
    const Fragment fragment = read("wgmma " + instruction);
    const FragmentOperand& b = fragment.operands[B];
    return std::get<InSharedMemory>(b.where).offsets.at(at(b, row, col));
  };
  // B is of K x N: row is k, col is n.
  EXPECT_EQ(offset("m64n24k16 bf16 b=k/none", 11, 21), 2 * 128 + 3 * 128 + 5 * 16 + 3 * 2);  // N / 8 core matrices down
  EXPECT_EQ(offset("m64n24k16 bf16 b=k/32", 11, 21), 21 * 32 + ((1 ^ 5 / 4) * 16) + 3 * 2);
  EXPECT_EQ(offset("m64n24k16 bf16 b=k/64", 11, 21), 21 * 64 + ((1 ^ 5 / 2) * 16) + 3 * 2);
  EXPECT_EQ(offset("m64n24k16 bf16 b=k/128", 11, 21), 21 * 128 + ((1 ^ 5) * 16) + 3 * 2);
  EXPECT_EQ(offset("m64n24k32 e4m3 b=k/128", 27, 13), 13 * 128 + ((1 ^ 5) * 16) + 11);
  EXPECT_EQ(offset("m64n24k8 tf32 b=k/64", 6, 13), 13 * 64 + ((1 ^ 5 / 2) * 16) + 2 * 4);
  EXPECT_EQ(offset("m64n24k16 bf16 b=mn/none", 11, 21), 2 * 128 + 3 * 128 + 3 * 16 + 5 * 2);
  EXPECT_EQ(offset("m64n200k16 bf16 b=mn/128", 11, 93), 16 * 128 + 11 * 128 + ((3 ^ 3) * 16) + 5 * 2);
  EXPECT_EQ(offset("m64n200k16 bf16 b=mn/64", 13, 93), 2 * 16 * 64 + 13 * 64 + ((3 ^ 5 / 2) * 16) + 5 * 2);
  EXPECT_EQ(offset("m64n200k16 bf16 b=mn/32", 13, 93), 5 * 16 * 32 + 13 * 32 + ((1 ^ 5 / 4) * 16) + 5 * 2);
  const Fragment fragment = read("wgmma m64n200k16 bf16 b=mn/128");
  const std::vector<MemoryChunk> chunks = first_chunks(fragment.operands[B]);
  EXPECT_EQ(chunks.at(8 * 3 + (6 ^ 3)).what, "k 3 n 48-55");
  const std::vector<MemoryChunk> along_k = first_chunks(read("wgmma m64n8k16 bf16 b=k/128").operands[B]);
  EXPECT_EQ(along_k.at(8 * 5 + (6 ^ 5)).what, "n 5 k 48-55");
  EXPECT_FALSE(along_k.at(8 * 5 + (6 ^ 5)).read);
  EXPECT_TRUE(along_k.at(8 * 5 + (1 ^ 5)).read);
}

// The record has what each lane's registers were, or what shared memory held then: rows in an order of their own.
TEST(Fragment, MovesMatricesAsTheCardDid) {
  for (const TensorInstruction& instruction : tensor_instructions()) {
    if (instruction.kind != Kind::ldmatrix && instruction.kind != Kind::stmatrix) continue;
    SCOPED_TRACE(to_string(instruction));
    const bool load = instruction.kind == Kind::ldmatrix;
    const Fragment fragment = fragment_of(instruction);
    const nlohmann::json tiles = golden(fmt::format("{}.x{}{}", load ? "ldmatrix" : "stmatrix", instruction.matrices,
                                                    instruction.transposed ? ".trans" : ""));
    for (const auto& tile : tiles) {
      const Bytes memory = test::from_hex(tile.at(load ? "a" : "d")), held = test::from_hex(tile.at(load ? "d" : "a"));
      for (const FragmentOperand& matrix : fragment.operands)
        for (int row = 0; row < 8; ++row)
          for (int col = 0; col < 8; ++col) {
            const InRegisters& part = registers(matrix);
            const auto [lane, index] = part.places[at(matrix, row, col)];
            // Lane l was given the address of row 5 l modulo 32.
            const int from = part.address_lanes[static_cast<std::size_t>(row)] * 5 % 32 * 8 + col;
            const int to = lane * 2 * instruction.matrices + part.first + index;
            EXPECT_EQ(
                std::memcmp(&memory[static_cast<std::size_t>(2 * from)], &held[static_cast<std::size_t>(2 * to)], 2), 0)
                << matrix.name << " " << row << " " << col;
          }
    }
  }
}

/// An operand's bytes thread after thread, or as they lie in shared memory; and the reverse, into the matrix's order,
/// in which lines of B are its columns.
struct Image {
  explicit Image(const FragmentOperand& operand)
      : operand_(operand), size_(static_cast<std::size_t>(emulator::width_of(operand.type)) / 8) {}

  std::size_t bytes() const {
    if (const auto* part = std::get_if<InSharedMemory>(&operand_.where))
      return static_cast<std::size_t>(part->tile_mn * part->tile_k) * size_;
    return at(operand_, operand_.rows, 0) * size_;
  }
  Bytes of(const Bytes& matrix) const {
    Bytes image(bytes(), 0xff);
    for_each([&](std::size_t in_image, std::size_t in_matrix) {
      std::memcpy(&image.at(in_image), &matrix.at(in_matrix), size_);
    });
    return image;
  }
  Bytes matrix(const Bytes& image) const {
    Bytes matrix(image.size());
    for_each([&](std::size_t in_image, std::size_t in_matrix) {
      std::memcpy(&matrix.at(in_matrix), &image.at(in_image), size_);
    });
    return matrix;
  }

 private:
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (int row = 0; row < operand_.rows; ++row)
      for (int col = 0; col < operand_.cols; ++col) {
        const std::size_t element = operand_.name == "B" ? static_cast<std::size_t>(col * operand_.rows + row)
                                                         : at(operand_, row, col);
        visit(offset(row, col), element * size_);
      }
  }
  std::size_t offset(int row, int col) const {
    if (const auto* part = std::get_if<InSharedMemory>(&operand_.where)) return part->offsets[at(operand_, row, col)];
    const auto [thread, index] = registers(operand_).places[at(operand_, row, col)];
    return static_cast<std::size_t>(thread * registers(operand_).elements + index) * size_;
  }

  const FragmentOperand& operand_;
  std::size_t size_;
};

std::string golden_name(const TensorInstruction& i) {
  using emulator::name_of;
  const std::string d = name_of(i.d), a = name_of(i.a), b = name_of(i.b);
  if (i.kind == Kind::mma) return fmt::format("mma.sync.m{}n8k{}.{}.{}.{}.{}", i.M, i.K, d, a, b, d);
  return fmt::format("wgmma.m64n8k{}.{}.{}.{}", i.K, d, a, b);
}

std::uint64_t descriptor_of(const FragmentOperand& operand) {
  const auto* part = std::get_if<InSharedMemory>(&operand.where);
  return part ? encode(part->descriptor) : 0;
}

/// Puts the matrices of the record where the fragment says, has them multiplied, and finds D where it says.
void expect_products_of_the_card(const test::FragmentProduct& product, const std::string& swizzle) {
  const Fragment fragment = read(product.name + swizzle);
  SCOPED_TRACE(to_string(fragment.instruction));
  const Image a(fragment.operands[A]), b(fragment.operands[B]), d(fragment.operands[D]);
  const auto device = open_emulator();
  const nlohmann::json tiles = golden(golden_name(fragment.instruction));
  for (const auto& tile : tiles) {
    const auto upload = [&](const Bytes& bytes) {
      DeviceBuffer buffer(*device, bytes.size(), "operand");
      device->upload(buffer.data(), bytes.data(), bytes.size());
      return buffer;
    };
    Bytes image = d.of(test::from_hex(tile.at("c")));
    const DeviceBuffer dA = upload(a.of(test::from_hex(tile.at("a")))), dB = upload(b.of(test::from_hex(tile.at("b")))),
                       dD = upload(image);
    product.launch(device->stream(), dA.data(), dB.data(), dD.data(), dD.data(),
                   {static_cast<int>(a.bytes()), static_cast<int>(b.bytes()), descriptor_of(fragment.operands[A]),
                    descriptor_of(fragment.operands[B])});
    device->download(image.data(), dD.data(), image.size());
    ASSERT_EQ(test::to_hex(d.matrix(image)), tile.at("d").get<std::string>()) << tile.at("data");
  }
}

TEST(Fragment, ProductsOfWhatItHoldsAreThoseOfTheCard) {
  for (const test::FragmentProduct& product : test::plain::fragment_products()) {
    const std::string name = product.name;
    if (!name.starts_with("wgmma")) {
      expect_products_of_the_card(product, "");
      continue;
    }
    // "wgmma m64n8k16 bf16 a=mn" is there with each swizzle of its last operand.
    for (const char* swizzle : {"/none", "/32", "/64", "/128"})
      expect_products_of_the_card(product, (name.find('=') == name.npos ? " b=k" : "") + std::string(swizzle));
  }
}

TEST(TensorInstruction, IsReadAsItIsWritten) {
  for (const TensorInstruction& instruction : tensor_instructions()) {
    EXPECT_EQ(parse_tensor_instruction(to_string(instruction)), instruction) << to_string(instruction);
    if (instruction.kind == Kind::wmma) continue;  // named as in CUDA C++
    EXPECT_EQ(parse_tensor_instruction(ptx_name(instruction)), instruction) << ptx_name(instruction);
  }
  const std::string shared = "wgmma m64n128k16 f16/f16 a=mn/64 b=mn/none";
  EXPECT_EQ(to_string(parse_tensor_instruction(shared)), shared);
  EXPECT_EQ(to_string(parse_tensor_instruction("wmma 32x8x16 bf16")), "wmma m32n8k16 bf16");
}

TEST(TensorInstruction, EveryRecordOfTheCardIsOfOne) {
  for (const auto& entry : std::filesystem::directory_iterator(LAPIDARY_GOLDEN)) {
    std::string name = entry.path().stem();
    if (const std::size_t registers = name.find(".registers"); registers != name.npos) name.resize(registers);
    EXPECT_NO_THROW(parse_tensor_instruction(name)) << name;
  }
}

// Opcodes as nvcc's machine code of the ladder has them.
TEST(TensorInstruction, IsReadFromMachineCode) {
  const auto read = [](const char* opcode) { return to_string(parse_tensor_instruction(opcode)); };
  EXPECT_EQ(read("HMMA.16816.F32.BF16"), "mma m16n8k16 bf16");
  EXPECT_EQ(read("HMMA.1688.F32.BF16"), "mma m16n8k8 bf16");
  EXPECT_EQ(read("HGMMA.64x200x16.F32.BF16 a=k/128 b=mn/64"), "wgmma m64n200k16 bf16 a=k/128 b=mn/64");
  EXPECT_EQ(read("QGMMA.64x96x32.F32.E4M3.E4M3"), "wgmma m64n96k32 e4m3");
  EXPECT_EQ(read("LDSM.16.MT88.2"), "ldmatrix x2.trans");
  EXPECT_EQ(read("STSM.16.M88.4"), "stmatrix x4");
}

TEST(TensorInstruction, RefusalsNameTheRuleTheValueAndWhatThereIs) {
  const std::pair<const char*, const char*> cases[] = {
      {"mfma m16n8k16 bf16", "named \"mfma\"; there are mma, wgmma, wmma, ldmatrix, stmatrix"},
      {"mma m16n8k32 bf16", "mma of bf16: m16n8k32 is not here; there are m16n8k8, m16n8k16; the nearest is m16n8k16"},
      {"mma m16n8k16 f8", "\"f8\" is no element type; there are f16, f16/f16, bf16"},
      {"mma m16n8k16", "the element type is missing"},
      {"mma m16n8k16 bf16/f16", "mma has no A of bf16 with B of bf16 and D of f16"},
      {"mma 16,8,16 bf16", "\"16,8,16\" is no shape"},
      {"mma m16n8k16 f16.bf16.bf16.f32", "C is of f32 and D of f16"},
      {"mma m16n8k16.satfinite bf16", "satfinite is of sums of s32; got f32"},
      {"wgmma m64n12k16 bf16", "N a multiple of 8 up to 256; the nearest is m64n8k16"},
      {"wgmma m64n104k32 s8", "the nearest is m64n96k32"},
      {"wgmma m64n8k32 e4m3 b=mn/128",
       "elements of 16 bits alone are MN-major; got b=mn/128 of e4m3, there is b=k/128"},
      {"wgmma m64n8k16 bf16 b=k/256", "\"256\" is no swizzle; there are none, 32, 64 and 128 bytes"},
      {"wgmma m64n8k16 bf16 b=n/64", "\"n\" is no major mode; there are k and mn"},
      {"wgmma m64n8k16 bf16 a=k", "\"\" is no swizzle"},
      {"mma m16n8k99999999999 bf16", "is no shape"},
      {"wgmma m64n8k16 bf16 c=k", "\"c=k\" is not understood"},
      {"wmma 16x8x16 bf16", "the nearest is m16n16k16"},
      {"ldmatrix x3", "x1, x2 or x4 matrices of 8 x 8; got \"x3\""},
      {"ldmatrix x4 up", "\"up\" is more than was expected"},
  };
  for (const auto& [text, part] : cases) {
    try {
      parse_tensor_instruction(text);
      ADD_FAILURE() << text;
    } catch (const InvalidArgument& error) {
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << text << "\n" << error.what();
    }
  }
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t from = text.find(part); from != std::string::npos; from = text.find(part, from + 1)) ++found;
  return found;
}

TEST(FragmentPicture, ShowsAllCellsAndMarksOneThread) {
  const std::string svg = pages::fragment_picture(read("mma m16n8k16 bf16"), 5).render();
  EXPECT_EQ(count(svg, ": thread "), 128u + 64 + 64);
  EXPECT_EQ(count(svg, ": thread 5, "), 4u + 2 + 2);
  EXPECT_EQ(count(svg, ">T5 {a2,a3}</text>"), 1u);
  const std::string wide = pages::fragment_picture(read("wgmma m64n256k16 bf16 a=k/128"), 77).render();
  EXPECT_EQ(count(wide, ": thread 77, "), 4u) << "of 16 columns of D";
  EXPECT_EQ(count(wide, ">n 3 k 8-15</text>"), 1u);
}

}  // namespace
}  // namespace lapidary::lens
