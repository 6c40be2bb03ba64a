"""Regions of docs/api.md."""
import json
import math

from lib.project import ROOT
from lib.timed import TIMES, mean, type_of

from pages.markdown import table

LISTS = {
    "llm": "layers of language models (`data/shapes/llm.txt`)",
    "deepbench": "DeepBench (`data/shapes/deepbench.txt`)",
    "random": "random sizes (`data/shapes/random.txt`)",
    "grid": "powers of two (`data/shapes/grid.txt`)",
    "layers": "layers of other models, 3 to 6000 rows",
    "drawn": "other random sizes, every fourth one odd",
    "drawn2": "others again",
    "drawn3": "and others",
    "drawn4": "8 to 5000 rows, columns and steps, half of them odd",
    "drawn5": "1 to 16384 rows, columns and steps, every fourth of them odd",
    "drawn6": "1 to 16384 rows, columns and steps, every fourth of them odd, drawn anew",
    "drawn7": "1 to 16384 rows, columns and steps, every fourth of them odd, of a third drawing",
    "drawn8": "1 to 16384 rows, columns and steps, every fourth of them odd, of a fourth drawing",
    "drawn9": "48 to 1500 rows and columns, 88 to 4000 steps, multiples of 8",
    "drawn10": "8 to 8192 rows, columns and steps, multiples of 8, evenly by their logarithms",
    "drawn11": "8 to 16384 rows, columns and steps, evenly by their logarithms, three of four in multiples of 8",
    "fewcolumns": "8 to 64 columns, 540 to 29000 rows, 256 to 11300 steps, multiples of 8",
    "shapes_llm": "layers of language models (`data/shapes/llm.txt`), 1 to 4096 rows",
    "shapes_skinny": "layers with the sizes of these and of other models, 1 to 64 rows",
    "shapes_layers": "layers with the sizes of these and of other models, 1 to 3072 rows",
    "shapes_cubes": "cubes of sizes drawn from 256 to 4096, multiples of 8",
    "shapes_thin": "one of M and N from 72 to 1032, the other one from 2000 to 16000, multiples of 8",
    "shifted": "N no multiple of 8",
    "shapes_rectangles": "rectangles of sizes drawn from 320 to 4096, multiples of 8",
    "shapes_batches": "2 to 256 equal products in a batch",
    "shapes_deepbench": "products of DeepBench",
    "shapes_longk": "at most 512 rows and long sums",
    "fewtiles": "at most 70 tiles of 128 x 256, K from 1536 to 32768",
    "shapes_grid": "64 or 128 rows, 64 to 12288 columns, K = 64",
}


def regret():
    rows, receipts = [], []
    left_out = {path.name for path in TIMES.glob("unseen_*.json")}
    for name, text in LISTS.items():
        again = set(TIMES.glob(f"fitted_{name}_*_again.json"))
        for path in sorted({*TIMES.glob(f"unseen_{name}_*.json"), *again}):
            left_out.discard(path.name)
            document = json.loads(path.read_text())
            receipts.append(document["receipt"])
            of_choice = sorted(problem["regret"] for problem in document["problems"])
            rows.append(
                [
                    text,
                    type_of(document),
                    "earlier times" if path in again else "nothing",
                    f"{len(of_choice)}",
                    f"{mean(of_choice):.3f}",
                    f"{of_choice[math.ceil(0.9 * len(of_choice)) - 1]:.2f}",
                    f"{of_choice[-1]:.2f}",
                ]
            )
    if left_out:
        raise SystemExit(f"script/pages/api.py has no words for {sorted(left_out)}")
    columns = ["problems", "type", "known before", "how many:", "regret, geometric mean:", "9 of 10 at most:", "worst:"]
    receipt = receipts[0]
    return (
        f"Regret is the time of what was chosen over that of the best way to compute the problem; {receipt['card']['name']}, "
        f"driver {receipt['driver']}, nvcc {receipt['nvcc']}. None of the timings was in the table by which "
        f"it was chosen; they are now, but for those of kernels that were changed since. Of some problems it knew earlier times: launch by launch, or of fewer kernels.\n\n" + table(columns, rows)
    )


def methods():
    document = json.loads((TIMES / "fitted_methods_f16.json").read_text())
    off = []
    for problem in document["problems"]:
        chosen, bursts = problem["ways"][0]["measured_s"], problem["bursts"]
        ratio = problem["cublas_s"] / chosen * bursts["chosen_s"] / bursts["cublas_s"]
        off.append(max(ratio, 1 / ratio))
    close = sum(ratio < 1.02 for ratio in off)
    return (
        f"Against bursts after rests, as `bench` has them, cuBLAS's time over ours comes out {100 * (mean(off) - 1):.1f} % off in the "
        f"geometric mean of {len(off)} problems ({document['type']}, {document['peer']}), {close} of them within 2 %, "
        f"{100 * (max(off) - 1):.0f} % at worst."
    )


def batch_invariant():
    """How many times as long the option's choice takes as a free one."""
    document = json.loads((ROOT / "results/h200/batch_invariant.json").read_text())
    receipt = document["receipt"]

    def ratio(row):
        measured = row["invariant"]["measured_s"]
        # What is expected to take more than three times as long is not timed.
        return f"{measured / row['free']['measured_s']:.2f}" if measured else "over 3 (predicted)"

    columns = ["types, orders", "what follows", *(f"M = {row['m']}:" for row in document["products"][0]["rows"])]
    lines = [[p["type"], f"`{p['follows']}`" if p["follows"] else "", *map(ratio, p["rows"])] for p in document["products"]]
    (n, k), *others = {(p["n"], p["k"]) for p in document["products"]}
    assert not others
    return (
        f"Its choice takes so many times as long as a free one, N = {n}, K = {k}, on an {receipt['card']['name'].split()[-1]} "
        f"({receipt['date'][:10]}):\n\n" + table(columns, lines)
    )


def epilogues():
    rows, documents = [], json.loads((ROOT / "results/h200/epilogues.json").read_text())
    for document in documents:
        parts, bursts = document["plan"].split("."), document["bursts"]
        epilogue = next(part[1:] for part in parts if part.startswith("e") and part[1:].startswith(("bias", "gelu", "silu", "relu", "residual")))
        later = next((way for way in document["ways"] if way["finishes"] and way["measured_s"]), None)
        rows.append(
            [
                f"`{epilogue}`",
                f"{parts[2]}",
                f"{bursts['alone_s'] * 1e6:.1f}",
                f"{bursts['chosen_s'] * 1e6:.1f}",
                f"{100 * (bursts['chosen_s'] / bursts['alone_s'] - 1):.1f} %",
                f"{100 * (later['measured_s'] / document['alone_s'] - 1):.0f} %" if later else "",
            ]
        )
    columns = ["what follows", "types, orders", "the product alone, µs:", "with it, µs:", "it costs:", "by a second launch:"]
    receipt = documents[0]["receipt"]
    return (
        f"M = N = K = {documents[0]['plan'].split('.')[3].split('x')[0]}, in bursts after rests, what is chosen with it and without in turns; by a second launch: "
        f"on a warm card. {receipt['card']['name']}, driver {receipt['driver']}, nvcc {receipt['nvcc']}.\n\n" + table(columns, rows)
    )


REGIONS = {"regret": regret, "regret-methods": methods, "batch-invariant": batch_invariant, "epilogues": epilogues}
