#pragma once
#include <string>

#include "cli/arguments.hpp"
#include "report/svg.hpp"

namespace lapidary::cli {

/// Where a picture goes.
struct PictureFiles {
  std::string svg, png;  ///< empty: none is asked for
  bool dark = false;

  bool wanted() const { return !svg.empty() || !png.empty(); }
};

/// Those that ask for a picture.
struct PictureOptions {
  Option svg, png;
};

/// Adds --svg, --png and --dark.
PictureOptions add_picture_options(App app, PictureFiles& files);

/// Writes what was asked for. @throws InvalidArgument as report::write_svg() and write_png()
void write(const report::Svg& picture, const PictureFiles& files);

}  // namespace lapidary::cli
