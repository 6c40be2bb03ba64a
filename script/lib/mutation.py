"""The mutants of rungs, and what becomes of them. The record of them, script/mutants, has a hash of this file, of
sites.py, which finds where sources are changed, and of the kernels of mutated_kernels.py."""
import collections
import json
import random
import re
import shlex
import subprocess
import sys
import threading
from pathlib import Path

from lib.mutated_kernels import MORE_KERNELS
from lib.project import ROOT, run
from lib.sites import PLANTED, closing, planted_sites, sites_of

# Of these, one is enough for what is wrong in any order.
SCHEDULES, IN_ANY_ORDER = 2, ("clamp", "bound", "argument", "factor", "offset")
# What is mutated: kernels, what they are made of, and what launches them. Of files that have more than that, these
# functions.
SOURCES = ("src/kernels/*/*.cuh", "src/kernels/*.hpp", "src/kernels/*/*.hpp", "src/tile/*.hpp")
FUNCTIONS = {
    "src/core/gemm.hpp": r"gemm_of(?=\(const Problem& p\))",
    "src/core/problem.cpp": "aligned|reads_c|lines|length|shape_of|vectorizable",
    "src/device/launch.hpp": "add_slots",
}

PLACE = re.compile(r"src/[\w/]+\.\w+:\d+")


def list_entries(text):
    """What commas separate."""
    entries, depth, start = [], 0, 0
    for i, sign in enumerate(text):
        angle = sign in "<>" and text[i - 1] != "-"
        depth += (sign in "([{") - (sign in ")]}") + (angle and (1 if sign == "<" else -1))
        if sign == "," and depth == 0:
            entries.append(text[start:i])
            start = i + 1
    return [entry for entry in (*entries, text[start:]) if entry.strip()]


def only_kernels(text, wanted):
    """The text with those entries alone in its list of kernels, by number: others are not worth compiling. A list that is
    no array goes by the macro LAPIDARY_ONLY_KERNELS."""
    match = re.search(r"constexpr BuiltKernel built_kernels\[\] = \{", text)
    if not match:
        return text
    end = closing(text, match.end() - 1) - 1
    entries = list_entries(text[match.end() : end])
    return text[: match.end()] + ",".join(entries[i] for i in wanted) + text[end:]


class Mutants:
    """All sites by file, numbered from 1 on, and a copy of the sources in which lapidary_mutant(number) chooses one."""

    def __init__(self, folder):
        self.folder, self.sites, self.text = folder, [None], {}
        self.objects, self.lock = {}, threading.Lock()  # by file: of what all rungs share
        planted = json.loads(PLANTED.read_text())
        files = set()
        for path in sorted({path for source in (*SOURCES, *FUNCTIONS) for path in ROOT.glob(source)}):
            file = str(path.relative_to(ROOT))
            files.add(file)
            text = self.text[file] = path.read_text()
            sites = sites_of(text, FUNCTIONS.get(file))
            sites += planted_sites(text, [entry for entry in planted if entry["file"] == file], sites)
            seen, inserts = collections.Counter(), []
            for site in sites:
                site.file, site.line = file, text.count("\n", 0, site.begin) + 1
                site.code = text[site.begin : site.end]
                seen[site.kind, site.code, site.instead] += 1
                site.occurrence = seen[site.kind, site.code, site.instead]
                number = len(self.sites)
                # Of two that begin or end at one place the shorter one is inside; of two of one place, the later one.
                inserts.append((site.begin, 1, -site.end, number, site.before.replace("@", str(number))))
                inserts.append((site.end, 0, -site.begin, -number, site.behind.replace("@", str(number))))
                self.sites.append(site)
            for position, *_, insert in sorted(inserts, reverse=True):
                text = text[:position] + insert + text[position:]
            copy = folder / file
            copy.parent.mkdir(parents=True, exist_ok=True)
            if not copy.exists() or copy.read_text() != text:
                copy.write_text(text)
        if unknown := {entry["file"] for entry in planted} - files:
            sys.exit(f"{PLANTED.name}: there is no {', '.join(sorted(unknown))}")

    def is_of(self, number, kernel):
        kernels = self.sites[number].kernels
        return kernels is None or kernel in kernels

    def key(self, number):
        site = self.sites[number]
        key = {"file": site.file, "kind": site.kind, "code": site.code, "occurrence": site.occurrence}
        return key if site.instead is None else {**key, "instead": site.instead}

    def shown(self, number):
        """The line as it is, and as a reader of the mutant sees it: None if it is gone. Nothing if that would tell."""
        site = self.sites[number]
        if not site.cut:
            return {}
        text = self.text[site.file]
        begin = text.rfind("\n", 0, site.begin) + 1
        end = text.index("\n", site.begin)
        cut_begin, cut_end, instead = site.cut
        if cut_begin < begin or cut_end > end:
            return {}
        line = text[begin:cut_begin] + instead + text[cut_end:end]
        return {"source": text[begin:end], "becomes": line.rstrip() if line.strip() else None}


def compile_command(build, rung):
    """What compiles the rung's instrumented unit, without the unit and the object."""
    for entry in json.loads((build / "compile_commands.json").read_text()):
        if entry["file"].endswith(f"rungs_units/instrumented/{rung}.cpp"):
            words = shlex.split(entry["command"])
            drop = words.index("-o")
            words = words[:drop] + words[drop + 2 :]
            return words[: words.index("-c")]
    sys.exit(f"{build} has no instrumented build of {rung}")


# Functions of constants are also those of threads, and chosen from there alone.
CHOICE = """extern "C" __attribute__((const)) bool lapidary_is_mutant(int);
constexpr bool lapidary_mutant(int number) { return !__builtin_is_constant_evaluated() && lapidary_is_mutant(number); }
"""


