#pragma once
#include "core/refusal.hpp"
#include "library/plan_data.hpp"

namespace lapidary::library {

/// Why there is no way to compute a resolved problem on a card: what no kernel does, or else every option that leaves
/// none by itself, or a few that leave none together; and what would leave one. Of one that
/// has no ways left in any form.
/// @throws Refusal if the options name a kernel that this program does not have
BrokenRule why_no_way(const Problem& problem, const BuiltInCard& card, const Weighing& options);

}  // namespace lapidary::library
