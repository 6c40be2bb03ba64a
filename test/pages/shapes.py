#!/usr/bin/env python3
"""Works out anew what docs/shapes.md and its charts say, from results/h200/regret and by code of its own.

    shapes.py PROGRAM    also asks the program for some of the choices that are on record
"""
import json
import re
import subprocess
import sys
from collections import Counter
from math import ceil, isclose, log
from pathlib import Path
from statistics import geometric_mean

from sums import ROOT, SIZE, expect, printed, problems

RECORD = json.loads((ROOT / "results/emulator/shape_choices.json").read_text())
BEGINS = {  # of a class: how the names of its lists go on behind fitted_ or unseen_
    "cubes": r"shapes_cubes",
    "rectangles": r"shapes_(rectangles|thin)",
    "batches": r"shapes_batches",
    "layers": r"shapes_(llm|skinny|rows|layers)",
    "long-sums": r"(shapes_longk|fewtiles)",
    "columns": r"fewcolumns",
    "types": r"wide",
    "all-kinds": r"(?!shapes_(cubes|rectangles|thin|batches|llm|skinny|rows|layers|longk)|wide|fewtiles|fewcolumns)",
}
MARK = re.compile(r'<path d="M([-\d.]+),([-\d.]+)([ah])[^"]*" class="mark f-([\w-]+) s-([\w-]+)"[^>]*><title>([^<]*)</title></path>')


def name_of(way):
    parts = [f"in {way['parts']} parts"] if way.get("parts", 1) > 1 else []
    copies = [f"copies {matrix}" for matrix in "AB" if way[f"packs_{matrix.lower()}"]]
    return " ".join([way["kernel"], *parts, *copies, *["waits"] * way.get("waits", False)])


def product_of(plan):
    _, _, kind, size, *_ = plan.split(".")
    return kind, size, re.search(r"\.n(\d+)-", plan)


def again(paths):
    """Of problems that were fitted to several times: those that are in each list and in a later one of the type."""
    last, earlier = {}, {path.stem: set() for path in paths}
    for path in sorted(paths, key=lambda path: json.loads(path.read_text())["receipt"]["date"]):
        for problem in json.loads(path.read_text())["problems"]:
            kind, size, batch = product_of(problem["plan"])
            product = kind, size, batch and batch[1]
            if product in last and last[product] != path.stem:
                earlier[last[product]].add(product)
            last[product] = path.stem
    return earlier


def timed(path, left_out):
    """Of each problem that cuBLAS was timed at: its ways by name, and which one is shown."""
    document, found, unknown = json.loads(path.read_text()), [], 0
    products = [(problem, *product_of(problem["plan"])) for problem in document["problems"]]
    by_product = {(kind, size, batch and batch[1]): p for p, kind, size, batch in products}
    document["problems"] = [p for product, p in by_product.items() if product not in left_out]
    expected = [way["predicted_s"] / problem["ways"][0]["predicted_s"] for problem in document["problems"] for way in problem["ways"]]
    document["among_few"] = max(expected, default=1) < 1.1
    for problem in document["problems"]:
        _, _, kind, size, *_ = problem["plan"].split(".")
        ways = {}
        for way in problem["ways"]:
            ways.setdefault(name_of(way), way)
        batch = re.search(r"\.n(\d+)-", problem["plan"])
        count = int(batch[1]) if batch else 1
        today = RECORD[f"{kind}.{size}" + (f"x{count}" if batch else "")]
        if today not in ways:
            unknown += 1
            continue
        if problem["cublas_s"] is None:
            continue
        shown = name_of(problem["ways"][0]) if path.stem.startswith("unseen") else today
        found.append(
            {
                "size": f"{count} of {size}" if batch else size,
                "count": count,
                "kind": kind,
                "shown": shown,
                "ratio": problem["cublas_s"] / ways[shown]["measured_s"],
                "today": problem["cublas_s"] / ways[today]["measured_s"],
                "regret": ways[shown]["measured_s"] / min(way["measured_s"] for way in ways.values()),
                "among_few": document["among_few"],
                "ways": ways,
                "cublas": problem["cublas_s"],
            }
        )
    return document, found, unknown


