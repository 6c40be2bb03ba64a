#pragma once
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

// Inputs that nobody wrote, for what reads text of a user's. Each is accepted or refused with a message; never does one
// end the program, take it long or cost it much memory.

namespace lapidary::fuzz {

/// What is accepted breaks a promise: it does not come back as it was written, for one.
class Violation : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// Numbers that are the same on every machine, of a seed and the place of an input in its run.
class Random {
 public:
  Random(std::uint64_t seed, std::uint64_t input) : state_(seed * 0x9e3779b97f4a7c15 + input * 0xd1b54a32d192ed03) {}

  std::uint64_t next() {  // splitmix64
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  /// From 0 to `end` - 1; 0 where there are none.
  std::size_t below(std::size_t end) { return end == 0 ? 0 : static_cast<std::size_t>(next() % end); }
  bool one_in(std::size_t chances) { return below(chances) == 0; }
  template <class Range>
  const auto& pick(const Range& range) {
    return range[below(std::size(range))];
  }

 private:
  std::uint64_t state_;
};

/// Something that reads text.
struct Target {
  std::string name;
  /// Texts that it accepts, of which inputs are made.
  std::vector<std::string> corpus;
  /// Words that mean something to it.
  std::vector<std::string> words;
  /// Reads an input and does with what it means what the program does.
  /// @throws Error if it is refused, Violation if a promise is broken
  std::function<void(const std::string& input)> read;
  /// Makes an input; that of `mutated` if there is none.
  std::function<std::string(const Target&, Random&)> make = {};
};

/// A text of the corpus with a few bytes, words, numbers and brackets changed, moved, repeated or left out.
std::string mutated(const Target& target, Random& random);
/// JSON of the corpus with a few of its values changed, moved, repeated or left out; some of it as mutated().
std::string mutated_json(const Target& target, Random& random);

/// @throws Violation unless both are the same
void require_same(std::string_view what, std::string_view expected, std::string_view actual);

/// A file in a folder of this process, empty at first, that goes with it.
std::string scratch_file(const std::string& path);
void write_file(const std::string& path, std::string_view text);

std::vector<Target> grammar_targets();     ///< layouts and accesses, ids, names
std::vector<Target> source_targets();      ///< CUDA
std::vector<Target> descriptor_targets();  ///< of matrices and tensors
std::vector<Target> table_targets();       ///< CSV and lists of problems
std::vector<Target> document_targets();    ///< JSON

}  // namespace lapidary::fuzz
