#include "report/document.hpp"

#include <gtest/gtest.h>

#include "report/page.hpp"

namespace lapidary::report {
namespace {

/// One of each part, with the letters that mean something to Markdown and HTML.
Document all_parts() {
  Document d;
  d.heading(1, "`a<b>`: less");
  d.paragraph("if a < b | c, then `x<y> | z`");
  Table table({{"name"}, {"predicted", Column::number, "1024"}, {"measured", Column::number, "1024"}});
  table.add_row({{"`p|q`"}, {std::uint64_t{1234}}, {"<none>"}});
  d.table(std::move(table));
  d.code("-old <\n+new", "diff");
  Svg svg(10, 10, "a picture");
  d.picture(std::move(svg), "picture", "what it shows");
  d.links({{"next", "next.md"}});
  Document part;
  part.paragraph("unfolded");
  d.folded("more", std::move(part));
  return d;
}

TEST(Document, OnATerminalIsTextWithoutPicturesLinksAndFolds) {
  EXPECT_EQ(all_parts().terminal(false),
            "a<b>: less\n"
            "if a < b | c, then x<y> | z\n"
            "       ------ 1024 -------\n"
            "name   predicted  measured\n"
            "`p|q`      1,234    <none>\n"
            "-old <\n"
            "+new\n");
}

TEST(Document, AsMarkdownShowsItsTextsAsTheyAre) {
  const std::string markdown = all_parts().markdown();
  for (const char* part : {"# `a<b>`: less\n", "if a \\< b | c, then `x<y> | z`\n", "| `p\\|q` | 1,234 | \\<none> |",
                           "```diff\n-old <\n+new\n```\n", "![what it shows](picture.svg)\n", "[next](next.md)\n",
                           "<details><summary>more</summary>\n\nunfolded\n\n</details>\n"})
    EXPECT_NE(markdown.find(part), std::string::npos) << part << "\n\n" << markdown;
  ASSERT_EQ(all_parts().pictures().size(), 1u);
  EXPECT_EQ(all_parts().pictures()[0].name, "picture");
}

TEST(Document, AsHtmlEscapesItsTexts) {
  const std::string html = all_parts().html(1);
  for (const char* part :
       {"<h2><code>a&lt;b&gt;</code>: less</h2>", "if a &lt; b | c, then <code>x&lt;y&gt; | z</code>", "&lt;none&gt;",
        "<a href=\"next.md\">next</a>", "<details><summary>more</summary>"})
    EXPECT_NE(html.find(part), std::string::npos) << part << "\n\n" << html;
  EXPECT_EQ(html.find("<none>"), std::string::npos);
}

TEST(Page, LoadsNothingAndIsCompleteWithoutItsScript) {
  const std::string page = html_page("a < b", "<a href=\"#x\">x</a>", "<p id=\"x\">text</p>");
  EXPECT_EQ(page.find("<!DOCTYPE html>"), 0u);
  EXPECT_NE(page.find("<title>a &lt; b</title>"), std::string::npos);
  EXPECT_NE(page.find("<p id=\"x\">text</p>"), std::string::npos);
  EXPECT_LT(page.find("<p id=\"x\">"), page.find("<script"));
  for (const char* loads : {"<link", " src=", "@import", "url(", "http"})
    EXPECT_EQ(page.find(loads), std::string::npos) << loads;
}

}  // namespace
}  // namespace lapidary::report