def region(page, name):
    return re.search(rf"<!-- generated: {name} -->(.*?)<!-- end -->", page, re.DOTALL)[1]


def tables(text):
    """Rows of each table, without its head."""
    found = [re.findall(r"^\|(.*)\|$", part, re.MULTILINE) for part in re.split(r"\n\n", text) if "| --" in part]
    return [[[cell.strip() for cell in row.split(" | ")] for row in rows[2:]] for rows in found]


def check_list(where, row, document, found):
    ratios = [p["ratio"] for p in found]
    expect(row[3].split()[0] == str(len(found)), where, f"{row[0]}: how many")
    printed(row[4], geometric_mean(ratios), where, f"{row[0]}: the geometric mean")
    for cell, most in ((row[5], 1), (row[6], 0.95)):
        printed(cell.rstrip(" %"), 100 * len([r for r in ratios if r < most]) / len(ratios), where, f"{row[0]}: the share below {most}")
    worst, size, kernel = row[7].split(", ")
    least = sorted(found, key=lambda p: p["ratio"])[0]
    printed(worst, least["ratio"], where, f"{row[0]}: the worst")
    expect((size, kernel) == (least["size"], f"`{least['shown']}`"), where, f"{row[0]}: which is the worst")
    if document["among_few"]:
        expect(row[8] == "", where, f"{row[0]}: no regret")
    else:
        printed(row[8], geometric_mean([p["regret"] for p in found]), where, f"{row[0]}: regret")
    if row[2] == "unseen":
        printed(row[9], geometric_mean([p["today"] for p in found]), where, f"{row[0]}: as chosen today")
    expect(row[1] == document["type"], where, f"{row[0]}: the type")
    expect(row[0].endswith("launch by launch") != ("graphs" in document["method"]), where, f"{row[0]}: how it was timed")


def check_loss(where, row, found):
    # Of timings of one problem that are alike the one whose regret is.
    alike = [p for p in found if p["size"] == row[1] and f"`{p['shown']}`" == row[4] and isclose(float(row[3]), p["ratio"], abs_tol=6e-3)]
    p = min(alike, key=lambda p: (p["among_few"] != (row[5] == ""), abs(p["regret"] - float(row[5] or 0))))
    said, seconds = row[6], p["cublas"] / p["ratio"]
    if p["among_few"]:
        expect(row[5] == "", where, f"{row[1]}: no regret")
    else:
        printed(row[5], p["regret"], where, f"{row[1]}: regret")
    for kernel, less in re.findall(r"`([^`]+)` takes (\d+) % less", said):
        printed(less, 100 * (1 - p["ways"][kernel]["measured_s"] / seconds), where, f"{row[1]}: {kernel}")
    type_, *result = p["kind"].rsplit("-", 1)[0].split("-")
    results = SIZE[result[0]] if result else 2 if type_ in ("f16", "bf16") else 4
    M, N, K = map(int, p["size"].split(" ")[-1].split("x"))
    for ours, theirs in re.findall(r"at ([\d.]+) TB/s, with cuBLAS at ([\d.]+)", said):
        moved = ((M + N) * K * SIZE[type_] + M * N * results) * p["count"]
        printed(ours, moved / seconds / 1e12, where, f"{row[1]}: bytes a second")
        printed(theirs, moved / p["cublas"] / 1e12, where, f"{row[1]}: cuBLAS's bytes a second")
    for blocks, bm, bn, places, full in re.findall(r"(\d+) blocks? of (\d+)x(\d+) for (\d+) places: in one round, filled to ([\d.]+) %", said):
        expect(int(blocks) >= ceil(M / int(bm)) * ceil(N / int(bn)), where, f"{row[1]}: {blocks} blocks")
        cluster = re.search(r"_c(\d)x(\d)_", row[4])
        large = cluster is not None and int(cluster[1]) * int(cluster[2]) > 2  # fits within a GPC, and few of those are whole
        expect(int(places) % (120 if large else 132) == 0 and int(blocks) <= int(places), where, f"{row[1]}: {places} places")
        expect(abs(float(full) - 100 * int(blocks) / int(places)) < 0.6, where, f"{row[1]}: filled to {full} %")
    crooked = "128 bytes" in said
    lines = [("A", K if p["kind"][-3] == "R" else M), ("B", N if p["kind"][-2] == "R" else K)]
    expect(crooked == any(n * SIZE[type_] % 128 and f"copies {m}" not in p["shown"] for m, n in lines), where, f"{row[1]}: lines")


