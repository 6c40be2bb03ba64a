"""What `lapidary regret -o` has timed on an H200: reading its documents, and what ids of plans and kernels say."""
import functools
import json
import math
import re
from typing import NamedTuple

from lib.project import ROOT

TIMES = ROOT / "results/h200/regret"
COSTS = ROOT / "src/library/kernel_costs.inc"
MULTIPROCESSORS = 132
SIZES = {"f32": 4, "tf32": 4, "f16": 2, "bf16": 2, "e4m3": 1, "s8": 1, "s32": 4}

PLAN = re.compile(r"1\.\w+\.(\w+?)(?:-(\w+))?-([RC]{3})\.(\d+)x(\d+)x(\d+)\.ld(\d+)-(\d+)-(\d+)-(\d+)\.")
BATCH = re.compile(r"\.n(\d+)-(\d+)-(\d+)-\d+-\d+\.")
KERNEL = re.compile(r"\w+?_(\d+)x(\d+)x(\d+)(?:_s\d+)?(?:_c(\d+)x(\d+))?(?:_e\d+x\d+)?_[a-z]")
COST = re.compile(r'\{"([^"]+)", (true|false), (\d+), (\d+), (\d+), [\d.]+, [\d.]+, \{')
FEW_STEPS = 9  # as few_steps of src/core/cluster_places.hpp
# Kernels that were changed, and since when a timing is of what they are.
CHANGED = [(re.compile(changed["kernels"]), changed["since"])
           for changed in json.loads((ROOT / "results/h200/changed_kernels.json").read_text())]


class Plan(NamedTuple):
    """What an id of a plan says of its problem."""

    type: str  # of A and B
    result: str  # of C and D
    orders: str
    M: int
    N: int
    K: int
    lda: int
    ldb: int
    ldc: int
    ldd: int
    products: int
    different_a: int  # 1 if all products have the same A
    different_b: int

    @property
    def size(self):
        return SIZES[self.type]

    @property
    def sizes(self):
        """As pages say them: of a batch how many there are, too."""
        return f"{self.products} of " * (self.products > 1) + f"{self.M}x{self.N}x{self.K}"

    @property
    def result_size(self):
        return SIZES[self.result]


def plan_of(id_):
    type_, result, orders, *numbers = PLAN.match(id_).groups()
    batch = BATCH.search(id_)
    products, *strides = map(int, batch.groups()) if batch else (1, 0, 0)
    different = [products if stride else 1 for stride in strides]
    result = result or (type_ if type_ in ("f16", "bf16") else "f32")
    return Plan(type_, result, orders, *map(int, numbers), products, *different)


def outdated(kernel, receipt):
    return any(kernels.fullmatch(kernel) and receipt["date"] < since for kernels, since in CHANGED)


def ceil_div(a, b):
    return -(-a // b)


def mean(values):
    """The geometric one."""
    return math.exp(sum(map(math.log, values)) / len(values))


@functools.cache
def held():
    """By id of a kernel: how many of its blocks a multiprocessor holds, by shared memory, registers and threads."""
    found = {}
    for name, persistent, *numbers in COST.findall(COSTS.read_text()):
        threads, registers, shared = map(int, numbers)
        by_registers = 65536 // (ceil_div(max(registers, 1) * 32, 256) * 256 * (threads // 32))
        found[name] = 1 if persistent == "true" else min(228 * 1024 // (shared + 1024), by_registers, 2048 // threads)
    return found


def work(way, plan):
    """The blocks of a launch, and each one's steps along K. Of blocks that share K there are more than tiles, with fewer
    steps."""
    bm, bn, bk, down, across = (int(n or 1) for n in KERNEL.match(way["kernel"]).groups())
    rows, cols = ceil_div(plan.M, bm * down) * down, ceil_div(plan.N, bn * across) * across
    tiles = rows * cols * (plan.products if is_one_launch(way) else 1)
    return way.get("blocks", tiles), way.get("steps", ceil_div(plan.K, bk))


def parts_of(way):
    """Of K whose sums are stored apart, for a second launch to add up."""
    return way.get("parts", 1)


def shares_k(way, plan):
    """Whether blocks share the sums of a tile, without a second launch."""
    return parts_of(way) == 1 and work(way, plan)[1] < ceil_div(plan.K, int(KERNEL.match(way["kernel"])[3]))


def places(way, plan, multiprocessors):
    """On how many multiprocessors its blocks run at the same time: as src/core/cluster_places.hpp has it, and of blocks
    that share K src/kernels/split.hpp."""
    bm, bn, _, down, across = (int(n or 1) for n in KERNEL.match(way["kernel"]).groups())
    if shares_k(way, plan):
        share = work(way, plan)[0] / (ceil_div(plan.M, bm) * ceil_div(plan.N, bn))
        return multiprocessors if share <= 2 else multiprocessors * 10 // 11 if share <= 8 else multiprocessors * 28 // 33
    return multiprocessors - (multiprocessors // 11 if down * across >= 4 else 0)


def is_one_launch(way):
    """Of a batch, where other kernels are launched for each of its products."""
    return way["kernel"].startswith(("wgmma_batched_", "wgmma_turned_"))


def type_of(document):
    """With the orders of A and B, where all problems have the same and another than both row-major."""
    type_ = document["type"].split()[0]
    orders = {plan_of(problem["plan"]).orders[:2] for problem in document["problems"]}
    return f"{type_} {orders.pop()}" if len(orders) == 1 and orders != {"RR"} else type_


def key_of_problem(id_):
    """Of a plan's id: types, orders, size and batch, which are the problem where leading dimensions are the least."""
    plan = plan_of(id_)
    return ".".join(id_.split(".")[2:4]) + (f"x{plan.products}" if plan.products > 1 else "")


def way_name(way):
    in_parts = f" in {parts_of(way)} parts" if parts_of(way) > 1 else ""
    copies = (" copies A" if way["packs_a"] else "") + (" copies B" if way["packs_b"] else "")
    return way["kernel"] + in_parts + copies + (" waits" if way.get("waits") else "")
