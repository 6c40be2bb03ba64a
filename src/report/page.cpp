#include "report/page.hpp"

#include <fmt/format.h>

#include "report/markup.hpp"
#include "report/svg.hpp"

namespace lapidary::report {
namespace {

constexpr std::string_view style = R"css(
*{box-sizing:border-box}
html{color-scheme:light dark;-webkit-text-size-adjust:100%}
html[data-theme=light]{color-scheme:light} html[data-theme=dark]{color-scheme:dark}
body{margin:0;background:var(--page);color:var(--ink);font:16px/1.55 system-ui,"DejaVu Sans",Verdana,sans-serif}
main{max-width:76rem;margin:0 auto;padding:1rem 1.25rem 4rem}
p,h1,h2,h3,figcaption{max-width:46rem}
h1{font-size:1.9rem;line-height:1.2;margin:1.2rem 0 .6rem}
h2{font-size:1.4rem;line-height:1.25;margin:3rem 0 .6rem;padding-top:1rem;border-top:1px solid var(--padding)}
h3{font-size:1.05rem;margin:1.8rem 0 .4rem}
p{margin:.5rem 0}
a{color:var(--access)}
code,pre,table{font-family:ui-monospace,"DejaVu Sans Mono",Consolas,monospace;font-size:.85em}
pre{background:var(--empty);padding:.8rem 1rem;overflow-x:auto;line-height:1.4;margin:.6rem 0}
code{background:var(--empty);padding:.05em .25em} td.section code,pre code{background:none;padding:0}
.wide{overflow-x:auto;margin:.6rem 0}
table{border-collapse:collapse;line-height:1.35}
th,td{padding:.25rem .9rem .25rem 0;text-align:left;vertical-align:top;white-space:pre}
th{font-weight:600;border-bottom:1px solid var(--padding)} th.group{text-align:center;border:0}
td{border-bottom:1px solid var(--empty)} td.section{padding-top:.6rem;color:var(--faint)}
td.wrapped{white-space:normal;min-width:14rem}
.number{text-align:right} .bad{color:var(--conflict)} .good{color:var(--b)} .faint{color:var(--faint)}
td.heading{font-weight:600}
.added{color:var(--b)} .removed{color:var(--conflict)} .place{color:var(--faint)}
figure{margin:1rem 0} figcaption{color:var(--faint);font-size:.9rem}
svg{max-width:none;display:block}
details{margin:.8rem 0} summary{cursor:pointer;color:var(--access)}
nav{position:sticky;top:0;z-index:1;background:var(--page);border-bottom:1px solid var(--padding);
  padding:.5rem 1.25rem;overflow-x:auto;white-space:nowrap;font-size:.85rem}
nav a{margin-right:.9rem;text-decoration:none} nav a.here{color:var(--ink);font-weight:600}
section{scroll-margin-top:3rem}
button{font:inherit;color:inherit;background:none;border:1px solid var(--padding);border-radius:4px;
  padding:.1rem .6rem;cursor:pointer;margin-right:1rem}
:focus-visible{outline:2px solid var(--access);outline-offset:2px}
@media (max-width:40rem){body{font-size:15px} h1{font-size:1.5rem} h2{font-size:1.2rem} main{padding:.5rem .9rem 3rem}}
@media print{nav{display:none} details>*{display:block} .wide,pre{overflow:visible}}
)css";

constexpr std::string_view script = R"js(
(() => {
  const root = document.documentElement, nav = document.querySelector("nav");
  const remember = (value) => { try { localStorage.setItem("theme", value); } catch { /* not allowed to */ } };
  try { if (localStorage.getItem("theme")) root.dataset.theme = localStorage.getItem("theme"); } catch { /* the same */ }
  const isDark = () => root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme:dark)").matches;
  const button = document.createElement("button");
  const label = () => { button.textContent = isDark() ? "light" : "dark"; };
  button.addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; remember(root.dataset.theme); label(); });
  label();
  nav.prepend(button);
  const links = new Map([...nav.querySelectorAll("a")].map((a) => [a.hash.slice(1), a]));
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting) {
      for (const a of links.values()) a.classList.remove("here");
      links.get(entry.target.id)?.classList.add("here");
    }
  }, {rootMargin: "-10% 0px -80% 0px"});
  for (const section of document.querySelectorAll("section[id]")) seen.observe(section);
  // A link into a folded part unfolds it.
  const unfold = () => document.getElementById(location.hash.slice(1))?.closest("details")?.setAttribute("open", "");
  addEventListener("hashchange", unfold);
  unfold();
})();
)js";

}  // namespace

std::string html_page(std::string_view title, std::string_view navigation, std::string_view body) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{}</title>\n<style>\n"
      ":root{{{}}}\n@media (prefers-color-scheme:dark){{:root{{{}}}}}\n:root[data-theme=light]{{{}}}\n"
      ":root[data-theme=dark]{{{}}}\n{}{}</style>\n</head>\n<body>\n<nav>{}</nav>\n<main>\n{}</main>\n"
      "<script>{}</script>\n</body>\n</html>\n",
      xml_escaped(title), palette_properties(false), palette_properties(true), palette_properties(false),
      palette_properties(true), palette_classes(), style, navigation, body, script);
}

}  // namespace lapidary::report
