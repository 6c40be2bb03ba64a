// The arithmetic of kernels against exact references of integers, for every operand where there is one, and for those
// on the border of roundings, ranges and kinds where there are more. What is expected of the emulated machine and of a
// GPU is one thing.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <ostream>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "../emulator/target.hpp"

namespace lapidary::test {
namespace plain {
TestKernels arithmetic_kernels();
}
namespace instrumented {
TestKernels arithmetic_kernels();
}
namespace gpu {
TestKernels arithmetic_kernels();
}

namespace {

using Word = unsigned long long;
__extension__ typedef unsigned __int128 Wide;

// ---------------------------------------------------------------- the reference

enum class Mode { nearest, toward_zero, down, up, nearest_away };
constexpr std::pair<const char*, Mode> modes[] = {
    {"rn", Mode::nearest}, {"rz", Mode::toward_zero}, {"rd", Mode::down}, {"ru", Mode::up}};

struct Format {
  const char* name;
  int exponent_bits, fraction_bits;
  bool has_infinity = true, saturates = false;

  int bits() const { return 1 + exponent_bits + fraction_bits; }
  Word sign() const { return Word{1} << (bits() - 1); }
  Word infinity() const { return ((Word{1} << exponent_bits) - 1) << fraction_bits; }
  Word nan() const { return sign() - 1; }
  Word largest() const { return has_infinity ? infinity() - 1 : nan() - 1; }
  int least_exponent() const { return 2 - (1 << (exponent_bits - 1)); }
  bool is_nan(Word x) const { return has_infinity ? (x & nan()) > infinity() : (x & nan()) == nan(); }
};
constexpr Format half = {"half", 5, 10}, bfloat16 = {"bfloat16", 8, 7}, single = {"float", 8, 23},
                 twice = {"double", 11, 52}, tf32 = {"tf32", 8, 10}, e4m3 = {"e4m3", 4, 3, false, true},
                 e5m2 = {"e5m2", 5, 2, true, true};

/// (magnitude + more) * 2^exponent, where more is between 0 and 1, or 0.
struct Exact {
  enum class Kind { finite, infinite, nan } kind = Kind::finite;
  bool negative = false;
  Wide magnitude = 0;
  int exponent = 0;
  bool more = false;

