#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lapidary::cli {

/// A parameter of a kernel or of a kernel template, or a member of a structure.
struct CudaParameter {
  std::string type, name;
  std::vector<CudaParameter> members = {};  ///< of a type that is a structure of the file

  bool is_pointer() const { return type.find('*') != type.npos; }
  /// What holds the elements if it is a matrix: itself, or the one pointer in it; or null.
  const CudaParameter* elements() const;
};

/// A `__global__` function.
struct CudaKernel {
  std::string scope;  ///< namespaces: "gemm::detail::"
  std::string name;
  std::vector<CudaParameter> template_parameters, parameters;
  std::size_t begin, end;  ///< of its text in the file
  int line;
};

/// A launch `kernel<...><<<grid, block, shared>>>(arguments)`, as it is written.
struct CudaLaunch {
  std::string kernel;
  std::vector<std::string> template_arguments, configuration, arguments;
  std::size_t position;
};

/// A file of CUDA C++, read as far as is needed to call its kernels: by its tokens, not by a compiler.
class CudaSource {
 public:
  /// @throws InvalidArgument if the file cannot be read, or with the line of what is not supported
  explicit CudaSource(std::string path);

  const std::string& path() const { return path_; }
  const std::vector<CudaKernel>& kernels() const { return kernels_; }

  /// Files beside it that it includes and in which there is a `__global__` function, which is not read.
  const std::vector<std::string>& included_kernels() const { return included_kernels_; }

  /// The first launch of a kernel in the file, or null.
  const CudaLaunch* launch_of(const CudaKernel& kernel) const;

  /// What a name stands for before a place in the file: the right side of its last definition (`#define`, or a variable
  /// with an initialiser; for dim3 what is between its brackets).
  std::optional<std::string> definition(std::string_view name, std::size_t before) const;

  /// The same of a macro or of a variable outside of functions.
  std::optional<std::string> constant(std::string_view name) const;
  /// Gives a constant another value in what `rewritten` returns.
  void redefine(std::string_view name, const std::string& value);

  /// A type with the names that the file gives to types (typedef, using, #define) replaced by what they stand for; the
  /// same of a name in a structure, `Config::T` or `Config::BM`.
  std::string without_aliases(std::string type) const;

  enum class Target { emulator, gpu };
  /// The file with all its lines: bodies of functions that call CUDA's runtime are empty, and headers for the host that
  /// are not there are left out. For the emulated machine it is C++: __shared__ variables are references
  /// (cuda/shared.hpp).
  std::string rewritten(Target target) const;

  /// The __shared__ variables, in the order of their sites, and the place of each in the file.
  const std::vector<std::size_t>& shared_sites() const { return sites_; }

 private:
  struct Edit {
    std::size_t begin, end;
    std::string text;
    bool for_gpu = true;
  };
  struct Definition {
    std::size_t position;
    std::string name, value;
    std::size_t begin;  ///< of the value
    bool constant;      ///< of the whole file
  };

  int line_of(std::size_t position) const;
  /// What a structure of the file with these template arguments calls `member`, a type or a constant; empty if nothing.
  std::string member_of(const std::string& structure, const std::vector<std::string>& arguments,
                        const std::string& member) const;
  void find_scopes();
  /// The namespaces around a place, each with its `::`; nothing within functions and types.
  std::optional<std::string> scope_of(std::size_t position) const;
  bool outside_of_functions(std::size_t position) const;
  void refuse_unsupported() const;
  void find_structures();
  void find_kernels();
  void find_launches();
  void find_definitions();
  void find_shared();
  void find_inline_ptx(const std::string& text);
  void find_host_functions();
  void find_includes();

  std::string path_, text_;
  std::string code_;  ///< the text with blanks for comments, strings and preprocessor lines
  std::map<std::size_t, std::optional<std::string>> scopes_;  ///< from a place on
  std::vector<CudaParameter> structures_;                     ///< the name of each and its members
  std::vector<CudaKernel> kernels_;
  std::vector<std::string> included_kernels_;
  std::vector<CudaLaunch> launches_;
  std::vector<Definition> definitions_;
  std::vector<std::size_t> sites_;
  std::vector<Edit> edits_;
};

/// A type with template parameters, each as a whole word, replaced by their arguments.
std::string with_arguments(std::string type, const std::vector<CudaParameter>& parameters,
                           const std::vector<std::string>& arguments);

/// Splits at commas outside of brackets; blanks around the parts are taken off.
std::vector<std::string> split_arguments(std::string_view text);

/// The value of an integer expression of C: + - * / % << >>, brackets, casts, sizeof, min, max, ceil, and ceil_div(a,
/// b) by the names it has in tutorials. Names are looked up; for `block.x` what `block` stands for is a list.
/// @throws InvalidArgument naming what cannot be evaluated
std::int64_t evaluate(const std::string& expression,
                      const std::function<std::optional<std::string>(const std::string&)>& lookup);

}  // namespace lapidary::cli
