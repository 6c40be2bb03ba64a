#pragma once
#include <sys/mman.h>

#include <cstddef>
#include <memory>
#include <new>

namespace lapidary::emulator {

struct UnmapPages {
  std::size_t bytes = 0;
  void operator()(void* memory) const { munmap(memory, bytes); }
};

/// An array of zeros whose pages come into being when they are touched, so that it may be larger than the host's
/// memory. Its elements are trivial, or zeros are what their constructors make.
template <class T>
using Pages = std::unique_ptr<T[], UnmapPages>;

/// How much of an array is touched, so that the system has less to do for each of its pages: of one that is dense it is
/// asked for larger ones, and of one that is touched as a whole for all of them at once.
enum class Touched { sparsely, densely, wholly };

/// @throws std::bad_alloc if there are not so many addresses
template <class T>
Pages<T> zeros(std::size_t count, Touched touched = Touched::sparsely) {
  if (count == 0) return {};
  void* const memory = mmap(
      nullptr, count * sizeof(T), PROT_READ | PROT_WRITE,
      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (touched == Touched::wholly ? MAP_POPULATE : 0), -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  if (touched == Touched::densely) madvise(memory, count * sizeof(T), MADV_HUGEPAGE);
  return {static_cast<T*>(memory), {count * sizeof(T)}};
}

}  // namespace lapidary::emulator
