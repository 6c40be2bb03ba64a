#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "layout/bank_report.hpp"
#include "layout/layout.hpp"
#include "lens/observe.hpp"

namespace lapidary::lens {

enum class SharedAccess : std::uint8_t {
  read,
  write,
  ldmatrix,  ///< each lane gives the address of a row of 16 bytes; the rows of eight lanes are served together
};

/// A warp's access to shared memory and the banks that it meets in.
struct BankView {
  std::string title;
  WarpAccess access;              ///< bytes from where bank 0 begins
  std::uint32_t misaligned = 0;   ///< lanes on which the hardware faults
  std::uint32_t torn = 0;         ///< lanes whose elements do not lie side by side, where the caller knows of any
  std::vector<BankGroup> groups;  ///< none where a lane is misaligned
  int wavefronts = 0;
  std::string cause;  ///< of the excess; empty if there is none

  std::optional<Layout> layout;  ///< of the tile, if it is known: memory that holds none of its elements is padding
  int element_bytes = 4;         ///< of its elements

  int minimum() const { return static_cast<int>(groups.size()); }
  int excess() const { return wavefronts - minimum(); }
  /// The access takes longer than it has to, or is none.
  bool is_bad() const { return misaligned != 0 || torn != 0 || excess() > 0; }
};

/// Judges an access; the last three members are the caller's.
BankView bank_view(const std::string& title, const WarpAccess& access, SharedAccess kind);

/// The accesses to shared memory of each source line of a kernel as they are written, before a compiler merges any; of
/// each the first one that takes the most wavefronts beyond its minimum, by bytes from the first line that it touches.
std::vector<BankView> bank_views(const Observation& observation);

/// "2 wavefronts, minimum 1: lanes 0 and 8 read different words of bank 0, 2 in all"
std::string bank_verdict(const BankView& view);

/// The 128-byte lines of memory that an access touches, ascending.
std::vector<std::uint64_t> touched_lines(const BankView& view);

/// All that is wanted of a word: by which lanes, and whether in a wavefront that a group without conflicts has not.
struct WordUse {
  std::uint32_t lanes = 0;
  bool excess = false;
};
WordUse use_of_word(const BankView& view, std::uint64_t address);

/// No element of the view's layout lives in the word: every one of its elements is padding, or lies behind the tile.
bool is_padding(const BankView& view, std::uint64_t address);

/// How many words are wanted of each bank.
std::array<int, 32> words_in_banks(const BankGroup& group);

}  // namespace lapidary::lens
