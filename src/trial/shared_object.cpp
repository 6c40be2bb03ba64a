#include "trial/shared_object.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "core/data_file.hpp"
#include "core/error.hpp"

namespace lapidary::trial {

std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

Finished run_command(const std::string& command) {
  Finished finished{-1, {}};
  FILE* const pipe = popen((command + " 2>&1").c_str(), "r");
  if (!pipe) return finished;
  std::array<char, 4096> buffer;
  while (const std::size_t bytes = std::fread(buffer.data(), 1, buffer.size(), pipe))
    finished.output.append(buffer.data(), bytes);
  finished.status = pclose(pipe);
  return finished;
}

std::filesystem::path stand_in_headers() {
  namespace fs = std::filesystem;
  const fs::path root = data_file(""), inside = fs::path("src") / "trial" / "cuda",
                 installed = fs::path("include") / "lapidary" / inside;
  // Beside the program's own data, which are at <prefix>/share/lapidary or deeper.
  for (const fs::path& folder : {root / inside, root / ".." / ".." / installed, root / ".." / ".." / ".." / installed})
    if (fs::exists(folder / "cuda_runtime.h")) return folder;
  throw InvalidArgument(fmt::format("{} is not there; set LAPIDARY_ROOT to the sources of lapidary",
                                    (root / inside / "cuda_runtime.h").string()));
}

WorkFolder::WorkFolder(const std::string& keep) : keep_(!keep.empty()) {
  if (keep_) {
    std::error_code error;
    std::filesystem::create_directories(keep, error);
    if (error) throw InvalidArgument(fmt::format("cannot create {}: {}", keep, error.message()));
    path_ = std::filesystem::absolute(keep);
  } else {
    std::string pattern = (std::filesystem::temp_directory_path() / "lapidary-try.").string() + std::string(6, 'X');
    if (!mkdtemp(pattern.data())) throw InvalidArgument(fmt::format("cannot create {}", pattern));
    path_ = pattern;
  }
}

WorkFolder::~WorkFolder() {
  std::error_code ignored;
  if (!keep_) std::filesystem::remove_all(path_, ignored);
}

SharedObject::SharedObject(const std::string& file) : handle_(dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (!handle_) throw InvalidArgument(fmt::format("the compiled kernel cannot be loaded: {}", dlerror()));
}

SharedObject::~SharedObject() {
  if (handle_) dlclose(handle_);
}

SharedObject& SharedObject::operator=(SharedObject&& other) noexcept {
  std::swap(handle_, other.handle_);
  return *this;
}

void* SharedObject::symbol(const char* name) const { return dlsym(handle_, name); }

}  // namespace lapidary::trial
