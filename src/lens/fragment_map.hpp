#pragma once
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "layout/matrix_descriptor.hpp"
#include "lens/tensor_instruction.hpp"

namespace lapidary::lens {

/// Where a thread has an element. `index` counts those of its part, register after register, low bits first.
struct FragmentPlace {
  int thread, index;
};

/// The registers of a warp or a warpgroup that hold an operand.
struct InRegisters {
  char letter;   ///< of the elements' names: 'a' of a0, a1, ...
  int threads;   ///< 32 or 128; each element is held by one of them
  int elements;  ///< of each thread
  int packed;    ///< of these in each register
  int first;     ///< the number of a thread's first element: those of matrix 1 of ldmatrix are d2 and d3
  std::vector<FragmentPlace> places;  ///< of element (row, col) at row * cols + col
  /// Of ldmatrix and stmatrix: the lane that gives the address of each row. Otherwise empty.
  std::vector<int> address_lanes;
};

/// An operand that wgmma reads from shared memory, in a tile that begins at byte 0 and has no gaps.
struct InSharedMemory {
  SharedForm form;
  bool mn_is_row;  ///< of A; in B mn is the column
  int element_bytes;
  int tile_mn, tile_k;  ///< elements of the tile: whole rows of the swizzle
  MatrixDescriptor descriptor;
  std::vector<std::uint32_t> offsets;  ///< in bytes, of element (row, col) at row * cols + col
};

/// A matrix that an instruction takes or gives.
struct FragmentOperand {
  std::string name;  ///< "A"
  emulator::Number type;
  int rows, cols;
  std::variant<InRegisters, InSharedMemory> where;
};

/// What an instruction does with which matrices, and who holds them.
struct Fragment {
  TensorInstruction instruction;
  std::vector<FragmentOperand> operands;  ///< A, B and D, whose places C has too; or the matrices that are moved
  int threads;                            ///< that execute it together
  std::vector<std::string> notes;         ///< sentences for its reader
};

Fragment fragment_of(const TensorInstruction& instruction);

/// Neighbours in a row or a column that one thread holds, or that lie in one chunk of 16 bytes.
struct FragmentCell {
  int row, col;      ///< of the first element
  int rows, cols;    ///< elements: one of both is 1
  int thread;        ///< -1 in shared memory
  std::string who;   ///< "T5", or "" in shared memory
  std::string what;  ///< "{a2,a3}", or the byte offset
  bool odd;          ///< alternates between neighbours
};

/// The cells of an operand, row by row; all have the same size.
std::vector<FragmentCell> cells_of(const FragmentOperand& operand);

/// Columns to show of an operand: all, or the first ones of a wide one, whose others are like them.
int shown_columns(const FragmentOperand& operand);

/// 16 bytes of shared memory.
struct MemoryChunk {
  std::string what;   ///< its elements: "n 3 k 8-15"
  bool read = false;  ///< by this instruction; it does not read all of the tile
};

/// The chunks of a tile's first 1024 bytes, the largest pattern of a swizzle, or of all of it if it is smaller. 8 of
/// them are a line of 128 bytes, all 32 banks.
std::vector<MemoryChunk> first_chunks(const FragmentOperand& operand);

/// "A, 16 x 16 of bf16: 4 registers of 32 bits a thread, register i has a(2i), a(2i+1), low bits first"
std::string describe(const FragmentOperand& operand);

/// The elements of one thread in the order of its registers, with row and column: "a2 (9, 2)". None in shared memory.
std::vector<std::string> elements_of(const FragmentOperand& operand, int thread);

/// What the leading and the stride offset of a descriptor lead to.
std::string leading_text(const MatrixDescriptor& descriptor, Major major, int element_bytes);
std::string stride_text(const MatrixDescriptor& descriptor, Major major);

}  // namespace lapidary::lens
