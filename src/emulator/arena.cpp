#include "emulator/arena.hpp"

#include <fmt/format.h>
#include <sanitizer/asan_interface.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "core/math.hpp"
#include "core/refusal.hpp"

namespace lapidary::emulator {
namespace {

constexpr std::size_t most_bytes = std::size_t{1} << 40, least_bytes = std::size_t{1} << 34;
constexpr std::size_t alignment = 256;
constexpr std::size_t below_first = std::size_t{1} << 30;

/// How much of its cells is touched. Of a large allocation it may be little.
Touched touched(const Allocation& allocation) {
  constexpr std::size_t large = 4 << 20;
  return allocation.sparse || allocation.bytes > large ? Touched::sparsely : Touched::wholly;
}

}  // namespace

Arena::Arena() {
  // Systems whose addresses have fewer bits give less.
  for (bytes_ = most_bytes; bytes_ >= least_bytes; bytes_ /= 2) {
    void* const range = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                             0);
    base_ = reinterpret_cast<std::uintptr_t>(range);
    first_ = base_ + below_first;
    if (range != MAP_FAILED) return;
  }
  throw Error("the address space for emulated global memory cannot be reserved (ulimit -v?)");
}

Arena::~Arena() {
  // Whoever is given these addresses next knows nothing of what was poisoned.
  for (const auto& [at, bytes] : ever_)
    ASAN_UNPOISON_MEMORY_REGION(reinterpret_cast<void*>(at - alignment), bytes + 2 * alignment);
  munmap(reinterpret_cast<void*>(base_), bytes_);
}

void* Arena::allocate(std::size_t bytes, std::string_view label, std::size_t touched, const Lines& lines) {
  if (touched > free_bytes())
    throw Refusal(
        RefusalId::memory_free,
        fmt::format("{} needs {} bytes of memory, of which {} are free on this machine", label, touched, free_bytes()));
  std::uintptr_t at = first_fit(bytes, bytes_ / 1024);
  if (at == 0) at = first_fit(bytes, alignment);
  if (at == 0)
    throw Refusal(RefusalId::memory_free,
                  fmt::format("{} needs {} bytes; the emulated GPU addresses {} in all", label, bytes, bytes_));
  Allocation& made = allocations_[at];
  made.base = at;
  made.bytes = bytes;
  made.label = label;
  made.lines = lines;
  made.sparse = touched < bytes;
  std::size_t& most = ever_[at];
  most = std::max(most, bytes);
  // In a build with AddressSanitizer the gaps are out of bounds for every build of a kernel.
  ASAN_POISON_MEMORY_REGION(reinterpret_cast<void*>(at - alignment), alignment);
  ASAN_UNPOISON_MEMORY_REGION(reinterpret_cast<void*>(at), bytes);
  ASAN_POISON_MEMORY_REGION(reinterpret_cast<void*>(at + bytes), alignment);
  return reinterpret_cast<void*>(at);
}

std::uintptr_t Arena::first_fit(std::size_t bytes, std::size_t gap) const {
  std::uintptr_t at = first_ + alignment;
  for (const auto& [base, allocation] : allocations_) {
    if (at + bytes + gap <= base) break;
    at = round_up<std::uintptr_t>(allocation.end() + gap, alignment);
  }
  return at + bytes + alignment > base_ + bytes_ ? 0 : at;
}

void Arena::free(void* memory) noexcept {
  const auto found = allocations_.find(reinterpret_cast<std::uintptr_t>(memory));
  if (found == allocations_.end()) return;
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const std::uintptr_t first = round_up(found->second.base, page), last = found->second.end() / page * page;
  if (last > first) madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
  ASAN_POISON_MEMORY_REGION(memory, found->second.bytes);
  allocations_.erase(found);
}

Allocation* Arena::at_or_below(std::uintptr_t address) {
  auto above = allocations_.upper_bound(address);
  return above == allocations_.begin() ? nullptr : &std::prev(above)->second;
}

const Allocation* Arena::nearest(std::uintptr_t address) const {
  const auto above = allocations_.upper_bound(address);
  const Allocation* const upper = above == allocations_.end() ? nullptr : &above->second;
  if (above == allocations_.begin()) return upper;
  const Allocation* const lower = &std::prev(above)->second;
  return upper && address >= lower->end() && upper->base - address <= address - lower->end() ? upper : lower;
}

void Arena::set_cells(bool present) {
  for (auto& [base, allocation] : allocations_)
    allocation.cells = present ? zeros<GlobalCell>(ceil_div(allocation.bytes, GlobalCell::bytes), touched(allocation))
                               : nullptr;
  has_cells_ = present;
  variables_.clear();
}

GlobalCell* Arena::cells(std::uintptr_t address) {
  if (contains(address)) {
    Allocation* const allocation = at_or_below(address);
    if (!allocation || !allocation->cells) return nullptr;
    return &allocation->cells[(address - allocation->base) / GlobalCell::bytes];
  }
  if (!has_cells_) return nullptr;
  constexpr std::size_t page = 4096;
  const std::lock_guard lock(variables_mutex_);
  std::unique_ptr<GlobalCell[]>& cells = variables_[address / page];
  if (!cells) cells = std::make_unique<GlobalCell[]>(page / GlobalCell::bytes);
  return &cells[address % page / GlobalCell::bytes];
}

std::size_t Arena::free_bytes() {
  std::ifstream meminfo("/proc/meminfo");
  std::string key, unit;
  std::size_t kibibytes = 0;
  while (meminfo >> key >> kibibytes) {
    if (key == "MemAvailable:") return kibibytes * 1024;
    std::getline(meminfo, unit);
  }
  return static_cast<std::size_t>(sysconf(_SC_AVPHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

std::size_t Arena::total_bytes() {
  return static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace lapidary::emulator
