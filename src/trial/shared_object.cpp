#include "trial/shared_object.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <utility>

#include "core/data_file.hpp"
#include "core/error.hpp"
#include "core/temporary.hpp"

namespace lapidary::trial {

Finished run_command(const std::string& command) {
  Finished finished{-1, {}};
  FILE* const pipe = popen((command + " 2>&1").c_str(), "r");
  if (!pipe) throw InvalidArgument(fmt::format("no command can be started: {}", std::strerror(errno)));
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
    std::string pattern = temporary_name("lapidary-try.");
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

void Variables::restore() const {
  for (const Range& range : ranges) std::memcpy(range.begin, range.content.data(), range.content.size());
}

Variables SharedObject::variables(const void* function) {
  struct Search {
    std::uintptr_t address;
    Variables found;
  } search{reinterpret_cast<std::uintptr_t>(function), {}};
  const auto look = [](dl_phdr_info* info, std::size_t, void* context) {
    Search& wanted = *static_cast<Search*>(context);
    const std::span<const ElfW(Phdr)> segments(info->dlpi_phdr, info->dlpi_phnum);
    const auto begin = [&](const ElfW(Phdr) & segment) { return info->dlpi_addr + segment.p_vaddr; };
    const bool here = std::any_of(segments.begin(), segments.end(), [&](const ElfW(Phdr) & segment) {
      return segment.p_type == PT_LOAD && wanted.address >= begin(segment) &&
             wanted.address < begin(segment) + segment.p_memsz;
    });
    if (!here) return 0;
    // What the loader has made read-only at the beginning of a segment stays as it is.
    std::uintptr_t relocated = 0;
    const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    for (const ElfW(Phdr) & segment : segments)
      if (segment.p_type == PT_GNU_RELRO) relocated = (begin(segment) + segment.p_memsz) / page * page;
    for (const ElfW(Phdr) & segment : segments) {
      if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_W)) continue;
      const std::uintptr_t first = std::max<std::uintptr_t>(begin(segment), relocated),
                           end = begin(segment) + segment.p_memsz;
      if (first >= end) continue;
      auto* const bytes = reinterpret_cast<unsigned char*>(first);
      wanted.found.ranges.push_back({bytes, {bytes, bytes + (end - first)}});
    }
    return 1;
  };
  dl_iterate_phdr(look, &search);
  return std::move(search.found);
}

}  // namespace lapidary::trial
