#pragma once
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace lapidary::trial {

/// The text of a CUDA file in the forms in which it is searched. A position means the same place in each of them.
class CudaText {
 public:
  /// @throws InvalidArgument if the file cannot be read
  explicit CudaText(std::string path);

  const std::string& path() const { return path_; }
  const std::string& written() const { return written_; }          ///< as it is in the file
  const std::string& uncommented() const { return uncommented_; }  ///< with blanks for comments
  /// With blanks for preprocessor lines and for what stands between quotes, too.
  const std::string& code() const { return code_; }

  int line_of(std::size_t position) const;
  /// The namespaces around a place, each with its `::`; nothing within functions and types.
  std::optional<std::string> scope_of(std::size_t position) const;
  bool outside_of_functions(std::size_t position) const { return scope_of(position).has_value(); }

 private:
  void find_scopes();

  std::string path_, written_, uncommented_, code_;
  std::map<std::size_t, std::optional<std::string>> scopes_;  ///< from a place on
};

/// What stands between brackets at the level of namespaces: of a function, a structure, an array's values.
struct Body {
  std::size_t begin;  ///< behind the statement before it
  std::size_t open;   ///< its bracket
  std::size_t end;    ///< behind the bracket that closes it
};
/// @param code  as CudaText::code()
std::vector<Body> find_bodies(const std::string& code);

}  // namespace lapidary::trial
