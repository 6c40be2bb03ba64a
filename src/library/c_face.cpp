#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <sstream>
#include <string>
#include <utility>

#include "library/c_face.hpp"
#include "library/default_context.hpp"

namespace lapidary::c_face {
namespace {

/// Of each thread, as errno is.
thread_local std::string last_error;
thread_local const char* last_refusal = "";

}  // namespace

lapidary_status fail(lapidary_status status, const char* message, const char* refusal) noexcept {
  last_refusal = refusal;
  try {
    last_error = message;
  } catch (...) {
    last_error.clear();  // there is no memory for the message either
  }
  return status;
}

Context& context_of(lapidary_context* context) { return context ? context->context : default_context({}); }

Stream stream_of(lapidary_context* context, void* stream) {
  if (!context || context->on_gpu()) return {.cuda = stream};
  if (stream)
    throw Refusal(RefusalId::argument_stream, "the stream is not null; an emulated machine has no streams: give null");
  return context->device->stream();
}

namespace {

std::unique_ptr<Device> open(lapidary_device device) {
  switch (device) {
    case LAPIDARY_GPU: return open_gpu();
    case LAPIDARY_EMULATED: return open_emulator();
    case LAPIDARY_CHECKED: return open_emulator({.check = true});
  }
  throw Refusal(RefusalId::argument_device, "the device has value " + std::to_string(static_cast<int>(device)) +
                                                "; devices are 0 (a GPU), 1 (emulated) and 2 (emulated and checked)");
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

}  // namespace
}  // namespace lapidary::c_face

using namespace lapidary;
using namespace lapidary::c_face;

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
    void* const made = on.device->allocate(bytes, "the buffer", bytes, {});
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
