"""docs/questions.md: the figures of its answers."""
import itertools
import json
import sys

from lib.project import load
from pages.markdown import table
from pages.recorded import burst, compiled_examples, compiled_record, counters_at_1024, printed, tried


def questions_loop_order():
    records, rates = printed(), {}
    names, tiles, sizes = ("thread_tiles_1d", "thread_tiles_1d_swapped"), ("64x64x8", "64x64x16"), (4096, 8192)
    rows, examples = [], []
    for tile, name in itertools.product(tiles, names):
        compiled = records[f"asm {name} --tile {tile}"]["result"]
        written = counters_at_1024(tile)[name]["shared_load_instructions"]["written"]
        rates[tile, name] = [burst(name, tile, size) for size in sizes]
        mix = compiled["main_loop"]
        loads = written * 32 / 1024**3, mix["shared load"] / mix["multiply-add"]
        figures = sum(mix.values()), compiled["registers"], compiled["spilled_bytes"]
        row = [f"`{name}`", tile, "k" if name == names[0] else "results", *(f"{n:.3g}" for n in loads)]
        rows.append([*row, *map(str, figures), *(f"{rate:.1f}" for rate in rates[tile, name])])
    gains = [b / a - 1 for tile in tiles for a, b in zip(*(rates[tile, name] for name in names))]
    head = ["rung", "tile", "outer loop", "as written:", "compiled:", "main loop:", "registers:", "spill bytes:"]
    for name, loop in (("k_outside", "k"), ("k_inside", "results")):
        compiled = compiled_examples("loop_order")[name]
        lines = tried(records, "loop_order", name)["shared"].values()
        written = sum(line["shared_load"]["instructions"] for line in lines if "shared_load" in line)
        reads = sum(sum(widths.values()) for widths in compiled["shared_reads"].values())
        # `lapidary try` runs 128 x 256 x 64.
        loads = written * 32 / (128 * 256 * 64), reads / compiled["opcodes"]["FFMA"]
        figures = compiled["instructions"], compiled["registers"], compiled["spilled-bytes"]
        examples.append([f"`{name}`", "64x64x8", loop, *(f"{n:.3g}" for n in loads), *map(str, figures)])
    same = len({json.dumps(kernel["opcodes"]) for kernel in compiled_examples("loop_order").values()}) == 1
    return (
        f"Moving the loop over results outside changes the rate by {min(gains):+.0%} to {max(gains):+.0%}. "
        "Loads from shared memory for each multiply-add, as written and as compiled; instructions of the main loop; "
        "bytes of spill stores and loads; TFLOP/s:\n\n"
        + table([*head, *(f"{size}³:" for size in sizes)], rows)
        + "\nThe stand-alone kernels, for which the compiler may take all registers that it wants"
        + (": the instructions are the same ones, in another order:\n\n" if same else ":\n\n")
        + table(["kernel", *head[1:]], examples)
    )


