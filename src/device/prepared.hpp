#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

#include "core/launch_shape.hpp"
#include "core/problem.hpp"
#include "device/stream.hpp"

namespace lapidary {

/// What a launch is prepared for.
struct Card {
  int compute_capability;  ///< major * 10 + minor
  int multiprocessors;     ///< for which a kernel whose blocks stay has one each
};

/// The card that the work on a stream runs on. @throws DeviceError
Card card_of(const Stream& stream);

/// A place among a kernel's arguments that is filled in when it is launched.
struct ArgumentSlot {
  enum class Kind : std::uint8_t { alpha, beta, pointer, tensor_map, bias, residual, scale, low, high, group_ends };
  Kind kind;
  Matrix matrix;         ///< of which there is the pointer or the tensor map; of an operand beside them it says nothing
  std::uint16_t offset;  ///< bytes from the first argument
};

/// A launch that is decided: a plain value, which may be copied, kept, and launched by several threads at a time; those
/// on one emulated machine take turns. Made by prepared() of device/launch.hpp; on a GPU for the device that was
/// current then.
struct Prepared {
  static constexpr int most_bytes = 1024, most_slots = 16;

  Problem problem;  ///< resolved
  Build build = Build::plain;
  LaunchShape shape = {};
  const void* kernel = nullptr;  ///< its function; null where D has no elements: nothing is launched
  void (*start)(const Prepared& prepared, const Stream& stream, const Operands& operands) = nullptr;
  int bytes = 0, slots = 0;  ///< that are used
  std::array<ArgumentSlot, most_slots> slot = {};
  alignas(64) std::array<std::byte, most_bytes> arguments = {};

  /// Launches it on these operands, whose addresses are written into a copy of the arguments, and does nothing else. On
  /// a GPU it returns at once and the kernel runs in the order of the stream; on the emulated machine it returns when
  /// the kernel has run.
  /// @throws InvalidArgument if the operands break what the problem says (core/problem.hpp, validate()) or the stream
  /// does not run the build; DeviceError, or on the emulated machine KernelFault, if the launch or the kernel fails
  void launch(const Stream& stream, const Operands& operands) const;
};

}  // namespace lapidary
