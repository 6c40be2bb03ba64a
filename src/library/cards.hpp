#pragma once
#include <span>
#include <string_view>

#include "model/calibration.hpp"
#include "model/gpu.hpp"

namespace lapidary::library {

/// A card as the library was built with it: its row of data/gpus.csv, and what was measured of it, or of the H200 where
/// it was not (results/<card>/calibration.json). No file is read.
struct BuiltInCard {
  model::Gpu gpu;
  const model::Calibration* calibration;
};

std::span<const BuiltInCard> built_in_cards();

/// The one that all measured costs are of.
const BuiltInCard& h200();

/// @throws InvalidArgument as model::find_gpu()
const BuiltInCard& find_card(std::string_view name);

/// That of the name that a driver gives a device; of one that there is no row of the first of its compute capability,
/// or else of the one below it that is nearest, whose kernels run there as well.
/// @throws InvalidArgument if there is none of either
const BuiltInCard& card_of_device(std::string_view name, int compute_capability);

/// A card's name without blanks, as in a plan's id: "a100_sxm4_80gb". find_card() takes it with blanks in their place.
std::string slug_of(const model::Gpu& gpu);

}  // namespace lapidary::library
