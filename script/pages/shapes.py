"""docs/shapes.md: how the library does beside cuBLAS's fastest algorithm, shape by shape; tables, and what charts are of.

A list is one of today if for three quarters of its problems the way that is chosen today was timed. Where the choice was made
without knowing the list, its problems are shown with the way that was chosen then; where the table of costs was
fitted to the list, with the way that is chosen today; a problem that was fitted to several times is one of the last list of its
type alone.
"""
import json
import math
import re
from functools import cache
from typing import NamedTuple

from lib.project import load
from lib.timed import KERNEL, TIMES, ceil_div, held, is_one_launch, key_of_problem, mean, places, plan_of, type_of, way_name, work
from pages.markdown import table
from pages.shape_charts import Panel, chart

CHOICES = "results/emulator/shape_choices.json"  # what script/shapes writes
MOST_LOSSES = 6  # in the table of a class, and
MOST_OF_A_TYPE = 3  # of a type where there are several

TEXTS = {
    "shapes_cubes": "cubes",
    "shapes_llm": "layers of language models, of `data/shapes/llm.txt`, 1 to 4096 rows",
    "shapes_deepbench": "products of DeepBench, of `data/shapes/deepbench.txt`",
    "shapes_skinny": "layers with the sizes of these and of other models, 1 to 64 rows",
    "shapes_layers": "layers with the sizes of these and of other models, 1 to 3072 rows",
    "shapes_longk": "at most 512 rows, K up to 32768",
    "fewtiles": "at most 70 tiles of 128 x 256, K from 1536 to 32768",
    "fewtiles_losses": "losses of older lists, of few tiles and a long K",
    "shapes_rectangles": "M, N and K from 320 to 4096, multiples of 8, K none of 64",
    "shapes_thin": "one of M and N from 72 to 1032, the other one from 2000 to 16000, multiples of 8",
    "shapes_rows": "layers of these and other models, 20 to 320 rows",
    "shifted": "N no multiple of 8",
    "shapes_batches": "2 to 256 products of 64 to 1024 rows and columns, K from 64 to 1024",
    "shapes_grid": "K = 64, 64 or 128 rows, of `data/shapes/grid.txt`",
    "deepbench": "products of DeepBench",
    "llm": "layers of language models, of `data/shapes/llm.txt`",
    "layers": "layers of other models, 3 to 6000 rows",
    "grid": "powers of two, of `data/shapes/grid.txt`",
    "random": "random sizes, of `data/shapes/random.txt`",
    "odd": "odd sizes",
    "odd_n": "N odd, K a multiple of 8",
    "odd_cube": "cubes of 4096 of which sizes are one less",
    "methods": "30 sizes of all lists",
    "wide": "sizes from 64 to 10240, all multiples of 64",
    "drawn": "random sizes, many of them odd",
    "drawn2": "other random sizes",
    "drawn3": "others again",
    "drawn4": "8 to 5000 rows, columns and steps, half of them odd",
    "drawn5": "1 to 16384 rows, columns and steps, every fourth of them odd",
    "drawn6": "1 to 16384 rows, columns and steps, every fourth of them odd, drawn anew",
    "drawn7": "1 to 16384 rows, columns and steps, every fourth of them odd, of a third drawing",
    "drawn8": "1 to 16384 rows, columns and steps, every fourth of them odd, of a fourth drawing",
    "drawn9": "48 to 1500 rows and columns, 88 to 4000 steps, multiples of 8",
    "drawn10": "8 to 8192 rows, columns and steps, multiples of 8, evenly by their logarithms",
    "drawn11": "8 to 16384 rows, columns and steps, evenly by their logarithms, three of four in multiples of 8",
    "fewcolumns": "8 to 64 columns, 540 to 29000 rows, 256 to 11300 steps, multiples of 8",
    "fewrows": "up to 32 rows, of other lists",
    "waiting": "sizes of other lists, timed both waiting for the launch before and not",
    "changed": "sizes of other lists, few columns among them, for which what is chosen today had not been timed there",
    "short": "sizes of other lists and of batches, of at most nine steps along K",
    "cubes": "cubes from 256 to 4096",
    "gradients": "gradients of weights of 768 x 768 to 14336 x 4096, of 512 to 8192 rows, and products of their sizes",
    "hanging": "sizes of other lists, most of which kernels are near the best for whose clusters hang over D",
    "sixteen": "16 products in a batch, cubes and such as gradients of weights are",
}


