#pragma once
// What the C functions share: contexts, errors as status codes, and what is asked for as gemm.hpp has it.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>

#include "core/refusal.hpp"
#include "lapidary/gemm.hpp"
#include "lapidary/lapidary.h"

namespace lapidary::c_face {

/// Memory of an emulated machine that lapidary_allocate() gave, for any number of threads.
class Allocations {
 public:
  void add(const void* memory, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    bytes_.emplace(address_of(memory), bytes);
  }
  /// Whether it was there.
  bool remove(const void* memory) {
    const std::lock_guard lock(mutex_);
    return bytes_.erase(address_of(memory)) > 0;
  }
  /// From an address to the end of the memory that it lies in; nothing if it lies in none.
  std::optional<std::size_t> bytes_from(const void* memory) const {
    const std::lock_guard lock(mutex_);
    const std::uintptr_t address = address_of(memory);
    const auto above = bytes_.upper_bound(address);
    if (above == bytes_.begin()) return {};
    const auto& [base, bytes] = *std::prev(above);
    const std::size_t before = address - base;
    if (before > 0 && before >= bytes) return {};
    return bytes - before;
  }

 private:
  static std::uintptr_t address_of(const void* memory) { return reinterpret_cast<std::uintptr_t>(memory); }

  mutable std::mutex mutex_;
  std::map<std::uintptr_t, std::size_t> bytes_;  ///< by address
};

}  // namespace lapidary::c_face

struct lapidary_context {
  explicit lapidary_context(std::unique_ptr<lapidary::Device> on) : device(std::move(on)), context(*device) {}

  bool on_gpu() const { return device->kind() == lapidary::DeviceKind::gpu; }
  std::unique_ptr<lapidary::Device> device;
  lapidary::Context context;
  lapidary::c_face::Allocations allocations;  ///< none of a GPU, whose driver knows them, and those of others
};

struct lapidary_table {
  std::shared_ptr<const lapidary::ChoiceTable> choices;
};

namespace lapidary::c_face {

/// Leaves the words for lapidary_last_error(), and the rule for lapidary_last_refusal().
lapidary_status fail(lapidary_status status, const char* message, const char* refusal = "") noexcept;

/// Calls what may throw, and turns what it throws into a status.
template <class Call>
lapidary_status guarded(Call&& call) noexcept {
  try {
    call();
    return LAPIDARY_SUCCESS;
  } catch (const Refusal& refusal) {
    return fail(LAPIDARY_INVALID_ARGUMENT, refusal.what(), refusal.id());
  } catch (const InvalidArgument& error) {
    return fail(LAPIDARY_INVALID_ARGUMENT, error.what());
  } catch (const DeviceError& error) {
    return fail(LAPIDARY_DEVICE_ERROR, error.what());
  } catch (const KernelFault& error) {
    return fail(LAPIDARY_KERNEL_FAULT, error.what());
  } catch (const std::bad_alloc&) {
    return fail(LAPIDARY_OUT_OF_MEMORY, "there is not enough memory");
  } catch (const std::length_error&) {  // a list longer than memory has addresses
    return fail(LAPIDARY_OUT_OF_MEMORY, "there is not enough memory");
  } catch (const std::exception& error) {
    return fail(LAPIDARY_INTERNAL_ERROR, error.what());
  } catch (...) {
    return fail(LAPIDARY_INTERNAL_ERROR, "something unknown was thrown");
  }
}

template <class T>
T& required(T* pointer, const char* name) {
  if (!pointer) throw Refusal(RefusalId::argument_null, std::string(name) + " is null; it must point to something");
  return *pointer;
}

inline void require_size(std::size_t size, std::size_t least, std::size_t most, const char* name, const char* type) {
  constexpr std::size_t unit = alignof(void*);  // of which sizes are multiples, so that no member is cut in two
  if (size < least || size > most || size % unit != 0)
    throw Refusal(RefusalId::argument_options, std::string("the size of the ") + name + " is " + std::to_string(size) +
                                                   "; it must be sizeof(" + type + "), " + std::to_string(most));
}
/// What a program that may have been compiled for an earlier version, with fewer members, has set; the others are 0.
template <class Struct>
Struct known_of(const Struct* given, std::size_t least, const char* name, const char* type) {
  Struct known = {};
  if (!given) return known;
  require_size(given->size, least, sizeof(known), name, type);
  std::memcpy(&known, given, given->size);
  return known;
}
inline lapidary_options known_of(const lapidary_options* given) {
  return known_of(given, offsetof(lapidary_options, no_workspace), "options", "lapidary_options");
}
inline lapidary_epilogue known_of(const lapidary_epilogue* given) {
  return known_of(given, sizeof(lapidary_epilogue), "epilogue", "lapidary_epilogue");
}
inline lapidary_list known_of(const lapidary_list* given) {
  return known_of(given, sizeof(lapidary_list), "list", "lapidary_list");
}
inline lapidary_operands known_of(const lapidary_operands* given) {
  return known_of(given, sizeof(lapidary_operands), "operands", "lapidary_operands");
}

/// One of the values of an enumeration of C, which are those of the one of C++.
template <class Enum>
Enum value_of(int value, const char* name, Enum last) {
  if (value < 0 || value > static_cast<int>(last))
    throw Refusal(RefusalId::value_unknown, std::string(name) + " has value " + std::to_string(value) +
                                                "; values are 0 to " + std::to_string(static_cast<int>(last)));
  return static_cast<Enum>(value);
}

/// What a C function is asked to compute, as product_of() takes it.
struct Asked {
  Scalar alpha, beta;
  ConstMatrixView A, B, C;
  MatrixView D;
  GemmEpilogue epilogue;

  Product product() const { return product_of(alpha, A, B, beta, C, D, epilogue); }
  bool has_epilogue() const {
    return epilogue.bias != Bias::none || epilogue.activation != Activation::none || epilogue.scale ||
           epilogue.residual || epilogue.clamp;
  }
  Product groups(const GroupEnds& ends) const { return product_of_groups(alpha, A, B, beta, C, D, ends); }
};

Asked asked(float alpha, const lapidary_matrix* A, const lapidary_matrix* B, float beta, const lapidary_matrix* C,
            const lapidary_matrix* D, const lapidary_options* options);
GemmOptions options_of(const lapidary_options* given);

/// Null stands for the default one of the current CUDA device.
Context& context_of(lapidary_context* context);

/// Where a context runs what the caller has in a stream.
Stream stream_of(lapidary_context* context, void* stream);

}  // namespace lapidary::c_face
