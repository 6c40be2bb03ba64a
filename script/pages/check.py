"""docs/check.md: mutants and what catches them."""
import collections
from pathlib import Path

from lib.project import load
from pages.markdown import table


def mutant_records(planted):
    return [r for r in load("results/emulator/mutants.json")["mutants"] if ("instead" in r) == planted]


def mutants():
    records = mutant_records(planted=False)
    kinds = collections.Counter(record["caught"] for record in records if record["caught"])
    columns = [kind for kind, _ in kinds.most_common()]
    rows = []
    for kernel in dict.fromkeys(record["kernel"] for record in records):
        own = collections.Counter(record["caught"] for record in records if record["kernel"] == kernel)
        numbers = [own.total(), *(own[kind] for kind in [*columns, None])]
        rows.append([f"`{kernel}`", *(str(number) if number else "" for number in numbers)])
    return table(["kernel", "mutants:", *(f"{kind}:" for kind in columns), "the same:"], rows)


def mutants_planted():
    records = mutant_records(planted=True)
    bugs = {}
    for record in records:
        bugs.setdefault(record["kind"], []).append(record)
    places = len({(r["file"], r["kind"], r["code"], r["occurrence"]) for r in records})
    rows = []
    for bug, own in sorted(bugs.items(), key=lambda item: item[0].lower()):
        kernels = [f"`{kernel}`" for kernel in dict.fromkeys(record["kernel"] for record in own)]
        kinds = collections.Counter(record["caught"] or "the same" for record in own).most_common()
        caught = ", ".join(f"{kind} {number}" if len(kinds) > 1 else kind for kind, number in kinds)
        rows.append([bug, ", ".join(kernels) if len(kernels) <= 3 else f"{len(kernels)} kernels", str(len(own)), caught])
    caption = f"{len(bugs)} bugs in {places} places of the sources make {len(records)} mutants:\n\n"
    return caption + table(["wrong", "in", "mutants:", "caught as"], rows)


def mutants_equivalent():
    records = mutant_records(planted=False)
    kernels = {}
    for record in records:
        if record["caught"] is None:
            key = record["file"], record["code"], record["equivalent"]
            kernels.setdefault(key, []).append(f"`{record['kernel']}`")
    every = len({record["kernel"] for record in records})
    rows = []
    for (file, code, reason), names in kernels.items():
        many = f"all {every}" if len(names) == every else f"{len(names)} kernels"
        rows.append([f"`{Path(file).name}`", f"`{code}`", ", ".join(names) if len(names) <= 3 else many, reason])
    return table(["file", "always true, or never where it leaves", "in", "why it is the same"], rows)


REGIONS = {
    "mutants": mutants,
    "mutants-equivalent": mutants_equivalent,
    "mutants-planted": mutants_planted,
}
