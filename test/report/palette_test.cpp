#include "report/palette.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

namespace lapidary::report {
namespace {

/// WCAG 2.1, "relative luminance", of #rrggbb.
double luminance(std::string_view shade) {
  const auto channel = [&](std::size_t at) {
    const double value = std::stoi(std::string(shade.substr(at, 2)), nullptr, 16) / 255.0;
    return value <= 0.04045 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4);
  };
  return 0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5);
}

/// WCAG 2.1, "contrast ratio".
double contrast(std::string_view a, std::string_view b) {
  const auto [darker, lighter] = std::minmax({luminance(a), luminance(b)});
  return (lighter + 0.05) / (darker + 0.05);
}

TEST(Palette, ContrastIsThatOfTheStandard) {
  EXPECT_DOUBLE_EQ(contrast("#ffffff", "#000000"), 21);
  EXPECT_NEAR(contrast("#767676", "#ffffff"), 4.54, 0.005);  // the lightest grey that passes on white
}

TEST(Palette, TextHasTheContrastThatItPromises) {
  for (const Legible& pair : legible) {
    const Shade &text = shade(pair.text), &background = shade(pair.background);
    EXPECT_GE(contrast(text.light, background.light), 4.5) << text.name << " on " << background.name << ", light";
    EXPECT_GE(contrast(text.dark, background.dark), 4.5) << text.name << " on " << background.name << ", dark";
  }
}

// Neighbouring areas of a picture: WCAG asks for 3 between graphical objects that have to be told apart.
TEST(Palette, WhatIsLookedAtStandsOutFromWhatIsAroundIt) {
  const std::pair<Colour, Colour> pairs[] = {
      {Colour::a, Colour::a_soft},     {Colour::b, Colour::b_soft},       {Colour::d, Colour::d_soft},
      {Colour::access, Colour::waste}, {Colour::access, Colour::padding}, {Colour::conflict, Colour::padding},
      {Colour::access, Colour::empty}, {Colour::conflict, Colour::empty}, {Colour::measured, Colour::page},
      {Colour::ceiling, Colour::page},
  };
  for (const auto& [front, back] : pairs) {
    EXPECT_GE(contrast(shade(front).light, shade(back).light), 3) << shade(front).name << ", light";
    EXPECT_GE(contrast(shade(front).dark, shade(back).dark), 3) << shade(front).name << ", dark";
  }
}

}  // namespace
}  // namespace lapidary::report
