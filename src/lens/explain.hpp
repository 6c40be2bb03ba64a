#pragma once
#include <cstdint>
#include <optional>

#include "kernels/registry.hpp"
#include "lens/explanation.hpp"
#include "model/gpu.hpp"

namespace lapidary::lens {

/// Of a kernel, or of the one that choose() (kernels/registry.hpp) names in its place.
/// @throws InvalidArgument if no kernel takes the problem, or it cannot be run on the emulated machine
Explanation explain(const Question& question);

/// The same kernel at the problem of which the card's counters are on record (results/*/counters.json). Nothing where
/// there are none, where another kernel would run it, or where this program was built without it.
std::optional<Explanation> explain_on_record(const Question& question);

/// The problem that pages speak of: M = N = K.
constexpr std::int64_t page_size = 4096;

/// That of a kernel, which may be one for few rows or columns: then M is those of its tile, or N.
Problem page_problem(const KernelEntry& kernel);

/// What the page of a rung is about: its default tile at page_problem().
/// @throws InvalidArgument if the kernel cannot be run on the emulated machine
Explanation explain_for_page(const Rung& rung, const model::Gpu& gpu);

}  // namespace lapidary::lens