class Timed(NamedTuple):
    """A problem that was timed."""

    plan: object
    label: str
    ways: list
    shown: dict  # the way that it is shown with
    today: dict  # the way that is chosen today; None if that was not timed
    cublas: float  # seconds; None where cuBLAS has no algorithm
    unseen: bool
    among_few: bool  # timed beside those ways alone that were expected to take next to no more

    @property
    def ratio(self):
        return self.cublas / self.shown["measured_s"]

    @property
    def best(self):
        return min(self.ways, key=lambda way: way["measured_s"])

    @property
    def regret(self):
        """As a cell of a table: none where better ways may not have been timed."""
        return "" if self.among_few else f"{self.shown['measured_s'] / self.best['measured_s']:.2f}"

    @property
    def size(self):
        return self.plan.sizes

    @property
    def flop(self):
        return 2 * self.plan.M * self.plan.N * self.plan.K * self.plan.products


class List(NamedTuple):
    name: str  # without unseen_ and fitted_
    unseen: bool
    type: str
    peer: str
    card: dict
    problems: list  # Timed
    in_graphs: bool

    @property
    def known(self):
        return [p for p in self.problems if p.today]

    @property
    def of_today(self):
        return len(self.known) >= 0.75 * len(self.problems)

    @property
    def compared(self):
        return [p for p in self.known if p.cublas]

    @property
    def text(self):
        for name in sorted(TEXTS, key=len, reverse=True):
            if self.name == name or self.name.startswith(name + "_"):
                return TEXTS[name]
        return "random sizes and powers of two, of `data/shapes`"


@cache
def lists():
    found, choices, documents = [], load(CHOICES), {path: json.loads(path.read_text()) for path in TIMES.glob("*.json")}
    by_date = sorted(documents.items(), key=lambda item: item[1]["receipt"]["date"])
    last = {
        key_of_problem(p["plan"]): path
        for path, document in by_date
        for p in document["problems"]
        if path.stem.startswith("fitted")
    }
    for path, document in documents.items():
        seen, name = path.stem.split("_", 1)
        by_key = {key_of_problem(p["plan"]): p for p in document["problems"]}  # lists may have a problem twice
        kept = [p for key, p in by_key.items() if seen == "unseen" or last[key] == path]
        document = {**document, "problems": kept}
        farthest = max(way["predicted_s"] / p["ways"][0]["predicted_s"] for p in document["problems"] for way in p["ways"]) if kept else 1
        problems = []
        for p in document["problems"]:
            key = key_of_problem(p["plan"])
            if key not in choices:
                raise SystemExit(f"{path.name}: {key} is not in {CHOICES}; run script/shapes")
            today = next((way for way in p["ways"] if way_name(way) == choices[key]), None)
            shown = p["ways"][0] if seen == "unseen" else today
            problems.append(Timed(plan_of(p["plan"]), p["label"], p["ways"], shown, today, p["cublas_s"], seen == "unseen", farthest < 1.1))
        if problems:
            found.append(List(name, seen == "unseen", type_of(document), document["peer"], document["receipt"]["card"], problems, "graphs" in document["method"]))
    return sorted(found, key=lambda each: (not each.unseen, each.name))


def without_orders(type_):
    return type_.split()[0]


def times(ratio):
    return f"{ratio:.2f}" if ratio >= 0.1 else f"{ratio:.3f}"


class Class(NamedTuple):
    """Problems of a kind: a chart and two tables."""

    title: str
    names: tuple  # of lists, and what they begin with
    x: str  # what the axis says
    of: object  # what it is of a problem
    parts: tuple = ()  # of them, in words, and which they are


def rows(p):
    return p.plan.M


def narrow(p):
    return max(p.plan.M, p.plan.N) <= 64


def even(p):
    return all(size % 128 == 0 for size in (p.plan.M, p.plan.N, p.plan.K))


