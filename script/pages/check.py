"""docs/check.md: mutants and what catches them."""
import collections
from pathlib import Path

from lib.project import load
from lib.sites import KINDS
from pages.markdown import table

SHOWN = 3  # of what has one reason


def mutant_records(planted):
    return [r for r in load("results/emulator/mutants.json")["mutants"] if (r["kind"] not in KINDS) == planted]


def outcome_table(name, records, key, values):
    """What mutants are caught as, a row for each of the values."""
    kinds = collections.Counter(record["caught"] for record in records if record["caught"])
    columns = [kind for kind, _ in kinds.most_common()]
    rows = []
    for value, shown in values.items():
        own = collections.Counter(record["caught"] for record in records if record[key] == value)
        numbers = [own.total(), *(own[kind] for kind in [*columns, None])]
        rows.append([shown, *(str(number) if number else "" for number in numbers)])
    return table([name, "mutants:", *(f"{kind}:" for kind in columns), "not told apart:"], rows)


def mutants():
    records = mutant_records(planted=False)
    return outcome_table("kernel", records, "kernel", {r["kernel"]: f"`{r['kernel']}`" for r in records})


def mutants_kinds():
    return outcome_table("kind", mutant_records(planted=False), "kind", {kind: kind for kind in KINDS})


def mutants_of_eleven_problems():
    """What a list of eleven problems let pass, by kind; and how much of that the present one catches. Kinds of mutants that
    were not made then are left out."""
    then = load("results/emulator/eleven_problems.json")
    keys = ("file", "kind", "code", "occurrence", "instead")
    passed = {(*(m[key] for key in keys), kernel) for m in then["passed"] for kernel in m["kernels"]}
    made, caught = collections.Counter(), collections.Counter()
    for record in mutant_records(planted=False):
        if record["kernel"] in then["kernels"]:
            made[record["kind"]] += 1
            was_passed = (*(record.get(key) for key in keys), record["kernel"]) in passed
            caught[record["kind"]] += was_passed and record["caught"] is not None
    rows = [[kind, str(made[kind]), str(caught[kind])] for kind in KINDS if caught[kind]]
    total = f"In {len(then['kernels'])} kernels {caught.total()} mutants, by kind:\n\n"
    return total + table(["kind", "mutants:", "passed, and are caught now:"], rows)


def mutants_planted():
    records = mutant_records(planted=True)
    bugs = {}
    for record in records:
        bugs.setdefault(record["kind"], []).append(record)
    places = len({(r["file"], r["kind"], r["code"], r["occurrence"]) for r in records})
    rows = []
    for bug, own in sorted(bugs.items(), key=lambda item: item[0].lower()):
        kernels = [f"`{kernel}`" for kernel in dict.fromkeys(record["kernel"] for record in own)]
        kinds = collections.Counter(record["caught"] or "not told apart" for record in own).most_common()
        caught = ", ".join(f"{kind} {number}" if len(kinds) > 1 else kind for kind, number in kinds)
        rows.append([bug, ", ".join(kernels) if len(kernels) <= 3 else f"{len(kernels)} kernels", str(len(own)), caught])
    caption = f"{len(bugs)} bugs in {places} places of the sources make {len(records)} mutants:\n\n"
    return caption + table(["wrong", "in", "mutants:", "caught as"], rows)


def mutants_equivalent():
    records = mutant_records(planted=False)
    meant = {}
    for record in records:
        if record["caught"] is None:
            files, changes, kernels = meant.setdefault(record["equivalent"], ({}, {}, {}))
            instead = f"`{record['instead']}` for " if "instead" in record else "without "
            files[f"`{Path(record['file']).name}`"] = None
            changes[f"{instead}`{record['code']}`"] = None
            kernels[f"`{record['kernel']}`"] = None
    every = len({record["kernel"] for record in records})
    rows = []
    for reason, (files, changes, kernels) in meant.items():
        many = f"all {every}" if len(kernels) == every else f"{len(kernels)} kernels"
        more = f" and {len(changes) - SHOWN} more" if len(changes) > SHOWN else ""
        rows.append(
            [
                ", ".join(files) if len(files) <= SHOWN else f"{len(files)} files",
                ", ".join(list(changes)[:SHOWN]) + more,
                ", ".join(kernels) if len(kernels) <= SHOWN else many,
                reason,
            ]
        )
    return table(["file", "mutants", "in", "why nothing tells them apart"], rows)


REGIONS = {
    "mutants": mutants,
    "mutants-kinds": mutants_kinds,
    "mutants-equivalent": mutants_equivalent,
    "mutants-of-eleven-problems": mutants_of_eleven_problems,
    "mutants-planted": mutants_planted,
}
