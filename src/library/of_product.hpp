#pragma once
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

#include "core/refusal.hpp"

namespace lapidary::library {

/// What call() gives; if it refuses, the message says of which product of a list.
template <class Call>
auto of_product(std::int64_t number, const Call& call) {
  try {
    return call();
  } catch (const Refusal& refusal) {
    const auto id = std::find(std::begin(refusal_ids), std::end(refusal_ids), std::string_view(refusal.id()));
    throw Refusal(static_cast<RefusalId>(id - std::begin(refusal_ids)),
                  "product " + std::to_string(number) + " of the list: " + refusal.what());
  }
}

}  // namespace lapidary::library
