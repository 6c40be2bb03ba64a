#include "lens/fragment_map.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "core/math.hpp"
#include "layout/fragment.hpp"

namespace lapidary::lens {
namespace {

using emulator::Number;
using Kind = TensorInstruction::Kind;

int packed_in_register(Number number) { return std::max(1, 32 / emulator::width_of(number)); }

/// @param at  at(thread, index) is the element's place in the matrix
template <class At>
FragmentOperand in_registers(const char* name, char letter, Number type, int rows, int cols, int threads, At&& at) {
  InRegisters part{letter, threads, rows * cols / threads, packed_in_register(type), 0, {}, {}};
  part.places.resize(static_cast<std::size_t>(rows * cols));
  for (int thread = 0; thread < threads; ++thread)
    for (int index = 0; index < part.elements; ++index) {
      const RowCol<int> e = at(thread, index);
      part.places[static_cast<std::size_t>(e.row * cols + e.col)] = {thread, index};
    }
  return {name, type, rows, cols, std::move(part)};
}

/// How wgmma is told of MN x K elements: a tile without gaps, of whole rows of the swizzle.
FragmentOperand in_shared_memory(const char* name, Number type, const SharedForm& form, bool mn_is_row, int MN, int K) {
  const int bytes = emulator::width_of(type) / 8, S = span_of(form.swizzle), chunk = 16 / bytes;
  const int span = S == 0 ? chunk : S / bytes;  // elements of a row
  InSharedMemory part{form, mn_is_row, bytes, MN, K, {}, {}};
  Layout layout = row_major(1, 1);
  if (form.major == Major::k) {
    part.tile_k = S == 0 ? K : span;
    layout = S == 0 ? Layout({MN / 8, 8, K / chunk, chunk}, {8 * chunk, chunk, MN * chunk, 1}) : row_major(MN, span);
  } else {
    part.tile_mn = ceil_div(MN, span) * span;
    const int slabs = part.tile_mn / span;
    layout = S == 0 ? Layout({slabs, span, K / 8, 8}, {8 * span, 1, MN * 8, span})
                    : Layout({slabs, span, K}, {K * span, 1, span});
  }
  layout = layout.swizzled(static_cast<int>(form.swizzle), std::countr_zero(static_cast<unsigned>(chunk)), 3);
  part.descriptor = MatrixTile(layout, form.major, bytes).descriptor(0);
  const int rows = mn_is_row ? MN : K, cols = mn_is_row ? K : MN;
  for (int row = 0; row < rows; ++row)
    for (int col = 0; col < cols; ++col)
      part.offsets.push_back(
          address_of(part.descriptor, form.major, bytes, mn_is_row ? row : col, mn_is_row ? col : row));
  return {name, type, rows, cols, std::move(part)};
}

Fragment product_of_warp(const TensorInstruction& i) {
  const int packed = packed_in_register(i.a);
  const auto split = [&](auto place) {
    return [=](int lane, int index) { return place(packed, lane, index / packed, index % packed); };
  };
  return {i,
          {in_registers("A", 'a', i.a, i.M, i.K, 32, split(mma_a)),
           in_registers("B", 'b', i.b, i.K, i.N, 32, split(mma_b)), in_registers("D", 'd', i.d, i.M, i.N, 32, mma_d)},
          32,
          {}};
}

Fragment product_of_warpgroup(const TensorInstruction& i) {
  const int packed = packed_in_register(i.a);
  const auto a = [&](int thread, int index) { return wgmma_a(packed, thread, index / packed, index % packed); };
  return {
      i,
      {i.a_shared ? in_shared_memory("A", i.a, *i.a_shared, true, i.M, i.K)
                  : in_registers("A", 'a', i.a, i.M, i.K, 128, a),
       in_shared_memory("B", i.b, i.b_shared, false, i.N, i.K), in_registers("D", 'd', i.d, i.M, i.N, 128, wgmma_d)},
      128,
      {"A warpgroup is 4 warps, the first of which is a multiple of 4 in its block: warp w of the four has rows "
       "16 w to 16 w + 15, of A in registers and of D.",
       "In every 8 further columns of D a thread has 4 further elements."}};
}

Fragment wmma_product(const TensorInstruction& i) {
  const auto of = [&](WmmaOperand operand) {
    return [=](int lane, int index) { return wmma_element(operand, i.M, i.N, lane, index); };
  };
  return {i,
          {in_registers("A", 'a', i.a, i.M, i.K, 32, of(WmmaOperand::a)),
           in_registers("B", 'b', i.b, i.K, i.N, 32, of(WmmaOperand::b)),
           in_registers("D", 'd', i.d, i.M, i.N, 32, of(WmmaOperand::d))},
          32,
          {fmt::format("CUDA does not specify which lane has which element. ptxas makes {} m16n8k16 of this product{}; "
                       "these are the places and the order of their operands.",
                       i.M * i.N / (16 * 8), i.M == 8 ? ", transposed: of B and A in place of A and B" : "")}};
}

Fragment movement(const TensorInstruction& i) {
  const bool load = i.kind == Kind::ldmatrix;
  Fragment fragment{i, {}, 32, {}};
  for (int matrix = 0; matrix < i.matrices; ++matrix) {
    FragmentOperand operand = in_registers("", 'd', Number::f16, 8, 8, 32, [&](int lane, int index) {
      return ldmatrix_element(i.transposed, lane, index);
    });
    operand.name = fmt::format("matrix {}", matrix);
    InRegisters& part = std::get<InRegisters>(operand.where);
    part.first = 2 * matrix;
    for (int row = 0; row < 8; ++row) part.address_lanes.push_back(8 * matrix + row);
    fragment.operands.push_back(std::move(operand));
  }
  fragment.notes = {
      fmt::format(
          "Lane 8 j + i gives the address of row i of matrix j, 16 bytes of shared memory aligned to as many{}.",
          i.matrices == 4 ? "" : fmt::format("; lanes from {} on are not asked", 8 * i.matrices)),
      fmt::format(
          "Register j of a lane {} two neighbours of a {} of matrix j, d(2j) in its low half and d(2j+1) in its "
          "high half.",
          load ? "gets" : "gives", i.transposed ? "column" : "row")};
  return fragment;
}

/// Elements from (0, 0) on, along a row or a column, that are one thread's and follow each other in it.
struct Run {
  int rows, cols;
};
Run first_run(const FragmentOperand& operand) {
  if (const auto* shared = std::get_if<InSharedMemory>(&operand.where)) {
    const int chunk = 16 / shared->element_bytes;
    return (shared->form.major == Major::k) == shared->mn_is_row ? Run{1, chunk} : Run{chunk, 1};
  }
  const std::vector<FragmentPlace>& places = std::get<InRegisters>(operand.where).places;
  const auto length = [&](int step, int limit) {
    int n = 1;
    while (n < limit && places[static_cast<std::size_t>(n * step)].thread == places[0].thread &&
           places[static_cast<std::size_t>(n * step)].index == places[0].index + n)
      ++n;
    return n;
  };
  const int across = length(1, operand.cols), down = length(operand.cols, operand.rows);
  return across >= down ? Run{1, across} : Run{down, 1};
}

/// "a7", "{a2,a3}", "{a12-a15}"
std::string elements_text(char letter, int first, int count) {
  if (count == 1) return fmt::format("{}{}", letter, first);
  return fmt::format("{{{0}{1}{3}{0}{2}}}", letter, first, first + count - 1, count == 2 ? "," : "-");
}

FragmentCell register_cell(const InRegisters& part, const FragmentPlace& first, int row, int col, const Run& run) {
  return {row,
          col,
          run.rows,
          run.cols,
          first.thread,
          fmt::format("T{}", first.thread),
          elements_text(part.letter, part.first + first.index, run.rows * run.cols),
          (first.thread / 4 + first.thread) % 2 != 0};
}

FragmentCell memory_cell(const InSharedMemory& part, std::uint32_t offset, int row, int col, const Run& run) {
  const int mn = part.mn_is_row ? row : col, k = part.mn_is_row ? col : row, chunk = run.rows * run.cols;
  const int core = part.form.major == Major::k ? mn / 8 + k / chunk : mn / chunk + k / 8;
  return {row, col, run.rows, run.cols, -1, "", std::to_string(offset), core % 2 != 0};
}

}  // namespace

Fragment fragment_of(const TensorInstruction& instruction) {
  switch (instruction.kind) {
    case Kind::mma: return product_of_warp(instruction);
    case Kind::wgmma: return product_of_warpgroup(instruction);
    case Kind::wmma: return wmma_product(instruction);
    default: return movement(instruction);
  }
}

std::vector<FragmentCell> cells_of(const FragmentOperand& operand) {
  const Run run = first_run(operand);
  std::vector<FragmentCell> cells;
  for (int row = 0; row < operand.rows; row += run.rows)
    for (int col = 0; col < operand.cols; col += run.cols) {
      const auto at = static_cast<std::size_t>(row * operand.cols + col);
      if (const auto* part = std::get_if<InRegisters>(&operand.where))
        cells.push_back(register_cell(*part, part->places[at], row, col, run));
      else
        cells.push_back(memory_cell(std::get<InSharedMemory>(operand.where),
                                    std::get<InSharedMemory>(operand.where).offsets[at], row, col, run));
    }
  return cells;
}

int shown_columns(const FragmentOperand& operand) { return operand.cols > 32 ? 16 : operand.cols; }

std::vector<MemoryChunk> first_chunks(const FragmentOperand& operand) {
  const InSharedMemory& part = std::get<InSharedMemory>(operand.where);
  const int chunk = 16 / part.element_bytes;
  const bool k_major = part.form.major == Major::k;
  const int MN = part.mn_is_row ? operand.rows : operand.cols, K = part.mn_is_row ? operand.cols : operand.rows;
  const char* const name = part.mn_is_row ? "m" : "n";
  const int tile_bytes = part.tile_mn * part.tile_k * part.element_bytes;
  std::vector<MemoryChunk> chunks(static_cast<std::size_t>(std::min(tile_bytes, 1024) / 16));
  for (int mn = 0; mn < part.tile_mn; mn += k_major ? 1 : chunk)
    for (int k = 0; k < part.tile_k; k += k_major ? chunk : 1) {
      const std::uint32_t offset = address_of(part.descriptor, part.form.major, part.element_bytes, mn, k);
      if (offset / 16 >= chunks.size()) continue;
      chunks[offset / 16] = {k_major ? fmt::format("{} {} k {}-{}", name, mn, k, k + chunk - 1)
                                     : fmt::format("k {} {} {}-{}", k, name, mn, mn + chunk - 1),
                             mn < MN && k < K};
    }
  return chunks;
}

std::string leading_text(const MatrixDescriptor& descriptor, Major major, int element_bytes) {
  const int S = span_of(descriptor.swizzle);
  if (major == Major::k) return S == 0 ? "to the next 16 bytes of k" : "of no meaning here";
  return S == 0 ? "to the next 8 of k" : fmt::format("to the next {} of mn", S / element_bytes);
}

std::string stride_text(const MatrixDescriptor& descriptor, Major major) {
  return major == Major::k || span_of(descriptor.swizzle) == 0 ? "to the next 8 of mn" : "to the next 8 of k";
}

namespace {

std::string describe(const InRegisters& part, int element_bits) {
  const int registers = part.elements / part.packed;
  std::string text = fmt::format("{} register{} of {} bits a thread", registers, registers == 1 ? "" : "s",
                                 std::max(32, element_bits));
  if (part.packed == 1) return text + fmt::format(", register i is {}(i)", part.letter);
  text += ", register i has ";
  for (int e = 0; e < part.packed; ++e)
    text += fmt::format("{}{}({}i{})", e == 0 ? "" : ", ", part.letter, part.packed,
                        e == 0 ? "" : fmt::format("+{}", e));
  return text + ", low bits first";
}

std::string describe(const InSharedMemory& part, int) {
  const MatrixDescriptor& d = part.descriptor;
  const int S = span_of(part.form.swizzle);
  const bool leading_counts = part.form.major == Major::mn || S == 0;
  return fmt::format(
      "in shared memory, {}-major, {}; descriptor {:#018x} of a tile of {} x {} (mn x k) at address 0: stride offset {}, "
      "{}{}",
      part.form.major == Major::k ? "K" : "MN", S == 0 ? "no swizzle" : fmt::format("swizzle of {} bytes", S),
      encode(d), part.tile_mn, part.tile_k, d.stride, stride_text(d, part.form.major),
      leading_counts
          ? fmt::format(", leading offset {}, {}", d.leading, leading_text(d, part.form.major, part.element_bytes))
          : "");
}

}  // namespace

std::string describe(const FragmentOperand& operand) {
  const auto* part = std::get_if<InRegisters>(&operand.where);
  const bool moved = part && !part->address_lanes.empty();
  const std::string type = moved ? "16 bits" : emulator::name_of(operand.type);
  const std::string where = std::visit([&](const auto& one) { return describe(one, emulator::width_of(operand.type)); },
                                       operand.where);
  return fmt::format("{}, {} x {} of {}: {}{}", operand.name, operand.rows, operand.cols, type, where,
                     operand.name == "D" ? "; C likewise" : "");
}

std::vector<std::string> elements_of(const FragmentOperand& operand, int thread) {
  const auto* part = std::get_if<InRegisters>(&operand.where);
  if (!part) return {};
  std::vector<std::string> elements(static_cast<std::size_t>(part->elements));
  for (int row = 0; row < operand.rows; ++row)
    for (int col = 0; col < operand.cols; ++col) {
      const FragmentPlace& place = part->places[static_cast<std::size_t>(row * operand.cols + col)];
      if (place.thread == thread)
        elements[static_cast<std::size_t>(place.index)] = fmt::format("{}{} ({}, {})", part->letter,
                                                                      part->first + place.index, row, col);
    }
  return elements;
}

}  // namespace lapidary::lens
