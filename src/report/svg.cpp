#include "report/svg.hpp"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/error.hpp"
#include "core/temporary.hpp"
#include "report/markup.hpp"
#include "report/write_file.hpp"

namespace lapidary::report {
namespace {

/// At most two digits behind the point, which is a hundredth of a pixel.
std::string number(double value) {
  std::string text = fmt::format("{:.2f}", value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

std::string fill_of(Colour colour) {
  return fmt::format(R"(class="f-{}" fill="{}")", shade(colour).name, shade(colour).light);
}
std::string stroke_of(Colour colour, double thickness) {
  return fmt::format(R"(class="s-{}" stroke="{}" stroke-width="{}")", shade(colour).name, shade(colour).light,
                     number(thickness));
}

/// The end of an element that has a tooltip or not.
std::string closing(std::string_view element, std::string_view tooltip) {
  return tooltip.empty() ? "/>\n" : fmt::format("><title>{}</title></{}>\n", xml_escaped(tooltip), element);
}

std::string list_of(const std::vector<Point>& points) {
  std::string list;
  for (const Point& p : points) list += fmt::format("{}{},{}", list.empty() ? "" : " ", number(p.x), number(p.y));
  return list;
}

std::string style_sheet(Theme theme) {
  std::string css = fmt::format(".lapidary{{{}}}\n", palette_properties(theme == Theme::dark));
  if (theme == Theme::automatic) {
    css += fmt::format("@media (prefers-color-scheme:dark){{.lapidary{{{}}}}}\n", palette_properties(true));
  }
  return css + palette_classes();
}

/// For programs without custom properties: the attributes of the light shades replaced by those of the dark ones.
std::string in_dark(std::string text) {
  for (const Shade& s : palette) {
    for (const auto& [kind, attribute] : {std::pair{"f", "fill"}, std::pair{"s", "stroke"}}) {
      const std::string from = fmt::format(R"(class="{}-{}" {}="{}")", kind, s.name, attribute, s.light);
      const std::string to = fmt::format(R"(class="{}-{}" {}="{}")", kind, s.name, attribute, s.dark);
      for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
        text.replace(at, from.size(), to);
      }
    }
  }
  return text;
}

/// Runs rsvg-convert, which reads one file and writes another.
void convert(const std::filesystem::path& svg, const std::filesystem::path& png) {
  std::string program = "rsvg-convert", zoom = "--zoom=2", output = "--output=" + png.string(), input = svg.string();
  char* arguments[] = {program.data(), zoom.data(), output.data(), input.data(), nullptr};
  pid_t child = 0;
  if (posix_spawnp(&child, program.c_str(), nullptr, nullptr, arguments, environ) != 0) {
    throw InvalidArgument("a PNG needs rsvg-convert on the PATH (Debian: librsvg2-bin); an SVG needs nothing");
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    throw InvalidArgument(fmt::format("rsvg-convert could not write {}", png.string()));
  }
}

}  // namespace

std::string palette_properties(bool dark) {
  std::string text;
  for (const Shade& s : palette) text += fmt::format("--{}:{};", s.name, dark ? s.dark : s.light);
  return text;
}

std::string palette_classes() {
  std::string css;
  for (const Shade& s : palette)
    css += fmt::format(".f-{0}{{fill:var(--{0},{1})}} .s-{0}{{stroke:var(--{0},{1})}}\n", s.name, s.light);
  return css;
}

Svg::Svg(double width, double height, std::string_view title) : width_(width), height_(height), title_(title) {
  rect(0, 0, width, height, Colour::page);
}

void Svg::rect(double x, double y, double width, double height, Colour fill, std::string_view tooltip) {
  body_ += fmt::format(R"(<rect x="{}" y="{}" width="{}" height="{}" {})", number(x), number(y), number(width),
                       number(height), fill_of(fill)) +
           closing("rect", tooltip);
}

void Svg::frame(double x, double y, double width, double height, Colour stroke, double thickness) {
  body_ += fmt::format(R"(<rect x="{}" y="{}" width="{}" height="{}" {} fill="none"/>)", number(x), number(y),
                       number(width), number(height), stroke_of(stroke, thickness)) +
           "\n";
}

void Svg::line(Point from, Point to, Colour stroke, double thickness, bool dashed) {
  body_ += fmt::format(R"(<line x1="{}" y1="{}" x2="{}" y2="{}" {}{}/>)", number(from.x), number(from.y), number(to.x),
                       number(to.y), stroke_of(stroke, thickness), dashed ? R"( stroke-dasharray="4 3")" : "") +
           "\n";
}

void Svg::polyline(const std::vector<Point>& points, Colour stroke, double thickness) {
  body_ += fmt::format(R"(<polyline points="{}" {} fill="none" stroke-linejoin="round"/>)", list_of(points),
                       stroke_of(stroke, thickness)) +
           "\n";
}

void Svg::circle(Point centre, double radius, Colour fill, std::string_view tooltip) {
  body_ += fmt::format(R"(<circle cx="{}" cy="{}" r="{}" {})", number(centre.x), number(centre.y), number(radius),
                       fill_of(fill)) +
           closing("circle", tooltip);
}

void Svg::ring(Point centre, double radius, Colour stroke, double thickness, std::string_view tooltip) {
  circle(centre, radius + thickness / 2, stroke, tooltip);
  circle(centre, radius - thickness / 2, Colour::page, tooltip);
}

void Svg::text(Point at, std::string_view content, double size, Colour fill, Anchor anchor, bool bold, double angle) {
  const char* const anchors[] = {"start", "middle", "end"};
  const std::string turned = angle == 0 ? ""
                                        : fmt::format(" transform=\"rotate({} {} {})\"", number(angle), number(at.x),
                                                      number(at.y));
  body_ += fmt::format(R"(<text x="{}" y="{}" font-size="{}" text-anchor="{}" {}{}{}>{}</text>)", number(at.x),
                       number(at.y), number(size), anchors[static_cast<int>(anchor)], fill_of(fill),
                       bold ? R"( font-weight="600")" : "", turned, xml_escaped(content)) +
           "\n";
}

void Svg::begin_group(Point origin, std::string_view tooltip) {
  ++open_groups_;
  body_ += fmt::format("<g transform=\"translate({} {})\">", number(origin.x), number(origin.y));
  if (!tooltip.empty()) body_ += fmt::format("<title>{}</title>", xml_escaped(tooltip));
  body_ += "\n";
}

void Svg::end_group() {
  --open_groups_;
  body_ += "</g>\n";
}

std::string Svg::element(const std::string& attributes, const std::string& style, const std::string& body) const {
  if (open_groups_ != 0) {
    throw InvalidArgument(
        fmt::format("Svg: every group is ended once; got {} left open, the nearest legal value is 0", open_groups_));
  }
  return fmt::format(
      "<svg {0}width=\"{1}\" height=\"{2}\" viewBox=\"0 0 {1} {2}\" role=\"img\" "
      "font-family=\"DejaVu Sans, Verdana, sans-serif\">\n<title>{3}</title>\n{4}{5}</svg>\n",
      attributes, number(width_), number(height_), xml_escaped(title_), style, body);
}

std::string Svg::render(Theme theme) const {
  return element("xmlns=\"http://www.w3.org/2000/svg\" class=\"lapidary\" ",
                 fmt::format("<style>\n{}</style>\n", style_sheet(theme)),
                 theme == Theme::dark ? in_dark(body_) : body_);
}

std::string Svg::fragment() const { return element("", "", body_); }

void write_svg(const Svg& picture, const std::filesystem::path& path, Theme theme) {
  write_file(path, picture.render(theme));
}

void write_png(const Svg& picture, const std::filesystem::path& path, Theme theme) {
  std::string pattern = temporary_name("lapidary.") + ".svg";
  const int descriptor = mkstemps(pattern.data(), 4);
  if (descriptor < 0) throw InvalidArgument(fmt::format("cannot write {}: {}", pattern, std::strerror(errno)));
  close(descriptor);
  try {
    write_file(pattern, picture.render(theme == Theme::automatic ? Theme::light : theme));
    convert(pattern, path);
  } catch (...) {
    std::filesystem::remove(pattern);
    throw;
  }
  std::filesystem::remove(pattern);
}

}  // namespace lapidary::report