# fmt: off
CLASSES = {
    "cubes": Class("Cubes", ("shapes_cubes",), "M = N = K", rows, (
        ("below 800", lambda p: rows(p) < 800),
        ("multiples of 128 from there on", lambda p: rows(p) >= 800 and even(p)),
        ("others from there on", lambda p: rows(p) >= 800 and not even(p)),
    )),
    "rectangles": Class("Rectangles of crooked sizes", ("shapes_rectangles", "shapes_thin"), "FLOP", lambda p: p.flop),
    "layers": Class("Layers of language models, from one row on", ("shapes_llm", "shapes_skinny", "shapes_rows", "shapes_layers"), "M, rows", rows, (
        ("up to 16 rows", lambda p: rows(p) <= 16),
        ("17 to 256", lambda p: 16 < rows(p) <= 256),
        ("more", lambda p: rows(p) > 256),
    )),
    "columns": Class("Few columns", ("fewcolumns",), "M", rows, (
        ("up to 16 columns", lambda p: p.plan.N <= 16),
        ("more", lambda p: p.plan.N > 16),
    )),
    "long-sums": Class("Few tiles and long sums", ("shapes_longk", "fewtiles"), "K", lambda p: p.plan.K, (
        ("neither M nor N above 64", narrow),
        ("more of one or both", lambda p: not narrow(p)),
    )),
    "batches": Class("Batches of equal products", ("shapes_batches",), "M, rows of each product", rows, (
        ("products of multiples of 128", even),
        ("of others", lambda p: not even(p)),
    )),
    "types": Class("Other types, results of 32 bits", ("wide",), "FLOP", lambda p: p.flop),
    "all-kinds": Class("All other lists", (), "FLOP", lambda p: p.flop),
}
# fmt: on


def of_class(name):
    named = [begin for kind in CLASSES.values() for begin in kind.names]
    begins = CLASSES[name].names
    of_today = [each for each in lists() if each.of_today and each.compared]
    if begins:
        return [each for begin in begins for each in of_today if each.name.startswith(begin)]
    return [each for each in of_today if not each.name.startswith(tuple(named))]


def panels(name):
    """Of each type one: [(type, [Timed])]."""
    by_type = {}
    for each in of_class(name):
        by_type.setdefault(without_orders(each.type), []).append(each)
    return [
        (of_type[0].type if len({each.type for each in of_type}) == 1 else type_, [p for each in of_type for p in each.compared])
        for type_, of_type in sorted(by_type.items())
    ]


def share(part, whole):
    return f"{100 * part / whole:.0f} %"


def summary(problems):
    """How it went: the geometric mean, the share that was lost, and the worst."""
    worst = min(problems, key=lambda p: p.ratio)
    lost = sum(p.ratio < 1 for p in problems)
    return f"geometric mean {mean([p.ratio for p in problems]):.2f}, {share(lost, len(problems))} lost, {times(worst.ratio)} at worst"


def picture(name):
    kind, drawn = CLASSES[name], []
    for type_, problems in panels(name):
        marks = [(kind.of(p), p.ratio, p.unseen, f"{p.size}{f' {p.label}' * bool(p.label)}: {times(p.ratio)}, {way_name(p.shown)}") for p in problems]
        worst = min(problems, key=lambda p: p.ratio)
        about = f"{type_}: {summary(problems)}"
        drawn.append(Panel(type_, about, kind.x, marks, f"{worst.size}: {times(worst.ratio)}" if worst.ratio < 1 else ""))
    first = of_class(name)[0]
    return chart(kind.title, f"{first.peer} on {first.card['name']}", drawn)


def of_lists(name):
    result = []
    for each in sorted(of_class(name), key=lambda each: without_orders(each.type)):
        problems = each.compared
        ratios = [p.ratio for p in problems]
        worst = min(problems, key=lambda p: p.ratio)
        result.append(
            [
                each.text + ("" if each.in_graphs else "; launch by launch"),
                each.type,
                "unseen" if each.unseen else "fitted",
                f"{len(problems)}" + (f" of {len(each.problems)}" if len(problems) < len(each.problems) else ""),
                f"{mean(ratios):.2f}",
                share(sum(r < 1 for r in ratios), len(ratios)),
                share(sum(r < 0.95 for r in ratios), len(ratios)),
                f"{times(worst.ratio)}, {worst.size}, `{way_name(worst.shown)}`",
                "" if problems[0].among_few else f"{mean([p.shown['measured_s'] / p.best['measured_s'] for p in problems]):.3f}",
                f"{mean([p.cublas / p.today['measured_s'] for p in problems]):.2f}" if each.unseen else "",
            ]
        )
    columns = [
        "problems", "type", "choice", "how many:", "cuBLAS's time over ours:", "lost:", "by over 5 %:", "the worst", "regret:", "chosen today:",
    ]  # fmt: skip
    return table(columns, result)


@cache
def dram_rate():
    """What reading brings from DRAM, in bytes a second."""
    calibration = load("results/h200/calibration.json")
    card = calibration["receipt"].get("card", calibration["receipt"])
    per_cycle = next(c["median"] for c in calibration["constants"] if c["name"] == "dram_bytes_all")
    return per_cycle * card["multiprocessors"] * card["max_sm_clock_mhz"] * 1e6


