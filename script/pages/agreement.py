"""docs/agreement.md: predictions beside measurements."""
from collections import Counter, defaultdict

from lib.project import ROOT, load
from pages.markdown import table


def order(times):
    """How many pairs of kernels of one kind the predictions put into the measured order, and how far apart the worst other pair is."""
    pairs = [(a, b) for a in times for b in times if a["type"] == b["type"] and a["measured_s"] < b["measured_s"]]
    others = [(a, b) for a, b in pairs if a["predicted_s"] >= b["predicted_s"]]
    ties = sum(a["predicted_s"] == b["predicted_s"] for a, b in others)
    worst = max((b["measured_s"] / a["measured_s"] for a, b in others), default=1) - 1
    tied = f" ({ties} predicted alike)" if ties else ""
    return f"{len(pairs) - len(others)} of {len(pairs)}, the others{tied} at most {worst:.0%} apart"


def agreement_times():
    rows, near, count, worst = {}, 0, 0, 0
    sizes = set()
    times = load("results/h200/predictions.json")["times"]
    for time in times:
        error = time["predicted_s"] / time["measured_s"] - 1
        count += 1
        near += abs(error) <= 0.15
        worst = max(worst, abs(error))
        sizes.add(time["size"])
        rate = 2 * time["size"] ** 3 / 1e12
        cell = f"{rate / time['predicted_s']:.1f} / {rate / time['measured_s']:.1f} ({error:+.0%})"
        rows.setdefault((f"`{time['kernel']}`", time["type"], time["tile"]), {})[time["size"]] = cell
    columns = sorted(sizes)
    lines = [[*row, *(cells.get(size, "–") for size in columns)] for row, cells in rows.items()]
    caption = (
        f"{near} of {count} times are within 15 %, the worst one is {worst:.0%} off. TFLOP/s predicted / measured, and how far "
        "the predicted time is off:\n\n"
    )
    orders = "; ".join(f"{size}³: {order([t for t in times if t['size'] == size])}" for size in columns)
    footer = f"\nOf two kernels or tiles of one type and order the faster one is told for so many pairs: {orders}.\n"
    return caption + table(["kernel", "type", "tile", *(f"{size}³:" for size in columns)], lines) + footer


CARDS = ("h200", "h100")


def agreement_dram():
    """What kernels of warpgroups read of DRAM, predicted with blocks in step and counted."""
    rows = []
    for card in CARDS:
        if not (ROOT / f"results/{card}/dram.json").exists():
            continue
        predicted = load(f"results/{card}/predictions.json")
        reads = {(t["id"], t["size"]): t["dram_read_bytes"] for t in predicted["times"]}
        for result in load(f"results/{card}/dram.json")["results"]:
            counted, foretold = result["counters"], reads[result["id"], result["m"]]
            seconds = counted["duration_ns"] * 1e-9
            rows.append(
                [
                    predicted["gpu"],
                    f"`{result['kernel']}`",
                    f"{result['m']}³",
                    f"{foretold * 1e-9:.2f}",
                    f"{counted['dram_read_bytes'] * 1e-9:.2f}",
                    f"{counted['dram_read_bytes'] / foretold:.2f}x",
                    f"{counted['l2_read_sectors_missed'] / counted['l2_read_sectors']:.0%}",
                    f"{seconds * 1e3:.2f}",
                    f"{(counted['dram_read_bytes'] + counted['dram_write_bytes']) / seconds * 1e-12:.2f}",
                ]
            )
    head = ["card", "kernel", "M = N = K:", "read, predicted, GB:", "counted:", "of it:", "L2 missed:", "ms:", "DRAM, TB/s:"]
    return table(head, rows)


def spread(errors, bound):
    """How many are within a bound, and the worst one."""
    errors = sorted(abs(e) for e in errors)
    return f"{sum(e <= bound for e in errors)} of {len(errors)}, worst {errors[-1]:.0%}" if errors else "–"


