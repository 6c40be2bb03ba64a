"""README.md and docs/tuning-log.md: what the rungs count and reach."""
import re

from lib.project import ROOT, load
from pages.markdown import table


def ladder_emulator():
    rows = []
    for rung in load("results/emulator/ladder.json")["rungs"]:
        counters = rung["counters"]
        # Asynchronous and bulk copies read what loads do in other kernels; wgmma reads shared memory itself.
        ways = [counters[way] for way in ("global_load", "async_copy", "bulk_load") if way in counters]
        reads = {key: sum(way[key] for way in ways) for key in ("requests", "sectors")}
        shared = counters["shared_load"]
        by_wgmma = counters["wgmma"]["shared_bytes"] // 128
        by_tensor_cores = sum(counters[way]["flop"] for way in ("mma", "wgmma") if way in counters) // 2
        rows.append(
            [
                f"`{rung['kernel']}`",
                rung["idea"],
                f"{reads['requests']:,}",
                f"{reads['sectors']:,}",
                f"{shared['wavefronts'] + by_wgmma:,}",
                f"{shared['wavefronts'] - shared['minimum']:,}",
                f"{counters['fma'] + by_tensor_cores:,}",
            ]
        )
    head = ["kernel", "idea", "global reads:", "sectors:", "shared read wavefronts:", "excess:", "multiply-adds:"]
    return table(head, rows)


def parents():
    """rung -> parent, "" for the first one, as the sources say."""
    sources = {path.stem: path.read_text() for path in (ROOT / "src/kernels").glob("*/*.cuh")}
    found = {name: re.search(r'\.parent = "(\w*)"', text) for name, text in sources.items()}
    return {name: match[1] for name, match in found.items() if match}


def measured_h200(name):
    columns = [(size, mode) for size in (4096, 8192) for mode in ("burst", "sustained")]
    rows, cublas, bursts, parent = {}, {}, {}, parents()
    document = load(f"results/h200/{name}.json")
    for result in document["results"]:
        column = (result["size"], result["mode"])
        ours, theirs = result["tflops"]["median"], result["cublas_tflops"]["median"]
        key = result["kernel"], result["type"], result["tile"]
        rows.setdefault(key, {})[column] = f"{ours:.1f} ({ours / theirs:.0%})"
        if column == columns[0]:
            bursts.setdefault(key[:2], {})[key[2]] = ours
        cublas.setdefault(result["type"], {}).setdefault(column, []).append(theirs)

    def span(values):
        """cuBLAS has as many figures as there are kernels that it was timed with."""
        if not values:
            return "–"
        low, high = (f"{value:.1f}" for value in (min(values), max(values)))
        return low if low == high else f"{low}–{high}"

    def over_parent(kernel, kind, tile):
        """Of the parent's same tile if there is such a one, else of its fastest."""
        ours, tiles = bursts.get((kernel, kind), {}), bursts.get((parent[kernel], kind))
        return f"{ours[tile] / tiles.get(tile, max(tiles.values())):.2f}x" if tiles and tile in ours else "–"

    lines = []
    for key, cells in rows.items():
        first, *others = (cells.get(column, "–") for column in columns)
        lines.append([f"`{key[0]}`", *key[1:], first, over_parent(*key), *others])
    for type_name, figures in cublas.items():
        first, *others = (span(figures.get(column)) for column in columns)
        lines.append(["cuBLAS", type_name, "", first, "", *others])
    receipt = document["receipt"]
    caption = (
        f"{receipt['card']['name']}, {receipt['peer']}, driver {receipt['driver']}, nvcc {receipt['nvcc']}. Median TFLOP/s, and "
        "their share of what cuBLAS reached interleaved with the kernel. Over its parent: in the same type, and of the "
        "parent's same tile where it has one, else of its fastest:\n\n"
    )
    first, *others = (f"{size}³, {mode}:" for size, mode in columns)
    return caption + table(["kernel", "type", "tile", first, "over its parent:", *others], lines)


def tuned_h200():
    document = load("results/h200/tuning.json")

    def cells(best):
        same = ("type", "size", "mode", "kernel", "tile")
        one = next(m for m in document["measured"] if all(m[key] == best[key] for key in same))
        return [
            f"{one['tflops']['median']:.0f}",
            f"{one['cublas_tflops']['median']:.0f}",
            f"{best['share']:.1%}",
        ]

    best = sorted(document["best"], key=lambda b: (b["type"] != "bf16 RC", b["type"], b["size"], b["mode"]))
    rows = [[b["type"], f"{b['size']}³", b["mode"], f"`{b['kernel']}`", b["tile"], *cells(b)] for b in best]
    head = ["type", "M = N = K:", "mode", "kernel", "tile", "TFLOP/s:", "cuBLAS:", "share:"]
    return table(head, rows)


def clocks_h200():
    tensor, ladder = load("results/h200/clocks.json"), load("results/h200/clocks_ladder.json")
    results = [r for r in ladder["results"] if r["type"] == "f32" and r["size"] == 4096]
    results += [r for r in tensor["results"] if r["type"] in ("bf16", "bf16 RC")]
    results = [r for r in results if r["mode"] == "sustained" and r["probe_slowdown"]]
    # Of one multiprocessor (data/gpus.csv).
    flop_a_cycle = {"f32": 256, "bf16": 4096, "bf16 RC": 4096}
    card, rows = tensor["receipt"]["card"], []
    for result in results:
        clock = result["effective_clock_mhz"]
        peak = card["multiprocessors"] * flop_a_cycle[result["type"]] * 1e-6 * (clock or 0)
        rows.append(
            [
                f"`{result['kernel']}`",
                result["type"],
                f"{result['size']}³",
                f"{result['power_w']:.0f}",
                f"{result['clock_mhz']:.0f}",
                f"{clock:.0f}" if clock else "no place",
                f"{result['tflops']['median'] / peak:.1%}" if clock else "–",
            ]
        )
    slowdowns = sorted(r["probe_slowdown"] for r in results if r["effective_clock_mhz"])
    text = (
        f"Sustained, on an {card['name']}; beside the probe a launch takes {slowdowns[len(slowdowns) // 2]:.4f} times as long in the median. Where "
        "it finds no place beside a kernel there is no figure. The last column is the rate over the peak at the clock that there was:\n\n"
    )
    return text + table(["kernel", "type", "M = N = K:", "W:", "NVML, MHz:", "effective, MHz:", "of the peak at it:"], rows)


REGIONS = {
    "clocks-h200": clocks_h200,
    "f32-hopper": lambda: measured_h200("f32"),
    "ladder-emulator": ladder_emulator,
    "ladder-h200": lambda: measured_h200("ladder"),
    "tensor-h200": lambda: measured_h200("tensor"),
    "tuned-h200": tuned_h200,
}
