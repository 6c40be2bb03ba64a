#include "report/document.hpp"

#include <fmt/format.h>

#include <iterator>
#include <utility>

#include "report/diff.hpp"
#include "report/markup.hpp"

namespace lapidary::report {
namespace {

template <class... Visitors>
struct Overloaded : Visitors... {
  using Visitors::operator()...;
};
template <class... Visitors>
Overloaded(Visitors...) -> Overloaded<Visitors...>;

}  // namespace

void Document::heading(int level, std::string text) { parts_.emplace_back(Heading{level, std::move(text)}); }
void Document::paragraph(std::string text) { parts_.emplace_back(Paragraph{std::move(text)}); }
void Document::table(Table table) { parts_.emplace_back(std::move(table)); }
void Document::code(std::string text, std::string language) {
  if (!text.empty() && text.back() != '\n') text += '\n';
  parts_.emplace_back(Code{std::move(text), std::move(language)});
}
void Document::picture(Svg picture, std::string name, std::string caption) {
  parts_.emplace_back(Picture{std::move(name), std::move(caption), std::move(picture)});
}
void Document::links(std::vector<Link> links) { parts_.emplace_back(Links{std::move(links)}); }
void Document::folded(std::string summary, Document part) {
  parts_.emplace_back(Folded{std::move(summary), {std::move(part)}});
}
void Document::append(Document other) {
  std::move(other.parts_.begin(), other.parts_.end(), std::back_inserter(parts_));
}

std::string Document::terminal(bool colour) const {
  std::string out;
  const auto plain = [](std::string text) {
    std::erase(text, '`');
    return text;
  };
  for (const Part& part : parts_) {
    out += std::visit(Overloaded{[&](const Heading& h) {
                                   return fmt::format("{}{}\n", out.empty() ? "" : "\n",
                                                      styled(plain(h.text), Style::heading, colour));
                                 },
                                 [&](const Paragraph& p) { return report::paragraph(plain(p.text), page_width); },
                                 [&](const Table& t) { return t.render(colour); }, [](const Code& c) { return c.text; },
                                 [](const auto&) { return std::string(); }},
                      part);
  }
  return out;
}

std::string Document::markdown() const {
  std::string out;
  for (const Part& part : parts_) {
    if (!out.empty()) out += '\n';
    out += std::visit(
        Overloaded{
            [](const Heading& h) {
              return fmt::format("{} {}\n", std::string(static_cast<std::size_t>(h.level), '#'), markdown_text(h.text));
            },
            [](const Paragraph& p) { return markdown_text(p.text) + '\n'; },
            [](const Table& t) { return t.markdown(); },
            [](const Code& c) { return fmt::format("```{}\n{}```\n", c.language, c.text); },
            [](const Picture& p) { return fmt::format("![{}]({}.svg)\n", markdown_text(p.caption), p.name); },
            [](const Links& all) {
              std::string line;
              for (const Link& link : all.links)
                line += fmt::format("{}[{}]({})", line.empty() ? "" : " · ", markdown_text(link.text), link.target);
              return line + '\n';
            },
            [](const Folded& f) {
              return fmt::format("<details><summary>{}</summary>\n\n{}\n</details>\n", html_text(f.summary),
                                 f.part.front().markdown());
            }},
        part);
  }
  return out;
}

std::string Document::html(int shift) const {
  std::string out;
  for (const Part& part : parts_) {
    out += std::visit(
        Overloaded{
            [&](const Heading& h) { return fmt::format("<h{0}>{1}</h{0}>\n", h.level + shift, html_text(h.text)); },
            [](const Paragraph& p) { return fmt::format("<p>{}</p>\n", html_text(p.text)); },
            // A table or listing that is wider than the page scrolls in its own box, not the page.
            [](const Table& t) { return fmt::format("<div class=\"wide\" tabindex=\"0\">{}</div>\n", t.html()); },
            [](const Code& c) {
              return fmt::format("<pre class=\"{}\" tabindex=\"0\">{}</pre>\n", c.language,
                                 c.language == "diff" ? html_diff(c.text) : xml_escaped(c.text));
            },
            [](const Picture& p) {
              return fmt::format(
                  "<figure><div class=\"wide\" tabindex=\"0\">{}</div><figcaption>{}</figcaption>"
                  "</figure>\n",
                  p.svg.fragment(), html_text(p.caption));
            },
            [](const Links& all) {
              std::string line;
              for (const Link& link : all.links)
                line += fmt::format("<a href=\"{}\">{}</a> ", xml_escaped(link.target), html_text(link.text));
              return fmt::format("<p class=\"links\">{}</p>\n", line);
            },
            [&](const Folded& f) {
              return fmt::format("<details><summary>{}</summary>\n{}</details>\n", html_text(f.summary),
                                 f.part.front().html(shift));
            }},
        part);
  }
  return out;
}

std::vector<Document::Picture> Document::pictures() const {
  std::vector<Picture> found;
  for (const Part& part : parts_) {
    if (const auto* picture = std::get_if<Picture>(&part)) found.push_back(*picture);
    if (const auto* folded = std::get_if<Folded>(&part)) {
      for (Picture& picture : folded->part.front().pictures()) found.push_back(std::move(picture));
    }
  }
  return found;
}

}  // namespace lapidary::report
