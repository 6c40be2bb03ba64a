#pragma once
#include <optional>
#include <string_view>

#include "core/refusal.hpp"

namespace lapidary {

/// What kernels are compiled for, as CMAKE_CUDA_ARCHITECTURES has it, with ; or , between: "80" is machine code and PTX
/// for compute capability 8.0, "90a-real" machine code alone, that no other card runs.
std::string_view built_architectures();

/// Why this program cannot run its kernels by a driver, nothing if it can. Versions are those of CUDA,
/// 1000 * major + 10 * minor.
/// @param driver  the newest that it supports, as cudaDriverGetVersion() says; 0: there is no driver
/// @param runtime  the one that the program was built with
std::optional<BrokenRule> driver_refusal(int driver, int runtime);

/// Why it cannot on a card, by a driver that driver_refusal() accepts; nothing if it can.
/// @param compute_capability  major * 10 + minor
/// @param architectures  as built_architectures(); where it names none by its number, those that the build has unless
/// it is told others
std::optional<BrokenRule> card_refusal(std::string_view name, int compute_capability, int driver, int runtime,
                                       std::string_view architectures = built_architectures());

/// @throws Refusal that says that there is no GPU to run on, for that reason
[[noreturn]] void refuse_gpu(const BrokenRule& broken);
/// The same if there is a reason.
void require_none(const std::optional<BrokenRule>& broken);

}  // namespace lapidary
