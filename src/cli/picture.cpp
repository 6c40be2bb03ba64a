#include "cli/picture.hpp"

namespace lapidary::cli {

PictureOptions add_picture_options(App app, PictureFiles& files) {
  const Option svg = app.add_option("--svg", files.svg, "write the picture into this file").type_name("FILE");
  const Option png = app.add_option("--png", files.png, "the same as PNG, by rsvg-convert").type_name("FILE");
  app.add_flag("--dark", files.dark, "a dark picture; without it the SVG follows its reader's theme")
      .needs_one_of({svg, png});
  return {svg, png};
}

void write(const report::Svg& picture, const PictureFiles& files) {
  using report::Theme;
  if (!files.svg.empty()) write_svg(picture, files.svg, files.dark ? Theme::dark : Theme::automatic);
  if (!files.png.empty()) write_png(picture, files.png, files.dark ? Theme::dark : Theme::light);
}

}  // namespace lapidary::cli