def check_chart(where, name, found):
    svg = (ROOT / f"docs/shapes/{name}.svg").read_text()
    marks = MARK.findall(svg)
    expect(len(marks) == len(found) == svg.count('"mark '), where, f"{len(marks)} marks of {len(found)} problems")
    expect("<title>" in svg and "<desc>" in svg, where, "the picture has no title or description")
    drawn, points = Counter(), []
    for x, y, shape, inside, edge, tooltip in marks:
        size, ratio = re.match(r"((?:\d+ of )?\d+x\d+x\d+)[^:]*(?::[^:]*)?: ([\d.]+), ", tooltip).groups()
        drawn[size, float(ratio), inside != "page"] += 1
        expect((shape == "h") == (edge == "conflict"), where, f"{tooltip}: shape and colour differ")
        expect(inside in (edge, "page"), where, f"{tooltip}: filled with another colour")
        points.append((log(float(ratio)), float(y) + (3.4 if shape == "h" else 0), shape == "h"))
    told = Counter((p["size"], float(f"{p['ratio']:.2f}" if p["ratio"] >= 0.1 else f"{p['ratio']:.3f}"), p["unseen"]) for p in found)
    expect(drawn == told, where, f"marks are not the problems: {list((drawn - told) + (told - drawn))[:3]}")
    expect(sum(lost for *_, lost in points) == sum(p["ratio"] < 1 for p in found), where, "the number of losses")
    low, high = min(points), max(points)
    for ratio, y, lost in points:
        at = low[1] + (high[1] - low[1]) * (ratio - low[0]) / (high[0] - low[0])
        expect(abs(at - y) < 12, where, f"a mark is {y - at:.1f} pixels off")
        line = low[1] + (high[1] - low[1]) * (0 - low[0]) / (high[0] - low[0])
        expect(abs(y - line) < 12 or (y > line) == lost, where, "a mark is on the wrong side of 1")


