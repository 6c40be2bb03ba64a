#include "emulator/program_image.hpp"

#include <link.h>

namespace lapidary::emulator {
namespace {

/// The segment of an image that was asked for last: kernels ask for the same one again and again.
struct Segment {
  std::uintptr_t base = 0, bytes = 0;
  bool writable = false;
};

struct Search {
  std::uintptr_t address;
  Segment found;
};

int find_segment(dl_phdr_info* info, std::size_t, void* argument) {
  Search& search = *static_cast<Search*>(argument);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info->dlpi_phdr[i];
    const Segment segment{info->dlpi_addr + header.p_vaddr, header.p_memsz, (header.p_flags & PF_W) != 0};
    if (header.p_type != PT_LOAD || search.address - segment.base >= segment.bytes) continue;
    search.found = segment;
    return 1;
  }
  return 0;
}

}  // namespace

ProgramImage image_at(std::uintptr_t address) {
  thread_local Segment last;
  if (address - last.base >= last.bytes) {
    Search search{address, {}};
    if (!dl_iterate_phdr(find_segment, &search)) return ProgramImage::none;
    last = search.found;
  }
  return last.writable ? ProgramImage::variable : ProgramImage::constant;
}

}  // namespace lapidary::emulator
