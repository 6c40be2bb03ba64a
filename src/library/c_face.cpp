#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/refusal.hpp"
#include "lapidary/gemm.hpp"
#include "lapidary/lapidary.h"
#include "library/default_context.hpp"

namespace lapidary {
namespace {

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

}  // namespace
}  // namespace lapidary

struct lapidary_context {
  explicit lapidary_context(std::unique_ptr<lapidary::Device> on) : device(std::move(on)), context(*device) {}

  bool on_gpu() const { return device->kind() == lapidary::DeviceKind::gpu; }
  std::unique_ptr<lapidary::Device> device;
  lapidary::Context context;
  lapidary::Allocations allocations;  ///< none of a GPU, whose driver knows them, and those of others
};

namespace lapidary {
namespace {

/// Of each thread, as errno is.
thread_local std::string last_error;
thread_local const char* last_refusal = "";

lapidary_status fail(lapidary_status status, const char* message, const char* refusal = "") noexcept {
  last_refusal = refusal;
  try {
    last_error = message;
  } catch (...) {
    last_error.clear();  // there is no memory for the message either
  }
  return status;
}

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

// Values up to that are those of C++; those of types without a kernel are far enough behind them for all that may come.
static_assert(LAPIDARY_S32 == static_cast<int>(Type::s32) && LAPIDARY_S32 < LAPIDARY_E5M2);

Type type_of(const lapidary_matrix& x, const char* name) {
  const int value = static_cast<int>(x.type);
  if (value >= LAPIDARY_F32 && value <= LAPIDARY_S32) return static_cast<Type>(value);
  std::string known;
  for (int one = LAPIDARY_F32; one <= LAPIDARY_S32; ++one)
    known += std::string(known.empty() ? "" : ", ") + std::to_string(one) + " (" + name_of(static_cast<Type>(one)) +
             ")";
  const char* const missing = value == LAPIDARY_E5M2 ? "e5m2" : value == LAPIDARY_F64 ? "f64" : nullptr;
  throw Refusal(RefusalId::type_value, std::string("the type of ") + name +
                                           (missing ? std::string(" is ") + missing + ", which no kernel computes yet"
                                                    : " has value " + std::to_string(value)) +
                                           "; types are " + known);
}

template <class View>
View view_of(const lapidary_matrix& x, const char* name) {
  const Type type = type_of(x, name);
  // Who leaves out what is behind the strides has one matrix.
  const std::int64_t count = x.count == 0 ? 1 : x.count;
  return {x.data, type, x.rows, x.cols, x.row_stride, x.col_stride, count, x.batch_stride};
}

/// What a program that may have been compiled for an earlier version, with fewer members, has set; the others are 0.
template <class Struct>
Struct known_of(const Struct* given, std::size_t least, const char* name, const char* type) {
  Struct known = {};
  if (!given) return known;
  if (given->size < least || given->size > sizeof(known))
    throw Refusal(RefusalId::argument_options, std::string("the size of the ") + name + " is " +
                                                   std::to_string(given->size) + "; it must be sizeof(" + type + "), " +
                                                   std::to_string(sizeof(known)));
  std::memcpy(&known, given, given->size);
  return known;
}
lapidary_options known_of(const lapidary_options* given) {
  return known_of(given, offsetof(lapidary_options, no_workspace), "options", "lapidary_options");
}
lapidary_epilogue known_of(const lapidary_epilogue* given) {
  return known_of(given, sizeof(lapidary_epilogue), "epilogue", "lapidary_epilogue");
}
lapidary_list known_of(const lapidary_list* given) {
  return known_of(given, sizeof(lapidary_list), "list", "lapidary_list");
}

/// One of the values of an enumeration of C, which are those of the one of C++.
template <class Enum>
Enum value_of(int value, const char* name, Enum last) {
  if (value < 0 || value > static_cast<int>(last))
    throw Refusal(RefusalId::value_unknown, std::string(name) + " has value " + std::to_string(value) +
                                                "; values are 0 to " + std::to_string(static_cast<int>(last)));
  return static_cast<Enum>(value);
}

GemmEpilogue epilogue_of(const lapidary_epilogue& known) {
  GemmEpilogue epilogue;
  epilogue.bias = value_of(static_cast<int>(known.bias), "the bias", Bias::of_rows);
  epilogue.bias_data = known.bias_data;
  epilogue.activation = value_of(static_cast<int>(known.activation), "the activation", Activation::silu);
  if (known.scales) epilogue.scale = known.scale;
  if (known.residual) epilogue.residual = view_of<ConstMatrixView>(*known.residual, "the residual");
  if (known.clamps) epilogue.clamp = {known.low, known.high};
  return epilogue;
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
            const lapidary_matrix* D, const lapidary_options* options) {
  const lapidary_epilogue epilogue = known_of(known_of(options).epilogue);
  const auto scalar = [](float value, const float* device) {
    return device ? Scalar::in_device_memory(device) : Scalar(value);
  };
  ConstMatrixView c;  // what is not read may be anything
  if (beta != 0 || epilogue.beta) c = view_of<ConstMatrixView>(required(C, "C, which is read as beta is not 0,"), "C");
  return {.alpha = scalar(alpha, epilogue.alpha),
          .beta = scalar(beta, epilogue.beta),
          .A = view_of<ConstMatrixView>(required(A, "A"), "A"),
          .B = view_of<ConstMatrixView>(required(B, "B"), "B"),
          .C = c,
          .D = view_of<MatrixView>(required(D, "D"), "D"),
          .epilogue = epilogue_of(epilogue)};
}

/// Products of one problem.
struct ProductList {
  Problem problem;
  std::vector<Operands> operands;
};

/// @param asked  of each product, but for where its matrices are
ProductList products_of(Asked asked, const lapidary_list& list) {
  const bool reads_c = asked.beta.device || asked.beta.value != 0;
  const auto require_one = [](const char* name, std::int64_t count) {
    if (count != 1)
      throw Refusal(RefusalId::batch_matrices, std::string("there are ") + std::to_string(count) + " matrices " + name +
                                                   " for each product of the list; there must be 1");
  };
  require_one("A", asked.A.count);
  require_one("B", asked.B.count);
  require_one("C", asked.C.count);
  require_one("D", asked.D.count);
  if (asked.epilogue.residual) require_one("of the residual", asked.epilogue.residual->count);
  if (list.count < 0)
    throw Refusal(RefusalId::batch_count,
                  "the list is of " + std::to_string(list.count) + " products; there must be 0 or more");
  asked.A.data = asked.B.data = asked.C.data = asked.D.data = nullptr;
  if (list.count == 0) return {asked.product().problem, {}};
  required(list.A, "the array of addresses of A");
  required(list.B, "the array of addresses of B");
  if (reads_c) required(list.C, "the array of addresses of C, which is read as beta is not 0,");
  required(list.D, "the array of addresses of D");

  ProductList products;
  products.operands.reserve(static_cast<std::size_t>(list.count));
  for (std::int64_t i = 0; i < list.count; ++i) {
    asked.A.data = list.A[i];
    asked.B.data = list.B[i];
    if (reads_c) asked.C.data = list.C[i];
    asked.D.data = list.D[i];
    if (list.bias) asked.epilogue.bias_data = list.bias[i];
    if (list.residual && asked.epilogue.residual) asked.epilogue.residual->data = list.residual[i];
    const auto& [problem, operands] = asked.product();
    if (i == 0) products.problem = problem;
    if (problem.in_place != products.problem.in_place)
      throw Refusal(RefusalId::in_place_address,
                    std::string("of product ") + std::to_string(i) + " of the list D is " +
                        (problem.in_place ? "C, of product 0 it is not" : "not C, of product 0 it is") +
                        "; it must be of all or of none");
    // One plan does all: it counts on no more than each of them has.
    for (int Alignments::*const of : {&Alignments::A, &Alignments::B, &Alignments::C, &Alignments::D})
      products.problem.aligned.*of = std::min(products.problem.aligned.*of, problem.aligned.*of);
    products.operands.push_back(operands);
  }
  return products;
}

GemmOptions options_of(const lapidary_options* given) {
  GemmOptions options;
  const lapidary_options known = known_of(given);
  if (known.no_workspace)
    options.workspace_bytes = 0;
  else if (known.workspace_bytes > 0)
    options.workspace_bytes = known.workspace_bytes;
  options.batch_invariant = known.batch_invariant != 0;
  options.fast_accumulation = known.fast_accumulation != 0;
  if (known.kernel) options.kernel = known.kernel;
  return options;
}

std::unique_ptr<Device> open(lapidary_device device) {
  switch (device) {
    case LAPIDARY_GPU: return open_gpu();
    case LAPIDARY_EMULATED: return open_emulator();
    case LAPIDARY_CHECKED: return open_emulator({.check = true});
  }
  throw Refusal(RefusalId::argument_device, "the device has value " + std::to_string(static_cast<int>(device)) +
                                                "; devices are 0 (a GPU), 1 (emulated) and 2 (emulated and checked)");
}

/// Null stands for the default one of the current CUDA device.
Context& context_of(lapidary_context* context) { return context ? context->context : default_context({}); }

/// Where a context runs what the caller has in a stream.
Stream stream_of(lapidary_context* context, void* stream) {
  if (!context || context->on_gpu()) return {.cuda = stream};
  if (stream)
    throw Refusal(RefusalId::argument_stream, "the stream is not null; an emulated machine has no streams: give null");
  return context->device->stream();
}

std::string text_of(const void* address) {
  std::ostringstream text;
  text << address;
  return text.str();
}

/// Refuses a copy to or from memory of an emulated machine that is not all there. On a GPU the driver does, which knows
/// the memory of others as well.
void require_bytes(lapidary_context& context, const void* memory, const char* name, std::size_t bytes) {
  if (context.on_gpu()) return;
  const auto there = context.allocations.bytes_from(memory);
  if (there && *there >= bytes) return;
  const std::string legal = there ? "has " + std::to_string(*there) + " bytes from there to its end"
                                  : "is none that lapidary_allocate() gave in this context";
  throw Refusal(RefusalId::argument_copy, std::string(name) + " is " + text_of(memory) + ", and the memory there " +
                                              legal + "; it must have the " + std::to_string(bytes) +
                                              " that are to be copied");
}

void copy_text(char* to, std::size_t length, const std::string& text) {
  if (!to || length == 0) return;
  const std::size_t count = std::min(length - 1, text.size());
  std::memcpy(to, text.data(), count);
  to[count] = 0;
}

}  // namespace
}  // namespace lapidary

