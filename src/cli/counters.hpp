#pragma once
#include <array>

#include "emulator/report.hpp"

namespace lapidary::cli {

/// A counter with its key in JSON and its name in tables.
template <class Kind>
struct NamedCounter {
  const char* key;
  const char* title;
  Kind emulator::Counters::*member;
  bool always = true;  ///< in JSON also where it is 0; of what few kernels do it is left out
};

constexpr std::array<NamedCounter<emulator::GlobalCounters>, 4> global_counters = {{
    {"global_load", "global load", &emulator::Counters::global_load},
    {"global_store", "global store", &emulator::Counters::global_store},
    {"global_atomic", "global atomic", &emulator::Counters::global_atomic},
    {"async_copy", "async copy", &emulator::Counters::async_copy},
}};

constexpr std::array<NamedCounter<emulator::BulkCounters>, 2> bulk_counters = {{
    {"bulk_load", "bulk load", &emulator::Counters::bulk_load, false},
    {"bulk_store", "bulk store", &emulator::Counters::bulk_store, false},
}};

constexpr std::array<NamedCounter<emulator::SharedCounters>, 6> shared_counters = {{
    {"shared_load", "shared load", &emulator::Counters::shared_load},
    {"shared_store", "shared store", &emulator::Counters::shared_store},
    {"shared_atomic", "shared atomic", &emulator::Counters::shared_atomic},
    {"cluster_load", "cluster load", &emulator::Counters::cluster_load, false},
    {"cluster_store", "cluster store", &emulator::Counters::cluster_store, false},
    {"cluster_atomic", "cluster atomic", &emulator::Counters::cluster_atomic, false},
}};

}  // namespace lapidary::cli
