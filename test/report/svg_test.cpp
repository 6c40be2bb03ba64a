#include "report/svg.hpp"

#include <gtest/gtest.h>

#include <string>

#include "core/error.hpp"

namespace lapidary::report {
namespace {

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST(Svg, EscapesWhatMarkupWouldRead) {
  Svg svg(10, 10, "<1,2> & \"3\"");
  svg.text({0, 5}, "a<b");
  svg.rect(0, 0, 1, 1, Colour::a, "x>y");
  const std::string text = svg.render();
  EXPECT_TRUE(contains(text, "<title>&lt;1,2&gt; &amp; &quot;3&quot;</title>"));
  EXPECT_TRUE(contains(text, ">a&lt;b</text>"));
  EXPECT_TRUE(contains(text, "<title>x&gt;y</title></rect>"));
}

TEST(Svg, FollowsTheReadersThemeUnlessToldOtherwise) {
  Svg svg(10, 10, "theme");
  svg.line({0, 0}, {1, 1}, Colour::conflict);
  EXPECT_TRUE(contains(svg.render(), "prefers-color-scheme:dark"));
  EXPECT_FALSE(contains(svg.render(Theme::light), "prefers-color-scheme"));
  EXPECT_FALSE(contains(svg.render(Theme::dark), "prefers-color-scheme"));
  // Programs without style sheets see attributes.
  EXPECT_TRUE(contains(svg.render(Theme::light), "stroke=\"#b83a00\""));
  EXPECT_TRUE(contains(svg.render(Theme::dark), "stroke=\"#ff9466\""));
}

TEST(Svg, RefusesAGroupThatIsLeftOpen) {
  Svg svg(10, 10, "group");
  svg.begin_group({1, 2});
  EXPECT_THROW(svg.render(), InvalidArgument);
  svg.end_group();
  EXPECT_TRUE(contains(svg.render(), "translate(1 2)"));
}

}  // namespace
}  // namespace lapidary::report
