#pragma once
#include <boost/context/detail/fcontext.hpp>
#include <cstddef>
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

namespace lapidary::emulator {

/// A flow of control with a stack of its own. It stands on Boost.Context's `fcontext` rather than on its `fiber`: a
/// lane switches straight to the next lane, not back to a caller, and a lane of an aborted kernel is dropped as it
/// stands, while destroying a suspended `boost::context::fiber` would unwind the kernel by an exception.
class Fiber {
 public:
  /// Stands for the flow that is running already, such as a host thread's.
  Fiber() = default;

  /// Will run entry(argument) on `stack` when first switched to; `entry` must never return.
  Fiber(void* stack, std::size_t bytes, void (*entry)(void*), void* argument)
      : context_(boost::context::detail::make_fcontext(static_cast<char*>(stack) + bytes, bytes, &Fiber::start)),
        entry_(entry),
        argument_(argument),
        stack_(stack),
        stack_bytes_(bytes) {}

  /// Suspends this fiber, which must be the one that is running, and resumes `next`. Returns when some fiber switches
  /// back to this one.
  void switch_to(Fiber& next) {
    target_ = &next;
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(&fake_stack_, next.stack_, next.stack_bytes_);
#endif
    arrive(boost::context::detail::jump_fcontext(next.context_, this));
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(fake_stack_, nullptr, nullptr);
#endif
  }

  /// Tells AddressSanitizer where the stack of a fiber lies that was not made with one.
  void set_stack(void* stack, std::size_t bytes) {
    stack_ = stack;
    stack_bytes_ = bytes;
  }

 private:
  // The fiber that jumped here told us its address; its context is known only now.
  static Fiber* arrive(boost::context::detail::transfer_t from) {
    auto* const previous = static_cast<Fiber*>(from.data);
    previous->context_ = from.fctx;
    return previous;
  }

  static void start(boost::context::detail::transfer_t from) {
    Fiber* const self = arrive(from)->target_;
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(nullptr, nullptr, nullptr);
#endif
    self->entry_(self->argument_);
  }

  boost::context::detail::fcontext_t context_ = nullptr;
  Fiber* target_ = nullptr;
  void (*entry_)(void*) = nullptr;
  void* argument_ = nullptr;
  void* stack_ = nullptr;
  std::size_t stack_bytes_ = 0;
#if defined(__SANITIZE_ADDRESS__)
  void* fake_stack_ = nullptr;
#endif
};

}  // namespace lapidary::emulator
