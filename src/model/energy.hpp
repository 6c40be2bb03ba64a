#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "model/gpu.hpp"

// What a product costs in energy, and what a card's power limit makes of that. Orders of magnitude: all of the energy
// is put down to two things, multiply-adds of tensor cores and bytes from L2 into the SMs, at one voltage.

namespace lapidary::model {

/// A row of data/energy.csv: by what a card, held at its power limit, was seen to do.
struct EnergyRates {
  double joules_per_flop;  ///< of wgmma from shared memory, all else of a busy card included
  double joules_per_byte;  ///< that crosses from L2 into the SMs, whatever it came from
  std::string source;
};

/// Of a GPU and a type of operands ("bf16"); nothing if the file has no such row.
/// @throws InvalidArgument if the file is not such a table
std::optional<EnergyRates> energy_rates(const Gpu& gpu, std::string_view type);

struct Energy {
  double tensor_joules, moved_joules;
  double seconds;  ///< of a launch among many, at the power limit: no less than what it takes alone

  double joules() const { return tensor_joules + moved_joules; }
};

/// @param flop     that tensor cores execute, tiles beyond the edges included
/// @param bytes    that get into the SMs; a multicast counts at each of them
/// @param seconds  of the launch alone
Energy energy(const Gpu& gpu, const EnergyRates& rates, double flop, double bytes, double seconds);

}  // namespace lapidary::model
