#!/usr/bin/env python3
"""Works out anew what pages say, by formulas of its own, from a kernel's tile, the problem and data/gpus.csv.

    sums.py PROGRAM    reads docs/ladder/*.md, which a test holds against the program, and what `PROGRAM explain --json`
                       says for other cards and problems

What only a simulation or a measurement tells (seconds, caches' shares, DRAM's bytes) is held against bounds and against
what is said of it elsewhere on the page.
"""
import csv
import json
import re
import subprocess
import sys
from math import ceil, isclose
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SIZE = {"f32": 4, "tf32": 4, "s32": 4, "f16": 2, "bf16": 2, "e4m3": 1, "s8": 1}

problems = []


def expect(condition, where, what):
    if not condition:
        problems.append(f"{where}: {what}")


def same(said, worked_out, where, what, digits=1e-9):
    expect(isclose(said, worked_out, rel_tol=digits, abs_tol=1e-12), where, f"{what} is said to be {said}, not {worked_out}")


def printed(text, worked_out, where, what):
    """A number as text has the digits that are printed, and no others."""
    digits = text.replace(",", "")
    place = len(digits.split(".")[1]) if "." in digits else 0
    half = 0.5 * 10**-place
    # Four digits of a whole number may be all that were printed.
    if place == 0 and abs(worked_out) >= 1000 and digits.strip("0") != digits:
        half = max(half, 0.5 * 10 ** (len(digits) - len(digits.rstrip("0"))))
    expect(abs(float(digits) - worked_out) <= half * 1.000001, where, f"{what} is printed as {text}, and is {worked_out}")


def half_of_last_digit(text):
    return 0.5 * 10 ** -len(text.partition(".")[2])


def number(text):
    return float(text.replace(",", ""))


def cards():
    def value(text):
        text = text.rstrip("?")
        try:
            return float(text)
        except ValueError:
            return text

    with open(ROOT / "data/gpus.csv", newline="") as file:
        return {row["gpu"]: {key: value(text) for key, text in row.items() if text} for row in csv.DictReader(file)}


class Problem:
    def __init__(self, kind, tile, m, n, k, reads_c, card):
        types = kind.split()[0].split("/")
        self.element, self.result = SIZE[types[0]], SIZE[types[-1]]
        self.type, self.card = types[0], card
        self.m, self.n, self.k = m, n, k
        self.bm, self.bn, self.bk = ([int(x) for x in tile.split("x")] + [0])[:3]
        self.reads_c = reads_c
        self.down, self.across = ceil(m / self.bm), ceil(n / self.bn)
        self.tiles = self.down * self.across
        self.area = self.tiles * self.bm * self.bn  # of them all, of which some is beyond D's edges
        self.stored = m * n  # results
        self.flop = 2 * m * n * k
        self.operand_bytes = (m * k + k * n) * self.element
        self.bytes = self.operand_bytes + m * n * self.result * (2 if reads_c else 1)

    def tensor_flop(self):
        column = {"f16": "f16_f32acc_flop", "bf16": "bf16_flop", "tf32": "tf32_flop", "e4m3": "fp8_f32acc_flop", "s8": "int8_op"}
        return self.card[f"tensor_{column[self.type]}_per_clk_sm"]

    def clock(self):
        return self.card["boost_clock_mhz"] * 1e6

    def f32_peak(self):
        return 2 * self.card["sm_count"] * self.card["fp32_lanes_per_sm"] * self.clock()


