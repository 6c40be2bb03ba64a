"""docs/tried.md: what was tried on an H200, of what is on record."""
import json

from lib.timed import KERNEL, TIMES, plan_of, work
from pages.markdown import table

CROOKED = ("fitted_shapes_cubes_f16_RC", 1408, 1432)


def crooked_lines():
    """Rows of 128 bytes that blocks copied, those of a neighbour in the cluster not counted, over the whole time."""
    name, *sizes = CROOKED
    timed = {}
    for problem in json.loads((TIMES / f"{name}.json").read_text())["problems"]:
        plan = plan_of(problem["plan"])
        for way in problem["ways"]:
            if plan.M in sizes and way["kernel"].startswith("wgmma_") and not (way["packs_a"] or way["packs_b"]):
                timed.setdefault(way["kernel"], {})[plan.M] = (way["measured_s"], work(way, plan))
    lines = []
    for kernel, of in timed.items():
        bm, bn, _, down, across = (int(n or 1) for n in KERNEL.match(kernel).groups())
        if len(of) < len(sizes) or "split_k" in kernel or "equal_areas" in kernel:
            continue
        rows = bm // across + bn // down
        rates = [rows * blocks * steps / seconds * 1e-9 for seconds, (blocks, steps) in (of[size] for size in sizes)]
        cells = [cell for size, rate in zip(sizes, rates) for cell in (f"{of[size][0] * 1e6:.1f}", f"{rate:.0f}")]
        lines.append((of[sizes[1]][0] / of[sizes[0]][0], [f"`{kernel}`", f"{rows}", *cells]))
    columns = ["kernel", "rows a step:"]
    columns += [text for size in sizes for text in (f"{size}³, µs:", "rows a ns:")]
    return table(columns, [line for _, line in sorted(lines, key=lambda each: -each[0])])


REGIONS = {"crooked-lines": crooked_lines}
