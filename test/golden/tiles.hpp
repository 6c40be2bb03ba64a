#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "device/device.hpp"
#include "golden/instruction.hpp"

namespace lapidary::test {

/// The operands of an instruction, as the bytes that they have in memory.
struct Tile {
  std::string data;  ///< what is special about its numbers
  std::vector<unsigned char> a, b, c;
};

/// Tiles that try an instruction: the same ones in each run. Their data are
///
///   normal       numbers of about the same size
///   wide         of all sizes, so that little of a sum is left beside its largest term
///   subnormal    subnormal ones and the smallest of the others
///   cancelling   products that cancel each other, beside small ones
///   zeros        zeros of both signs, beside numbers of all sizes
///   special      infinities, NaNs and zeros among the numbers
///   overflowing  the largest ones
std::vector<Tile> make_tiles(const Instruction& instruction);

/// D of each tile.
std::vector<std::vector<unsigned char>> execute(Device& device, const Instruction& instruction,
                                                std::span<const Tile> tiles);

std::string to_hex(std::span<const unsigned char> bytes);
/// @throws InvalidArgument if the text has odd length or other characters than 0-9 and a-f
std::vector<unsigned char> from_hex(const std::string& text);

}  // namespace lapidary::test
