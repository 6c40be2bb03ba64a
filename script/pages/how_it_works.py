"""docs/how-it-works.md: walks through src/ by docs/how-it-works.json, and what launches cost.

A walk is an error, whatever is written already, unless

  - each function has exactly one definition in its file, or exactly one that has the text `containing`;
  - it enters no room (a folder of src/) twice. A function with `aside` is not a step of the list: it stands in the
    order of the walk where it is called, and below the list on the page. It has to be one that as a step would make the
    walk come back to a room;
  - it holds together: each function, asides included, follows the one before it, or failing that the one which that
    followed, and so on; what was not followed stays behind, as in a walk through a tree of calls. One follows another
    if it is called or handed on in the other's definition. Where `caller` says so, it calls the other instead, to go on
    with what that returns; where there is `through`, both definitions have that name, of what the one leaves for the
    other. Functions are known by their names here, without their classes.
"""
import functools
import itertools
import math
import re
import sys
import textwrap

from lib.project import ROOT, load
from pages.markdown import table

# What is no code, and may have braces and names in it: raw strings, comments, strings, characters, directives.
NO_CODE = re.compile(
    r"""R"\(.*?\)"|//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|(?<!\w)'(?:\\.|[^'\\\n])+'|^[ \t]*\#(?:\\\n|[^\n])*""",
    re.DOTALL | re.MULTILINE,
)
CLASS = re.compile(r"\b(?:struct|class)\s+(?:\w+::)*(\w+)\s*(?:final\s*)?(?::[^;{}]*)?\{")
BODY = re.compile(r"(?:\s|const\b|noexcept\b|override\b|->[\s\w:<>*&]+)*(?=\{)")


def code_of(file):
    """A source without what is no code, every character in its place."""
    return NO_CODE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), (ROOT / "src" / file).read_text())


def end_of(file, begin):
    """Behind the bracket that closes the one at `begin`."""
    code, depth = code_of(file), 0
    opening = code[begin]
    closing = {"(": ")", "{": "}"}[opening]
    for at in range(begin, len(code)):
        depth += (code[at] == opening) - (code[at] == closing)
        if depth == 0:
            return at + 1
    line = code.count("\n", 0, begin) + 1
    sys.exit(f"src/{file}:{line}: this {opening} is never closed; walks need sources whose brackets match")


def classes_of(file):
    code = code_of(file)
    return [(match[1], match.end(), end_of(file, match.end() - 1)) for match in CLASS.finditer(code)]


def definitions(file, function):
    """Of a function or, as Class::function, of a member: (where its name stands, its parameters and body) each."""
    *scope, name = function.split("::")
    code, found = code_of(file), []
    for match in re.finditer(rf"(?<![\w.>:])((?:\w+::)*){name}\s*(?=\()", code):
        owners = [owner for owner, begin, end in classes_of(file) if begin <= match.start() < end]
        if (owners[-1:] if not match[1] else match[1].split("::")[-2:-1]) != scope[-1:]:
            continue
        body = BODY.match(code, end_of(file, match.end()))
        if body:
            found.append((match.start(), match.end(), end_of(file, body.end())))
    return found


class Step:
    """A function of a walk and its definition."""

    def __init__(self, walk, entry):
        self.function, self.file, self.does = entry["function"], entry["file"], entry["does"]
        self.aside, self.caller, self.through = (entry.get(key) for key in ("aside", "caller", "through"))
        self.room, self.name = self.file.split("/")[0], self.function.split("::")[-1]
        self.place = f"docs/how-it-works.json: {walk}: {self.function}"
        if not (ROOT / "src" / self.file).is_file():
            sys.exit(f"{self.place}: there is no src/{self.file}")
        text = (ROOT / "src" / self.file).read_text()
        found = [f for f in definitions(self.file, self.function) if entry.get("containing", "") in text[f[0] : f[2]]]
        if len(found) != 1:
            where = ", ".join(str(text.count("\n", 0, begin) + 1) for begin, _, _ in found)
            sys.exit(f"{self.place}: it has to be defined once in src/{self.file}; lines: {where or 'none'}")
        begin, parameters, end = found[0]
        self.line = text.count("\n", 0, begin) + 1
        self.code = code_of(self.file)[parameters:end]

    def has(self, name):
        return re.search(rf"\b{name}\b", self.code) is not None

    def calls(self, other):
        """Or hands it on: its name is followed by arguments, or is one."""
        return re.search(rf"\b{other.name}\s*[(<]|(?<![\w.>]){other.name}\s*,", self.code) is not None

    def follows(self, earlier):
        if self.through:
            return self.has(self.through) and earlier.has(self.through)
        return self.calls(earlier) if self.caller else earlier.calls(self)

    def link(self):
        return f"`{self.function}` ([{self.file}:{self.line}](../src/{self.file}#L{self.line}))"


def rooms_of(steps):
    return [room for room, _ in itertools.groupby(step.room for step in steps)]