class EqualAreas(Problem):
    """D in strips that are two tiles high, each cut into tiles of 240 to 256 columns: as many as there are places for in
    the rounds that tiles of 256 take, if that many are not too narrow. Columns are cut by eights. Results are stored in
    slices of 64 columns, of which a tile's last one ends where the tile does. For M and N that tiles come out even in."""

    SLICE, NARROWEST = 64, 240

    def __init__(self, *arguments):
        super().__init__(*arguments)
        high, pairs = 2 * self.bm, int(self.card["sm_count"]) // 2
        self.strips = self.m // high
        expect(self.m == self.strips * high and self.n % 8 == 0, "wgmma_equal_areas", f"{self.m} x {self.n} is cut otherwise")
        count = min(ceil(self.strips * self.across / pairs) * pairs, self.strips * (self.n // self.NARROWEST))
        each, more = divmod(count, self.strips)
        self.cut = []  # where tiles begin and end, from strip to strip
        for number in [each] * (self.strips - more) + [each + 1] * more:
            edges = [self.n // 8 * c // number * 8 for c in range(number + 1)]
            self.cut += zip(edges, edges[1:])
        self.tiles = 2 * len(self.cut)
        self.area = sum((end - begin) * high for begin, end in self.cut)
        slices = [at for begin, end in self.cut for at in (*range(begin, end - self.SLICE, self.SLICE), end - self.SLICE)]
        self.stored = len(slices) * self.SLICE * high
        self.stores = len(slices) * high // 64  # a warpgroup's 64 rows each
        size, sector = self.result, 32
        self.stored_sectors = high * sum(ceil((at + self.SLICE) * size / sector) - at * size // sector for at in slices)
        self.read = {"A": len(self.cut) * high * self.k, "B": self.strips * self.n * self.k}

    def check(self, where):
        """What follows of the cut."""
        widths = [end - begin for begin, end in self.cut]
        same(self.area, self.m * self.n, where, "the area of tiles")
        expect(set(widths) <= {240, 248, 256}, where, f"tiles are {sorted(set(widths))} columns wide")
        twice = sum(-width % self.SLICE for width in widths) * 2 * self.bm
        same(self.stored, self.m * self.n + twice, where, "results stored, some twice")


def blocks_by(card, threads, registers, shared, barriers):
    """Of a multiprocessor, as CUDA's occupancy calculator has them."""
    warps = ceil(threads / 32)
    unit, parts = card["reg_alloc_unit_regs_per_warp"], card["warp_alloc_unit_warps"]
    by = {"warps": card["max_warps_per_sm"] // warps, "blocks": card["max_blocks_per_sm"]}
    if registers:
        a_warp = ceil(registers * 32 / unit) * unit
        by["registers"] = card["regs_per_sm"] / parts // a_warp * parts // warps
    unit = card["smem_alloc_unit_bytes"]
    a_block = ceil((shared + card["smem_reserved_per_block_bytes"]) / unit) * unit
    if a_block:
        by["shared memory"] = card["smem_per_sm_kib"] * 1024 // a_block
    if barriers:
        by["barriers"] = card["barriers_per_sm"] // barriers
    return by


def waves(tiles, places):
    count = ceil(tiles / places)
    return count, (tiles - (count - 1) * places) / places


UNITS = {"us": 1e-6, "ms": 1e-3, "kB": 1e3, "MB": 1e6, "GB": 1e9}
SECONDS = r"([\d.]+) (us|ms)"


# Others cut D into tiles of one size.
CUT_OTHERWISE = {"wgmma_equal_areas": EqualAreas}
# Of rungs whose blocks share sums along K, how much of it each has at least.
LEAST_K = {"split_k": 64, "wgmma_split_k": 256, "wgmma_skinny": 256}

# Of rungs whose clusters hang over the edge at these sizes, with tiles beyond D that multiply as others do.
CLUSTERS = {"wgmma_shared": (2, 2)}


class Page:
    """A rung's page, between what the program computes and what it only quotes."""

    def __init__(self, path, card_of):
        text = path.read_text()
        self.where = path.name
        self.cost = text.split("## What it costs, computed")[1].split("## What the card says")[0]
        self.says = text.split("## What the card says")[1]
        kind, tile, m, n, k, card = self.find(r"^(.+), tile (\S+), M = (\d+), N = (\d+), K = (\d+), on (.+)$")
        self.p = CUT_OTHERWISE.get(path.stem, Problem)(kind, tile, int(m), int(n), int(k), False, card_of[card])
        self.equal_areas = isinstance(self.p, EqualAreas)
        self.least_k = LEAST_K.get(path.stem)
        self.cluster = CLUSTERS.get(path.stem)

    def find(self, pattern, optional=False):
        found = re.search(pattern, self.cost, re.MULTILINE)
        expect(found or optional, self.where, f"nothing reads {pattern}")
        return found.groups() if found else None

    def printed(self, text, worked_out, what):
        printed(text, worked_out, self.where, what)

    def table(self, text, first):
        """Rows of the table whose first column is named so, as lists of texts."""
        lines = text[text.index(f"| {first} |") :].split("\n\n")[0].splitlines()
        return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]

    def check(self):
        if self.equal_areas:
            self.p.check(self.where)
        self.check_bounds()
        blocks = self.check_grid()
        self.check_global()
        self.check_traffic()
        self.check_shared()
        self.check_products()
        resident = self.check_occupancy()
        self.check_instructions(blocks)
        self.check_time(blocks, resident)
        self.check_counters()

    def check_bounds(self):
        p = self.p
        gflop, mb, intensity = self.find(r"^([\d.]+) GFLOP on at least ([\d.]+) MB: ([\d.]+) FLOP a byte$")
        self.printed(gflop, p.flop / 1e9, "GFLOP")
        self.printed(mb, p.bytes / 1e6, "compulsory megabytes")
        self.printed(intensity, p.flop / p.bytes, "intensity")
        memory, unit, mb_2, rate, kind, compute, unit_2, gflop_2, peak, what, longer, ratio = self.find(
            rf"^memory {SECONDS}: ([\d.]+) MB at ([\d.]+) TB/s of DRAM, as (\w+); compute {SECONDS}: ([\d.]+) GFLOP at "
            r"([\d.]+) TFLOP/s of (.+); (compute|memory) takes ([\d.]+) times as long$"
        )
        expect((mb, gflop) == (mb_2, gflop_2), self.where, "bytes and FLOP are told twice")
        dram = p.card["dram_read_gb_per_s_measured" if kind == "measured" else "dram_gb_per_s"]
        self.printed(rate, dram / 1e3, "DRAM's rate")
        seconds = p.bytes / (dram * 1e9)
        self.printed(memory, seconds / UNITS[unit], "memory's time")
        highest = p.f32_peak() if what.startswith("f32") else p.tensor_flop() * p.card["sm_count"] * p.clock()
        if "mma.sync" in what:  # a measured share of it
            expect(0.4 < number(peak) * 1e12 / highest <= 1, self.where, f"{peak} TFLOP/s of {highest}")
        else:
            self.printed(peak, highest / 1e12, "peak")
        least = p.flop / (number(peak) * 1e12)
        same(number(compute) * UNITS[unit_2], least, self.where, "compute time", 5e-3)
        shorter = least / seconds if longer == "compute" else seconds / least
        same(number(ratio), shorter, self.where, "their ratio", 5e-3)

    def check_grid(self):
        p, sms = self.p, self.p.card["sm_count"]
        several = self.find(r"^([\d,]+) blocks go through ([\d,]+) tiles of D, one after the other$", True)
        run = self.find(r"^(\d+) of ([\d,]+) blocks (?:was|were) run", True)
        for axis, extent, whole, part, tiles in re.findall(r"= ceil\(([MN]) / B[MN]\) = ceil\((\d+) / (\d+)\) = (\d+) tiles", self.cost):
            sizes = (p.m, p.bm, p.down) if axis == "M" else (p.n, p.bn, p.across)
            expect((int(whole), int(part), int(tiles)) == sizes, self.where, f"ceil({extent}) = {tiles}")
        if several:
            same(number(several[1]), p.tiles, self.where, "tiles")
            expect(number(several[0]) <= sms, self.where, f"{several[0]} blocks stay on {sms} multiprocessors")
        blocks = number(several[0]) if several else p.tiles
        if run:
            same(number(run[1]), blocks, self.where, "blocks")
        return blocks

    def check_global(self):
        p = self.p
        rows = self.table(self.cost, "matrix")
        elements = {"A": p.m * p.k, "B": p.k * p.n}
        self.read = {}
        for row in rows:
            name = row[0][0]
            requests, sectors, a_request, used, bytes_a_result, a_result = row[1:]
            size = p.result if name == "D" else p.element
            asked = number(a_result) * p.m * p.n
            what = f"{name}'s "
            self.printed(a_request, number(sectors) / number(requests), what + "sectors a request")
            self.printed(bytes_a_result, number(sectors) * 32 / (p.m * p.n), what + "bytes a result")
            # Lanes of kernels without tiles in shared memory ask for one element together.
            share = asked * size / (32 * number(sectors))
            same(number(used.rstrip(" %")) / 100, share if p.bk or share <= 1 else 0.125, self.where, what + "used share", 6e-3)
            self.read[name] = number(sectors) * 32
            if name == "D":
                self.printed(a_result, p.stored / (p.m * p.n), "how often D is written")
                if self.equal_areas:
                    same(number(requests), p.stores, self.where, what + "requests")
                    same(number(sectors), p.stored_sectors, self.where, what + "sectors")
                continue
            if self.equal_areas:
                self.printed(a_result, p.read[name] / (p.m * p.n), what + "elements a result")
                same(number(sectors), p.read[name] * size / 32, self.where, what + "sectors")
            times, tiles = self.find(rf"each element of {name} is read (once|[\d.]+ times) over the grid.* = (\d+) tiles?")
            same(number(times.replace("once", "1").removesuffix(" times")) * elements[name], asked, self.where, what + "reads", 1e-3)
            same(number(tiles), p.across if name == "A" else p.down, self.where, what + "tiles")
        expect([row[0][0] for row in rows] == ["A", "B", "D"], self.where, "matrices other than A, B and D")

    def check_traffic(self):
        p = self.p
        flying = self.find(r"at most: ([\d,]+) bytes, ([\d.]+) steps along K$", True)
        if flying:
            same(number(flying[1]), number(flying[0]) / ((p.bm + p.bn) * p.bk * p.element), self.where, "steps in flight", 5e-3)
        found = self.find(
            r"^from L2 to the multiprocessors: ([\d.]+) (\w+)(?:, of which ([\d.]+) (\w+) leave L2 .*)?; "
            r"DRAM: ([\d.]+) (\w+) read, ([\d.]+) (\w+) written",
            True,
        )
        if not found:
            expect(p.bk == 0, self.where, "a kernel with steps along K has traffic")
            return
        to_sm = number(found[0]) * UNITS[found[1]]
        same(to_sm, (p.across * p.m * p.k + p.down * p.n * p.k) * p.element, self.where, "bytes into multiprocessors", 1e-3)
        leaves = number(found[2]) * UNITS[found[3]] if found[2] else to_sm
        if self.equal_areas:  # simulated of tiles of one size, pairs of which share B
            same(leaves, (p.across * p.m * p.k + p.strips * p.n * p.k) * p.element, self.where, "bytes that leave L2", 1e-3)
        else:  # what was counted for the grid
            same(leaves, self.read["A"] + self.read["B"], self.where, "bytes that leave L2", 1e-2)
        dram, written = number(found[4]) * UNITS[found[5]], number(found[6]) * UNITS[found[7]]
        expect(p.operand_bytes * 0.999 <= dram <= leaves, self.where, f"{dram} bytes of DRAM for {p.operand_bytes} of operands")
        same(written, p.m * p.n * p.result, self.where, "bytes that DRAM is written", 1e-3)
        caches = self.find(r"^caches: L1 holds (\d+) % .*, L2 (\d+) % of the others$", True)
        if caches:
            expect(abs(number(caches[1]) / 100 - (1 - dram / to_sm)) < 0.006, self.where, f"L2 holds {caches[1]} %, DRAM {dram}")

    def check_shared(self):
        p = self.p
        if "### Shared memory" not in self.cost:
            return
        loads = elements = 0
        for row in self.table(self.cost, "source line"):
            if row[0] not in ("load", "store"):
                continue
            size, instructions, wavefronts, excess = (number(x) for x in row[1:5])
            expect(instructions <= wavefronts - excess <= wavefronts, self.where, f"wavefronts of {row}")
            expect(bool(row[5]) == (excess > 0), self.where, f"the reason of {row}")
            if row[0] == "load":
                loads += instructions
                # ldmatrix takes as many lanes' addresses as it has rows of 16 bytes to read.
                bytes_ = (wavefronts - excess) * 128 if "mma.sync" in self.cost and size == 16 else instructions * 32 * size
                elements += bytes_ / p.element
        said = self.find(r"^elements read for each multiply-add: ([\d.]+); load instructions of a warp: ([\d.]+) as written", True)
        if said:
            multiply_adds = p.flop / 2
            if operands := self.find(r"^products of tensor cores: .* wgmma, .* on ([\d.]+) (\w+) of operands", True):
                elements += number(operands[0]) * UNITS[operands[1]] / p.element
            same(number(said[0]), elements / multiply_adds, self.where, "elements a multiply-add", 1e-2)
            same(number(said[1]), loads * 32 / multiply_adds, self.where, "loads a multiply-add", 1e-2)

    def check_products(self):
        p = self.p
        steps = ceil(p.k / p.bk) * p.bk if p.bk else p.k
        padded = p.area * steps
        if self.cluster:
            down, across = self.cluster
            padded = ceil(p.down / down) * down * ceil(p.across / across) * across * p.bm * p.bn * steps
        if found := self.find(r"^products of tensor cores: ([\d,]+) instructions of warps, (\d+) multiply-adds each$", True):
            same(number(found[0]) * number(found[1]), padded, self.where, "multiply-adds of tensor cores")
        if found := self.find(
            r"^products of tensor cores: ([\d,]+) wgmma, (\d+) multiply-adds each, on ([\d.]+) (\w+) of operands from "
            r"shared memory: (\d+) bytes a cycle at the peak rate, where it has (\d+)$",
            True,
        ):
            count, each, k = number(found[0]), number(found[1]), 32 / p.element
            if self.equal_areas:  # of three widths, by a mean one that is rounded
                same(count, p.tiles * p.bm / 64 * p.k / k, self.where, "wgmma of all tiles")
            same(count * each, padded, self.where, "multiply-adds of wgmma", 0.5 / each if self.equal_areas else 1e-9)
            operands = count * (64 + each / 64 / k) * 32
            same(number(found[2]) * UNITS[found[3]], operands, self.where, "bytes of operands", 1e-3)
            self.printed(found[4], operands / (2 * padded / p.tensor_flop()), "bytes a cycle")
            self.printed(found[5], p.card["smem_bytes_per_clk_sm"], "shared memory's width")

    def check_occupancy(self):
        registers, threads, shared = self.find(r"^(\d+) registers a thread, (\d+) threads and ([\d,]+) bytes of shared memory a block")
        self.threads = int(threads)
        rows = {row[0]: row[1] for row in self.table(self.cost, "limit")}
        self.check_limits({row[0]: row[2] for row in self.table(self.cost, "limit")}, int(registers), number(shared))
        counted = re.search(r"\| barriers \| \d+ \| (\d+) a block", self.cost)
        by = blocks_by(self.p.card, self.threads, int(registers), number(shared), int(counted[1]) if counted else 0)
        for limit, blocks in rows.items():
            expect((blocks == "any") == (limit not in by), self.where, f"{limit} allow {blocks} blocks")
            if limit in by:
                same(number(blocks), by[limit], self.where, f"blocks by {limit}")
        resident, share, limits = self.find(r"^(\d+) blocks? resident on a multiprocessor, ([\d.]+) % of its warps; limited by (.+)$")
        least = min(by.values())
        same(int(resident), least, self.where, "resident blocks")
        self.printed(share, 100 * least * ceil(self.threads / 32) / self.p.card["max_warps_per_sm"], "occupancy")
        expect(set(re.split(", | and ", limits)) == {name for name in by if by[name] == least}, self.where, f"limited by {limits}")
        return int(resident)

    def check_limits(self, why, registers, shared):
        """The steps of each limit's sum."""
        card, warps = self.p.card, ceil(self.threads / 32)
        unit, part = card["reg_alloc_unit_regs_per_warp"], card["regs_per_sm"] / card["warp_alloc_unit_warps"]
        a_warp = ceil(registers * 32 / unit) * unit
        in_part = part // a_warp
        a_block = ceil((shared + card["smem_reserved_per_block_bytes"]) / card["smem_alloc_unit_bytes"]) * card["smem_alloc_unit_bytes"]
        steps = {
            "warps": [self.threads, warps, card["max_warps_per_sm"]],
            "blocks": [card["max_blocks_per_sm"]],
            "registers": [registers, 32, registers * 32, unit, a_warp, a_warp * warps, warps, card["regs_per_sm"]]
            + [card["warp_alloc_unit_warps"], part, in_part, in_part * card["warp_alloc_unit_warps"]],
            "shared memory": [shared, card["smem_reserved_per_block_bytes"], shared + card["smem_reserved_per_block_bytes"]]
            + [card["smem_alloc_unit_bytes"], a_block, card["smem_per_sm_kib"] * 1024],
        }
        for limit, numbers in steps.items():
            said = [number(text.rstrip(",")) for text in re.findall(r"\d[\d,]*", why[limit])]
            expect(said == numbers, self.where, f"{limit}: {said}, not {numbers}")

    def check_instructions(self, blocks):
        p = self.p
        found = self.find(
            r"^main loop: ([\d,.]+) instructions, ([\d,]+) of them .* \(([\d.]+) %\), ([\d,.]+) times; all that a warp "
            r"executes: ([\d,]+), ([\d,]+) of them (products|multiply-adds).* \(([\d.]+) %\)$",
            True,
        )
        if found:
            pass_, products, share, _, all_, all_products, what, all_share = found
            same(number(share), 100 * number(products) / number(pass_), self.where, "share of products", 6e-3)
            same(number(all_share), 100 * number(all_products) / number(all_), self.where, "share of products", 6e-3)
            warps = blocks * ceil(self.threads / 32)
            steps = ceil(p.k / p.bk) * p.bk if p.bk else p.k
            padded = p.area * steps
            if what == "multiply-adds":  # with those that scale a result
                expect(0 <= number(all_products) * 32 * warps - padded <= p.area, self.where, "multiply-adds of a warp")
            else:
                each = padded / (number(all_products) * warps)
                expect(each in (1024, 2048, 4096), self.where, f"{each} multiply-adds an instruction")
        integer, products, each, unit = self.find(
            r"^addresses, .* of products: (\d+) integer instructions for (\d+) [^,]+, ([\d.]+) (each|%)(?:;.*)?$"
        )
        self.printed(each, int(integer) / int(products) * (100 if unit == "%" else 1), "addresses a product")
        rows = self.table(self.cost, "instructions executed")
        for first, total in ((1, found[0] if found else None), (3, found[4] if found else None)):
            if len(rows[0]) <= first:
                continue
            counts = [number(row[first]) for row in rows]
            if total:
                same(sum(counts), number(total), self.where, "instructions by class", 1e-3)
            for row, count in zip(rows, counts):
                share = 100 * count / sum(counts)
                expect(abs(number(row[first + 1].rstrip(" %")) - share) < 0.051, self.where, f"the share of {row}: {share}")

    def check_time(self, blocks, resident):
        p = self.p
        *printed_seconds, rate = self.find(rf"^predicted {SECONDS}, ([\d.]+) TFLOP/s")
        seconds = number(printed_seconds[0]) * UNITS[printed_seconds[1]]
        expect(abs(number(rate) - p.flop / seconds / 1e12) < 0.05 + 5e-3 * number(rate), self.where, "the predicted rate")
        measured = self.find(rf"; measured {SECONDS}, ([\d.]+) TFLOP/s: the prediction is ([+-]\d+) % off$", True)
        if measured:
            card = number(measured[0]) * UNITS[measured[1]]
            expect(abs(number(measured[2]) - p.flop / card / 1e12) < 0.05 + 5e-3 * number(measured[2]), self.where, "the measured rate")
            off = number(measured[3])
            by = [100 * (seconds / card - 1), 100 * (number(measured[2]) / number(rate) - 1)]
            expect(min(abs(off - x) for x in by) < 0.6, self.where, "how far off the prediction is")
        busy = re.findall(r"([^,:]+?) (\d+) %", self.find(r"^busy in the main loop: (.+)$")[0])
        shares = [int(share) for _, share in busy]
        expect(shares == sorted(shares, reverse=True) and shares[0] <= 100, self.where, f"busy: {busy}")
        # What multiplies is busy for as long as the products take, and no loop is longer than what a launch leaves of the
        # time.
        unit = "tensor cores" if "of tensor cores" in self.cost else "the multiply-add pipe"
        share = next(int(share) for what, share in busy if what.strip() == unit)
        least = p.flop / (number(self.find(r"GFLOP at ([\d.]+) TFLOP/s")[0]) * 1e12)
        if slower := self.find(r"^in a burst (\d+) MHz", True):
            least *= p.clock() / (number(slower[0]) * 1e6)
        most, loop = (share + 0.5) / 100 * seconds / least, seconds - self.launch_gap() / 1e9
        at_most = 1.35 * (share + 0.5) / (share - 0.5) if p.bk else 4  # integer sums of addresses share the pipe
        expect(0.97 <= most and most * loop / seconds <= at_most, self.where, f"{unit}: busy for {share} %")
        (limiter,) = self.find(r"^limited by (the way from L2|[^:\n]+?(?:\(busiest: [^)]+\))?)(?:: .*)?$")
        busiest = re.search(r"busiest: ([^)]+)", limiter)
        name = busiest[1] if busiest else limiter
        tied = [what.strip() for what, share in busy if int(share) == shares[0]]
        expect(name in tied or limiter == "launch overhead", self.where, f"limited by {limiter}, busy: {busy}")
        all_, what, at_a_time, count, last, launch = self.find(
            r"^(\d+) (blocks?|tiles?), (\d+) at a time: (\d+) waves?, the last one ([\d.]+) % full; launch ([\d.]+) us"
        )
        ranks = int(all_) / p.tiles  # blocks that share a tile's sums along K
        expect(ranks in ((1, 2, 4, 8, 16) if self.least_k else (1,)), self.where, f"{all_} in waves, of {p.tiles} tiles")
        expect(ranks == 1 or p.k / ranks >= (self.least_k or 0), self.where, f"{ranks:g} blocks share sums along {p.k}")
        self.printed(launch, self.launch_gap() / 1e3, "a launch")
        persistent = blocks < p.tiles
        expect(what.startswith("tile") == persistent, self.where, f"waves of {what}")
        places = p.card["sm_count"] * resident
        same(int(at_a_time), min(blocks, places) if persistent else places, self.where, "places")
        waves_, full = waves(int(all_), int(at_a_time))
        same(int(count), waves_, self.where, "waves")
        self.printed(last, 100 * full, "the last wave")
        parts = self.find(r"^it goes to: (.+)$", True)
        expect(bool(parts) == ("wgmma," in self.cost), self.where, "parts of the time, of wgmma alone")
        if parts:
            found = re.findall(rf"{SECONDS} \((\d+) %\)", parts[0])
            sum_ = sum(number(value) * UNITS[unit] for value, unit, _ in found)
            digits = sum(half_of_last_digit(value) * UNITS[unit] for value, unit, _ in found)
            expect(abs(sum_ - seconds) <= digits + half_of_last_digit(printed_seconds[0]) * UNITS[printed_seconds[1]], self.where, f"the parts are {sum_} of {seconds}")
            for value, unit, share in found:
                expect(abs(100 * number(value) * UNITS[unit] / sum_ - int(share)) < 0.6 + 100 * digits / sum_, self.where, f"the share of {value} {unit}")
            clock = self.find(r"^in a burst (\d+) MHz", True)
            rate = p.tensor_flop() * p.card["sm_count"] * (number(clock[0]) * 1e6 if clock else p.clock())
            products = number(found[0][0]) * UNITS[found[0][1]]
            # A page has them to a tenth of a microsecond.
            expect(0.97 * p.flop / rate - 5e-8 <= products < 1.2 * p.flop / rate + 5e-8, self.where, f"products take {products}")
        held = rf"(\d+) MHz at (\d+) W, {SECONDS}, ([\d.]+) TFLOP/s"
        if clocks := self.find(rf"^in a burst {held}(?:, which power limits)?; launch after launch {held}(, at the limit of \d+ W)?", True):
            for clock, watts, time, unit, rate in (clocks[:5], clocks[5:10]):
                expect(abs(number(rate) - p.flop / (number(time) * UNITS[unit]) / 1e12) < 0.05 + 5e-3 * number(rate), self.where, "the rate")
                expect(number(clock) <= p.clock() / 1e6 + 1, self.where, "a clock beyond the highest")
            same(number(clocks[2]) * UNITS[clocks[3]], seconds, self.where, "a burst", 5e-3)
            slow = number(clocks[7]) * UNITS[clocks[8]]
            expect(slow >= seconds * 0.999 or number(clocks[1]) < number(clocks[6]), self.where, "slower at the limit")
            if clocks[10]:
                same(number(clocks[6]), p.card["power_limit_w"], self.where, "the power limit", 2e-3)
            joules, parts = self.find(r"^of the latter's ([\d.]+) J: (.+)$")
            same(number(joules) / slow, number(clocks[6]), self.where, "watts", 1e-2)
            shares = [int(share) for share in re.findall(r" (\d+) %", parts)]
            expect(abs(sum(shares) - 100) <= len(shares) / 2 + 0.5, self.where, "shares of the energy")

    def launch_gap(self):
        constants = json.loads((ROOT / "results/h200/calibration.json").read_text())["constants"]
        return next(c["median"] for c in constants if c["name"] == "launch_gap")

    def check_predictions(self, recorded):
        """The table of predicted and measured rates against script/predict's and the measurements."""
        lines = self.says.split("\n| type | tile |")
        if len(lines) < 2:
            return
        header = ("| type | tile |" + lines[1]).splitlines()
        sizes = [int(size) for size in re.findall(r"(\d+)³, predicted", header[0])]
        for row in header[2:]:
            if not row.startswith("|"):
                break
            kind, tile, *cells = [cell.strip() for cell in row.strip("|").split("|")]
            for size, predicted, measured in zip(sizes, cells[::2], cells[1::2]):
                known = recorded.get((self.where.removesuffix(".md"), kind, tile, size))
                expect((predicted != "-") == bool(known), self.where, f"{kind} {tile} at {size}: on record or not")
                if known and predicted != "-":
                    printed(predicted, 2 * size**3 / known["predicted_s"] / 1e12, self.where, f"{tile} at {size}, predicted")
                    printed(measured, 2 * size**3 / known["measured_s"] / 1e12, self.where, f"{tile} at {size}, measured")

    def check_counters(self):
        if "### Counters" not in self.says:
            return
        for name, written, compiled, measured, off in self.table(self.says, "counter"):
            expect((compiled == measured) == (off == ""), self.where, f"{name} is off or not")
            if off and number(measured):
                printed(off.rstrip(" %").lstrip("+"), 100 * (number(compiled) / number(measured) - 1), self.where, name)


def check_explained(program, arguments, card_of):
    """What `explain --json` says, for cards and problems that no page is of."""
    where = " ".join(arguments)
    e = json.loads(subprocess.run([program, "explain", *arguments, "--json"], check=True, capture_output=True, text=True).stdout)
    card = card_of[e["gpu"]]
    cut = CUT_OTHERWISE.get(arguments[0], Problem)
    p = cut(e["type"], e["tile"], e["m"], e["n"], e["k"], "--beta" in arguments, card)
    if e["ran"] != e["id"]:
        problems.append(f"{where}: another kernel runs")
        return
    same(e["flop"], p.flop, where, "FLOP")
    same(e["compulsory_bytes"], p.bytes, where, "bytes")
    same(e["flop_per_byte"], p.flop / p.bytes, where, "intensity")
    same(e["tiles"], p.tiles, where, "tiles")
    blocks = e["blocks"]
    expect(blocks == p.tiles or blocks <= card["sm_count"], where, f"{blocks} blocks")
    least = e["least_time"]
    same(least["memory_s"], p.bytes / least["dram_bytes_per_s"], where, "memory's time")
    if least["compute_s"] is not None:
        same(least["compute_s"], p.flop / least["peak_flops"], where, "compute time")
    for matrix in e["matrices"]:
        size = p.result if matrix["matrix"] in "CD" else p.element
        same(matrix["bytes"], 32 * matrix["sectors"], where, f"{matrix['matrix']}'s bytes")
        same(matrix["bytes_per_result"], matrix["bytes"] / (p.m * p.n), where, f"{matrix['matrix']}'s bytes a result")
        asked = matrix["accesses_per_result"] * p.m * p.n * size / matrix["bytes"]
        if p.bk:
            same(matrix["efficiency"], asked, where, f"{matrix['matrix']}'s used share")
        else:  # lanes ask for one element together
            expect(matrix["efficiency"] <= min(1, asked) * 1.0001, where, f"{matrix['matrix']}'s used share of {asked}")
        if matrix["matrix"] in "CD":
            of_it = p.stored / (p.m * p.n) if matrix["matrix"] == "D" else 1
            same(matrix["accesses_per_result"], of_it, where, f"accesses to {matrix['matrix']} a result", 1e-3)
    expect(("C" in [m["matrix"] for m in e["matrices"]]) == p.reads_c, where, "C is read")
    for reads in e["operand_reads"]:
        elements = p.m * p.k if reads["matrix"] == "A" else p.k * p.n
        asked = next(m["accesses_per_result"] for m in e["matrices"] if m["matrix"] == reads["matrix"]) * p.m * p.n
        same(reads["times"], asked / elements, where, f"reads of {reads['matrix']}")
        same(reads["tiles"], p.across if reads["matrix"] == "A" else p.down, where, f"tiles of {reads['matrix']}")
    if e["occupancy"]:
        o = e["occupancy"]
        by = blocks_by(card, e["threads"], e["compiled"]["registers"], e["shared_bytes"], 0)
        same(o["blocks"], min(by.values()), where, "resident blocks")
    if e["executed"]:
        for mix in (e["executed"]["pass"], e["executed"]["warp"]):
            if mix:
                same(sum(mix["classes"].values()), mix["instructions"], where, "instructions by class")
                same(mix["share"], mix["products"] / mix["instructions"], where, "share of products")
    if e["time"]:
        time = e["time"]
        same(time["predicted_tflops"], p.flop / time["predicted_s"] / 1e12, where, "predicted rate")
        if least["compute_s"] is not None:
            expect(time["predicted_s"] >= 0.99 * least["compute_s"], where, "faster than its peak")
        expect(time["predicted_s"] >= 0.9 * p.operand_bytes / (card["dram_gb_per_s"] * 1e9) or p.operand_bytes < card["l2_mib"] * 2**20, where, "faster than DRAM")
        places = card["sm_count"] * e["occupancy"]["blocks"]
        same(time["waves"], waves(p.tiles, min(blocks, places) if blocks < p.tiles else places)[0], where, "waves")
        expect(all(0 <= share <= 1.005 for share in time["busy"].values()), where, f"busy: {time['busy']}")
        if time["parts"]:
            same(sum(time["parts"].values()), time["predicted_s"], where, "the sum of the parts")
    return e


def check_raster(program, kernel, size, card, card_of):
    """`raster --kernel` and `explain` are of the same waves and bytes."""
    sizes = [word for axis in "mnk" for word in (f"-{axis}", str(size))]
    e = check_explained(program, [kernel, *sizes, "--gpu", card], card_of)
    command = [program, "raster", "--kernel", kernel, *sizes, "--gpu", card, "--json"]
    raster = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    same(raster["waves"], e["time"]["waves"], " ".join(command[1:]), "waves")
    if e["traffic"] is None:
        return
    own = [order for order in raster["orders"] if isclose(order["l2_to_sm_bytes"], e["traffic"]["l2_to_sm_bytes"])]
    expect(own, " ".join(command[1:]), "no order brings as many bytes as explain says")


def main():
    program = sys.argv[1]
    card_of = cards()
    pages = [path for path in sorted((ROOT / "docs/ladder").glob("*.md")) if path.stem != "README"]
    expect(len(pages) > 30, "docs/ladder", f"{len(pages)} pages")
    times = json.loads((ROOT / "results/h200/predictions.json").read_text())["times"]
    recorded = {(t["kernel"], t["type"], t["tile"], t["size"]): t for t in times}
    for path in pages:
        page = Page(path, card_of)
        page.check()
        page.check_predictions(recorded)
    for arguments in (
        "naive -m 1000 -n 520 -k 300 --gpu|A100 SXM4 80GB",
        "coalesced --tile 16x16 -m 333 -n 777 -k 64 --beta --gpu|RTX 4090",
        "shared_tiles --tile 32x32x8 -m 500 -n 700 -k 100 --gpu|L40S",
        "thread_tiles_1d -m 640 -n 384 -k 128 --beta --gpu|H100 SXM5",
        "vectorized -m 384 -n 640 -k 256 --gpu|A100 PCIe 80GB",
        "multistage -m 4096 -n 512 -k 1024 --gpu|RTX 3090",
        "mma_multistage -m 1024 -n 3072 -k 512 --beta --gpu|A100 SXM4 80GB",
        "wgmma_tma -m 384 -n 640 -k 256 --gpu|H100 SXM5",
        "wgmma_persistent -m 512 -n 2048 -k 256 --gpu|H200",
        "wgmma_cluster -m 8192 -n 2048 -k 1024 --beta --gpu|H200",
        "wgmma_energy -m 1024 -n 800 -k 256 --gpu|H200",
        "wgmma_equal_areas -m 3072 -n 4000 -k 256 --gpu|H200",
    ):
        words, card = arguments.split("|")
        check_explained(program, [*words.split(), card], card_of)
    for kernel, size, card in (
        ("naive", 1000, "A100 SXM4 80GB"),
        ("vectorized", 2048, "RTX 4090"),
        ("multistage", 2560, "H200"),
        ("split_k", 1000, "H100 SXM5"),
        ("wgmma_tma", 3072, "H200"),
        ("wgmma_persistent", 2048, "H200"),
        ("wgmma_cluster", 8192, "H200"),
        ("wgmma_shared", 1432, "H200"),
        ("wgmma_split_k", 512, "H200"),
    ):
        check_raster(program, kernel, size, card, card_of)
    for problem in problems:
        print(problem)
    print(f"{len(pages)} pages, {len(problems)} sums that are not what they should be")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
