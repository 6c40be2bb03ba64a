"""Pictures that follow the reader's light or dark theme, as those of src/report/svg.hpp do, in the same palette."""
import re
from html import escape

from lib.project import ROOT

PALETTE = ROOT / "src/report/palette.hpp"
SHADE = re.compile(r'\{"([\w-]+)", "(#\w{6})", "(#\w{6})"\}')


def palette():
    """name -> (light, dark)"""
    return {name: (light, dark) for name, light, dark in SHADE.findall(PALETTE.read_text())}


def number(value):
    """At most two digits behind the point, which is a hundredth of a pixel."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


class Svg:
    """A self-contained picture. Lengths are pixels from the upper left corner."""

    def __init__(self, width, height, title, description):
        self.width, self.height, self.title, self.description = width, height, title, description
        self.shades = palette()
        self.body = f'<rect x="0" y="0" width="{width}" height="{height}" {self.fill("page")}/>\n'

    def fill(self, colour, classes=""):
        return f'class="{classes}f-{colour}" fill="{self.shades[colour][0]}"'

    def stroke(self, colour, thickness):
        return f'class="s-{colour}" stroke="{self.shades[colour][0]}" stroke-width="{number(thickness)}"'

    def line(self, x1, y1, x2, y2, colour, thickness=1):
        ends = " ".join(f'{name}="{number(value)}"' for name, value in (("x1", x1), ("y1", y1), ("x2", x2), ("y2", y2)))
        self.body += f"<line {ends} {self.stroke(colour, thickness)}/>\n"

    def text(self, x, y, content, size=12, colour="ink", anchor="start", bold=False, angle=0):
        turned = f' transform="rotate({number(angle)} {number(x)} {number(y)})"' if angle else ""
        weight = ' font-weight="600"' if bold else ""
        self.body += (
            f'<text x="{number(x)}" y="{number(y)}" font-size="{number(size)}" text-anchor="{anchor}" {self.fill(colour)}{weight}{turned}>'
            f"{escape(content)}</text>\n"
        )

    def mark(self, x, y, colour, down, hollow, tooltip=""):
        """A disc, or a triangle that points down; the page within, if it is hollow."""
        shape = "M{},{}h9.6l-4.8,8.4z".format(number(x - 4.8), number(y - 3.4))
        if not down:
            shape = "M{},{}a4,4 0 1,0 8,0a4,4 0 1,0 -8,0z".format(number(x - 4), number(y))
        light = self.shades[colour][0]
        classes = "mark " if tooltip else ""
        inside = "page" if hollow else colour
        self.body += (
            f'<path d="{shape}" class="{classes}f-{inside} s-{colour}" fill="{self.shades[inside][0]}" stroke="{light}" stroke-width="1.6"'
            + (f"><title>{escape(tooltip)}</title></path>\n" if tooltip else "/>\n")
        )

    def render(self):
        def properties(dark):
            return "".join(f"--{name}:{shades[dark]};" for name, shades in self.shades.items())

        rules = "".join(
            f".f-{name}{{fill:var(--{name},{light})}} .s-{name}{{stroke:var(--{name},{light})}}\n"
            for name, (light, _) in self.shades.items()
            if re.search(rf"[fs]-{name}\b(?!-)", self.body)
        )
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="lapidary" width="{self.width}" height="{self.height}" '
            f'viewBox="0 0 {self.width} {self.height}" role="img" font-family="DejaVu Sans, Verdana, sans-serif">\n'
            f"<title>{escape(self.title)}</title>\n<desc>{escape(self.description)}</desc>\n<style>\n"
            f".lapidary{{{properties(0)}}}\n@media (prefers-color-scheme:dark){{.lapidary{{{properties(1)}}}}}\n{rules}</style>\n"
            f"{self.body}</svg>\n"
        )
