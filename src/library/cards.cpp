#include "library/cards.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

#include "core/refusal.hpp"

namespace lapidary::library {

extern const char* const gpus_csv;          // of built_in_cards.cpp, which the build makes
extern const char* const calibration_json;  // that of the H200

namespace {

const std::vector<model::Gpu>& gpus() {
  static const std::vector<model::Gpu> all = model::parse_gpus(gpus_csv, "gpus.csv");
  return all;
}

/// Whether a name is a card's, letter by letter but for capitals and blanks.
bool is_written(std::string_view name, const std::string& of_card) {
  return std::equal(name.begin(), name.end(), of_card.begin(), of_card.end(), [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) == std::tolower(static_cast<unsigned char>(y)) ||
           (x == '_' && y == ' ');
  });
}

}  // namespace

std::span<const BuiltInCard> built_in_cards() {
  static const model::Calibration calibration(calibration_json, "results/h200/calibration.json");
  static const std::vector<BuiltInCard> cards = [] {
    std::vector<BuiltInCard> all;
    for (const model::Gpu& gpu : gpus()) all.push_back({gpu, &calibration});
    return all;
  }();
  return cards;
}

const BuiltInCard& h200() {
  static const BuiltInCard& card = find_card("H200");
  return card;
}

const BuiltInCard& find_card(std::string_view name) {
  // To take names apart into words takes as long as a choice among a few kernels.
  for (const BuiltInCard& card : built_in_cards())
    if (is_written(name, card.gpu.name)) return card;
  const model::Gpu& found = model::find_gpu(gpus(), name, "");
  return built_in_cards()[static_cast<std::size_t>(&found - gpus().data())];
}

const BuiltInCard& card_of_device(std::string_view name, int compute_capability) {
  const BuiltInCard* nearest = nullptr;
  for (const BuiltInCard& card : built_in_cards()) {
    const int known = card.gpu.compute_capability;
    if (known == compute_capability && card.gpu.answers_to(name)) return card;
    if (known <= compute_capability && (!nearest || known > nearest->gpu.compute_capability)) nearest = &card;
  }
  if (nearest) return *nearest;
  throw Refusal(
      RefusalId::card_unlisted,
      fmt::format(
          "{} has compute capability {}.{}, and the library knows no card of that or less; name the one to plan for, as in h200",
          name, compute_capability / 10, compute_capability % 10));
}

std::string slug_of(const model::Gpu& gpu) {
  std::string slug = gpu.name;
  for (char& c : slug) c = c == ' ' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return slug;
}

}  // namespace lapidary::library