using namespace lapidary;

const char* lapidary_version(void) { return LAPIDARY_VERSION; }
const char* lapidary_last_error(void) { return last_error.c_str(); }
const char* lapidary_last_refusal(void) { return last_refusal; }

int lapidary_gpu_count(void) {
  int count = 0;
  guarded([&] { count = gpu_count(); });
  return count;
}

lapidary_status lapidary_create(lapidary_device device, lapidary_context** context) {
  return guarded([&] {
    lapidary_context*& place = required(context, "the place of the context");
    place = new lapidary_context(open(device));
  });
}

void lapidary_destroy(lapidary_context* context) { delete context; }

lapidary_status lapidary_clear(lapidary_context* context) {
  return guarded([&] {
    if (Context* const kept = context ? &context->context : library::made_default_context()) kept->clear();
  });
}

lapidary_status lapidary_allocate(lapidary_context* context, size_t bytes, void** memory) {
  return guarded([&] {
    void*& place = required(memory, "the place of the memory");
    lapidary_context& on = required(context, "the context");
    void* const made = on.device->allocate(bytes, "memory", bytes, {});
    try {
      if (!on.on_gpu()) on.allocations.add(made, bytes);
    } catch (...) {
      on.device->free(made);
      throw;
    }
    place = made;
  });
}

