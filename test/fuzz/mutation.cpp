#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "fuzz.hpp"

namespace lapidary::fuzz {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t longest = 1 << 15;  // of an input that grows, in bytes

/// Those at which types end, signs change and divisors vanish.
const std::vector<std::string> numbers = {"0",
                                          "1",
                                          "-1",
                                          "2",
                                          "3",
                                          "7",
                                          "16",
                                          "31",
                                          "32",
                                          "33",
                                          "255",
                                          "256",
                                          "65535",
                                          "65536",
                                          "1073741823",
                                          "1073741824",
                                          "2147483647",
                                          "2147483648",
                                          "-2147483648",
                                          "4294967295",
                                          "4294967296",
                                          "9223372036854775807",
                                          "-9223372036854775808",
                                          "18446744073709551615",
                                          "18446744073709551616",
                                          "99999999999999999999999999",
                                          "00",
                                          "010",
                                          "0x10",
                                          "0.5",
                                          "1e9",
                                          "1e308",
                                          "1e999",
                                          "1e-320",
                                          "nan",
                                          "inf"};
constexpr std::string_view brackets = "()[]{}<>\"'";

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

struct Range {
  std::size_t begin, size;
};

Range some_range(const std::string& text, Random& random) {
  const std::size_t begin = random.below(text.size() + 1);
  const std::size_t most = random.one_in(4) ? text.size() - begin : std::min<std::size_t>(text.size() - begin, 16);
  return {begin, random.below(most + 1)};
}

/// A run of letters and digits, or one other character; empty at the end of the text.
Range some_word(const std::string& text, Random& random) {
  std::size_t begin = random.below(text.size() + 1), end = begin;
  while (begin > 0 && begin < text.size() && is_word(text[begin]) && is_word(text[begin - 1])) --begin;
  while (end < text.size() && is_word(text[end])) ++end;
  return {begin, end == begin ? std::min<std::size_t>(text.size() - begin, 1) : end - begin};
}

/// A number, if there is one at or behind some place.
Range some_number(const std::string& text, Random& random) {
  const std::size_t begin = text.find_first_of("0123456789", random.below(text.size() + 1));
  if (begin == text.npos) return {text.size(), 0};
  return {begin, std::min(text.find_first_not_of("0123456789", begin), text.size()) - begin};
}

char some_byte(Random& random) {
  return static_cast<char>(random.one_in(8) ? random.below(256) : ' ' + random.below(95));
}

void mutate(std::string& text, const Target& target, Random& random) {
  const auto replace = [&](Range range, const std::string& by) { text.replace(range.begin, range.size, by); };
  const std::string& other = random.pick(target.corpus);
  const std::size_t size = text.size();
  switch (random.below(14)) {
    case 0: replace({random.below(text.size() + 1), 0}, std::string(1, some_byte(random))); break;
    case 1: replace({random.below(text.size()), text.empty() ? 0u : 1u}, std::string(1, some_byte(random))); break;
    case 2: replace(some_range(text, random), ""); break;
    case 3: replace(some_word(text, random), ""); break;
    case 4: replace(some_word(text, random), random.pick(target.words)); break;
    case 5: replace({random.below(text.size() + 1), 0}, random.pick(target.words)); break;
    case 6:
    case 7: replace(some_number(text, random), random.pick(numbers)); break;
    case 8: replace({random.below(text.size() + 1), 0}, std::string(1, random.pick(brackets))); break;
    case 9: {
      const std::size_t at = text.find_first_of(brackets, random.below(text.size() + 1));
      if (at != text.npos) replace({at, 1}, random.one_in(2) ? "" : std::string(1, random.pick(brackets)));
      break;
    }
    case 10: {  // moved
      const Range range = some_range(text, random);
      const std::string part = text.substr(range.begin, range.size);
      if (random.one_in(2)) replace(range, "");
      replace({random.below(text.size() + 1), 0}, part);
      break;
    }
    case 11: {  // nested or repeated deeply
      const Range range = random.one_in(2) ? some_word(text, random) : some_range(text, random);
      const std::string part = text.substr(range.begin, range.size);
      std::string many;
      for (std::size_t n = std::size_t{1} << random.below(13); n > 0 && many.size() < longest; --n) many += part;
      replace(range, many);
      break;
    }
    case 12: {  // spliced
      const Range range = some_range(other, random);
      replace({random.below(text.size() + 1), 0}, other.substr(range.begin, range.size));
      break;
    }
    default: text = text.substr(0, random.below(text.size() + 1)) + other.substr(random.below(other.size() + 1));
  }
  if (text.size() > longest) text.resize(std::max(longest, size));
}

/// Strings may have got bytes that are no UTF-8.
std::string to_text(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

/// Any value of a document, itself among them.
Json& some_value(Json& json, Random& random) {
  Json* at = &json;
  while (at->is_structured() && !at->empty() && !random.one_in(8))
    at = &*std::next(at->begin(), static_cast<std::ptrdiff_t>(random.below(at->size())));
  return *at;
}

void mutate(Json& json, const Target& target, Random& random) {
  Json& value = some_value(json, random);
  switch (random.below(8)) {
    case 0: value = nullptr; break;
    case 1: {
      const Json number = Json::parse(random.pick(numbers), nullptr, false);
      value = number.is_discarded() ? Json(-1) : number;
      break;
    }
    case 2: value = random.pick(target.words); break;
    case 3: value = random.one_in(2) ? Json::array() : Json::object(); break;
    case 4: value = random.one_in(2); break;
    case 5:  // left out
      if (value.is_structured() && !value.empty())
        value.erase(std::next(value.begin(), static_cast<std::ptrdiff_t>(random.below(value.size()))));
      break;
    case 6:  // twice, or moved
      if (value.is_array() && !value.empty())
        value.push_back(Json(value[random.below(value.size())]));
      else
        value = Json(some_value(json, random));
      break;
    default: {
      std::string text = value.is_string() ? value.get<std::string>() : to_text(value);
      mutate(text, target, random);
      value = text;
    }
  }
}

}  // namespace

std::string mutated(const Target& target, Random& random) {
  std::string text = random.one_in(50) ? "" : random.pick(target.corpus);
  do mutate(text, target, random);
  while (random.one_in(2));
  return text;
}

std::string mutated_json(const Target& target, Random& random) {
  if (random.one_in(5)) return mutated(target, random);
  Json json = Json::parse(random.pick(target.corpus));
  do mutate(json, target, random);
  while (random.one_in(2));
  return to_text(json);
}

void require_same(std::string_view what, std::string_view expected, std::string_view actual) {
  if (expected != actual)
    throw Violation(std::string(what).append(": expected ").append(expected).append(", got ").append(actual));
}

}  // namespace lapidary::fuzz