def parts(way, plan):
    """Among how many blocks K is shared out."""
    return round(ceil_div(plan.K, int(KERNEL.match(way["kernel"])[3] or 1)) / work(way, plan)[1])


def tile(way):
    return tuple(int(n) for n in KERNEL.match(way["kernel"]).groups()[:2])


def known(p, card):
    """What timings and sizes say of a problem; no proof of why it takes as long as it does."""
    plan, way, facts = p.plan, p.shown, []
    (bm, bn), seconds = tile(way), way["measured_s"]
    if seconds > 1.03 * p.best["measured_s"]:
        facts.append(f"`{way_name(p.best)}` takes {100 * (1 - p.best['measured_s'] / seconds):.0f} % less")
        if way_name(p.today) != way_name(way):
            same = "that" if way_name(p.today) == way_name(p.best) else f"`{way_name(p.today)}`"
            facts.append(f"{same} is chosen today: {p.cublas / p.today['measured_s']:.2f}")
    copied = " and ".join(name for name, packed in (("A", way["packs_a"]), ("B", way["packs_b"])) if packed)
    if copied:
        facts.append(f"{copied} {'are' if len(copied) > 1 else 'is'} copied first")
    operands = plan.M * plan.K * plan.different_a + plan.K * plan.N * plan.different_b
    moved = operands * plan.size + plan.M * plan.N * plan.products * plan.result_size
    if moved / seconds > 0.5 * dram_rate() or moved / p.cublas > 0.5 * dram_rate():
        facts.append(
            f"A, B and D pass at {moved / seconds / 1e12:.2f} TB/s, with cuBLAS at {moved / p.cublas / 1e12:.2f}; reading DRAM reached "
            f"{dram_rate() / 1e12:.2f}"
        )
    per = held().get(way["kernel"])
    if per is None:
        return "; ".join([*facts, "the library has this kernel no more"])
    blocks, steps = work(way, plan)
    room = places(way, plan, card["multiprocessors"]) * per
    rounds = ceil_div(int(blocks), room)
    full = blocks / (rounds * room)
    if full < 0.9 and "equal_areas" not in way["kernel"]:
        shared = f", each a share of K for its tile of {bm}x{bn}," if parts(way, plan) > 1 else f" of {bm}x{bn}"
        in_rounds = "in one round" if rounds == 1 else f"in {rounds} rounds"
        facts.append(f"{blocks:.0f} block{'s' * (blocks > 1)}{shared} for {room} places: {in_rounds}, filled to {100 * full:.2g} %")
        if full < 0.7:
            plain = [w for w in p.ways if not (w["packs_a"] or w["packs_b"])] or p.ways
            if min(math.prod(tile(w)) for w in plain) >= bm * bn and max(parts(w, plan) for w in plain) == 1:
                facts.append("of ours that were timed none has smaller tiles or shares out K")
    over = blocks / parts(way, plan) * bm * bn / (plan.M * plan.N * (plan.products if is_one_launch(way) else 1))
    if over > 1.1 and moved / seconds < 0.5 * dram_rate():
        facts.append(f"its tiles have {over:.{2 if over < 10 else 0}f} times as many results as D")
    crooked = [name for name, ld in (("A", plan.lda), ("B", plan.ldb)) if ld * plan.size % 128 and name not in copied]
    if crooked:
        facts.append(f"lines of {' and '.join(crooked)} begin at no multiples of 128 bytes")
    return "; ".join(facts) or "nothing that these figures tell"


def losses(name):
    kinds, lines = panels(name), []
    card = of_class(name)[0].card
    for type_, problems in kinds:
        lost = sorted((p for p in problems if p.ratio < 0.95), key=lambda p: p.ratio)
        for p in lost[: MOST_OF_A_TYPE if len(kinds) > 1 else MOST_LOSSES]:
            lines.append(
                [
                    type_ if " " in type_ else f"{type_} {p.plan.orders[:2]}",
                    p.size,
                    "unseen" if p.unseen else "fitted",
                    times(p.ratio),
                    f"`{way_name(p.shown)}`",
                    p.regret,
                    known(p, card),
                ]
            )
    if not lines:
        return "None is lost by more than 5 %.\n"
    which = f"The worst, at most {MOST_OF_A_TYPE} of each type," if len(kinds) > 1 else f"The worst, at most {MOST_LOSSES},"
    columns = ["type", "M x N x K", "choice", "cuBLAS's time over ours:", "kernel", "regret:", "what is known"]
    return f"{which} of those that are lost by more than 5 %:\n\n" + table(columns, lines)


