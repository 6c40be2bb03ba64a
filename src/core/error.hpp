#pragma once
#include <cstdint>
#include <stdexcept>
#include <string>

namespace lapidary {

/// Every failure that the project reports. The message says which rule was broken, by what value, and what is legal.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The caller asked for something that cannot be done: a bad size, an unknown name, too little memory.
class InvalidArgument : public Error {
 public:
  using Error::Error;
};

/// What the emulated machine stops a kernel for.
enum class FaultKind : std::uint8_t {
  out_of_bounds,  ///< an access to memory that was not allocated, or that kernels cannot reach
  misaligned,     ///< an address that is not a multiple of the access's size
  uninitialised,  ///< a read of shared memory that the block has not written
  in_flight,      ///< an access to shared memory that an asynchronous copy nobody has waited for is at
  race,           ///< two accesses, one of them a write, that nothing orders; or one and a block's beginning
  divergence,     ///< lanes of a warp, or warps of a warpgroup, at different instructions that all of them execute
  deadlock,       ///< threads that wait for threads that never come
  endless,        ///< a kernel that has not come to its end when its time is over
  misuse,         ///< an instruction with operands that it does not take, or in a state that forbids it
  proxy,          ///< a bulk copy reads or overwrites what somebody wrote without fence.proxy.async
  exited,         ///< shared memory of a block of the cluster is used that has exited, or may have
};

constexpr const char* name_of(FaultKind kind) {
  switch (kind) {
    case FaultKind::out_of_bounds: return "out of bounds";
    case FaultKind::misaligned: return "misaligned access";
    case FaultKind::uninitialised: return "uninitialised read";
    case FaultKind::in_flight: return "copy in flight";
    case FaultKind::race: return "race";
    case FaultKind::divergence: return "divergence";
    case FaultKind::deadlock: return "deadlock";
    case FaultKind::endless: return "endless loop";
    case FaultKind::misuse: return "misuse";
    case FaultKind::proxy: return "missing proxy fence";
    case FaultKind::exited: return "exited block";
  }
  return "unknown";
}

/// The emulated machine stopped a kernel. The first line of the message names the fault, the following ones the source
/// line, the block, the thread and the kernel.
class KernelFault : public Error {
 public:
  KernelFault(FaultKind kind, const std::string& message) : Error(message), kind_(kind) {}
  FaultKind kind() const { return kind_; }

 private:
  FaultKind kind_;
};

/// A call of the CUDA runtime or of one of its libraries failed.
class DeviceError : public Error {
 public:
  using Error::Error;
};

}  // namespace lapidary
