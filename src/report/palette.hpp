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
  a,          ///< the matrix A
  b,          ///< the matrix B
  d,          ///< the matrix D, and C
  lane,       ///< the marked lane, thread or block
  access,     ///< touched by an access, at no excess cost
  conflict,   ///< touched at an excess cost
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
/// darkened or lightened until text on them has a contrast of 4.5.
constexpr std::array<Shade, 16> palette = {{
    {"page", "#ffffff", "#14171c"},
    {"ink", "#1b1f24", "#e8eaed"},
    {"faint", "#5f6872", "#9aa3ad"},
    {"empty", "#f0f2f4", "#23282f"},
    {"a", "#0066a8", "#6bbcf2"},
    {"b", "#00795a", "#4fd1a8"},
    {"d", "#7a4a9c", "#cda4ea"},
    {"lane", "#f2c230", "#ffd75e"},
    {"access", "#0066a8", "#6bbcf2"},
    {"conflict", "#b83a00", "#ff9466"},
    {"padding", "#c9ced4", "#4a525c"},
    {"measured", "#1b1f24", "#e8eaed"},
    {"predicted", "#0066a8", "#6bbcf2"},
    {"ceiling", "#5f6872", "#9aa3ad"},
    {"on-colour", "#ffffff", "#14171c"},
    {"on-lane", "#1b1f24", "#14171c"},
}};

constexpr const Shade& shade(Colour colour) { return palette[static_cast<std::size_t>(colour)]; }

}  // namespace lapidary::report