def agreement_clocks():
    summary, rows = [], []
    for card in CARDS:
        if not (ROOT / f"results/{card}/predictions.json").exists():
            continue
        recorded = load(f"results/{card}/predictions.json")
        rates, clocks = {}, {}
        for time in recorded["times"]:
            tensor = "mma" in time["kernel"]
            cells = []
            for mode in ("burst", "sustained"):
                of = (time.get("power") or {}).get(mode, {})
                cell = {"rate": "–", "clock": "–"}
                if of.get("predicted_s") and of["measured_s"]:
                    error = of["measured_s"] / of["predicted_s"] - 1
                    rates.setdefault((tensor, mode), []).append(error)
                    cell["rate"] = f"{error:+.0%}"
                if of.get("predicted_mhz") and of["measured_mhz"]:
                    error = of["predicted_mhz"] / of["measured_mhz"] - 1
                    clocks.setdefault((tensor, mode), []).append(error)
                    cell["clock"] = f"{of['predicted_mhz']:.0f} / {of['measured_mhz']:.0f} ({error:+.0%})"
                cells += [cell["rate"], cell["clock"]]
            if tensor and any(cell != "–" for cell in cells):
                rows.append([recorded["gpu"], f"`{time['kernel']}`", time["type"], f"{time['size']}³", *cells])
        for tensor in (True, False):
            for mode in ("burst", "sustained"):
                if (tensor, mode) in rates:
                    units = "tensor cores" if tensor else "CUDA cores"
                    figures = [spread(of.get((tensor, mode), []), bound) for of, bound in ((rates, 0.08), (clocks, 0.05))]
                    summary.append([recorded["gpu"], units, mode, *figures])
    head = ["card", "kernel", "type", "size", "rate, burst:", "MHz, burst:", "rate, sustained:", "MHz, sustained:"]
    return (
        table(["card", "products by", "", "rates within 8 %", "clocks within 5 %"], summary)
        + "\nHow far predicted rates are off, and clocks predicted / measured, of kernels on tensor cores:\n\n"
        + table(head, rows)
    )


def agreement_power():
    """What an H200 took of kernels on CUDA cores, launch after launch, and by how much clocks of wgmma were below those told."""
    measured, rows = {}, []
    for name in ("ladder", "f32"):
        for r in load(f"results/h200/{name}.json")["results"]:
            if r["mode"] == "sustained" and r.get("power_w"):
                measured.setdefault((r["id"], r["size"]), r["power_w"])
    times = [time for time in load("results/h200/predictions.json")["times"] if time.get("power")]
    for time in times:
        told, took = time["power"]["sustained"]["predicted_w"], measured.get((time["id"], time["size"]))
        if time["type"] == "f32" and time["size"] == 4096 and took:
            rows.append([f"`{time['kernel']}`", time["tile"], f"{told:.0f}", f"{took:.0f}", f"{took / told - 1:+.0%}"])
    of_wgmma = [time["power"]["sustained"] for time in times if time["kernel"].startswith("wgmma")]
    below = [1 - s["measured_mhz"] / s["predicted_mhz"] for s in of_wgmma if s.get("predicted_mhz") and s["measured_mhz"]]
    return (
        f"Launch after launch an H200 had clocks of kernels by wgmma between {-min(below):.0%} above those predicted and {max(below):.0%} below, "
        f"{len(below)} of them. Of kernels in f32 at 4096³ it took, launch after launch:\n\n"
        + table(["kernel", "tile", "W, predicted:", "W, measured:", "more:"], rows)
    )


def agreement_counters():
    rows, exact, zero = [], 0, 0
    for launch in load("results/h200/predictions.json")["counters"]:
        if launch["m"] != 1024:
            continue
        for counter in launch["counters"]:
            written, compiled, measured = (counter[key] for key in ("written", "compiled", "measured"))
            if round(compiled) == round(measured):
                exact += 1
                zero += round(measured) == 0
                continue
            name = f"`{launch['kernel']}` {launch['type']} {launch['tile']}"
            figures = [f"{value:,.0f}" for value in (written, compiled, measured)]
            off = f"{compiled / measured - 1:+.1%}" if measured else "–"
            rows.append([name, counter["counter"].replace("_", " "), *figures, off])
    every = exact + len(rows)
    caption = (
        f"{exact} of {every} counters are exact. {zero} of these are 0, of what a kernel has not: of those that are not 0 "
        f"{exact - zero} of {every - zero} are exact; the others:\n\n"
    )
    return caption + table(["kernel", "counter", "as written:", "as compiled:", "measured:", "off:"], rows)


