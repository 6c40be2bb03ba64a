"""docs/write-ups.md: kernels of one kind, and what is often read beside what is computed."""
from lib.project import load
from pages.markdown import lapidary, table
from pages.recorded import counters_at_1024, printed


def of_kinds(*types):
    """Of results/h200/kinds.json, where kernels of one type were timed in one run: (kernel, type, tile) -> mode -> result."""
    found = {}
    for result in load("results/h200/kinds.json")["results"]:
        if result["type"] in types:
            found.setdefault((result["kernel"], result["type"], result["tile"]), {})[result["mode"]] = result
    return found


def rate_cells(modes):
    """Rate and share of cuBLAS, in bursts and sustained."""
    pairs = [(modes[mode]["tflops"]["median"], modes[mode]["cublas_tflops"]["median"]) for mode in ("burst", "sustained")]
    return [f"{ours:.1f} ({ours / theirs:.0%})" for ours, theirs in pairs]


def kinds_f16():
    measured = of_kinds("f16", "f16 RC")
    cuda_cores = max(m["burst"]["tflops"]["median"] for (kernel, _, _), m in measured.items() if kernel.startswith("f16_"))
    rows = []
    for (kernel, type_name, tile), modes in measured.items():
        units = "CUDA cores" if kernel.startswith("f16_") else "tensor cores"
        gain = f"{modes['burst']['tflops']['median'] / cuda_cores:.2f}"
        rows.append([f"`{kernel}`", units, type_name, tile, *rate_cells(modes), gain])
    head = ["kernel", "multiplies on", "type", "tile", "4096³, burst:", "4096³, sustained:", "over the best on CUDA cores:"]
    return "Median TFLOP/s, and their share of cuBLAS's:\n\n" + table(head, rows)


def kinds_bf16_rc():
    measured, rows, most = of_kinds("bf16 RC"), [], 0.9583
    passing = None
    for (kernel, _, tile), modes in measured.items():
        burst = modes["burst"]
        ours, theirs = burst["tflops"]["median"], burst["cublas_tflops"]["median"]
        if passing is None and ours / theirs > most:
            passing = f"`{kernel}` is the first to pass 95.83 % of cuBLAS, with {ours / theirs:.2%} in bursts"
        milliseconds = [2 * 4096**3 / rate / 1e9 for rate in (ours, theirs)]
        rows.append([f"`{kernel}`", tile, *(f"{ms:.3f}" for ms in milliseconds), f"{ours / theirs:.2%}", rate_cells(modes)[1]])
    head = ["kernel", "tile", "ms:", "cuBLAS, ms:", "of cuBLAS:", "sustained, TFLOP/s:"]
    return table(head, rows) + f"\n{passing or 'No kernel passes 95.83 % of cuBLAS in bursts'}.\n"


class Banks:
    """What `lapidary banks` printed."""

    def __init__(self, records):
        self.records = records

    def view(self, layout, access, index=0):
        return self.records[f'banks "{layout}" "{access}"']["result"][index]

    def ways(self, layout, access, index=0):
        return self.view(layout, access, index)["wavefronts"]

    def change(self, layout, access):
        """Wavefronts without and with padding."""
        return f"{self.ways(layout, access)} to {self.ways(layout, access, 1)}"


def tried_kernel(records, file, kernel):
    """The command that tries a kernel of a file, and what it printed."""
    command = next(c for c in records if f"{file} --kernel" in c and kernel in c)
    return lapidary(command), records[command]["result"]


def half_corrections(records):
    banks, tile, half = Banks(records), "half 64x128+2/64", "f16 64x128+2/64"
    wide, two_rows = "read 128 [0, lane % 16 * 8]", "write 32 [lane / 16, lane % 16 * 8]"
    narrow, transposed = "read 32 [1, lane % 16 * 8]", "write 16 [lane % 8 * 8, lane / 8]"
    command, example = tried_kernel(records, "half_padded.cu", "hgemm<2, 32>")
    rung = records["run f16_padded -m 101 -n 133 -k 75 --device emulator"]["result"]
    yield (
        "two halves of padding after every 64 free 128-bit reads of conflicts",
        f"{banks.view(tile, wide, 1)['misaligned_lanes'].bit_count()} of 32 lanes lose their alignment, so it faults; without "
        f"padding it takes {banks.ways(tile, wide)} wavefronts, of at least {banks.view(tile, wide)['minimum']}",
        lapidary(f'banks "{tile}" "{wide}"'),
    )
    yield (
        "it frees stores of conflicts",
        f"B's, {banks.change(tile, two_rows)} wavefronts, as 32-bit reads, {banks.change(half, narrow)}; A's, transposed, "
        f"{banks.change(half, transposed)}",
        lapidary(f'banks "{tile}" "{two_rows}"'),
    )
    yield (
        "sizes must be multiples of the tile",
        f"where nothing is checked: {command} is right {'at every size' if example['at_every_size'] else 'at those alone'}. "
        f"Every rung takes any size: {rung['results'] - rung['wrong']:,} of {rung['results']:,} results of this one are right",
        lapidary("run f16_padded -m 101 -n 133 -k 75"),
    )


