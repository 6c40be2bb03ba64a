#pragma once
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "cli/arguments.hpp"
#include "core/launch_shape.hpp"
#include "core/problem.hpp"
#include "core/types.hpp"
#include "device/device.hpp"
#include "model/gpu.hpp"

namespace lapidary::cli {

/// A decimal number from `least` to `most`.
Check whole_number(std::int64_t least, std::int64_t most = std::numeric_limits<std::int64_t>::max());

/// What commands that predict take for M, N and K at most: the bytes of such a problem can still be counted.
constexpr std::int64_t most_predicted_size = std::int64_t{1} << 24;

/// A decimal number that is a finite f32.
Check finite_number();

/// As in kernels/registry.hpp, also by the other names that known_type_name() knows.
/// @throws InvalidArgument naming those there are
Type parse_type(std::string_view name);
GemmKind parse_kind(std::string_view text);

/// Adds --type, which types and orders of a kernel are meant: parse_kind() reads it.
Option add_type_option(App app, std::optional<std::string>& type);

DeviceKind parse_device(std::string_view name);

/// A block tile as in 128x128x8, or 128x128, whose k is 0.
/// @throws InvalidArgument saying how it is written
TileShape parse_tile(std::string_view text);

/// The GPU that a prediction is for.
struct GpuChoice {
  std::optional<std::string> name;
  std::string file;  ///< a table of the user's; "" for none
};

/// Adds --gpu and --gpu-file.
void add_gpu_options(App app, GpuChoice& choice);

/// The GPU that was named; otherwise the card at hand, or the H200 that the ladder was measured on.
/// @throws InvalidArgument as model::find_gpu()
model::Gpu chosen_gpu(const GpuChoice& choice);

/// The device that was asked for; otherwise a GPU if there is one and nothing is to be counted or checked, and the
/// emulated machine if not.
/// @throws InvalidArgument if there is no such device or it cannot count or check
std::unique_ptr<Device> open_device(const std::optional<std::string>& name, const emulator::Options& options);

/// Rows and columns that a problem has unless told otherwise.
std::int64_t default_size(DeviceKind kind);

/// "the emulated machine" or the name of the GPU.
std::string title_of(const Device& device);

}  // namespace lapidary::cli
