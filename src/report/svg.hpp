#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "report/palette.hpp"

namespace lapidary::report {

struct Point {
  double x, y;
};

/// Where a text stands with respect to its point.
enum class Anchor : std::uint8_t { start, middle, end };

/// Which shades a picture has: those that its reader's system asks for, or one set whatever it asks for.
enum class Theme : std::uint8_t { automatic, light, dark };

/// The palette's light or dark shades as custom properties: "--page:#ffffff;--ink:...".
std::string palette_properties(bool dark);
/// Rules for the classes that pictures give their elements.
std::string palette_classes();

/// A self-contained picture. Lengths are pixels from the upper left corner. Every text and tooltip may hold any UTF-8
/// text; it is escaped.
///
/// Colours are classes that read custom properties, which follow the reader's light or dark theme and which a page
/// around the picture can set; attributes of the light shades stand beside them for programs without style sheets.
class Svg {
 public:
  /// @param title  what the picture shows, for readers who do not see it
  Svg(double width, double height, std::string_view title);

  void rect(double x, double y, double width, double height, Colour fill, std::string_view tooltip = {});
  /// Only the edge of a rectangle.
  void frame(double x, double y, double width, double height, Colour stroke, double thickness = 2);
  void line(Point from, Point to, Colour stroke, double thickness = 1, bool dashed = false);
  void polyline(const std::vector<Point>& points, Colour stroke, double thickness = 2);
  void circle(Point centre, double radius, Colour fill, std::string_view tooltip = {});
  /// Only the edge of a circle, with the page within.
  void ring(Point centre, double radius, Colour stroke, double thickness = 2, std::string_view tooltip = {});
  /// @param at  on the base line
  /// @param angle  in degrees, clockwise about `at`
  void text(Point at, std::string_view content, double size = 12, Colour fill = Colour::ink,
            Anchor anchor = Anchor::start, bool bold = false, double angle = 0);
  /// Everything until end_group() is one element with one tooltip, moved by `origin`.
  void begin_group(Point origin, std::string_view tooltip = {});
  void end_group();

  /// @throws InvalidArgument if a group is open
  std::string render(Theme theme = Theme::automatic) const;
  /// The element for a page that has palette_classes() in its style sheet and sets palette_properties().
  /// @throws InvalidArgument if a group is open
  std::string fragment() const;

 private:
  std::string element(const std::string& attributes, const std::string& style, const std::string& body) const;

  double width_, height_;
  int open_groups_ = 0;
  std::string title_, body_;
};

/// Writes a picture into a file.
/// @throws InvalidArgument if it cannot be written
void write_svg(const Svg& picture, const std::filesystem::path& path, Theme theme = Theme::automatic);

/// The same as PNG, twice as large; a PNG has no reader's theme, so `automatic` is light.
/// @throws InvalidArgument if it cannot be written, or if rsvg-convert, which makes the PNG, is not on the PATH
void write_png(const Svg& picture, const std::filesystem::path& path, Theme theme = Theme::light);

}  // namespace lapidary::report