def main():
    program = sys.argv[1]
    page = (ROOT / "docs/shapes.md").read_text()
    today, older = {}, {}
    left_out = again([*(ROOT / "results/h200/regret").glob("fitted_*.json")])
    for path in sorted((ROOT / "results/h200/regret").glob("*.json")):
        document, found, unknown = timed(path, left_out.get(path.stem, ()))
        if not document["problems"]:
            continue
        orders = {problem["plan"].split(".")[2][-3:-1] for problem in document["problems"]} - {"RR"}
        all_alike = len({problem["plan"].split(".")[2][-3:-1] for problem in document["problems"]}) == 1
        document["type"] = " ".join([document["type"].split()[0], *(orders if all_alike else [])])
        for p in found:
            p["unseen"] = path.stem.startswith("unseen")
        of_today = 4 * unknown <= len(document["problems"])
        (today if of_today else older)[path.stem] = (document, found)
    files = {path.stem for path in (ROOT / "docs/shapes").iterdir()}
    expect(files == set(BEGINS), "docs/shapes", f"has {sorted(files ^ set(BEGINS))}, or lacks it")
    drawn = 0
    for name, begins in BEGINS.items():
        where = f"docs/shapes.md, {name}"
        lists = {s: l for s, l in today.items() if re.match(rf"(fitted|unseen)_{begins}", s) and l[1]}
        rows, *losses = tables(region(page, f"shapes-{name}"))
        expect(len(rows) == len(lists), where, f"{len(rows)} rows of {len(lists)} lists")
        left = dict(lists)
        for row in rows:
            # Lists are told apart by what is printed of them: type, whether they were unseen, how many and the worst.
            stem = next((s for s, (d, f) in left.items() if d["type"] == row[1] and s.startswith(row[2])
                         and str(len(f)) == row[3].split()[0] and min(f, key=lambda p: p["ratio"])["size"] in row[7]), None)  # fmt: skip
            expect(stem, where, f"no list is what is said of {row}")
            if stem:
                check_list(where, row, *left.pop(stem))
        all_ = [p for _, found in lists.values() for p in found]
        printed(re.search(r"^(\d+) problems;", region(page, f"shapes-{name}"), re.MULTILINE)[1], len(all_), where, "how many problems")
        if parts := re.search(r"Of these: (.*)\.$", region(page, f"shapes-{name}"), re.MULTILINE):
            shares = re.findall(r": (\d+), geometric mean ([\d.]+), (\d+) % lost", parts[1])
            expect(sum(int(count) for count, *_ in shares) == len(all_), where, "parts are not the whole")
            logs = sum(int(count) * log(float(mean)) for count, mean, _ in shares)
            expect(abs(logs / len(all_) - log(geometric_mean([p["ratio"] for p in all_]))) < 0.01, where, "means of parts")
            lost = sum(int(count) * int(share) / 100 for count, _, share in shares)
            expect(abs(lost - sum(p["ratio"] < 1 for p in all_)) < 0.005 * len(all_) + 0.5, where, "losses of parts")
        for row in losses[0] if losses else []:
            check_loss(where, row, all_)
        check_chart(where, name, all_)
        drawn += len(all_)
    expect(drawn == sum(len(found) for _, found in today.values()), "docs/shapes.md", "a problem is in no chart, or in two")
    (rows,) = tables(region(page, "shapes-outdated"))
    for type_, lists, count, standing, mean, *_ in rows:
        of_type = [(d, f) for d, f in older.values() if d["type"].split()[0] == type_]
        found = [p for _, f in of_type for p in f]
        expect((int(lists), int(count), int(standing)) == (len(of_type), sum(len(d["problems"]) for d, _ in of_type), len(found)),
               "docs/shapes.md, outdated", f"{type_}: how many")  # fmt: skip
        if found:
            printed(mean, geometric_mean([p["today"] for p in found]), "docs/shapes.md, outdated", type_)
        else:
            expect(mean == "–", "docs/shapes.md, outdated", f"{type_}: a mean of nothing")
    expect(sum(int(row[1]) for row in rows) == len(older), "docs/shapes.md, outdated", "how many lists")
    asked = list(RECORD.items())[::25]
    for key, chosen in asked:
        kind, size = key.split(".")
        *size, batch = (size.split("x") + ["1"])[:4]
        *types, orders = kind.split("-")
        sizes = [word for axis, extent in zip(["m", "n", "k", "-batch"], [*size, batch]) for word in (f"-{axis}", extent)]
        command = [program, "gemm", *sizes, "--type", f"{'/'.join(types if types != ['s8'] else ['s8', 'f32'])} {orders[:2]}", "--gpu", "h200"]
        if len(types) == 1 and types[0] in ("e4m3", "tf32"):
            command[command.index("--type") + 1] = f"{types[0]}/f32 {orders[:2]}"
        answer = json.loads(subprocess.run([*command, "--json"], check=True, capture_output=True, text=True).stdout)
        now = name_of(answer["ways"][0])
        expect(now == chosen, "results/emulator/shape_choices.json", f"{key}: {now} is chosen now, not {chosen}; run script/shapes")
    for problem in problems:
        print(problem)
    print(f"{drawn} problems drawn, {len(asked)} choices asked for, {len(problems)} things that are not what they should be")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