lapidary_status lapidary_free(lapidary_context* context, void* memory) {
  return guarded([&] {
    lapidary_context& on = required(context, "the context");
    if (!memory) return;
    // Before it is freed: behind that the address may be another thread's.
    if (!on.on_gpu() && !on.allocations.remove(memory))
      throw Refusal(RefusalId::argument_memory,
                    "the memory is " + text_of(memory) +
                        ", where there is none to free; it must be what lapidary_allocate() "
                        "gave in this context and was not freed, or null");
    on.device->free(memory);
  });
}

lapidary_status lapidary_upload(lapidary_context* context, void* to, const void* from, size_t bytes) {
  return guarded([&] {
    lapidary_context& on = required(context, "the context");
    if (bytes == 0) return;
    required(static_cast<char*>(to), "to");
    required(static_cast<const char*>(from), "from");
    require_bytes(on, to, "to", bytes);
    on.device->upload(to, from, bytes);
  });
}

lapidary_status lapidary_download(lapidary_context* context, void* to, const void* from, size_t bytes) {
  return guarded([&] {
    lapidary_context& on = required(context, "the context");
    if (bytes == 0) return;
    required(static_cast<char*>(to), "to");
    required(static_cast<const char*>(from), "from");
    require_bytes(on, from, "from", bytes);
    on.device->download(to, from, bytes);
  });
}