def enters_twice(steps):
    """The first room that steps come back to; None if there is none."""
    rooms = rooms_of(steps)
    return next((room for i, room in enumerate(rooms) if room in rooms[:i]), None)


def walk(name):
    sequence = [Step(name, entry) for entry in load("docs/how-it-works.json")[name]]
    steps = [step for step in sequence if not step.aside]
    if room := enters_twice(steps):
        sys.exit(f"docs/how-it-works.json: {name} enters {room} twice: {', '.join(rooms_of(steps))}")
    path = []
    for step in sequence:
        if step.aside and not enters_twice([other for other in sequence if other is step or not other.aside]):
            sys.exit(f"{step.place}: it may be a step; what is aside would make the walk enter a room twice")
        tried = [other.function for other in reversed(path)]
        while path and not step.follows(path[-1]):
            path.pop()
        if tried and not path:
            sys.exit(f"{step.place}: it follows none of {', '.join(tried)}")
        path.append(step)

    def lines(mark, text):
        return textwrap.fill(
            text, 120, initial_indent=mark, subsequent_indent=" " * len(mark), break_long_words=False, break_on_hyphens=False
        )

    entries, room = [], None
    for number, step in enumerate(steps, 1):
        entries.append(lines(f"{number}. ", f"{f'**{step.room}**: ' if step.room != room else ''}{step.link()} {step.does}"))
        room = step.room
    asides = []
    for i, step in enumerate(sequence):
        if step.aside:
            after = sum(not other.aside for other in sequence[:i])
            asides.append(lines("- ", f"After step {after}, in **{step.room}**: {step.link()} {step.does}"))
    if asides:
        asides = ["", "Left out of the list, which enters no room twice:", "", *asides]
    return "\n".join([*entries, *asides]) + "\n"


def host_launches():
    """Of results/h200/host_time.json: id of a kernel -> size -> what was measured of its launches."""
    found = {}
    for result in load("results/h200/host_time.json")["results"]:
        way, kernel, *size = result["name"].split("/")
        if way == "launch":
            found.setdefault(kernel, {})[int(size[0])] = result
    return found


def host_launch():
    results = load("results/h200/host_time.json")["results"]
    preparing = {r["name"].removeprefix("prepare/"): r["us"] for r in results}
    planning = next(r["us"] for r in results if r["name"].startswith("plan/"))
    most = {}

    def over(result, way, other):
        """The median with its quartiles; remembers the most of all sizes."""
        key = f"{way}_over_{other}"
        if f"{key}_us" not in result:
            return "–"
        return f"{result[f'{key}_us']:.2f} ({result[f'{key}_q1_us']:.2f} to {result[f'{key}_q3_us']:.2f})"

    pairs, rows = (("prepared", "empty"), ("run", "empty"), ("gemm", "run")), []
    for kernel, sizes in host_launches().items():
        for way, other in pairs:
            values = [r[f"{way}_over_{other}_us"] for r in sizes.values() if f"{way}_over_{other}_us" in r]
            most[way] = max([most.get(way, 0), *values])
        one = sizes[min(sizes)]
        times = [f"{one[f'{way}_us']:.2f}" for way in ("empty", "bare", "anew")]
        rows.append([f"`{kernel}`", *times, *(over(one, *pair) for pair in pairs), f"{preparing[kernel]:.2f}"])
    head = ["kernel", "bare, empty:", "bare:", "made anew:", "prepared over empty:", "`run` over empty:", "`gemm` over `run`:", "preparing:"]
    ceiled = {way: f"{math.ceil(100 * value) / 100:.2f}" for way, value in most.items()}
    text = (
        f"Microseconds at {min(sizes)}³, of preparing at 1024³. At every size a prepared launch takes at most {ceiled['prepared']} µs "
        f"more than the bare one of an empty kernel, the library's `run` of a plan {ceiled['run']} µs more, and its `gemm` that knows "
        f"the problem {ceiled['gemm']} µs more than `run`. A plan for a problem that is new takes {planning:.1f} µs:\n\n"
    )
    return text + table(head, rows)


def host_share():
    kernels, rows = host_launches(), []
    columns = sorted({size for sizes in kernels.values() for size in sizes})
    for kernel, sizes in kernels.items():
        for way, name in (("prepared", "prepared"), ("anew", "made anew")):
            cells = []
            for size in columns:
                us, host = (sizes[size][f"{way}_between_us"], sizes[size][f"{way}_us"]) if size in sizes else (0, 0)
                cells.append(f"{us:.1f} ({host / us:.0%})" if us else "–")
            rows.append([f"`{kernel}`", name, *cells])
    return table(["kernel", "launches", *(f"{size}³:" for size in columns)], rows)


REGIONS = {
    "host-launch": host_launch,
    "host-share": host_share,
    **{name: functools.partial(walk, name) for name in ("walk-problem", "walk-element", "walk-access")},
}
