#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "report/svg.hpp"
#include "report/table.hpp"

namespace lapidary::report {

/// What is to be said, part by part, for a terminal, as Markdown or as HTML. Texts are plain UTF-8; what stands between
/// `backquotes` is code.
class Document {
 public:
  /// @param level  1 is the document's title, 2 a chapter, 3 a part of one
  void heading(int level, std::string text);
  void paragraph(std::string text);
  void table(Table table);
  /// Lines as they are. @param language  as Markdown names it: "diff", "console", "sass"
  void code(std::string text, std::string language);
  /// @param name  of the picture's file without ".svg", beside a Markdown file
  void picture(Svg picture, std::string name, std::string caption);
  /// Links, one behind the other.
  struct Link {
    std::string text, target;
  };
  void links(std::vector<Link> links);
  /// A part that its reader unfolds. Terminals do not show it.
  void folded(std::string summary, Document part);
  /// All parts of another document.
  void append(Document other);

  /// In lines of at most page_width columns. Pictures and links are left out.
  std::string terminal(bool colour) const;
  std::string markdown() const;
  /// Elements for the body of a page, with the pictures in it. @param shift  is added to the level of headings
  std::string html(int shift = 0) const;

  struct Picture {
    std::string name, caption;
    Svg svg;
  };
  /// Those that the Markdown links to.
  std::vector<Picture> pictures() const;

 private:
  struct Heading {
    int level;
    std::string text;
  };
  struct Paragraph {
    std::string text;
  };
  struct Code {
    std::string text, language;
  };
  struct Links {
    std::vector<Link> links;
  };
  struct Folded {
    std::string summary;
    std::vector<Document> part;  ///< one
  };
  using Part = std::variant<Heading, Paragraph, Table, Code, Picture, Links, Folded>;

  std::vector<Part> parts_;
};

}  // namespace lapidary::report
