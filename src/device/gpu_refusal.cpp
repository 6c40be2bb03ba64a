#include "device/gpu_refusal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <vector>

#ifndef LAPIDARY_CUDA_ARCHITECTURES
#define LAPIDARY_CUDA_ARCHITECTURES "80;90a-real"
#endif

namespace lapidary {
namespace {

constexpr int oldest = 80;  // cp.async, and mma.sync of bf16
constexpr std::string_view usual = "80;90a-real";

/// What one of the architectures is compiled to.
struct Code {
  int capability;
  char cards;  ///< a: of that capability alone; f: of its family; 0: of its major version from there on, of PTX all
  bool machine_code, ptx;

  bool runs_as_machine_code(int card) const {
    if (!machine_code || card / 10 != capability / 10) return false;
    return cards == 'a' ? card == capability : card >= capability;
  }
  bool runs_as_ptx(int card) const {
    if (!ptx) return false;
    return cards == 'a' ? card == capability : card >= capability && (cards == 0 || card / 10 == capability / 10);
  }
};

/// Those that are named by a number; "native" and "all" are not.
std::vector<Code> codes_of(std::string_view architectures) {
  std::vector<Code> found;
  while (!architectures.empty()) {
    const std::size_t end = std::min(architectures.find_first_of(";,"), architectures.size());
    const std::string_view entry = architectures.substr(0, end);
    architectures.remove_prefix(std::min(end + 1, architectures.size()));
    Code code = {};
    const auto [rest, error] = std::from_chars(entry.data(), entry.data() + entry.size(), code.capability);
    if (error != std::errc()) continue;
    std::string_view suffix = entry.substr(static_cast<std::size_t>(rest - entry.data()));
    if (suffix.starts_with('a') || suffix.starts_with('f')) {
      code.cards = suffix.front();
      suffix.remove_prefix(1);
    }
    code.machine_code = suffix != "-virtual";
    code.ptx = suffix != "-real";
    found.push_back(code);
  }
  return found;
}

std::string version(int cuda) { return fmt::format("{}.{}", cuda / 1000, cuda % 1000 / 10); }
std::string capability(int value) { return fmt::format("{}.{}", value / 10, value % 10); }

}  // namespace

std::string_view built_architectures() { return LAPIDARY_CUDA_ARCHITECTURES; }

std::optional<BrokenRule> driver_refusal(int driver, int runtime) {
  // Code that is compiled runs by any driver of its major version (CUDA Compatibility, "minor version compatibility").
  const int needed = runtime / 1000 * 1000;
  if (driver >= needed) return {};
  if (driver == 0)
    return BrokenRule{RefusalId::device_none,
                      fmt::format("no driver of NVIDIA's is installed; CUDA {} or newer must be "
                                  "supported",
                                  version(needed))};
  return BrokenRule{RefusalId::device_driver,
                    fmt::format("the driver supports CUDA {}, and this program needs one that supports {} or newer",
                                version(driver), version(needed))};
}

std::optional<BrokenRule> card_refusal(std::string_view name, int card, int driver, int runtime,
                                       std::string_view architectures) {
  std::vector<Code> codes = codes_of(architectures);
  if (codes.empty()) codes = codes_of(usual);
  const auto any = [&](bool (Code::*runs)(int) const) {
    return std::any_of(codes.begin(), codes.end(), [&](const Code& code) { return (code.*runs)(card); });
  };
  if (card >= oldest && any(&Code::runs_as_machine_code)) return {};
  if (card >= oldest && any(&Code::runs_as_ptx)) {
    // The driver compiles PTX of its own version and older ones.
    if (driver >= runtime) return {};
    return BrokenRule{RefusalId::device_driver,
                      fmt::format("{} has compute capability {}, for which the driver compiles the kernels; this one "
                                  "supports CUDA {}, and one that supports {} or newer is needed",
                                  name, capability(card), version(driver), version(runtime))};
  }
  int least = codes.front().capability;
  for (const Code& code : codes) least = std::min(least, code.capability);
  least = std::max(least, oldest);
  if (card < least)
    return BrokenRule{RefusalId::device_card, fmt::format("{} has compute capability {}; kernels need {} or newer",
                                                          name, capability(card), capability(least))};
  return BrokenRule{
      RefusalId::device_card,
      fmt::format("{} has compute capability {}, and kernels are compiled for {} alone; build them for {}, "
                  "by CMAKE_CUDA_ARCHITECTURES",
                  name, capability(card), architectures, card)};
}

void refuse_gpu(const BrokenRule& broken) {
  throw Refusal(broken.id, "there is no GPU to run on: " + broken.why +
                               "; use the emulated machine: open_emulator(), in C LAPIDARY_EMULATED, --device emulator "
                               "of commands that have it");
}

void require_none(const std::optional<BrokenRule>& broken) {
  if (broken) refuse_gpu(*broken);
}

}  // namespace lapidary