# What a kernel asks for; the other counters say when, what of it was there already, and how often somebody looked again.
ASKED = ("ffma_threads", "global_load_requests", "global_load_sectors", "global_store_requests", "global_store_sectors",
         "async_copy_instructions", "shared_load_instructions", "shared_store_instructions", "bulk_load_instructions", "bulk_load_bytes",
         "bulk_store_instructions", "bulk_store_bytes", "mma_instructions", "wgmma_instructions", "wgmma_wavefronts", "wgmma_conflicts",
         "registers", "blocks", "threads", "limit_registers", "limit_shared", "limit_warps", "limit_blocks")  # fmt: skip


def agreement_cards():
    """Counters of two cards, some of which were read of builds of different days."""
    here, there = ({(r["id"], r["m"]): r["counters"] for r in load(f"results/{card}/counters.json")["results"]} for card in CARDS)
    both = [launch for launch in here if launch in there]

    def same(name):
        return [here[launch][name] == there[launch][name] for launch in both if name in here[launch]]

    alike, compared = (sum(count(same(name)) for name in ASKED) for count in (sum, len))
    loads, instructions, given = same("shared_load_wavefronts"), same("instructions"), same("shared_bytes")
    worst = max(abs(here[at]["shared_load_wavefronts"] / there[at]["shared_load_wavefronts"] - 1) for at in both if there[at]["shared_load_wavefronts"])
    return (
        f"The H100's counters are on record of {len(there)} launches, of which {len(both)} were read on the H200 too. Of what kernels ask for "
        f"(requests, sectors and instructions for memory, products, registers, blocks and their limits) {alike} of {compared} counters are the "
        f"same on both cards; wavefronts of shared loads are in {sum(loads)} of {len(loads)} launches, and differ by {worst:.2%} at most. "
        f"Instructions are the same in {sum(instructions)} of {len(instructions)}: warps that wait look as often as it takes, and some kernels "
        f"were changed between the two readings; {len(given) - sum(given)} launches were given another amount of shared memory.\n"
    )


def agreement_addresses():
    alike = defaultdict(list)  # tiles of a kernel and type that differ in none of the numbers
    for work in load("results/h200/predictions.json")["addresses"]:
        each, unit = work["per_product"], "tensor" if work["tensor"] else "FFMA"
        numbers = [f"{work[key]}" for key in ("products", "integer", "uniform", "data")]
        numbers.insert(2, f"{each:.2f} each" if work["tensor"] else f"{each:.0%}")
        alike[f"`{work['kernel']}`", work["type"], unit, *numbers].append(work["tile"])
    # Tiles of one size are told apart by more where their numbers differ.
    rows_of = Counter((*row[:2], size) for row, tiles in alike.items() for size in {tile.split("_")[0] for tile in tiles})
    rows = []
    for (kernel, type_, *rest), tiles in alike.items():
        sizes = {tile: tile.split("_")[0] for tile in tiles}
        names = dict.fromkeys(size if rows_of[kernel, type_, size] == 1 else tile for tile, size in sizes.items())
        rows.append([kernel, type_, ", ".join(names), *rest])
    head = ["kernel", "type", "tile", "products", "their number:", "integer, for addresses:", "of the products:"]
    return table([*head, "uniform datapath:", "integer, on data:"], rows)


REGIONS = {
    "agreement-times": agreement_times,
    "agreement-clocks": agreement_clocks,
    "agreement-power": agreement_power,
    "agreement-counters": agreement_counters,
    "agreement-cards": agreement_cards,
    "agreement-dram": agreement_dram,
    "agreement-addresses": agreement_addresses,
}