lapidary_status lapidary_synchronize(lapidary_context* context) {
  return guarded([&] { required(context, "the context").device->synchronize(); });
}

lapidary_status lapidary_gemm(lapidary_context* context, void* stream, float alpha, const lapidary_matrix* A,
                              const lapidary_matrix* B, float beta, const lapidary_matrix* C, const lapidary_matrix* D,
                              const lapidary_options* options) {
  return guarded([&] {
    Context& on = context_of(context);
    const Product product = asked(alpha, A, B, beta, C, D, options).product();
    const Stream where = stream_of(context, stream);
    on.run(on.plan(product.problem, options_of(options)), where, product.operands);
  });
}

lapidary_status lapidary_gemm_list(lapidary_context* context, void* stream, float alpha, const lapidary_matrix* A,
                                   const lapidary_matrix* B, float beta, const lapidary_matrix* C,
                                   const lapidary_matrix* D, const lapidary_options* options,
                                   const lapidary_list* list) {
  return guarded([&] {
    Context& on = context_of(context);
    const lapidary_list known = known_of(&required(list, "the list"));
    const ProductList products = products_of(asked(alpha, A, B, beta, C, D, options), known);
    const Stream where = stream_of(context, stream);
    on.run(on.plan(products.problem, options_of(options)), where, products.operands);
  });
}

lapidary_status lapidary_gemm_grouped(lapidary_context* context, void* stream, float alpha, const lapidary_matrix* A,
                                      const lapidary_matrix* B, float beta, const lapidary_matrix* C,
                                      const lapidary_matrix* D, const lapidary_options* options,
                                      const int64_t* group_ends, int64_t groups) {
  return guarded([&] {
    Context& on = context_of(context);
    const Asked asked_for = asked(alpha, A, B, beta, C, D, options);
    if (asked_for.has_epilogue())
      throw Refusal(RefusalId::groups_kind, "there are groups of products, and an epilogue is to follow; nothing may");
    const Product product = asked_for.groups({group_ends, groups});
    const Stream where = stream_of(context, stream);
    on.run(on.plan(product.problem, options_of(options)), where, product.operands);
  });
}

lapidary_status lapidary_explain(lapidary_context* context, float alpha, const lapidary_matrix* A,
                                 const lapidary_matrix* B, float beta, const lapidary_matrix* C,
                                 const lapidary_matrix* D, const lapidary_options* options, char* id, char* why,
                                 size_t length) {
  return guarded([&] {
    const Plan plan = context_of(context).plan(asked(alpha, A, B, beta, C, D, options).product().problem,
                                               options_of(options));
    copy_text(id, length, plan.id());
    copy_text(why, length, plan.why());
  });
}