def compile_unit(build, mutants, rung, name, text, *options):
    """The object of that text, with the options of the rung's instrumented unit."""
    folder = mutants.folder
    # In a folder of its own, so that other rungs that include a rung's file find the whole of it.
    unit = folder / "units" / name / "unit.cpp"
    unit.parent.mkdir(parents=True, exist_ok=True)
    if not unit.exists() or unit.read_text() != text:
        unit.write_text(text)
    compiler, *given = compile_command(build, rung)
    kept = [word for word in given if not re.fullmatch(r"-O\d|-W.*", word)]
    # Hidden names: run_mutants has the rung without mutants in it, too. What runs past an array may not be taken for
    # what never comes to pass.
    kept += ["-O1", "-w", "-Wno-psabi", "-fvisibility=hidden", f"-ffile-prefix-map={folder}/=/./", *options]
    if "clang" not in compiler:
        kept += ["-fno-gnu-unique", "-fno-aggressive-loop-optimizations"]
    run([compiler, f"-I{folder}/src", *kept, "-c", unit, "-o", unit.with_suffix(".o")])
    return unit.with_suffix(".o")


def build_object(build, mutants, rung, family, kernels):
    """Of those of the rung's kernels, by number, with what is mutated of the library."""
    own = f"{mutants.folder}/src/kernels/{family}/{rung}.cuh"
    text = f"""{CHOICE}#line 1 "{own}"
{only_kernels(Path(own).read_text(), kernels).replace("#pragma once", "", 1)}
#include <iterator>
extern "C" __attribute__((visibility("default"))) lapidary::BuiltRung lapidary_mutants() {{
  using namespace lapidary;
  return {{&{rung}::info, std::data({rung}::built_kernels<void>), static_cast<int>(std::size({rung}::built_kernels<void>))}};
}}
"""
    only = f"-DLAPIDARY_ONLY_KERNELS={','.join(map(str, kernels))}"
    objects = [compile_unit(build, mutants, rung, rung, text, only)]
    with mutants.lock:
        for file in FUNCTIONS:
            if file.endswith(".cpp") and file not in mutants.objects:
                text = f'{CHOICE}#line 1 "{mutants.folder}/{file}"\n{(mutants.folder / file).read_text()}'
                mutants.objects[file] = compile_unit(build, mutants, rung, Path(file).stem, text)
    target = objects[0].with_suffix(".so")
    compiler = compile_command(build, rung)[0]
    run([compiler, "-shared", "-Wl,-Bsymbolic", *objects, *mutants.objects.values(), "-o", target])
    return target


def moved(fault, shown, site):
    """A fault's text with the lines that the reader of the mutant has."""
    if shown.get("becomes", "") is not None:
        return fault

    def move(match):
        line = int(match[2])
        return f"{match[1]}:{line - (line > site.line)}"

    return re.sub(rf"({re.escape(site.file)}):(\d+)", move, fault)


class Outcomes:
    """What becomes of mutants of one kernel, one after the other; `whole` is what becomes of the rung as it is."""

    def __init__(self, build, target, *kernel):
        self.command = [build / "test/run_mutants", target, *kernel, str(SCHEDULES)]
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.whole = self.next()

    def next(self):
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"{' '.join(map(str, self.command))} ended with {self.process.wait()}")
        return json.loads(line)

    def of(self, kinds):
        """The outcomes of the mutants of these numbers, which are of these kinds."""
        for number, kind in kinds:
            self.process.stdin.write(f"{number} {1 if kind in IN_ANY_ORDER else SCHEDULES}\n")
            self.process.stdin.flush()
            yield self.next()
        self.process.stdin.close()
        self.process.wait()


def run_rung(build, mutants, rung, most=None):
    """The record of a rung: what it is without a mutation, and each of its mutants, or as many as `most`, by the first of
    its kernels that tells them apart."""
    name, family = rung["name"], rung["family"]
    all_kernels = list(dict.fromkeys((kernel["type"], kernel["tile"]) for kernel in rung["kernels"]))
    kernels = [all_kernels[0], *MORE_KERNELS.get(name, [])]
    target = build_object(build, mutants, name, family, [all_kernels.index(kernel) for kernel in kernels])
    found, sound, chosen, seen = {}, [], set(), set()
    for type_name, tile in kernels:
        outcomes = Outcomes(build, target, name, type_name, tile)
        if outcomes.whole["caught"]:
            sound.append(f"{name}, {type_name}, tile {tile}: {outcomes.whole['fault']}")
        own = [n for n in outcomes.whole["reached"] if mutants.is_of(n, name)]
        if most is not None:
            # What an earlier kernel comes by, too, is for that one to tell apart.
            new = [n for n in own if n not in seen]
            chosen.update(random.Random(rung["hash"]).sample(new, min(most, len(new))))
            seen.update(own)
            own = [n for n in own if n in chosen]
        uncaught = [n for n in own if not (n in found and found[n]["caught"])]
        for result in outcomes.of((n, mutants.sites[n].kind) for n in uncaught):
            number = result["number"]
            if number in found and not result["caught"]:
                continue
            site, shown = mutants.sites[number], mutants.shown(number)
            record = {"kernel": name, "type": type_name, "tile": tile, **mutants.key(number), "line": site.line}
            record["caught"] = result["caught"]
            if result["caught"]:
                if "problem" in result:
                    record["problem"] = result["problem"]
                if at := PLACE.search(result.get("fault", "")):
                    record["at"] = at[0]
                # A puzzle shows the rung's own file.
                if site.file == rung["source"] and shown and "fault" in result:
                    record.update(shown, fault=moved(result["fault"], shown, site))
            found[number] = record
    return list(found.values()), sound
