"""Charts of docs/shapes.md: cuBLAS's time over ours, a mark a problem."""
import math
from typing import NamedTuple

from pages.svg import Svg

WIDTH, HEIGHT = 1180, 470
LEFT, RIGHT, TOP, BOTTOM, GAP = 76, 1156, 104, 404, 22
WIN, LOSS = "access", "conflict"
FINE = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.2, 1.3, 1.5, 1.7, 2, 2.5, 3, 4, 5)
COARSE = (0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5)
UNITS = {1: "", 1e3: "k", 1e6: "M", 1e9: "G", 1e12: "T", 1e15: "P"}


class Panel(NamedTuple):
    name: str
    about: str
    x: str  # what its axis says
    marks: list  # (x, cuBLAS's time over ours, not seen before, tooltip)
    worst: str  # the label of the mark with the least ratio, if that is lost


class Axis:
    def __init__(self, values, begin, end, least=1):
        low, high = min(values), max(values)
        room = max((high / low) ** 0.06, least)
        self.low, self.high, self.begin, self.end = low / room, high * room, begin, end

    def at(self, value):
        return self.begin + (self.end - self.begin) * math.log(value / self.low) / math.log(self.high / self.low)

    def ticks(self, base, steps=(1,)):
        begin, end = (math.floor(math.log(value, base)) for value in (self.low, self.high))
        values = [step * base**power if power >= 0 else step / base**-power for power in range(begin, end + 1) for step in steps]
        return [value for value in values if self.low <= value <= self.high]

    def rates(self):
        """Ticks for what is near 1."""
        spread = self.high / self.low
        if spread > 20:
            return self.ticks(10, (1, 2, 5))
        return [value for value in (FINE if spread < 3 else COARSE) if self.low <= value <= self.high]


def short(value):
    unit = max((u for u in UNITS if u <= value), default=1)
    return f"{value / unit:g}{' ' * bool(UNITS[unit])}{UNITS[unit]}"


def draw_legend(svg):
    x = LEFT + 480
    for text, colour, down in (("ours is quicker", WIN, False), ("cuBLAS is quicker", LOSS, True)):
        svg.mark(x, 52, colour, down, False)
        svg.mark(x + 14, 52, colour, down, True)
        svg.text(x + 26, 56, text, 12)
        x += 58 + 7 * len(text)
    svg.text(RIGHT, 56, "filled: chosen unseen; hollow: fitted to", 12, anchor="end")


def place_label(svg, text, x, y, left, right, spots):
    """Beside a mark, where the fewest others are."""
    width = 6.6 * len(text)
    options = [(x + dx - (width if anchor == "end" else width / 2 if anchor == "middle" else 0), y + dy)
               for anchor, dx, dy in (("start", 10, 5), ("end", -10, 5), ("middle", 0, 20), ("middle", 0, -10))]  # fmt: skip

    def crowd(option):
        begin, base = option
        outside = max(0, left + 2 - begin, begin + width - right + 2) + max(0, base - BOTTOM + 3)
        return 1000 * (outside > 0) + sum(begin - 6 < sx < begin + width + 6 and base - 16 < sy < base + 8 for sx, sy in spots)

    begin, base = min(options, key=crowd)
    begin = min(max(begin, left + 2), right - 2 - width)
    svg.text(begin, base, text, 11, LOSS)


def draw_panel(svg, panel, left, right, y, several):
    flop = panel.x == "FLOP"
    x = Axis([mark[0] for mark in panel.marks], left, right)
    if flop:
        ticks = x.ticks(10 if x.high / x.low < 1e5 else 100)
    else:
        ticks = x.ticks(2 if x.high / x.low < 200 else 4)
    for value in ticks:
        svg.line(x.at(value), TOP, x.at(value), BOTTOM, "empty")
        svg.text(x.at(value), BOTTOM + 18, short(value) if flop else f"{value:,.0f}", 11, anchor="middle")
    for value in y.rates():
        svg.line(left, y.at(value), right, y.at(value), "ink" if value == 1 else "empty", 1.5 if value == 1 else 1)
        if left == LEFT:
            svg.text(left - 8, y.at(value) + 4, f"{value:g}", 11, anchor="end")
    svg.line(left, BOTTOM, right, BOTTOM, "ink")
    svg.line(left, TOP, left, BOTTOM, "ink")
    svg.text((left + right) / 2, BOTTOM + 40, panel.x, 12, anchor="middle")
    if several:
        svg.text(left + 2, TOP - 10, panel.name, 13, bold=True)
    spots = []
    for at, ratio, unseen, tooltip in panel.marks:
        spots.append((x.at(at), y.at(ratio)))
        svg.mark(*spots[-1], LOSS if ratio < 1 else WIN, ratio < 1, not unseen, tooltip)
    if panel.worst:
        worst = min(range(len(spots)), key=lambda i: panel.marks[i][1])
        place_label(svg, panel.worst, *spots[worst], left, right, spots)


def chart(title, about, panels):
    said = ". ".join(panel.about for panel in panels)
    svg = Svg(WIDTH, HEIGHT, f"{title}: cuBLAS's time over ours", f"{about}. {said}. Marks above 1 are problems that ours is quicker at.")
    svg.text(24, 34, f"{title}: cuBLAS's time over ours", 17, bold=True)
    svg.text(24, 56, about, 12)
    if len(panels) == 1:
        svg.text(24, 76, panels[0].about, 12)
    draw_legend(svg)
    y = Axis([mark[1] for panel in panels for mark in panel.marks] + [0.9, 1.1], BOTTOM, TOP, 1.04)
    width = (RIGHT - LEFT - GAP * (len(panels) - 1)) / len(panels)
    for i, panel in enumerate(panels):
        left = LEFT + i * (width + GAP)
        draw_panel(svg, panel, left, left + width, y, len(panels) > 1)
    svg.text(LEFT - 48, (TOP + BOTTOM) / 2, "times as quick as cuBLAS", 12, anchor="middle", angle=-90)
    return svg.render()