  bool finite() const { return kind == Kind::finite; }
  bool zero() const { return finite() && magnitude == 0 && !more; }
};
constexpr Exact not_a_number = {.kind = Exact::Kind::nan};

Exact exact(Word bits, const Format& format) {
  const bool negative = bits & format.sign();
  bits &= format.nan();
  if (format.is_nan(bits)) return not_a_number;
  if (format.has_infinity && bits == format.infinity()) return {.kind = Exact::Kind::infinite, .negative = negative};
  const int field = static_cast<int>(bits >> format.fraction_bits);
  const Word fraction = bits & ((Word{1} << format.fraction_bits) - 1);
  return {.negative = negative,
          .magnitude = field ? fraction | Word{1} << format.fraction_bits : fraction,
          .exponent = format.least_exponent() + std::max(field - 1, 0) - format.fraction_bits};
}

Exact negated(Exact x) {
  x.negative = !x.negative;
  return x;
}

Exact product(const Exact& x, const Exact& y) {
  const bool negative = x.negative != y.negative;
  if (x.kind == Exact::Kind::nan || y.kind == Exact::Kind::nan) return not_a_number;
  if (!x.finite() || !y.finite())
    return x.zero() || y.zero() ? not_a_number : Exact{.kind = Exact::Kind::infinite, .negative = negative};
  return {.negative = negative, .magnitude = x.magnitude * y.magnitude, .exponent = x.exponent + y.exponent};
}

Exact sum(Exact x, Exact y) {
  if (x.kind == Exact::Kind::nan || y.kind == Exact::Kind::nan) return not_a_number;
  if (!x.finite() && !y.finite()) return x.negative == y.negative ? x : not_a_number;
  if (!x.finite() || !y.finite()) return x.finite() ? y : x;
  if (x.zero() && y.zero()) return {.negative = x.negative && y.negative};
  if (x.zero() || y.zero()) return x.zero() ? y : x;
  if (x.exponent < y.exponent) std::swap(x, y);
  if (const int shift = x.exponent - y.exponent; shift > 70) {
    // All that y does is to make x a little larger or smaller.
    x.magnitude = (x.magnitude << 20) - (x.negative != y.negative ? 1 : 0);
    x.exponent -= 20;
    x.more = true;
    return x;
  } else {
    x.magnitude <<= shift;
  }
  if (x.negative == y.negative)
    y.magnitude += x.magnitude;
  else if (x.magnitude >= y.magnitude)
    y = {.negative = x.negative, .magnitude = x.magnitude - y.magnitude, .exponent = y.exponent};
  else
    y.magnitude -= x.magnitude;
  if (y.magnitude == 0) y.negative = false;
  return y;
}

Exact quotient(const Exact& x, const Exact& y) {
  const bool negative = x.negative != y.negative;
  if (x.kind == Exact::Kind::nan || y.kind == Exact::Kind::nan) return not_a_number;
  if (!x.finite() || y.zero())
    return (!x.finite() && !y.finite()) || x.zero() ? not_a_number
                                                    : Exact{.kind = Exact::Kind::infinite, .negative = negative};
  if (!y.finite()) return {.negative = negative};
  const Wide shifted = x.magnitude << 60;
  return {.negative = negative,
          .magnitude = shifted / y.magnitude,
          .exponent = x.exponent - 60 - y.exponent,
          .more = shifted % y.magnitude != 0};
}

/// Of an inexact number, whose exponent is even, to half its bits.
Exact root(const Exact& x) {
  if (x.kind == Exact::Kind::nan || x.zero()) return x;
  if (x.negative) return not_a_number;
  if (!x.finite()) return x;
  const int shift = x.more ? 0 : 60 + x.exponent % 2;
  const Wide square = x.magnitude << shift;
  Wide magnitude = 0;
  for (Wide bit = Wide{1} << 62; bit; bit /= 2)
    if ((magnitude + bit) * (magnitude + bit) <= square) magnitude += bit;
  return {
      .magnitude = magnitude, .exponent = (x.exponent - shift) / 2, .more = x.more || magnitude * magnitude != square};
}

/// What lies above the bits that are dropped, rounded.
Wide rounded_magnitude(const Exact& x, int dropped, Mode mode) {
  if (dropped <= 0) {
    EXPECT_FALSE(x.more);
    return x.magnitude << -dropped;
  }
  const bool all = dropped > 120;
  const Wide kept = all ? 0 : x.magnitude >> dropped, rest = x.magnitude - (all ? 0 : kept << dropped);
  const Wide middle = all ? ~Wide{0} : Wide{1} << (dropped - 1);
  const bool inexact = rest || x.more, above = rest > middle || (rest == middle && x.more), tie = rest == middle;
  switch (mode) {
    case Mode::nearest: return kept + (above || (tie && kept % 2 == 1));
    case Mode::nearest_away: return kept + (above || tie);
    case Mode::toward_zero: return kept;
    case Mode::down: return kept + (inexact && x.negative);
    case Mode::up: break;
  }
  return kept + (inexact && !x.negative);
}

Word rounded(const Exact& x, const Format& format, Mode mode = Mode::nearest) {
  if (x.kind == Exact::Kind::nan) return format.nan();
  const Word sign = x.negative ? format.sign() : 0;
  if (!x.finite()) return sign | (format.saturates ? format.largest() : format.infinity());
  if (x.zero()) return sign;
  int width = 0;
  while (width < 128 && x.magnitude >> width) ++width;
  const int exponent = std::max(x.exponent + width - 1, format.least_exponent());
  const Wide kept = rounded_magnitude(x, exponent - format.fraction_bits - x.exponent, mode);
  // The hidden bit adds one to the exponent, as does the carry of a rounding.
  const Word bits = (static_cast<Word>(exponent - format.least_exponent()) << format.fraction_bits) +
                    static_cast<Word>(kept);
  if (bits <= format.largest()) return sign | bits;
  const bool largest = format.saturates || mode == Mode::toward_zero || mode == (x.negative ? Mode::up : Mode::down);
  return sign | (largest ? format.largest() : format.infinity());
}

/// As an integer of so many bits, which saturates.
Word integer(const Exact& x, int bits, bool is_signed, Mode mode) {
  const Word upper = Word{1} << (bits - 1), all = upper * 2 - 1;
  if (x.kind == Exact::Kind::nan) return bits == 64 ? upper : 0;
  const Word most = is_signed ? upper - 1 : all, least = is_signed ? upper : 0;  // magnitudes
  const Wide magnitude = !x.finite() || (x.exponent > 64 && !x.zero()) ? ~Wide{0}
                                                                       : rounded_magnitude(x, -x.exponent, mode);
  return x.negative ? (0 - static_cast<Word>(std::min<Wide>(magnitude, least))) & all
                    : static_cast<Word>(std::min<Wide>(magnitude, most));
}

/// An integer of so many bits.
Exact of_integer(Word value, int bits, bool is_signed) {
  const Word upper = Word{1} << (bits - 1), all = upper * 2 - 1;
  value &= all;
  const bool negative = is_signed && (value & upper);
  return {.negative = negative, .magnitude = negative ? (0 - value) & all : value};
}

/// Which of two numbers is less: -1, 0 or 1, and -0 is less than 0 if `zeros` are told apart. Neither is NaN.
int compare(Word a, Word b, const Format& format, bool zeros = false) {
  const auto order = [&](Word x) {
    const auto magnitude = static_cast<long long>(x & format.nan());
    return x & format.sign() ? -magnitude - (zeros ? 1 : 0) : magnitude;
  };
  return order(a) < order(b) ? -1 : order(a) > order(b);
}

// ---------------------------------------------------------------- operands

using Operands = std::array<Word, 3>;
using Cases = std::vector<Operands>;

Cases every(const Format& format) {
  Cases cases;
  for (Word a = 0; a < 2 * format.sign(); ++a) cases.push_back({a});
  return cases;
}

/// Neighbours of where something changes: zero, the numbers that are no longer subnormal, half the last bit of one,
/// one, two, the last numbers, infinity, quiet NaNs, the canonical NaN.
std::vector<Word> borders(const Format& format) {
  const int f = format.fraction_bits;
  const Word one = ((Word{1} << (format.exponent_bits - 1)) - 1) << f, normal = Word{1} << f;
  const Word infinity = format.infinity(), half_ulp = one - (static_cast<Word>(f + 1) << f);
  std::vector<Word> all;
  for (const Word at : {Word{0}, normal / 2, normal, half_ulp, one, one + normal / 2, one + normal, infinity - normal,
                        infinity, infinity + normal / 2, format.nan()})
    for (const Word near : {at - 1, at, at + 1}) {
      all.push_back(near & format.nan());
      all.push_back((near & format.nan()) | format.sign());
    }
  return all;
}

/// All combinations of borders; random numbers, among them some whose products and sums are ties or cancel.
Cases many(const Format& format, int operands) {
  const std::vector<Word> at = borders(format);
  Cases cases;
  for (const Word a : at)
    for (const Word b : at) {
      if (operands == 2) cases.push_back({a, b});
      if (operands == 3)
        for (const Word c : at) cases.push_back({a, b, c});
    }
  std::mt19937_64 random(operands);
  const Word all = 2 * format.sign() - 1;
  for (int i = 0; i < 100'000; ++i) {
    const Word a = random() & all, b = random() & all;
    const auto close = [&](Word x) { return (x + random() % 9 - 4) & all; };
    const Exact exact_product = product(exact(a, format), exact(b, format));
    cases.push_back({a, b, random() & all});
    cases.push_back({a, close(a) ^ format.sign(), at[random() % at.size()]});
    cases.push_back({a, b, close(rounded(negated(exact_product), format))});
    // c is far below the product or about half its last bit.
    const Word fields = (1 + random() % static_cast<Word>(2 * format.fraction_bits + 3)) << format.fraction_bits;
    const Word magnitude = rounded(exact_product, format) & format.nan();
    cases.push_back(
        {a, b, (magnitude > fields ? magnitude - fields : random() & format.nan()) | (random() & format.sign())});
    // The product is a tie: one bit more than fits.
    const Word narrow = ~Word{0} << (format.fraction_bits / 2);
    cases.push_back({a & narrow, (b & narrow) | 1 << (format.fraction_bits / 2), at[random() % at.size()]});
  }
  return cases;
}

/// Numbers of a wider format around each number of another and around the middle between each two.
Cases around(const Format& format, const Format& wider) {
  Cases cases;
  for (Word x = 0; x <= format.nan(); ++x) {
    const Exact low = exact(x, format);
    if (!low.finite()) {
      cases.push_back({rounded(low, wider)});
      continue;
    }
    Exact middle = low;
    middle.magnitude = 2 * middle.magnitude + 1;
    middle.exponent -= 1;
    for (const Word at : {rounded(low, wider), rounded(middle, wider)})
      for (const Word near : {at - 1, at, at + 1}) cases.push_back({near & wider.nan()});
  }
  const std::size_t positive = cases.size();
  for (std::size_t i = 0; i < positive; ++i) cases.push_back({cases[i][0] | wider.sign()});
  std::mt19937_64 random(1);
  for (int i = 0; i < 100'000; ++i) cases.push_back({random() & (2 * wider.sign() - 1)});
  for (const Word x : borders(wider)) cases.push_back({x});
  return cases;
}

/// Integers around each number of a format and around the middle between each two.
Cases integers_around(const Format& format, int bits) {
  const Word all = (Word{1} << (bits - 1)) * 2 - 1;
  Cases cases;
  for (Word x = 0; x < format.infinity(); ++x) {
    Exact low = exact(x, format);
    low.magnitude *= 2;
    low.exponent -= 1;
    for (const int step : {0, 1}) {
      low.magnitude += static_cast<Wide>(step);
      if (low.exponent > 63) continue;
      const Word at = integer(low, 64, false, Mode::toward_zero);
      for (const Word near : {at - 1, at, at + 1}) {
        cases.push_back({near & all});
        cases.push_back({(0 - near) & all});
      }
    }
  }
  std::mt19937_64 random(2);
  for (int i = 0; i < 20'000; ++i) cases.push_back({random() >> random() % 64 & all});
  for (const Word x : {Word{0}, all, all / 2, all / 2 + 1}) cases.push_back({x});
  return cases;
}

// ---------------------------------------------------------------- what the kernels are asked for

const Target targets[] = {
    {"plain", plain::arithmetic_kernels},
#if LAPIDARY_WITH_INSTRUMENTED
    {"instrumented", instrumented::arithmetic_kernels},
#endif
#if LAPIDARY_WITH_CUDA
    {"gpu", gpu::arithmetic_kernels, {}, true},
#endif
};

class Arithmetic : public OnTargets {
 protected:
  Arithmetic() : OnTargets(90) {}

  using Reference = std::function<Word(Word a, Word b, Word c)>;

  /// @param any_nan  the format of results of which any NaN is as good as another
  void expect(const std::string& name, const Cases& cases, const Reference& reference,
              const Format* any_nan = nullptr) {
    const int size = static_cast<int>(cases.size());
    DeviceArray<Word> operands(*device, std::span(cases.front().data(), cases.size() * 3)),
        results(*device, cases.size());
    run(name, operands.data(), results.data(), nullptr, size);
    const std::vector<Word> got = results.content();
    int wrong = 0;
    std::string first;
    for (std::size_t i = 0; i < cases.size(); ++i) {
      const auto [a, b, c] = cases[i];
      const Word expected = reference(a, b, c);
      if (got[i] == expected || (any_nan && any_nan->is_nan(got[i]) && any_nan->is_nan(expected))) continue;
      char text[160];
      std::snprintf(text, sizeof text, "%#llx %#llx %#llx: %#llx instead of %#llx", a, b, c, got[i], expected);
      if (++wrong <= 3) first += std::string("\n  ") + text;
    }
    EXPECT_EQ(wrong, 0) << name << ", of " << size << " cases:" << first;
  }
};

INSTANTIATE_TEST_SUITE_P(On, Arithmetic, testing::ValuesIn(targets), name_of_target);

/// What half and bfloat16 have in common.
struct Numbers {
  Format format;

  Exact of(Word bits) const { return exact(bits, format); }
  Word round(const Exact& x) const { return rounded(x, format); }
  Word one() const { return round({.magnitude = 1}); }
  Word zero_or_one(bool x) const { return x ? one() : 0; }
  bool nan(Word x) const { return format.is_nan(x); }

  Word add(Word a, Word b) const { return round(sum(of(a), of(b))); }
  Word subtract(Word a, Word b) const { return round(sum(of(a), negated(of(b)))); }
  Word multiply(Word a, Word b) const { return round(product(of(a), of(b))); }
  Word divide(Word a, Word b) const { return round(quotient(of(a), of(b))); }
  Word fma(Word a, Word b, Word c) const { return round(sum(product(of(a), of(b)), of(c))); }
  Word saturated(Word x) const {
    if (nan(x) || (x & format.sign())) return 0;
    return std::min(x, one());
  }
  Word relu(Word x) const { return !nan(x) && (x & format.sign()) ? 0 : x; }
  Word negate(Word a) const { return nan(a) ? format.nan() : a ^ format.sign(); }
  Word extreme(Word a, Word b, int wanted, bool keeps_nan) const {
    if (nan(a) || nan(b)) return keeps_nan || (nan(a) && nan(b)) ? format.nan() : nan(a) ? b : a;
    return compare(a, b, format, true) == wanted ? a : b;
  }
  /// @param unordered  what it is for NaN
  bool relation(Word a, Word b, bool less, bool equal, bool greater, bool unordered) const {
    if (nan(a) || nan(b)) return unordered;
    const int order = compare(a, b, format);
    return order < 0 ? less : order > 0 ? greater : equal;
  }
  /// A whole number.
  Word whole(Word a, Mode mode) const {
    const Exact x = of(a);
    if (!x.finite() || x.exponent >= 0) return round(x);
    return round({.negative = x.negative, .magnitude = rounded_magnitude(x, -x.exponent, mode)});
  }
  Word pair(Word low, Word high) const { return low | high << format.bits(); }
};

TEST_P(Arithmetic, OfTwoNarrowNumbersIsRoundedOnce) {
  for (const Format& format : {half, bfloat16}) {
    const Numbers n{format};
    const Cases cases = many(format, 2);
    const auto check = [&](const char* name, const std::function<Word(Word, Word)>& reference) {
      expect(std::string(format.name) + " " + name, cases, [&](Word a, Word b, Word) { return reference(a, b); });
    };
    for (const char* name : {"add", "add_rn", "add_operator"}) check(name, [&](Word a, Word b) { return n.add(a, b); });
    for (const char* name : {"subtract", "subtract_rn", "subtract_operator"})
      check(name, [&](Word a, Word b) { return n.subtract(a, b); });
    for (const char* name : {"multiply", "multiply_rn", "multiply_operator"})
      check(name, [&](Word a, Word b) { return n.multiply(a, b); });
    for (const char* name : {"divide", "divide_operator"}) check(name, [&](Word a, Word b) { return n.divide(a, b); });
    check("add_sat", [&](Word a, Word b) { return n.saturated(n.add(a, b)); });
    check("subtract_sat", [&](Word a, Word b) { return n.saturated(n.subtract(a, b)); });
    check("multiply_sat", [&](Word a, Word b) { return n.saturated(n.multiply(a, b)); });
    check("minimum", [&](Word a, Word b) { return n.extreme(a, b, -1, false); });
    check("maximum", [&](Word a, Word b) { return n.extreme(a, b, 1, false); });
    check("minimum_nan", [&](Word a, Word b) { return n.extreme(a, b, -1, true); });
    check("maximum_nan", [&](Word a, Word b) { return n.extreme(a, b, 1, true); });
  }
}

TEST_P(Arithmetic, OfThreeNarrowNumbersIsRoundedOnce) {
  for (const Format& format : {half, bfloat16}) {
    const Numbers n{format};
    const Cases cases = many(format, 3);
    const auto check = [&](const char* name, const Reference& reference) {
      expect(std::string(format.name) + " " + name, cases, reference);
    };
    check("fma", [&](Word a, Word b, Word c) { return n.fma(a, b, c); });
    check("fma_sat", [&](Word a, Word b, Word c) { return n.saturated(n.fma(a, b, c)); });
    check("fma_relu", [&](Word a, Word b, Word c) { return n.relu(n.fma(a, b, c)); });
    check("fma_vector", [&](Word a, Word b, Word c) { return n.pair(n.fma(a, b, c), n.fma(b, c, a)); });
    check("add_vector", [&](Word a, Word b, Word c) { return n.pair(n.add(a, b), n.add(b, c)); });
    check("subtract_vector", [&](Word a, Word b, Word c) { return n.pair(n.subtract(a, b), n.subtract(b, c)); });
    check("multiply_vector", [&](Word a, Word b, Word c) { return n.pair(n.multiply(a, b), n.multiply(b, c)); });
    check("divide_vector", [&](Word a, Word b, Word c) { return n.pair(n.divide(a, b), n.divide(b, c)); });
    check("negate_vector", [&](Word a, Word b, Word) { return n.pair(n.negate(a), n.negate(b)); });
    check("maximum_vector",
          [&](Word a, Word b, Word c) { return n.pair(n.extreme(a, b, 1, false), n.extreme(b, c, 1, false)); });
    const auto less = [&](Word a, Word b) { return n.relation(a, b, true, false, false, false); };
    const auto unequal = [&](Word a, Word b) { return n.relation(a, b, true, false, true, true); };
    check("lt_both", [&](Word a, Word b, Word c) { return less(a, b) && less(b, c); });
    check("lt_vector",
          [&](Word a, Word b, Word c) { return n.pair(n.zero_or_one(less(a, b)), n.zero_or_one(less(b, c))); });
    check("neu_vector",
          [&](Word a, Word b, Word c) { return n.pair(n.zero_or_one(unequal(a, b)), n.zero_or_one(unequal(b, c))); });
  }
}

TEST_P(Arithmetic, ComparesNarrowNumbers) {
  struct Relation {
    const char* name;
    bool less, equal, greater;
  };
  constexpr Relation relations[] = {{"eq", false, true, false}, {"ne", true, false, true},  {"lt", true, false, false},
                                    {"le", true, true, false},  {"gt", false, false, true}, {"ge", false, true, true}};
  for (const Format& format : {half, bfloat16}) {
    const Cases cases = many(format, 2);
    for (const auto& [name, less, equal, greater] : relations)
      for (const bool unordered : {false, true})
        expect(std::string(format.name) + " " + name + (unordered ? "u" : ""), cases, [&](Word a, Word b, Word) {
          return Word{Numbers{format}.relation(a, b, less, equal, greater, unordered)};
        });
  }
}

TEST_P(Arithmetic, OfOneNarrowNumberIsRightForEveryOne) {
  for (const Format& format : {half, bfloat16}) {
    const Numbers n{format};
    const Cases cases = every(format);
    const auto check = [&](const char* name, const std::function<Word(Word)>& reference,
                           const Format* any_nan = nullptr) {
      expect(
          std::string(format.name) + " " + name, cases, [&](Word a, Word, Word) { return reference(a); }, any_nan);
    };
    check("negate", [&](Word a) { return n.negate(a); });
    check("negate_operator", [&](Word a) { return n.negate(a); });
    check("absolute", [&](Word a) { return n.nan(a) ? format.nan() : a & format.nan(); });
    check("is_nan", [&](Word a) { return Word{n.nan(a)}; });
    check("is_infinite", [&](Word a) {
      return (a & format.nan()) != format.infinity() ? Word{0} : a == format.infinity() ? Word{1} : Word{0xffffffff};
    });
    check("truncate", [&](Word a) { return n.whole(a, Mode::toward_zero); });
    check("floor", [&](Word a) { return n.whole(a, Mode::down); });
    check("ceil", [&](Word a) { return n.whole(a, Mode::up); });
    check("rint", [&](Word a) { return n.whole(a, Mode::nearest); });
    check("root", [&](Word a) { return n.round(root(n.of(a))); });
    check("reciprocal", [&](Word a) { return n.round(quotient({.magnitude = 1}, n.of(a))); });
    check("reciprocal_root", [&](Word a) {
      const Exact x = n.of(a);
      if (x.negative && !x.zero()) return format.nan();
      const int odd = std::abs(x.exponent % 2);
      const Exact square = quotient({.magnitude = Wide{1} << odd, .exponent = -odd}, x);
      return n.round(x.zero() ? square : root(square));
    });
    check(
        "to_float", [&](Word a) { return rounded(n.of(a), single); }, &single);
    for (const auto& [suffix, mode] : modes)
      for (const auto& [type, bits] : {std::pair("short", 16), {"int", 32}, {"ll", 64}})
        for (const bool is_signed : {true, false})
          check((std::string("to_") + (is_signed ? "" : "u") + type + "_" + suffix).c_str(),
                [&, bits = bits, mode = mode](Word a) { return integer(n.of(a), bits, is_signed, mode); });
  }
}

TEST_P(Arithmetic, ConvertsToNarrowNumbersByOneRounding) {
  for (const Format& format : {half, bfloat16}) {
    const std::string name = format.name;
    const Cases floats = around(format, single), doubles = around(format, twice);
    expect(name + " from_float", floats, [&](Word a, Word, Word) { return rounded(exact(a, single), format); });
    // A GPU keeps parts of a double's NaN, which is written nowhere.
    expect(
        name + " from_double", doubles, [&](Word a, Word, Word) { return rounded(exact(a, twice), format); }, &format);
    Cases pairs = floats;
    for (std::size_t i = 0; i < pairs.size(); ++i) pairs[i][1] = floats[i * 7 % floats.size()][0];
    for (const char* vector : {" from_float_vector", " from_float2_vector"})
      expect(name + vector, pairs, [&](Word a, Word b, Word) {
        return rounded(exact(a, single), format) | rounded(exact(b, single), format) << 16;
      });
    for (const auto& [suffix, mode] : modes) {
      expect(name + " from_float_" + suffix, floats,
             [&, mode = mode](Word a, Word, Word) { return rounded(exact(a, single), format, mode); });
      for (const auto& [type, bits] : {std::pair("short", 16), {"int", 32}, {"ll", 64}})
        for (const bool is_signed : {true, false})
          expect(name + " from_" + (is_signed ? "" : "u") + type + "_" + suffix, integers_around(format, bits),
                 [&, bits = bits, mode = mode](Word a, Word, Word) {
                   return rounded(of_integer(a, bits, is_signed), format, mode);
                 });
    }
  }
}

TEST_P(Arithmetic, OfElementsOfMatricesIsRight) {
  for (const auto& [type, format] :
       {std::pair(std::string("f16"), half), {"bf16", bfloat16}, {"e4m3", e4m3}, {"e5m2", e5m2}}) {
    expect(type + "_from_float", around(format, single),
           [&](Word a, Word, Word) { return rounded(exact(a, single), format); });
    expect(
        type + "_to_float", every(format), [&](Word a, Word, Word) { return rounded(exact(a, format), single); },
        &single);
  }
  expect(
      "tf32_from_float", around(tf32, single),
      [](Word a, Word, Word) { return rounded(exact(a, single), tf32, Mode::nearest_away) << 13; }, &single);
  Cases quarters;
  for (int i = -600; i <= 600; ++i) quarters.push_back({std::bit_cast<std::uint32_t>(static_cast<float>(i) / 4)});
  for (const Word x : borders(single)) quarters.push_back({x});
  expect("s8_from_float", quarters,
         [](Word a, Word, Word) { return integer(exact(a, single), 8, true, Mode::nearest); });
}

TEST_P(Arithmetic, OfFloatsIsRoundedAsItIsWritten) {
  const Cases cases = many(single, 3);
  const auto of = [](Word bits) { return exact(bits, single); };
  const auto multiply = [&](Word a, Word b) { return rounded(product(of(a), of(b)), single); };
#if defined(__FP_FAST_FMAF)
  constexpr bool fused_if_plain = true;
#else
  constexpr bool fused_if_plain = false;
#endif
  const bool fused = fused_if_plain || std::string(GetParam().name) != "plain";
  expect(
      "fma_of_floats", cases,
      [&](Word a, Word b, Word c) {
        return rounded(fused ? sum(product(of(a), of(b)), of(c)) : sum(of(multiply(a, b)), of(c)), single);
      },
      &single);
  expect(
      "sum_of_product", cases, [&](Word a, Word b, Word c) { return rounded(sum(of(multiply(a, b)), of(c)), single); },
      &single);
  expect(
      "difference_of_product", cases,
      [&](Word a, Word b, Word c) { return rounded(sum(of(multiply(a, b)), negated(of(c))), single); }, &single);
  Cases pairs = many(single, 2);
  std::erase_if(pairs, [](const Operands& o) { return ((o[0] | o[1]) & single.nan()) == 0; });  // -0 and 0
  const Numbers n{single};
  expect(
      "minimum_of_floats", pairs, [&](Word a, Word b, Word) { return n.extreme(a, b, -1, false); }, &single);
  expect(
      "maximum_of_floats", pairs, [&](Word a, Word b, Word) { return n.extreme(a, b, 1, false); }, &single);
}

TEST_P(Arithmetic, OfIntegersTakesThemAsCudaDoes) {
  Cases cases;
  std::mt19937_64 random(3);
  for (int i = 0; i < 10'000; ++i) cases.push_back({random() >> 32, random() >> 32});
  for (const Word a : {0u, 1u, 0x7fffffu, 0x800000u, 0xffffffu, 0x1000000u, 0x7fffffffu, 0x80000000u, 0xffffffffu})
    for (const Word b : {0u, 1u, 0x7fffffu, 0x800000u, 0xffffffu, 0xffffffffu}) cases.push_back({a, b});
  expect("product_of_24_bits", cases, [](Word a, Word b, Word) {
    const auto low = [](Word x) { return static_cast<std::int64_t>(x << 40) >> 40; };
    return static_cast<Word>(low(a) * low(b)) & 0xffffffff;
  });
  expect("mixed_minimum", cases, [](Word a, Word b, Word) { return std::min(a, b); });
  expect("mixed_maximum", cases, [](Word a, Word b, Word) { return std::max(a, b); });
}

}  // namespace
}  // namespace lapidary::test
