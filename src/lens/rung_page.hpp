#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "kernels/registry.hpp"
#include "model/gpu.hpp"
#include "report/document.hpp"

namespace lapidary::lens {

/// What a page of a rung is made for.
struct PageTarget {
  std::function<std::string(std::string_view kernel)> page;  ///< the link to a rung's page
  std::function<std::string(std::string_view path)> source;  ///< the link to a file of the project
};

/// The problem that pages speak of: M = N = K.
constexpr std::int64_t page_size = 4096;

/// "07-vectorized": the place of a rung in the ladder, and its name.
std::string page_name(std::string_view kernel);

/// All about a rung: its idea and what it changes, its default tile explained at page_size, what was predicted and
/// measured of all tiles and sizes, the card's counters, and something to try.
/// @throws InvalidArgument if the kernel cannot be run on the emulated machine
report::Document rung_page(const Rung& rung, const model::Gpu& gpu, const PageTarget& target);

/// The ladder as bars: what was measured and predicted of each rung's fastest tile at page_size, and the peer.
report::Svg ladder_picture(const model::Gpu& gpu);

/// The same as a table: idea, tile, rates and limiter.
report::Table ladder_table(const model::Gpu& gpu);

}  // namespace lapidary::lens
