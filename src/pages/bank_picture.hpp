#pragma once
#include <string>
#include <vector>

#include "lens/bank_view.hpp"
#include "report/svg.hpp"

namespace lapidary::pages {

/// The words that lanes want, by line of 128 bytes and bank, one view below the other; below each the words that a bank
/// is asked for. Lines that nobody touches are left out.
/// @param lane  the one that is marked
report::Svg bank_picture(const std::string& title, const std::vector<lens::BankView>& views, int lane);

}  // namespace lapidary::pages
