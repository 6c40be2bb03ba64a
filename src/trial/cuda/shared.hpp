#pragma once
// __shared__ variables of kernels that `lapidary try` compiles. It rewrites `__shared__ float a[8], b;` to references
//
//   float (&a)[8] = ::lapidary::Shared<0>("a"), (&b) = ::lapidary::Shared<1>("b");
//
// into the block's dynamic shared memory, where the emulated machine knows the state of each byte. Which variables
// there are is known when the object is loaded; the program then gives each of them its offset and a red zone behind
// it.
#include <type_traits>

#include "emulator/abi.hpp"
#include "trial/cuda/arguments.hpp"

namespace lapidary {

/// A __shared__ variable; `site` counts the declarations of the file.
struct SharedVariable {
  int site;
  unsigned bytes, alignment, element_bytes;
  unsigned extents[4];  ///< of an array, 0 where there are no more
  const char* name;
  unsigned offset;          ///< from the start of the block's dynamic shared memory, set by the program
  unsigned red_zone_bytes;  ///< behind it, set by the program
  SharedVariable* next;     ///< declared elsewhere

  static inline SharedVariable* first = nullptr;
};

/// Offset of `extern __shared__` memory: behind the variables.
inline unsigned dynamic_offset = 0;

template <int site, class T>
struct SharedSlot {
  static inline SharedVariable variable = {
      site,
      sizeof(T),
      alignof(T),
      sizeof(std::remove_all_extents_t<T>),
      {std::extent_v<T, 0>, std::extent_v<T, 1>, std::extent_v<T, 2>, std::extent_v<T, 3>},
      "",
      0,
      0,
      nullptr};
  static inline const bool listed = [] {
    variable.next = SharedVariable::first;
    SharedVariable::first = &variable;
    return true;
  }();
};

template <int site>
struct Shared {
  const char* name;
  template <class T>
  __attribute__((noinline, no_sanitize("thread"))) operator T&() const {
    using Slot = SharedSlot<site, T>;
    (void)Slot::listed;
    Slot::variable.name = name;
    return *reinterpret_cast<T*>(static_cast<unsigned char*>(emulator::abi::dynamic_shared()) + Slot::variable.offset);
  }
};

/// What `extern __shared__ T name[]` is.
template <class T>
struct DynamicShared {
  __attribute__((noinline, no_sanitize("thread"))) operator T*() const {
    return reinterpret_cast<T*>(static_cast<unsigned char*>(emulator::abi::dynamic_shared()) + dynamic_offset);
  }
};

}  // namespace lapidary

// What unions of CUDA's vectors begin with. Theirs are assigned as their bytes are; those of the emulated machine would
// not be at all, as its vectors are assigned by an operator. By one object, so that it is one access of the widest
// kind.
#define LAPIDARY_UNION(Name)                                                  \
  LAPIDARY_WRAPPER Name& operator=(const Name& from) {                        \
    struct __attribute__((may_alias, aligned(alignof(Name)))) Bytes {         \
      unsigned char bytes[sizeof(Name)];                                      \
    };                                                                        \
    *reinterpret_cast<Bytes*>(this) = *reinterpret_cast<const Bytes*>(&from); \
    return *this;                                                             \
  }
