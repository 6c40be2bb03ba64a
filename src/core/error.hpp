#pragma once
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

/// The emulated machine stopped a kernel: an access out of bounds, a race, a deadlock. The first line names the fault,
/// the following ones the kernel, the block, the thread and the source line.
class KernelFault : public Error {
 public:
  using Error::Error;
};

/// A call of the CUDA runtime or of one of its libraries failed.
class DeviceError : public Error {
 public:
  using Error::Error;
};

}  // namespace lapidary