def region(name):
    def written():
        kind, first = CLASSES[name], of_class(name)[0]
        all_ = [p for _, problems in panels(name) for p in problems]
        caption = f"{len(all_)} problems; {first.peer}, {first.card['name']}. " + "; ".join(
            f"{type_}: {summary(problems)}" for type_, problems in panels(name)
        )
        parts = [(text, of) for text, within in kind.parts if (of := [p for p in all_ if within(p)])]
        caption += "".join(f"{';' if i else '. Of these:'} {text}: {len(of)}, {summary(of)}" for i, (text, of) in enumerate(parts))
        return f"![{kind.title}: cuBLAS's time over ours, a mark a problem](shapes/{name}.svg)\n\n{caption}.\n\n{of_lists(name)}\n{losses(name)}"

    return written


def outdated():
    """Lists that were timed before kernels that are chosen for more than a tenth of their problems."""
    by_type = {}
    for each in lists():
        if not each.of_today:
            by_type.setdefault(without_orders(each.type), []).append(each)
    result = []
    for type_, of_type in sorted(by_type.items()):
        all_ = sum(len(each.problems) for each in of_type)
        standing = [p for each in of_type for p in each.problems if p.today and p.cublas]
        ratios = [p.cublas / p.today["measured_s"] for p in standing]
        of_ratios = [f"{mean(ratios):.2f}", share(sum(r < 1 for r in ratios), len(ratios)), times(min(ratios))] if ratios else ["–"] * 3
        result.append([type_, f"{len(of_type)}", f"{all_}", f"{len(standing)}", *of_ratios])
    columns = ["type", "lists:", "problems:", "timed with today's choice:", "of these, cuBLAS's time over ours:", "lost:", "worst:"]
    return table(columns, result)


def launches():
    """Cubes whose launches the host began one by one, and in graphs: the way that was chosen in the latter, and cuBLAS."""
    rows = []
    graphs = {p["plan"].split(".")[3]: p for p in load("results/h200/regret/fitted_shapes_cubes_f16_RC.json")["problems"]}
    for by_host in load("results/h200/launched_by_host.json")["problems"]:
        size = plan_of(by_host["plan"]).M
        way = graphs[f"{size}x{size}x{size}"]["ways"][0]
        same = next((w for w in by_host["ways"] if way_name(w) == way_name(way)), None)
        if same is None:
            continue
        measured = (same["measured_s"], by_host["cublas_s"], way["measured_s"], graphs[f"{size}x{size}x{size}"]["cublas_s"])
        ours, theirs, ours_in_graph, theirs_in_graph = (1e6 * s for s in measured)
        rows.append(
            [f"{size}³", f"`{way_name(way)}`", f"{ours:.1f}", f"{theirs:.1f}", f"{theirs / ours:.2f}"]
            + [f"{ours_in_graph:.1f}", f"{theirs_in_graph:.1f}", f"{theirs_in_graph / ours_in_graph:.2f}"]
        )
    columns = ["", "kernel", "by the host, us:", "cuBLAS, us:", "cuBLAS's time over ours:", "in graphs, us:", "cuBLAS, us:", "cuBLAS's time over ours:"]
    return table(columns, rows)


def groups():
    """Products of groups of rows in one launch, and a call of cuBLAS for each group."""
    rows = []
    for problem in load("results/h200/grouped.json")["problems"]:
        plan, count = plan_of(problem["plan"]), re.search(r"\.g(\d+)\.", problem["plan"])[1]
        ours, theirs = problem["ways"][0]["measured_s"], problem["cublas_s"]
        rows.append(
            [f"{plan.M}x{plan.N}x{plan.K}", plan.orders[:2], count, problem["label"], f"`{problem['ways'][0]['kernel']}`"]
            + [f"{1e6 * ours:.0f}", f"{1e6 * theirs:.0f}", times(theirs / ours)]
        )
    return table(["M x N x K", "orders", "groups:", "their ends", "kernel", "us:", "cuBLAS, us:", "cuBLAS's time over ours:"], rows)


REGIONS = {f"shapes-{name}": region(name) for name in CLASSES} | {
    "shapes-outdated": outdated,
    "shapes-groups": groups,
    "shapes-launches": launches,
}
FILES = {f"docs/shapes/{name}.svg": (lambda name=name: picture(name)) for name in CLASSES}