def bank_corrections(records):
    banks = Banks(records)
    columns = ", ".join(f"{t} {banks.ways(f'{t} 32x32', 'read [lane % 32, lane / 32]')}" for t in ("f32", "f16", "e4m3"))
    views = {tile: banks.view(tile, "read [0, lane]") for tile in ("32x64", "16x128")}
    excess = ", ".join(f"{view['wavefronts'] - view['minimum']} at {tile}" for tile, view in views.items())
    b_reads = {bits: banks.view("8x128", f"read {bits} [0, lane % 16 * 8]") for bits in (32, 128)}
    counters = counters_at_1024("128x128x8")
    folk = [counters[name]["shared_load_wavefronts"]["measured"] for name in ("vectorized", "padded_folk")]
    yield (
        "lower precision makes bank conflicts more likely",
        f"banks hold 32-bit words, not elements; wavefronts of a column of 32x32: {columns}",
        lapidary('banks "fp8 32x32" "read [lane, 0]"'),
    )
    yield (
        "tiles of more than 32 x 32 inevitably conflict",
        f"not where a warp reads or stores rows; wavefronts in excess: {excess}",
        lapidary('banks "16x128" "read [0, lane]"'),
    )
    yield (
        "B's reads by 8 x 8 thread tiles are an 8-way conflict",
        "; ".join(f"{v['wavefronts']} wavefronts, of at least {v['minimum']}, by {bits} bits" for bits, v in b_reads.items()),
        lapidary('banks 8x128 "read 128 [0, lane % 16 * 8]"'),
    )
    yield (
        "A's reads by them do not conflict",
        f"{banks.ways('128x8', 'read 32 [lane / 16 * 8, 0]')} ways in a tile [m][k]. Transposed "
        f"{banks.ways('8x128', 'read 32 [0, lane / 16 * 8]')}, but then the stores do, "
        f"{banks.ways('8x128', 'write [lane % 8, lane / 8]')} ways",
        " and ".join(
            lapidary(f"banks {access}") for access in ('128x8 "read [lane / 16 * 8, 0]"', '8x128 "write [lane % 8, lane / 8]"')
        ),
    )
    yield (
        "five columns of padding cure such conflicts",
        f"{folk[0]:,.0f} wavefronts of loads became {folk[1]:,.0f} on an H200 at 1024³",
        lapidary("explain padded_folk"),
    )


def tensor_corrections():
    yield (
        "a kernel of 1.88 ms reaches 92.93 % of a cuBLAS of 1.16 ms, and the next one, of 1.82 ms, 95.83 %",
        f"1.16 / 1.88 is {1.16 / 1.88:.1%}, and 1.16 / 1.82 is {1.16 / 1.82:.1%}",
        "[measured](#bf16-a-row-major-and-b-column-major-beside-cublas)",
    )
    yield (
        "`mma.sync` has a shape m16n8k6, and `ctva` converts addresses",
        "of bf16 there are m16n8k8 and m16n8k16; the instruction is `cvta`",
        lapidary('fragment "mma m16n8k8 bf16"'),
    )