def questions_transpose():
    records, rows = printed(), []

    def place(one_row_a_k, index):
        """A layout of a tile of 8 k, and where a warp reads it, as `lapidary banks` is asked."""
        return ("8x128", f"0, {index}") if one_row_a_k else ("128x8", f"{index}, 0")

    def wavefronts(layout, index, opcode):
        bits = {"LDS": 32, "LDS.64": 64, "LDS.128": 128}[opcode]
        return records[f'banks "{layout}" "read {bits} [{index}]"']["result"][0]["wavefronts"]

    def of_line(lines, name):
        return next(figures for source, figures in lines.items() if f"{name}[" in source)

    for a_transposed, b_transposed in itertools.product((False, True), repeat=2):
        flags = f"{a_transposed}, {b_transposed}".lower()
        places = {"rA": place(a_transposed, "lane / 16 * 8"), "rB": place(not b_transposed, "lane % 16 * 8")}
        lines = tried(records, "transpose", f'"product<{flags}, BK>"')["shared"]
        for name in places:
            emulated = of_line(lines, name)["shared_load"]
            if emulated["wavefronts"] != emulated["instructions"] * wavefronts(*places[name], "LDS"):
                sys.exit(f"docs/questions/transpose.cu: {name} is not read as `lapidary banks` was asked")
        stores = [line["shared_store"] for line in lines.values() if "shared_store" in line]
        written = [8 * wavefronts(*where, "LDS") for where in places.values()]
        row = ["[k][m]" if a_transposed else "[m][k]", "[n][k]" if b_transposed else "[k][n]"]
        # A warp stores 8 times to the tiles of a step.
        row.append(f"{8 * sum(s['wavefronts'] for s in stores) / sum(s['instructions'] for s in stores):.0f}")
        row.append(" + ".join(map(str, written)))
        for unroll in (1, 8):
            kernel = compiled_examples("transpose")[f"product<{flags}, {unroll}>"]
            steps = kernel["opcodes"]["FFMA"] / 64  # of k
            widths = {name: of_line(kernel["shared_reads"], name) for name in places}
            row.append(f"{sum(sum(counts.values()) for counts in widths.values()) / steps:.0f}")
            passes = [sum(n * wavefronts(*places[name], op) for op, n in widths[name].items()) for name in places]
            row.append(" + ".join(f"{n / steps:.0f}" for n in passes))
        rows.append(row)
    rungs = counters_at_1024("128x128x8")
    names = {"thread_tiles_2d": "[m][k]", "vectorized": "[k][m]", "conflict_free": "[k][m], padded"}
    counters = ("shared_load_instructions", "shared_load_wavefronts", "shared_store_wavefronts")
    head = ["A's tile", "B's tile", "stores:", "as written, A + B:", "loop over k: loads:", "A + B:"]
    return (
        "Of one warp: wavefronts of its stores to both tiles; wavefronts of its reads of A and B for one k, which feed "
        "64 multiply-adds, as written and, with the number of load instructions, as compiled:\n\n"
        + table([*head, "unrolled: loads:", "A + B:"], rows)
        + "\nWhat an H200 counted for rungs of the ladder at 1024³:\n\n"
        + table(
            ["rung", "A's tile", *(f"{name.replace('_', ' ')}:" for name in counters)],
            [
                [f"`{rung}`", tile, *(f"{rungs[rung][name]['measured']:,.0f}" for name in counters)]
                for rung, tile in names.items()
            ],
        )
    )


def questions_copy_loop():
    rows, same = [], {}
    compiler = load(compiled_record("sm_90a"))["compiler"]
    constants = load("results/h200/calibration.json")["constants"]
    latency = next(constant["median"] for constant in constants if constant["name"] == "l2_latency")
    loops = {
        "runtime": "`i = threadIdx.x; i < size; i += blockDim.x`",
        "fixed": "`i = threadIdx.x; i < size; i += 256`",
        "counted": "`t = 0; t < size; t += 256`, at `t + threadIdx.x`",
    }
    for architecture in ("sm_90a", "sm_89"):
        kernels = compiled_examples("copy_loop", architecture)
        same[architecture] = 0
        for form, loop in loops.items():
            pair = [kernels[f"{keyword}_{form}"] for keyword in ("for", "while")]
            same[architecture] += pair[0]["code"] == pair[1]["code"]
            waits = [8 / kernel["global_loads_before_a_store"] for kernel in pair]  # of the loads for a step
            figures = [[kernel[key] for kernel in pair] for key in ("registers", "loops_inside", "global_loads_before_a_store")]
            figures.append([f"{wait:.0f}" for wait in waits])
            if architecture == "sm_90a":
                figures.append([f"{wait * latency:,.0f}" for wait in waits])
            cells = [" / ".join(dict.fromkeys(map(str, both))) for both in figures]
            row = [architecture, loop, *(f"`{kernel['code'][:8]}`" for kernel in pair)]
            rows.append([*row, *cells, *["–"] * (5 - len(cells))])
    head = ["architecture", "the loop", "code of `for`", "code of `while`"]
    head += ["registers:", "loops left:", "loads at once:", "waits:", "cycles:"]
    pairs = " and ".join(f"{count} of {len(loops)} pairs for {name}" for name, count in same.items())
    return (
        f"In {pairs} {compiler} makes the same machine code of both, to the last bit, whose hash is given. "
        "Global loads that are on their way at once, how often a thread waits for memory between two barriers, and for "
        f"how long at least, if L2 answers after the {latency:.0f} cycles that were measured on an H200:\n\n"
        + table(head, rows)
    )


