#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trial/cuda_text.hpp"
#include "trial/rewriting.hpp"

namespace lapidary::trial {

/// What the names of a CUDA file stand for: constants, variables and types.
class Definitions {
 public:
  explicit Definitions(const CudaText& text);

  /// What a name stands for before a place in the file: the right side of its last definition (`#define`, or a variable
  /// with an initialiser; for dim3 what is between its brackets).
  std::optional<std::string> before(std::size_t position, std::string_view name) const;

  /// The same of a macro or of a variable outside of functions.
  std::optional<std::string> constant(std::string_view name) const;
  /// Gives a constant another value. Returns what that changes in the file.
  std::vector<Edit> redefine(std::string_view name, const std::string& value);

  /// A type with the names that the file gives to types (typedef, using, #define) replaced by what they stand for; the
  /// same of a name in a structure, `Config::T` or `Config::BM`.
  std::string without_aliases(std::string type) const;

 private:
  struct Definition {
    std::size_t position;
    std::string name, value;
    std::size_t begin;  ///< of the value
    bool constant;      ///< of the whole file
  };
  struct Structure {
    std::string name, template_parameters, body;
  };

  /// What a structure of the file with these template arguments calls `member`, a type or a constant; empty if nothing.
  std::string member_of(const std::string& structure, const std::vector<std::string>& arguments,
                        const std::string& member) const;

  std::vector<Definition> definitions_;
  std::vector<std::pair<std::string, std::string>> aliases_;  ///< of types, and what they stand for
  std::vector<Structure> structures_;
};

}  // namespace lapidary::trial
