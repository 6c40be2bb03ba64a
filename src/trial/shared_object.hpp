#pragma once
#include <filesystem>
#include <string>
#include <vector>

// Compiling while the program runs.

namespace lapidary::trial {

struct Finished {
  int status;          ///< 0 if all went well
  std::string output;  ///< standard output and error
};
/// @throws InvalidArgument if no command can be started
Finished run_command(const std::string& command);

/// The folder of the CUDA headers that stand in for those of NVIDIA (src/trial/cuda).
/// @throws InvalidArgument if neither the sources nor an installation has it
std::filesystem::path stand_in_headers();

/// A folder for what is compiled, removed with its content in the end.
class WorkFolder {
 public:
  /// @param keep  a folder that stays, made if it is not there; empty for one that does not
  /// @throws InvalidArgument if it cannot be made
  explicit WorkFolder(const std::string& keep);
  ~WorkFolder();
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
  bool keep_;
};

/// What a loaded shared object has written to, as it was at some time: its variables, and none of their memory.
struct Variables {
  struct Range {
    unsigned char* begin;
    std::vector<unsigned char> content;
  };
  std::vector<Range> ranges;

  /// Makes them what they were.
  void restore() const;
};

/// A loaded shared object.
class SharedObject {
 public:
  SharedObject() = default;
  /// @throws InvalidArgument with the loader's reason
  explicit SharedObject(const std::string& file);
  ~SharedObject();
  SharedObject(SharedObject&& other) noexcept : handle_(other.handle_) { other.handle_ = nullptr; }
  SharedObject& operator=(SharedObject&& other) noexcept;

  /// Its variables as they are now. @param function  one of its own
  static Variables variables(const void* function);

  /// A function with a type of the caller's choice.
  template <class Function>
  Function function(const char* name) const {
    return reinterpret_cast<Function>(symbol(name));
  }

 private:
  void* symbol(const char* name) const;
  void* handle_ = nullptr;
};

}  // namespace lapidary::trial