def questions_padding():
    rungs = {rung["kernel"]: rung["counters"]["shared_load"] for rung in load("results/emulator/ladder.json")["rungs"]}
    measured, rows = counters_at_1024("128x128x8"), []
    names = {"vectorized": "8 in a row", "padded_folk": "the same, and 5 columns more", "conflict_free": "4 and 4"}
    for name, what in names.items():
        shared, counters = rungs[name], measured[name]
        loads, passes = counters["shared_load_instructions"], counters["shared_load_wavefronts"]
        rows.append(
            [
                f"`{name}`",
                what,
                f"{loads['written']:,.0f}",
                f"{passes['written']:,.0f}",
                f"{1 - shared['minimum'] / shared['wavefronts']:.0%}",
                f"{loads['measured']:,.0f}",
                f"{passes['measured']:,.0f}",
                f"{burst(name, '128x128x8', 4096):.1f}",
            ]
        )
    record = printed()['banks "8x128+5" "read [0, lane % 16 * 8]"']
    head = ["rung", "a thread's columns of B", "loads, written:", "wavefronts:", "in excess:"]
    head += ["loads, measured:", "wavefronts:", "TFLOP/s at 4096³:"]
    return (
        "Shared loads at 1024³, as written and as an H200 counted them:\n\n"
        + table(head, rows)
        + f"\n```console\n$ lapidary {record['command']}\n"
        + "\n".join(record["text"])
        + "\n```\n"
    )


def questions_words():
    records, rows = printed(), []
    for element, name in (("f32", "f32, 4 bytes"), ("f16", "f16, 2 bytes"), ("e4m3", "fp8, 1 byte")):
        commands = [f'banks "{element} {side}x{side}" "read [lane % {side}, lane / {side}]"' for side in (16, 32, 64)]
        rows.append([name, *(str(records[command]["result"][0]["wavefronts"]) for command in commands)])
    return "Wavefronts of a warp that reads down the columns of a square tile:\n\n" + table(
        ["element", "16x16:", "32x32:", "64x64:"], rows
    )


def questions_f16():
    records, rows = printed(), []
    accesses = {
        "read 32 [1, lane % 16 * 8]": "B read by 32 bits",
        "read 128 [1, lane % 16 * 8]": "B read by 128 bits",
        "write 16 [lane % 8 * 8, lane / 8]": "A stored transposed, 16 bits",
    }
    for access, name in accesses.items():
        views = records[f'banks "f16 64x128+2/64" "{access}"']["result"]
        cells = [f"{v['wavefronts']} of {v['minimum']}" if v["wavefronts"] else "faults" for v in views]
        rows.append([name, f"`{access}`", *cells])
    tile, rungs = "128x128x64", []
    for name, width in (("f16_padded", "32 bits"), ("f16_unpadded", "128 bits")):
        kinds = ("shared_load_instructions", "shared_load_wavefronts", "shared_store_wavefronts")
        figures = [f"{counters_at_1024(tile, 'f16')[name][kind]['measured']:,.0f}" for kind in kinds]
        rungs.append([f"`{name}`", width, *figures, f"{burst(name, tile, 4096, 'f16'):.1f}"])
    return (
        "Wavefronts of one access, of its minimum, without and with the padding:\n\n"
        + table(["access", 'of `lapidary banks "f16 64x128+2/64" "…"`', "without:", "with:"], rows)
        + "\nWhat an H200 counted at 1024³:\n\n"
        + table(
            ["rung", "reads", "shared loads:", "load wavefronts:", "store wavefronts:", "TFLOP/s at 4096³:"],
            rungs,
        )
    )


REGIONS = {
    "questions-loop-order": questions_loop_order,
    "questions-transpose": questions_transpose,
    "questions-copy-loop": questions_copy_loop,
    "questions-padding": questions_padding,
    "questions-words": questions_words,
    "questions-f16": questions_f16,
}
