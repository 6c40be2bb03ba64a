#include "cli/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

#include "cli/type_names.hpp"
#include "core/error.hpp"
#include "kernels/registry.hpp"

namespace lapidary::cli {
namespace {

template <class Number>
std::optional<Number> parse(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

// Both write the number back, so that CLI11, which would take "010" for an octal number, reads what was checked.

Check whole_number(std::int64_t least, std::int64_t most) {
  return Check([least, most](std::string& text) -> std::string {
    const std::optional<std::int64_t> number = parse<std::int64_t>(text);
    if (!number || *number < least || *number > most) {
      return fmt::format("{} is not a whole number from {} to {}", text, least, most);
    }
    text = fmt::format("{}", *number);
    return {};
  });
}

Check finite_number() {
  return Check([](std::string& text) -> std::string {
    const std::optional<float> number = parse<float>(text);
    if (!number || !std::isfinite(*number)) {
      return fmt::format("{} is not a finite number of single precision, as in 1, -0.5 or 2e-3", text);
    }
    text = fmt::format("{}", *number);
    return {};
  });
}

Type parse_type(std::string_view name) { return lapidary::parse_type(known_type_name(name)); }

GemmKind parse_kind(std::string_view text) {
  const std::size_t end = std::min(text.find(' '), text.size());
  const std::string_view types = text.substr(0, end);
  const std::size_t slash = types.find('/');
  std::string known(known_type_name(types.substr(0, slash)));
  if (slash != types.npos) known += fmt::format("/{}", known_type_name(types.substr(slash + 1)));
  return lapidary::parse_kind(known + std::string(text.substr(end)));
}

Option add_type_option(App app, std::optional<std::string>& type) {
  return app
      .add_option("--type", type,
                  "types as `lapidary list` shows them, as in f32, bf16/f32, 'bf16 RC' (the kernel's first one)")
      .type_name("TYPE");
}

DeviceKind parse_device(std::string_view name) {
  for (const DeviceKind kind : {DeviceKind::gpu, DeviceKind::emulator}) {
    if (name == name_of(kind)) return kind;
  }
  throw InvalidArgument(fmt::format("no device is named '{}'; there are gpu, emulator", name));
}

TileShape parse_tile(std::string_view text) {
  int sides[3] = {};
  int count = 0;
  for (std::string_view rest = text; count < 3;) {
    const std::size_t x = rest.find('x');
    const std::optional<int> side = parse<int>(rest.substr(0, x));
    if (!side || *side < 1) break;
    sides[count++] = *side;
    if (x == std::string_view::npos) {
      if (count == 1) break;
      return {sides[0], sides[1], sides[2]};
    }
    rest.remove_prefix(x + 1);
  }
  throw InvalidArgument(fmt::format("'{}' is no tile; it is written as in 128x128 or 128x128x8", text));
}

void add_gpu_options(App app, GpuChoice& choice) {
  app.add_option("--gpu", choice.name, "the GPU, as in h200 (the one at hand, or h200); lapidary gpus lists them")
      .type_name("NAME");
  app.add_option("--gpu-file", choice.file, "a table of your own, as docs/gpus.md tells").type_name("FILE");
}

model::Gpu chosen_gpu(const GpuChoice& choice) {
  const std::vector<model::Gpu> gpus = model::load_gpus(choice.file);
  if (choice.name) return model::find_gpu(gpus, *choice.name);
  if (gpu_count() > 0) return model::find_gpu(gpus, open_gpu()->properties().name);
  return model::find_gpu(gpus, "h200");
}

std::unique_ptr<Device> open_device(const std::optional<std::string>& name, const emulator::Options& options) {
  const bool instrumented = options.count || options.check;
  const DeviceKind kind = name                               ? parse_device(*name)
                          : !instrumented && gpu_count() > 0 ? DeviceKind::gpu
                                                             : DeviceKind::emulator;
  if (kind == DeviceKind::emulator) return open_emulator(options);
  if (instrumented) {
    throw InvalidArgument(
        "--count and --check need the emulated machine: a GPU shows no single access; leave --device gpu out");
  }
  return open_gpu();
}

std::int64_t default_size(DeviceKind kind) { return kind == DeviceKind::gpu ? 4096 : 256; }

std::string title_of(const Device& device) {
  return device.kind() == DeviceKind::gpu ? device.properties().name : "the emulated machine";
}

}  // namespace lapidary::cli
