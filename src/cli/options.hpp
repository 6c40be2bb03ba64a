#pragma once
#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/types.hpp"
#include "device/device.hpp"

namespace lapidary::cli {

/// A decimal number from `least` to the largest 64-bit one.
CLI::Validator whole_number(std::int64_t least);

/// A decimal number that is a finite f32.
CLI::Validator finite_number();

/// @throws InvalidArgument naming those there are
Type parse_type(std::string_view name);
DeviceKind parse_device(std::string_view name);

/// The device that was asked for; otherwise a GPU if there is one and nothing is to be counted or checked, and the
/// emulated machine if not.
/// @throws InvalidArgument if there is no such device or it cannot count or check
std::unique_ptr<Device> open_device(const std::optional<std::string>& name, const emulator::Options& options);

/// Rows and columns that a problem has unless told otherwise.
std::int64_t default_size(DeviceKind kind);

/// "the emulated machine" or the name of the GPU.
std::string title_of(const Device& device);

}  // namespace lapidary::cli
