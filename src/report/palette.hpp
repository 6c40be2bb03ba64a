#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace lapidary::report {

/// What a colour means, the same in every picture.
enum class Colour : std::uint8_t {
  page,       ///< behind everything
  ink,        ///< text and axes
  faint,      ///< grids, captions, what is there but not looked at
  empty,      ///< a cell that nobody touches
  a,          ///< the matrix A: what is looked at
  b,          ///< the matrix B: what is looked at
  d,          ///< the matrix D, and C: what is looked at
  a_soft,     ///< the tile of A around that
  b_soft,     ///< the tile of B around that
  d_soft,     ///< the tile of D around that
  lane,       ///< the marked lane, thread or block
  access,     ///< touched by an access, at no excess cost
  conflict,   ///< touched at an excess cost
  waste,      ///< moved by an access that does not want it
  padding,    ///< memory that holds no element
  measured,   ///< a figure that was measured
  predicted,  ///< a figure that was computed
  ceiling,    ///< what the hardware cannot exceed
  on_colour,  ///< text on a, b, d, access, conflict, measured and predicted
  on_lane,    ///< text on lane
};

struct Shade {
  std::string_view name;         ///< of the custom property, without its dashes
  std::string_view light, dark;  ///< as #rrggbb
};

/// In the order of Colour. Hues stay apart for readers who do not tell red from green: they follow Okabe and Ito,
/// darkened or lightened until the pairs of `legible` have a contrast of 4.5 (WCAG 2.1, level AA), which a test
/// computes.
constexpr std::array<Shade, 20> palette = {{
    {"page", "#ffffff", "#14171c"},      {"ink", "#1b1f24", "#e8eaed"},       {"faint", "#5f6872", "#9aa3ad"},
    {"empty", "#f0f2f4", "#23282f"},     {"a", "#0066a8", "#6bbcf2"},         {"b", "#00795a", "#4fd1a8"},
    {"d", "#7a4a9c", "#cda4ea"},         {"a-soft", "#cfe3f2", "#17384f"},    {"b-soft", "#cbe8dd", "#143d32"},
    {"d-soft", "#e3d8ee", "#3c2c4c"},    {"lane", "#f2c230", "#ffd75e"},      {"access", "#0066a8", "#6bbcf2"},
    {"conflict", "#b83a00", "#ff9466"},  {"waste", "#fad9c8", "#57301f"},     {"padding", "#c9ced4", "#4a525c"},
    {"measured", "#1b1f24", "#e8eaed"},  {"predicted", "#0066a8", "#6bbcf2"}, {"ceiling", "#5f6872", "#9aa3ad"},
    {"on-colour", "#ffffff", "#14171c"}, {"on-lane", "#1b1f24", "#14171c"},
}};

/// A text and what it may stand on.
struct Legible {
  Colour text, background;
};

/// The pairs that can be read in both themes; pictures use no others.
constexpr std::array<Legible, 25> legible = {{
    {Colour::ink, Colour::page},
    {Colour::ink, Colour::empty},
    {Colour::ink, Colour::a_soft},
    {Colour::ink, Colour::b_soft},
    {Colour::ink, Colour::d_soft},
    {Colour::ink, Colour::waste},
    {Colour::ink, Colour::padding},
    {Colour::faint, Colour::page},
    {Colour::faint, Colour::empty},
    {Colour::a, Colour::page},
    {Colour::b, Colour::page},
    {Colour::d, Colour::page},
    {Colour::access, Colour::page},
    {Colour::conflict, Colour::page},
    {Colour::measured, Colour::page},
    {Colour::predicted, Colour::page},
    {Colour::ceiling, Colour::page},
    {Colour::on_colour, Colour::a},
    {Colour::on_colour, Colour::b},
    {Colour::on_colour, Colour::d},
    {Colour::on_colour, Colour::access},
    {Colour::on_colour, Colour::conflict},
    {Colour::on_colour, Colour::measured},
    {Colour::on_colour, Colour::predicted},
    {Colour::on_lane, Colour::lane},
}};

constexpr const Shade& shade(Colour colour) { return palette[static_cast<std::size_t>(colour)]; }

}  // namespace lapidary::report
