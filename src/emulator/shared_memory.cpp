#include "emulator/shared_memory.hpp"

#include <link.h>
#include <sys/mman.h>

#include <cstring>
#include <new>

namespace lapidary::emulator {
namespace {

struct Range {
  std::uintptr_t base = 0;
  std::size_t bytes = 0;
};

// The calling thread's block of thread-local variables of the program itself.
int find_program_tls(dl_phdr_info* info, std::size_t, void* result) {
  if (info->dlpi_name && info->dlpi_name[0]) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i)
    if (info->dlpi_phdr[i].p_type == PT_TLS)
      *static_cast<Range*>(result) = {reinterpret_cast<std::uintptr_t>(info->dlpi_tls_data),
                                      info->dlpi_phdr[i].p_memsz};
  return 1;
}

}  // namespace

SharedMemory::SharedMemory() {
  void* const memory = mmap(nullptr, arena_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  arena_ = static_cast<unsigned char*>(memory);
  attach();
}

void SharedMemory::attach() {
  Range tls;
  dl_iterate_phdr(find_program_tls, &tls);
  static_base_ = tls.base;
  static_bytes_ = tls.bytes;
}

SharedMemory::~SharedMemory() { munmap(arena_, arena_bytes); }

void SharedMemory::reset(unsigned dynamic_bytes, bool check) {
  std::memset(dynamic(), 0xff, dynamic_bytes);
  if (!check) return;
  if (!states_) states_ = std::make_unique<ByteState[]>(bytes());
  std::memset(states_.get(), static_cast<int>(ByteState::red_zone), red_zone_bytes);
  std::memset(states_.get() + red_zone_bytes, static_cast<int>(ByteState::unwritten), dynamic_bytes);
  std::memset(states_.get() + red_zone_bytes + dynamic_bytes, static_cast<int>(ByteState::red_zone),
              arena_bytes - red_zone_bytes - dynamic_bytes);
  std::memset(states_.get() + arena_bytes, static_cast<int>(ByteState::unwritten), static_bytes_);
}

void SharedMemory::describe(Recorder& to) const {
  to.shared_base = arena_base();
  to.shared_bytes = arena_bytes;
  to.static_base = static_base_;
  to.static_bytes = static_bytes_;
}

void SharedMemory::set_state(std::uintptr_t address, std::size_t bytes, ByteState state) {
  if (states_) std::memset(states_.get() + offset(address), static_cast<int>(state), bytes);
}

}  // namespace lapidary::emulator
