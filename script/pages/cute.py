"""docs/cute.md: a rung and its twin."""
from pages.markdown import table
from pages.recorded import printed, rates


def cute_twin():
    records, rows = printed(), []
    columns = [(size, mode) for size in (4096, 8192) for mode in ("burst", "sustained")]
    for name in ("f16_padded", "f16_cute"):
        compiled = records[f"asm {name}"]["result"]
        loop = compiled["product_loop"]
        mix = sum(loop.values()), loop["multiply-add"], loop["shared load"], loop["integer"]
        counts = compiled["registers"], compiled["spilled_bytes"], *mix
        figures = [rates(mode).get((name, "128x128x64", size, "f16")) for size, mode in columns]
        rows.append([f"`{name}`", *map(str, counts), *(f"{f:.1f}" if f else "–" for f in figures)])
    head = ["rung", "registers:", "spill bytes:", "inner loop:", "multiply-adds:", "shared loads:", "integer:"]
    return (
        "Spill bytes are those of stores and loads together. Instructions of the inner loop, along k of a tile, and of them some; "
        "TFLOP/s of an H200:\n\n"
        + table([*head, *(f"{size}³, {mode}:" for size, mode in columns)], rows)
    )


REGIONS = {
    "cute-twin": cute_twin,
}
