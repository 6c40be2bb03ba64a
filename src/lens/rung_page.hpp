#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "kernels/registry.hpp"
#include "lens/explain.hpp"
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

/// What the page of a rung is about: its default tile at page_size.
/// @throws InvalidArgument if the kernel cannot be run on the emulated machine
Explanation explain_for_page(const Rung& rung, const model::Gpu& gpu);

/// All about a rung: its idea and what it changes, what it costs, what was predicted and measured of all its tiles and
/// sizes, the card's counters, and something to try. @param e  of explain_for_page
report::Document rung_page(const Explanation& e, const PageTarget& target);

/// The ladder as bars: what was measured and predicted of each rung's fastest tile at page_size, and the peer.
report::Svg ladder_picture(const model::Gpu& gpu);

/// The same as a table: idea, tile, rates and limiter.
report::Table ladder_table(const model::Gpu& gpu);

}  // namespace lapidary::lens