def resource_corrections(records):
    launches = load("results/h200/counters.json")["results"]
    shared = next(r["counters"] for r in launches if (r["kernel"], r["tile"]) == ("shared_tiles", "32x32x8"))
    blocks = records["explain shared_tiles --tile 32x32x8"]["result"]
    tiled = "explain vectorized -m 384 -n 640 -k 256"
    tiles = records[tiled]["result"]
    times = tiles["reads"]
    block_m, block_n, _ = map(int, tiles["tile"].split("x"))
    large = records["explain coalesced -m 4096 -n 4096 -k 4096 --beta"]["result"]
    written = 4 * large["m"] * large["n"]
    card = records['gpus "a100 pcie 80gb"']["result"]
    asked = 'occupancy --registers 37 --threads 1024 --shared 0 --gpu "a100 pcie 80gb"'
    given = records[asked]["result"]
    constants = load("results/h200/calibration.json")["constants"]
    interval = next(constant["median"] for constant in constants if constant["name"] == "ffma_16_warps")
    compiled = "explain thread_tiles_1d --as-compiled"
    reads = records[compiled]["result"]["shared_reads"]
    yield (
        "two tiles of 32 x 8 floats take 32 KiB, so shared memory limits the blocks of a multiprocessor",
        f"{shared['shared_bytes']:,} bytes; the limit is {blocks['limiters']}",
        lapidary("explain shared_tiles --tile 32x32x8"),
    )
    yield (
        "a block reads its tile of A N / BN times",
        f"once; it is the grid that reads each element of A {times['A']:g} times, where N / BN = {tiles['n'] / block_n:g}, "
        f"and of B {times['B']:g} times, where M / BM = {tiles['m'] / block_m:g}",
        lapidary(tiled),
    )
    yield (
        "at 4096³ with β, 67 MB must be read and 201 MB written",
        f"{(large['compulsory_bytes'] - written) / 1e6:.0f} MB read, {written / 1e6:.0f} MB written",
        lapidary("explain coalesced -m 4096 -n 4096 -k 4096 --beta"),
    )
    yield (
        "an A100's multiprocessor holds 48 warps and 100 KB of shared memory",
        f"{card['max_warps_per_sm']} warps and {card['shared_bytes_per_sm'] // 1024} KiB",
        lapidary('gpus "a100 pcie 80gb"'),
    )
    yield (
        "32 warps of 37 registers a thread take 4096 registers",
        f"{given['registers_per_block']:,}: a warp is given {given['registers_per_warp']:,}, "
        f"{given['registers_per_warp'] // 32} a thread, so that {given['blocks']} such block fits",
        lapidary(asked),
    )
    yield (
        "a multiprocessor runs one warp at a time",
        f"four, one of each scheduler: an H200 starts a warp's multiply-add every {interval:.2f} cycles",
        f"{lapidary('calibrate')} on a GPU; on record in results/h200/calibration.json, `ffma_16_warps`",
    )
    yield (
        "the `LDS.128` of a 1-D kernel read B",
        "; ".join(f"{name}: {', '.join(f'{n} of {width} bytes' for width, n in w.items())}" for name, w in reads.items()),
        lapidary(compiled),
    )


def index_corrections(records):
    pitch = [command for command in records if "wrong_index.cu --kernel naive" in command]
    square = "right" if records[pitch[1]]["result"]["ok"] else "wrong"
    indices = [command for command in records if "thread_tiles<" in command]
    right = [f"{records[c]['result']['results'] - records[c]['result']['wrong']:,}" for c in indices]
    exchanged, found = tried_kernel(records, "wrong_blocks.cu", "sgemm<false, true>")
    asserting, stopped = tried_kernel(records, "wrong_blocks.cu", "sgemm<true, false>")
    unscaled, unasked = tried_kernel(records, "unscaled.cu", "product<false, false>")
    yield "`A[row * N + k]` is right", f"{square} at 128³; else {records[pitch[0]]['result']['fault']}", lapidary(pitch[0])
    yield (
        "a 1-D kernel may read `As[i * BK + k]` and `Bs[k * BN + row]`",
        f"{right[0]} of {right[2]} results of a tile are right; {right[1]} with B's index mended, {right[2]} with both",
        lapidary(indices[0]),
    )
    yield (
        "its block's offset is that of column in A and of row in B",
        f"{found['wrong']:,} of {found['results']:,} results of four blocks are wrong",
        exchanged,
    )
    yield "it asserts that it has BM · BN threads", f"{stopped['fault']}: there are BM · BK", asserting
    yield "α·A·B + β·C may be left to a later version", unasked["cause"].split(";")[0], unscaled


def corrections():
    records = printed()
    rows = [
        *half_corrections(records),
        *bank_corrections(records),
        *tensor_corrections(),
        *resource_corrections(records),
        *index_corrections(records),
    ]
    return table(["often read", "computed", "by"], rows)


REGIONS = {
    "kinds-bf16-rc": kinds_bf16_rc,
    "kinds-f16": kinds_f16,
    "write-ups-corrections": corrections,
}
