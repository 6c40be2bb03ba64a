#include "core/expression.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace lapidary {
namespace {

const std::map<std::string, std::string> definitions = {
    {"N", "100"},        {"tile", "32.0f"},    {"BM", "2 * BN"}, {"BN", "tile::K + 4"},
    {"tile::K", "0x10"}, {"self", "self + 1"}, {"none", "1 / 0"}};

ExpressionNames names() {
  const auto meaning = [](const std::string& name) {
    const auto found = definitions.find(name);
    return found == definitions.end() ? std::nullopt : std::optional(found->second);
  };
  return {meaning, "there are N, BM and BN"};
}

std::int64_t value(const std::string& text) { return evaluate(text, names()); }

TEST(Expression, HasThePrecedenceAndTheDivisionsOfC) {
  EXPECT_EQ(value("2 + 3 * 4 - 10 / 4 % 2"), 2 + 3 * 4 - 10 / 4 % 2);
  EXPECT_EQ(value("1 << 2 + 1 | 5 & 3 ^ 2"), (1 << (2 + 1)) | ((5 & 3) ^ 2));
  EXPECT_EQ(value("7 & 3 == 3"), 7 & (3 == 3));
  EXPECT_EQ(value("1 < 2 == 1 != 0"), ((1 < 2) == 1) != 0);
  EXPECT_EQ(value("-7 / 2 - -7 % 4 + 40 - 4 - 2 >> 1"), (-7 / 2 - -7 % 4 + 40 - 4 - 2) >> 1);
  EXPECT_EQ(value("(N + 31u) / 32 * +(2)"), 8);
}

TEST(Expression, DividesRealNumbersAsSuch) {
  EXPECT_EQ(value("7 / 2 * 2"), 6);
  EXPECT_EQ(value("7 / 2.0 * 2"), 7);
  EXPECT_EQ(value("ceil((float)N / 32)"), 4);
  EXPECT_EQ(value("std::ceil(N / tile)"), 4);
  EXPECT_EQ(value("(int)(7 / 2.0) * 2 + 7 / 2.0 * 2"), 13);
  EXPECT_EQ(value("static_cast<double>(7) / 2 * static_cast<unsigned>(2.5)"), 7);
  EXPECT_EQ(value("floor(1e3 / 16)"), 62);
}

TEST(Expression, KnowsNamesSizesAndTheFunctionsOfLaunches) {
  EXPECT_EQ(value("BM"), 40);
  EXPECT_EQ(value("BM * sizeof(float4)"), 640);
  EXPECT_EQ(value("ceil_div(N, 32) + CEIL_DIV(N, 50) + cdiv(1, 64)"), 4 + 2 + 1);
  EXPECT_EQ(value("max(min(N, 64), 2 * (3 + 4))"), 64);
}

TEST(Expression, EndsWhereItIsInALongerText) {
  const std::string text = "[N % 16, 3]";
  std::size_t at = 1;
  EXPECT_EQ(evaluate_at(text, at, names()), 4);
  EXPECT_EQ(at, text.find(','));
}

TEST(Expression, SaysWhatIsWrongWhere) {
  const auto expect_error = [](const std::string& text, std::size_t position, const std::string& message) {
    std::size_t at = 0;
    try {
      const std::int64_t result = evaluate_at(text, at, names());
      ADD_FAILURE() << text << " is " << result;
    } catch (const ExpressionError& error) {
      EXPECT_EQ(error.position(), position) << text;
      EXPECT_NE(std::string(error.what()).find(message), std::string::npos) << error.what();
    }
  };
  expect_error("N / (N - 100)", 2, "division by 0");
  expect_error("cdiv(N, 0)", 0, "division by 0");
  expect_error("N + none", 4, "division by 0 in `1 / 0`");
  expect_error("N + M", 4, "\"M\" is unknown; there are N, BM and BN");
  expect_error("N + self", 4, "\"self\" is defined by itself in `self + 1`");
  expect_error("N +", 3, "expected a number, a name or \"(\" but the text ends");
  expect_error("(N ]", 3, "expected \")\" instead of \"]\"");
  expect_error("N + \u00e9", 4, "instead of \"\u00e9\"");
  expect_error("N << 63", 2, "a shift is by 0 to 62 bits, not 63");
  expect_error("1.5 & 1", 4, "whole numbers");
  expect_error("N * 9007199254740992", 2, "values are at most 9007199254740992");
  expect_error("gcd(N, 2)", 0, "\"gcd\" of 2 arguments is unknown");
  expect_error("sizeof(N)", 0, "the size of \"N\" is not known");
  expect_error(std::string(200, '(') + "1", 100, "nested");
  expect_error(std::string(200, '-') + "1", 100, "nested");
  EXPECT_THROW(value("N 2"), InvalidArgument);
  EXPECT_THROW(value(""), InvalidArgument);
}

}  // namespace
}  // namespace lapidary
