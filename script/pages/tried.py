"""docs/tried.md: what was tried on an H200, of what is on record."""
import json
import math
import re
import statistics

from lib.project import ROOT
from lib.timed import FEW_STEPS, KERNEL, MULTIPROCESSORS, TIMES, ceil_div, held, key_of_problem, mean, places, plan_of, way_name, work
from pages.markdown import table
from pages.recorded import load

def rows_of(way, plan):
    """Rows of 128 bytes that a block copies in a step, those of a neighbour in the cluster not counted."""
    bm, bn, bk, down, across = (int(n or 1) for n in KERNEL.match(way["kernel"]).groups())
    return (bm // across + bn // down) * bk * plan.size // 128


def rung_of(kernel):
    return re.match(r"\w+?(?=_\d+x)", kernel)[0]


CROOKED = ("fitted_shapes_cubes_f16_RC", 1408, 1432)


def crooked_lines():
    """Rows of 128 bytes that blocks copied, those of a neighbour in the cluster not counted, over the whole time."""
    name, *sizes = CROOKED
    timed = {}
    for problem in json.loads((TIMES / f"{name}.json").read_text())["problems"]:
        plan = plan_of(problem["plan"])
        for way in problem["ways"]:
            if plan.M in sizes and way["kernel"].startswith("wgmma_") and not (way["packs_a"] or way["packs_b"]):
                blocks, steps = work(way, plan)
                timed.setdefault(way["kernel"], {})[plan.M] = (way["measured_s"], rows_of(way, plan), blocks * steps)
    lines = []
    for kernel, of in timed.items():
        if len(of) < len(sizes) or "split_k" in kernel or "equal_areas" in kernel:
            continue
        rows = of[sizes[0]][1]
        rates = [rows * times / seconds * 1e-9 for seconds, rows, times in (of[size] for size in sizes)]
        cells = [cell for size, rate in zip(sizes, rates) for cell in (f"{of[size][0] * 1e6:.1f}", f"{rate:.0f}")]
        lines.append((of[sizes[1]][0] / of[sizes[0]][0], [f"`{kernel}`", f"{rows}", *cells]))
    columns = ["kernel", "rows a step:"]
    columns += [text for size in sizes for text in (f"{size}³, µs:", "rows a ns:")]
    return table(columns, [line for _, line in sorted(lines, key=lambda each: -each[0])])


LEAST_S = 20e-6  # below that a launch begins and ends for a tenth of its time or more


def rows_by_alignment():
    """Of 16-bit products whose lines are along K: the most rows a nanosecond by what their lines begin at multiples of."""
    most, problems = {}, {}
    for path in sorted(TIMES.glob("*.json")):
        for problem in json.loads(path.read_text())["problems"]:
            plan = plan_of(problem["plan"])
            if plan.size != 2 or plan.orders[:2] != "RC" or plan.lda != plan.ldb or plan.products > 1:
                continue
            multiple = math.gcd(plan.lda * plan.size, 128)
            for way in problem["ways"]:
                if way["packs_a"] or way["packs_b"] or not way["kernel"].startswith("wgmma_") or way["measured_s"] < LEAST_S:
                    continue
                if re.search("equal_areas|batched|turned|unaligned", way["kernel"]):
                    continue
                tile_rows, tile_cols = (int(n) for n in KERNEL.match(way["kernel"]).groups()[:2])
                if plan.M < tile_rows or plan.N < tile_cols:  # of what lies outside of A or B no rows come
                    continue
                blocks, steps = work(way, plan)
                rate = rows_of(way, plan) * blocks * steps / way["measured_s"] * 1e-9
                size = f"{plan.M}x{plan.N}x{plan.K}"
                problems.setdefault(multiple, set()).add((size, plan.type))
                most[multiple] = max(most.get(multiple, (0,)), (rate, size, way["kernel"], way["measured_s"]))
    lines = []
    for multiple, (rate, size, kernel, seconds) in sorted(most.items()):
        begins = f"{multiple}" if multiple == 128 else f"{multiple}, not of {2 * multiple}"
        lines.append([begins, f"{len(problems[multiple])}", f"{rate:.0f}", size, f"`{kernel}`", f"{seconds * 1e6:.1f}"])
    return table(["lines begin at multiples of, in bytes", "problems:", "most rows a ns:", "in", "by", "µs:"], lines)


BEYOND = ("fitted_shapes_skinny_bf16_RC", 8192, 8192)


def rows_beyond():
    """How long kernels whose tiles have more rows than D take, by how many rows D has: N and K are the same."""
    name, *sizes = BEYOND
    timed, rows = {}, set()
    for problem in json.loads((TIMES / f"{name}.json").read_text())["problems"]:
        plan = plan_of(problem["plan"])
        if [plan.N, plan.K] != sizes:
            continue
        for way in problem["ways"]:
            tile_rows = int(KERNEL.match(way["kernel"])[1])
            if way["packs_a"] or way["packs_b"] or "split_k" in way["kernel"] or tile_rows < 64 or plan.M > tile_rows:
                continue
            rows.add(plan.M)
            timed.setdefault(way["kernel"], {})[plan.M] = way["measured_s"]
    rows = sorted(rows)
    timed = {kernel: of for kernel, of in timed.items() if sorted(of) == rows}
    lines = [[f"`{kernel}`", *(f"{of[M] * 1e6:.1f}" for M in rows)] for kernel, of in sorted(timed.items())]
    return table(["kernel", *(f"M = {M}:" for M in rows)], lines)


def shapes_of_clusters():
    """Of products of 16 bits that cuBLAS computes by one kernel: the blocks of its clusters, by what lines begin at."""
    counts = {}
    for path in sorted(TIMES.glob("*.json")):
        for problem in json.loads(path.read_text())["problems"]:
            plan, kernels = plan_of(problem["plan"]), problem.get("cublas_kernels", [])
            if len(kernels) != 1 or not kernels[0]["name"].startswith("nvjet") or plan.orders[:2] != "RC" or plan.products > 1:
                continue
            if not all(256 <= side <= 4096 for side in (plan.M, plan.N, plan.K)):
                continue
            of = counts.setdefault(math.gcd(plan.K * plan.size, 128), {})
            of.setdefault(math.prod(kernels[0]["cluster"]), set()).add((plan.M, plan.N, plan.K, plan.type))
    blocks = sorted({n for of in counts.values() for n in of})
    columns = ["lines begin at multiples of, in bytes", "problems:", *(f"{n}:" for n in blocks)]
    lines = []
    for multiple, of in sorted(counts.items()):
        each = [len(of.get(n, ())) for n in blocks]
        lines.append([str(multiple), str(sum(each)), *(str(n) for n in each)])
    return table(columns, lines)


def slices():
    """Kernels that differ by the slices in which they stage results."""
    lines = []
    for result in load("results/h200/slices.json")["results"]:
        ids = [kernel["id"] for kernel in result["kernels"]]
        times = [1e6 * s for s in (*(kernel["measured_s"] for kernel in result["kernels"]), result["cublas_s"])]
        size = "{m}x{n}x{k}".format(**result)
        lines.append([f"{size}, {result['type']}", *(f"`{name}`" for name in ids), *(f"{us:.2f}" for us in times)])
    return table(["", "kernel", "and another", "the first, us:", "the other, us:", "cuBLAS, us:"], lines)


def block_order():
    """Of one kernel in two orders of its blocks what Nsight Compute counts."""
    columns = ["M x N x K", "neighbours are", "received, MB:", "read of L2, MB:", "read of DRAM, MB:", "µs:"]
    lines = []
    for problem, _, order, ns, received, l2, dram in load("results/h200/block_order.json")["counters"]:
        neighbours = order.replace("part after part", "tiles of one part").replace("tile after tile", "parts of one tile")
        lines.append([problem, neighbours, *(f"{count / 1e6:.0f}" for count in (received, l2, dram)), f"{ns / 1e3:.1f}"])
    return table(columns, lines)


def overlapping():
    """Of kernels that were timed with launches that overlap and without: how much longer they take with."""
    by_kind = {}
    for problem, kernel, overlapping_us, alone_us in load("results/h200/overlap.json")["timings"]:
        rung = rung_of(kernel)
        kind = (rung, "in clusters" if re.search(r"_c\d", kernel) else "shares K in clusters" if rung in ("wgmma_split_k", "wgmma_skinny") else "alone")
        by_kind.setdefault(kind, []).append((overlapping_us / alone_us, problem, kernel))
    columns = ["rung", "blocks", "timed:", "geometric mean:", "longer by over 10 %:", "shorter by over 10 %:", "most:", "in", "by"]
    lines = []
    for (rung, blocks), found in sorted(by_kind.items()):
        ratios = [ratio for ratio, *_ in found]
        most, problem, kernel = max(found)
        more, less = sum(r > 1.1 for r in ratios), sum(r < 1 / 1.1 for r in ratios)
        lines.append([f"`{rung}`", blocks, str(len(found)), f"{mean(ratios):.2f}", str(more), str(less), f"{most:.2f}", problem, f"`{kernel}`"])
    return table(columns, lines)


def same_bits():
    """Of ways to compute products, whose kernels add up in one order or in such as depend on D: how many gave which bits."""
    document = load("results/h200/same_bits.json")
    by_types = {}
    for form in document["forms"]:
        by_types.setdefault(form["kind"].split()[0], []).append(form)
    lines = []
    for types, forms in by_types.items():
        ways = [sum(order["ways"] for order in form["orders"]) for form in forms]
        alike = sum(order["of_others"] for form in forms for order in form["orders"])
        lines.append([types, str(len(forms)), str(max(len(form["orders"]) for form in forms)), str(sum(ways)), str(sum(form["others"] for form in forms)), str(alike)])
    columns = ["types", "products:", "orders that are the same for any D:", "ways by kernels with one of these:", "ways by others:", "of which gave the bits of the first:"]
    return table(columns, lines)


def beside_second_launch():
    """Of kernels that store parts of K: how much longer they take where the next one may begin beside the second launch."""
    by_kind = {}
    for _, kernel, _, begins_us, waits_us in load("results/h200/overlap.json")["beside_second_launch"]:
        by_kind.setdefault("in clusters" if re.search(r"_c\d", kernel) else "alone", []).append(begins_us / waits_us)
    lines = []
    for blocks, ratios in sorted(by_kind.items()):
        lines.append([blocks, str(len(ratios)), *(f"{ratio:.2f}" for ratio in (mean(ratios), min(ratios), max(ratios)))])
    return table(["blocks", "timed:", "geometric mean:", "least:", "most:"], lines)


def promotion():
    """Of kernels that were timed with L2 fetching more and less at least: how much longer they take with 256 bytes than with 128."""
    by_kind = {}
    for problem, kernel, *us in load("results/h200/promotion.json")["timings"]:
        aligned = math.gcd(2 * int(problem.split("x")[2]), 128)
        by_kind.setdefault((aligned, "in clusters" if re.search(r"_c\d", kernel) else "alone"), []).append((us[0] / us[1], problem, kernel))
    columns = ["lines begin at multiples of, in bytes", "blocks", "timed:", "256 over 128 bytes, geometric mean:", "most:", "in", "by", "least:"]
    lines = []
    for (aligned, blocks), found in sorted(by_kind.items()):
        ratios = [ratio for ratio, *_ in found]
        most, problem, kernel = max(found)
        lines.append([str(aligned), blocks, str(len(found)), f"{mean(ratios):.3f}", f"{most:.2f}", problem, f"`{kernel}`", f"{min(ratios):.2f}"])
    return table(columns, lines)


def tile_order():
    """The quickest of some kernels by the order in which blocks go through tiles."""
    record = load("results/h200/tile_order.json")
    by_problem = {}
    for problem, _, *us in record["timings"]:
        by_problem.setdefault(problem, []).append(us)
    lines = []
    for problem, timed in by_problem.items():
        spread = max(max(us) / min(us) for us in timed)
        lines.append([problem, *(f"{min(column):.1f}" for column in zip(*timed)), f"{spread:.2f}"])
    return table(["M x N x K", *(f"{name}, µs:" for name in record["columns"][2:]), "one kernel, longest over shortest:"], lines)


ASKED_FOR = ("fitted_fewtiles_losses_bf16_RC_again", (128, 7168, 8192), (1024, 1280, 8192), (288, 5112, 10960))


def asked_for_by_all():
    """Of products whose A all blocks ask for: the quickest kernels of each rung, without copies and parts, and cuBLAS's."""
    name, *sizes = ASKED_FOR
    lines = []
    for problem in json.loads((TIMES / f"{name}.json").read_text())["problems"]:
        plan, of_rung = plan_of(problem["plan"]), {}
        if (plan.M, plan.N, plan.K) not in sizes:
            continue
        for way in sorted(problem["ways"], key=lambda way: way["measured_s"]):
            rung = rung_of(way["kernel"])
            if not (way["packs_a"] or way["packs_b"] or way.get("parts", 1) > 1 or len(of_rung.get(rung, ())) == 2):
                of_rung.setdefault(rung, []).append((way["measured_s"], f"`{way['kernel']}`"))
        of_rung["cuBLAS"] = [(problem["cublas_s"], f"cuBLAS, `{problem['cublas_kernels'][0]['name']}`")]
        quickest = sorted(timed for of in of_rung.values() for timed in of)[:7]
        lines += [[f"{plan.M}x{plan.N}x{plan.K}", kernel, f"{seconds * 1e6:.1f}"] for seconds, kernel in quickest]
    return table(["M x N x K", "kernel", "µs:"], lines)


TURNED = ("thin_f16_RC", "thin_f16_RC_again", "rectangles_f16_RC_seventh", "batches_f16_RC_seventh", "batches_f16_RC_eighth")


def turned_in_clusters():
    """wgmma_turned in clusters that share B, or both operands, and the quickest of all other ways; where it gains 5 %."""
    ratios, lines = [], []
    for problem in (p for name in TURNED for p in json.loads((TIMES / f"fitted_shapes_{name}.json").read_text())["problems"]):
        plan = plan_of(problem["plan"])
        ways = sorted((way for way in problem["ways"] if way["kernel"] in held()), key=lambda way: way["measured_s"])
        shares = [bool(re.match(r"wgmma_turned_\w+_c[24]x", way["kernel"])) for way in ways]
        others = ways[shares.index(False)]
        if not any(shares):
            ratios.append(1)
            continue
        turned = ways[shares.index(True)]
        ratios.append(max(1, others["measured_s"] / turned["measured_s"]))
        if ratios[-1] > 1.05:
            cells = [cell for way in (others, turned) for cell in (f"`{way_name(way)}`", f"{way['measured_s'] * 1e6:.1f}")]
            lines.append((ratios[-1], [plan.sizes, *cells, f"{problem['cublas_s'] * 1e6:.1f}"]))
    lines = [line for _, line in sorted(lines, reverse=True)]
    columns = ["M x N x K", "the quickest of others", "µs:", "in clusters that share B or both", "µs:", "cuBLAS, µs:"]
    return table(columns, lines) + f"\nOf {len(ratios)} problems {len(lines)}; with these the quickest of all takes {100 * (1 - 1 / mean(ratios)):.1f} % less on average.\n"


COLUMNS_IN_64S = {
    "cubes": ("fitted_shapes_cubes_f16_RR_third", "unseen_shapes_cubes_f16_RR_third"),
    "products of DeepBench": ("fitted_shapes_deepbench_f16_RR_third",),
    "random sizes": ("fitted_drawn_f16_RR_third", "unseen_drawn9_f16_RR", "fitted_random_f16_RR_third"),
    "few tiles, long K": ("fitted_fewtiles_f16_RR_third",),
}


def gains_of(names, is_new, counts=lambda plan: True):
    """Of lists, a problem of each once: cuBLAS's time over that of the best way without kernels that are new and with them, and
    whether one of them is the best; where cuBLAS was timed."""
    lists = (load(f"results/h200/regret/{name}.json")["problems"] for name in names)
    for problem in (p for of_list in lists for p in {key_of_problem(p["plan"]): p for p in of_list}.values()):
        if not counts(plan_of(problem["plan"])):
            continue
        ways = sorted((way["measured_s"], is_new(way["kernel"])) for way in problem["ways"] if way["kernel"] in held())
        if problem["cublas_s"]:
            without = next(seconds for seconds, new in ways if not new)
            yield problem["cublas_s"] / without, problem["cublas_s"] / ways[0][0], ways[0][1]


def columns_in_64s():
    """With wgmma_turned and without."""
    rows = []
    for text, names in COLUMNS_IN_64S.items():
        without, of_all, turned = zip(*gains_of(names, lambda kernel: rung_of(kernel) == "wgmma_turned"))
        rows.append([text, f"{len(of_all)}", f"{mean(without):.3f}", f"{mean(of_all):.3f}", f"{sum(turned)}"])
    return table(["f16, A and B row-major", "problems:", "without:", "with:", "quickest of all:"], rows)


TALL, NARROW = re.compile(r"wgmma_skinny_64x(16|32)x"), re.compile(r"wgmma_shared_\d+x(32|64)x64_s\d+_c4x1_")
FEW_COLUMNS = ("fitted_fewcolumns_f16", "fitted_fewcolumns_bf16")


def few_columns():
    """Of D of few columns: with tiles as narrow as it is and without."""
    rows = []
    either = re.compile(f"{TALL.pattern}|{NARROW.pattern}")
    for least, most in ((8, 16), (24, 32), (40, 64)):
        # Without both, without those of wgmma_skinny and without those of wgmma_shared.
        gains = [list(gains_of(FEW_COLUMNS, lambda kernel: bool(new.match(kernel)), lambda plan: least <= plan.N <= most)) for new in (either, TALL, NARROW)]
        neither, narrow, tall = ([without for without, *_ in of_some] for of_some in gains)
        both = [of_all for _, of_all, _ in gains[0]]
        rows.append([f"{least} to {most}", f"{len(both)}", *(f"{mean(each):.3f}" for each in (neither, tall, narrow, both))])
    return table(["columns", "problems:", "without:", "`wgmma_skinny`:", "`wgmma_shared`:", "both:"], rows)


TILES_OF_F32 = re.compile(r"wgmma_shared_(128x112\w+_c2x4|128x128\w+_c2x1|128x160|192x96)")


def tiles_of_f32():
    """bf16 with results of f32, with tiles of wgmma_shared that came later and without."""
    rows = []
    for text, name in (("gradients of weights", "fitted_gradients_bf16_f32_again"), ("cubes", "fitted_cubes_bf16_f32_again")):
        without, of_all, _ = zip(*gains_of([name], lambda kernel: bool(TILES_OF_F32.match(kernel))))
        rows.append([text, f"{len(of_all)}", f"{mean(without):.2f}", f"{mean(of_all):.2f}"])
    return table(["bf16, results of f32", "problems:", "without:", "with:"], rows)


IN_TURNS = ("fitted_gradients_bf16_f32_third", "fitted_cubes_bf16_f32_third")


def in_turns():
    """bf16 with results of f32: the best way of wgmma_pingpong, of all others, and cuBLAS's."""
    lines, groups = [], {}
    for problem in (p for name in IN_TURNS for p in load(f"results/h200/regret/{name}.json")["problems"]):
        plan, best = plan_of(problem["plan"]), {}
        for way in problem["ways"]:
            pingpong = rung_of(way["kernel"]) == "wgmma_pingpong"
            if pingpong not in best or way["measured_s"] < best[pingpong]["measured_s"]:
                best[pingpong] = way
        if len(best) < 2:
            continue
        cublas, name = problem["cublas_s"], problem["cublas_kernels"][0]["name"]
        of_group = groups.setdefault(plan.K <= 1024, [])
        of_group.append([*(cublas / best[pingpong]["measured_s"] for pingpong in (False, True)), "coop" in name])
        if plan.orders[:2] == "CR" and plan.K == 512:
            cells = [cell for pingpong in (False, True) for cell in (f"`{way_name(best[pingpong])}`", f"{best[pingpong]['measured_s'] * 1e6:.1f}")]
            lines.append([plan.sizes, *cells, f"`{name}`", f"{cublas * 1e6:.1f}"])
    text = []
    for short, ratios in sorted(groups.items(), reverse=True):
        others, turns = (mean([r[i] for r in ratios]) for i in range(2))
        text.append(
            f"{'up to 1024' if short else 'longer'}: {len(ratios)} problems, of which cuBLAS has a kernel named `coop` for {sum(r[2] for r in ratios)}, "
            f"{others:.2f} of its speed by others, {turns:.2f} in turns"
        )
    columns = ["M x N x K", "the quickest of others", "µs:", "tiles in turns", "µs:", "cuBLAS", "µs:"]
    return table(columns, lines) + "\nBy K, in all orders that were timed, in the geometric mean: " + "; ".join(text) + ".\n"


CHANGES = ROOT / "results/h200/changes"  # what one program took and the one with the change, list by list, in turns
LISTS = {
    "batches": "batches, f16 RC", "cubes": "cubes, f16", "random": "random sizes, f16", "f32": "cubes and gradients of weights, bf16 with results of f32",
    "beyond": "kernels for whose clusters much is beyond D are near the best, f16 RC",
}
CHANGES_SHORT = ROOT / "results/h200/changes_short"  # the same programs, the second one later, on short sums
CHANGES_TURNED = ROOT / "results/h200/changes_turned"  # before and after stmatrix turned results back
LISTS_TURNED = {"batches_RC": "batches, f16 RC", "batches_RR": "batches, f16 RR", "others_RC": "other batches, f16 RC"}
BEYOND_D = 0.2  # of a launch's tiles are in clusters, and beyond D


def beyond(kernel, plan):
    """Of the tiles of a launch those that D has nothing of."""
    bm, bn, _, down, across = (int(n or 1) for n in KERNEL.match(kernel).groups())
    rows, cols = ceil_div(plan.M, bm), ceil_div(plan.N, bn)
    return 1 - rows * cols / (ceil_div(rows, down) * down * ceil_div(cols, across) * across)


def taken_twice(folder=CHANGES):
    """Each problem that both programs took: its list, the plan, and what it was before and after."""
    for path in sorted(folder.glob("*.before.json")):
        before = {plan_of(problem["plan"]): problem for problem in load(path)["problems"]}
        for problem in load(str(path).replace(".before.", ".after."))["problems"]:
            plan = plan_of(problem["plan"])
            if plan in before:
                yield path.name.split(".")[0], plan, (before[plan], problem)


def shared_ways(both):
    """Of each way that a problem has before and after: what it took."""
    old, new = ({way_name(way): way["measured_s"] for way in of["ways"]} for of in both)
    return {way: (old[way], new[way]) for way in old if way in new}


def ways_taken_twice(folder=CHANGES):
    """By problem the list, the plan, and of each way that both programs have what it took before and after."""
    for name, plan, both in taken_twice(folder):
        yield name, plan, shared_ways(both)


def quickest_by_list(folder, lists, best):
    """By list: what the quickest way took after over before, and cuBLAS over either; `best` gives the two of a problem."""
    found = {}
    for name, _, both in taken_twice(folder):
        old, new = best(both)
        found.setdefault(name, []).append((new / old, both[0]["cublas_s"] / old, both[1]["cublas_s"] / new))
    rows = [[lists[name], f"{len(of)}", *(f"{mean([each[i] for each in of]):.3f}" for i in range(3))] for name, of in found.items()]
    return table(["list", "problems:", "after over before:", "cuBLAS over before:", "cuBLAS over after:"], rows)


def group_of(kernel, plan):
    bm, bn = (int(n) for n in KERNEL.match(kernel).groups()[:2])
    if beyond(kernel, plan) >= BEYOND_D:
        steps = ceil_div(plan.K, int(KERNEL.match(kernel)[3]))
        return "a fifth or more of the tiles beyond D, " + ("ten steps or more" if steps > FEW_STEPS else "fewer steps")
    if rung_of(kernel) in ("wgmma_batched", "wgmma_turned"):
        return "`wgmma_batched` and `wgmma_turned`, " + ("up to 96 x 128" if bm * bn <= 96 * 128 else "larger tiles")
    return "all others"


def turns_turned():
    """Of wgmma_turned_pingpong over wgmma_turned, in the same tile and cluster, by how many tiles a multiprocessor has."""
    ratios = {}
    for path in sorted(TIMES.glob("*.json")):
        for problem in json.loads(path.read_text())["problems"]:
            plan = plan_of(problem["plan"])
            ways = {way["kernel"]: way for way in problem["ways"] if not (way["packs_a"] or way["packs_b"])}
            for name, way in ways.items():
                other = next((ways[one] for one in ways if rung_of(one) == "wgmma_turned" and in_turns_too(one) == in_turns_too(name)), None)
                if rung_of(name) == "wgmma_turned_pingpong" and other:
                    tiles = way["blocks"] / MULTIPROCESSORS
                    of = "at most one" if tiles <= 1 else "up to two" if tiles <= 2 else "up to four" if tiles <= 4 else "more"
                    ratios.setdefault(of, {})[plan, name] = way["measured_s"] / other["measured_s"]
    rows = [[of, f"{len(ratios[of])}", f"{statistics.median(ratios[of].values()):.3f}"] for of in ("at most one", "up to two", "up to four", "more")]
    return table(["tiles for each multiprocessor", "timed:", "in turns over together, median:"], rows)


def in_turns_too(kernel):
    """Its tile, cluster and types: what both have the same."""
    return re.sub(r"^\w+?(?=_\d+x)|_s\d+", "", kernel)


def spread_of(title, ratios):
    """A table of what timings became over what they were, group by group."""
    rows = []
    for group, of in sorted(ratios.items(), key=lambda each: statistics.median(each[1])):
        tenths = statistics.quantiles(of, n=10)
        rows.append([group, f"{len(of)}", f"{statistics.median(of):.3f}", f"{tenths[0]:.2f}", f"{tenths[-1]:.2f}"])
    return table([title, "timed:", "median:", "tenth:", "ninth tenth:"], rows)


def less_for_producers():
    """What kernels took when producers divide no more and copy nothing for tiles beyond D, over what they took before."""
    ratios = {}
    for _, plan, ways in ways_taken_twice():
        for way, (old, new) in ways.items():
            ratios.setdefault(group_of(way.split()[0], plan), []).append(new / old)
    return spread_of("timings of", ratios)


def of_few_steps():
    """The same of products of few steps, of which clusters copy and multiply all their tiles."""
    ratios = {}
    for _, plan, ways in ways_taken_twice(CHANGES_SHORT):
        for way, (old, new) in ways.items():
            kernel = way.split()[0]
            if kernel.startswith("wgmma") and ceil_div(plan.K, int(KERNEL.match(kernel)[3])) <= FEW_STEPS:
                part = beyond(kernel, plan)
                of = "no tiles beyond D" if part == 0 else "less than a fifth beyond D" if part < BEYOND_D else "a fifth or more beyond D"
                rung = "`wgmma_batched` and `wgmma_turned`" if rung_of(kernel) in ("wgmma_batched", "wgmma_turned") else "others"
                ratios.setdefault(f"{rung}, {of}", []).append(new / old)
    return spread_of("timings of", ratios)


def turned_back():
    """What kernels took when stmatrix turns results back, over what they took before, by how many steps a tile has."""
    ratios = {}
    for _, plan, ways in ways_taken_twice(CHANGES_TURNED):
        for way, (old, new) in ways.items():
            kernel = way.split()[0]
            steps = ceil_div(plan.K, int(KERNEL.match(kernel)[3]))
            of = "up to 4 steps" if steps <= 4 else "5 to 8" if steps <= 8 else "9 to 16"
            if "turned" in rung_of(kernel):
                ratios.setdefault(f"`wgmma_turned` and `_pingpong`, {of}", []).append(new / old)
            elif kernel.startswith("wgmma_batched_128x192x64"):
                ratios.setdefault("`wgmma_batched`, 128 x 192, now in turns", []).append(new / old)
            else:
                ratios.setdefault("all others", []).append(new / old)
    return spread_of("timings of", ratios)


def quickest_for_producers():
    """By list, when producers divide no more and copy nothing for tiles beyond D: ways that both programs have."""
    return quickest_by_list(CHANGES, LISTS, lambda both: map(min, zip(*shared_ways(both).values())))


def quickest_turned():
    """The same when stmatrix turned results back, and with tiles that came then, those of them that there are today."""
    known = held()
    return quickest_by_list(CHANGES_TURNED, LISTS_TURNED, lambda both: (
        min(way["measured_s"] for way in both[0]["ways"]),
        min(way["measured_s"] for way in both[1]["ways"] if way["kernel"] in known)))


def fewer_blocks():
    """Of weights that are read once, by so many blocks of a kernel: how long it takes, and what it reads."""
    timed = {}
    for result in load("results/h200/fewer_blocks.json")["results"]:
        timed.setdefault(result["blocks"], {})[result["kernel"]] = result
    kernels = list(dict.fromkeys(kernel for of in timed.values() for kernel in of))
    lines = []
    for blocks, of in sorted(timed.items()):
        cells = []
        for kernel in kernels:
            one = of.get(kernel)
            cells += [f"{one['measured_s'] * 1e6:.1f}", f"{2 * one['N'] * one['K'] / one['measured_s'] * 1e-12:.2f}"] if one else ["", ""]
        lines.append([f"{blocks}", *cells, f"{min(one['cublas_s'] for one in of.values()) * 1e6:.1f}"])
    return table(["blocks:", *(column for kernel in kernels for column in (f"`{kernel}`, µs:", "TB/s:")), "cuBLAS, µs:"], lines)


SHOWN_BLOCKS = (40, 56, 64, 66, 68, 72, 80, 88, 96, 104, 112, 120, 128, 132)


def placement():
    """Of launches of blocks that read from DRAM, how long they take, and where their blocks run: beginning early, and waiting."""
    timed = {}
    for row in load("results/h200/placement.json")["rows"]:
        timed.setdefault(row["blocks"], {})[row["waits"]] = row
    lines = []
    for blocks in SHOWN_BLOCKS:
        early, waits = timed[blocks][False], timed[blocks][True]
        # Counted in each: groups of fewer than eight multiprocessors, which full_gpcs leaves out, where no others are full.
        in_full = early["us_in_full_gpcs"] if early["full_gpcs"] else None
        of_blocks = ["" if us is None else f"{us:.1f}" for us in (in_full, early["us_in_others"])]
        lines.append([f"{blocks}", f"{early['us']:.1f}", f"{early['full_gpcs']:.1f}", *of_blocks, f"{waits['us']:.1f}", f"{waits['full_gpcs']:.1f}"])
    columns = ["early, µs:", "full GPCs:", "µs of a block there:", "elsewhere:", "waiting, µs:", "full GPCs:"]
    return table(["blocks:", *columns], lines)


SHARES = ((0.5, 0.6), (0.6, 0.73), (0.73, 0.85), (0.85, 1))
FEW, SHARED = "up to 0.5", [f"{low:g} to {high:g}" for low, high in SHARES]
BATCHES, ROUNDS, UNALIGNED = "several rounds, of a batch, without clusters", "several rounds, others", "any, `wgmma_unaligned`"


def waiting():
    """Of kernels that were timed both ways: waiting for the launch in front of them over beginning early, by how many places
    blocks take."""
    timed = {}
    for path in sorted(TIMES.glob("*_waiting*.json")):
        for problem in json.loads(path.read_text())["problems"]:
            plan, both = plan_of(problem["plan"]), {}
            for way in problem["ways"]:
                both.setdefault(way_name({**way, "waits": False}), {})[way["waits"]] = way
            for ways in both.values():
                if len(ways) < 2:
                    continue
                early = ways[False]
                rounds = work(early, plan)[0] / (places(early, plan, MULTIPROCESSORS) * held()[early["kernel"]])
                short = early["measured_s"] < 10e-6
                ratio = ways[True]["measured_s"] / early["measured_s"]
                if "unaligned" in early["kernel"]:
                    kind = UNALIGNED
                elif rounds <= 1:
                    kind = next((text for text, (low, high) in zip(SHARED, SHARES) if low < rounds <= high), FEW)
                elif plan.products > 1 and not re.search(r"_c\d", early["kernel"]):
                    kind = BATCHES
                else:
                    kind = ROUNDS
                timed.setdefault(kind, {True: [], False: []})[short].append(ratio)
    lines = []
    for kind in (FEW, *SHARED, BATCHES, ROUNDS, UNALIGNED):
        cells = []
        for short in (True, False):
            ratios = timed.get(kind, {}).get(short, [])
            cells += [f"{len(ratios)}", f"{mean(ratios):.2f}", f"{min(ratios):.2f}", f"{max(ratios):.2f}"] if ratios else ["0", "", "", ""]
        lines.append([kind, *cells])
    columns = ["timed:", "geometric mean:", "least:", "most:"]
    return table(["places that blocks take", *(f"{of}: {column}" for of in ("under 10 µs", "longer") for column in columns)], lines)


MORE_STAGES = re.compile(r"wgmma_skinny_(16x64x64_s(12|20)|8x64x64_s14|32x64x64_s17)_")


def more_stages():
    """Of products of few rows, cuBLAS beside the quickest way without and with tiles in stages for a whole multiprocessor."""
    by_kind = {}
    for path in sorted(TIMES.glob("*.json")):
        if not (path.stem.endswith("_later") or "fewrows" in path.stem):
            continue
        for problem in json.loads(path.read_text())["problems"]:
            plan = plan_of(problem["plan"])
            more = [way["measured_s"] for way in problem["ways"] if MORE_STAGES.match(way["kernel"])]
            others = [way["measured_s"] for way in problem["ways"] if not MORE_STAGES.match(way["kernel"])]
            if not more or not others or plan.M > 32:
                continue
            kind = f"{plan.orders[:2]}, K = 500000" if plan.K == 500000 else plan.orders[:2]
            without, best = min(others), min(*more, *others)
            by_kind.setdefault(kind, []).append((problem["cublas_s"] / without, problem["cublas_s"] / best))
    lines = []
    for kind, found in sorted(by_kind.items()):
        quicker = sum(best > without for without, best in found)
        lines.append([kind, f"{len(found)}", *(f"{mean(ratios):.3f}" for ratios in zip(*found)), f"{quicker}"])
    return table(["f16 and bf16", "problems:", "without:", "with:", "quickest of all:"], lines)


REGIONS = {
    "more-stages": more_stages, "placement": placement, "waiting": waiting,
    "fewer-blocks": fewer_blocks, "few-steps": of_few_steps, "turned-back": turned_back, "quickest-turned": quickest_turned,
    "turns-turned": turns_turned, "less-for-producers": less_for_producers, "quickest-for-producers": quickest_for_producers,
    "in-turns": in_turns, "tiles-of-f32": tiles_of_f32, "columns-in-64s": columns_in_64s, "few-columns": few_columns, "turned-in-clusters":
    turned_in_clusters, "asked-for-by-all": asked_for_by_all, "beside-second-launch": beside_second_launch, "block-order":
    block_order, "overlapping": overlapping, "same-bits": same_bits, "promotion": promotion, "tile-order": tile_order, "slices": slices,
    "crooked-lines": crooked_lines, "clusters-of-cublas": shapes_of_clusters, "rows-by-alignment": rows_by_alignment,
    "rows-beyond": rows_beyond,
}
