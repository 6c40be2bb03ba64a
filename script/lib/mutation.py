"""The mutants of rungs, and what becomes of them. The record of them, script/mutants, has a hash of this file.

Entries of planted.json: `bug`, `file`, the `text` that is replaced, a statement if it ends with a semicolon and an
expression otherwise, and what stands `instead`. The text is in the file's code once, or once `in` a longer one that is
there once; any white space may be between its words. Constants that the compiler evaluates stay as they are. `kernels`
are those that have the bug, where others come by the text and it does them no harm.
"""
import collections
import json
import random
import re
import shlex
import sys

from lib.project import ROOT, run

PLANTED = ROOT / "test/mutants/planted.json"
SCHEDULES = 2
# Beside the default, by type and tile: rows that do not come out even; operands that are MN-major; several slices of
# results on their way, and rows of A that blocks share.
MORE_KERNELS = {
    "shared_tiles": [("f32", "32x32x8")],
    "wgmma_tma": [("bf16 CR", "128x128x64")],
    "wgmma_energy": [("bf16", "256x200x64"), ("bf16 RC", "256x192x64")],
}

CALLS = {
    "barrier": r"__syncthreads|__syncwarp|barrier_\w+|mbarrier_arrive\w*|cluster_(?:sync|arrive|wait)\w*",
    "wait": r"wait|\w*wait_group\w*|mbarrier_\w*wait\w*|grid_wait",
    "commit": r"\w*commit_group",
    "fence": r"\w*fence\w*",
}
TEMPLATE = re.compile(r"(?<=\w)<[^<>;]*>")
PLACE = re.compile(r"src/[\w/]+\.\w+:\d+")
COMPARISON = re.compile(r"==|!=|<=|>=| < | > ")


class Site:
    """A place in a file where a mutant differs: what stands before and behind the text begin:end of the file when all
    mutants are compiled together, and what stands there instead of from:to for a reader."""

    def __init__(self, kind, begin, end, before, behind, cut=None):
        self.kind, self.begin, self.end, self.before, self.behind = kind, begin, end, before, behind
        self.cut = cut  # (from, to, text), or None where the mutant does not read like what a person would write
        self.instead = None  # what stands there if the bug is planted
        self.kernels = None  # those that have it, if not all that come by


def blanked(text):
    """The text with comments and strings blanked out, of the same length and in the same lines."""
    pattern = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
    return pattern.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)


def closing(text, at):
    """The position behind the bracket that closes the one at `at`."""
    depth = 0
    for i in range(at, len(text)):
        depth += (text[i] in "([{") - (text[i] in ")]}")
        if depth == 0:
            return i + 1
    raise ValueError("unbalanced brackets")


def constant_ranges(text):
    """What the compiler evaluates: constexpr functions and values, static_asserts, aliases, the lengths of arrays that are
    members, lines of the preprocessor."""
    constants = r"^\s*#.*$|\busing\s+\w+\s*=[^;]*;|^\s*\w+ \w+\[[^\]]*\];"
    ranges = [(m.start(), m.end()) for m in re.finditer(constants, text, re.MULTILINE)]
    for match in re.finditer(r"\bstatic_assert\b|(?<!if )\bconstexpr\b", text):
        i = match.end()
        while text[i] not in ";{":
            i = closing(text, i) if text[i] in "([" else i + 1
        ranges.append((match.start(), closing(text, i) if text[i] == "{" else i + 1))
    return ranges


def operands(text, begin, end):
    """The operands of && and || in text[begin:end] as (begin, end), and the operators between them."""
    parts, signs, start, i = [], [], begin, begin
    while i < end:
        if text[i] in "([{":
            i = closing(text, i)
        elif text[i : i + 2] in ("&&", "||"):
            parts.append((start, i))
            signs.append(text[i : i + 2])
            start = i = i + 2
        else:
            i += 1
    parts.append((start, end))
    return [(b + len(text[b:e]) - len(text[b:e].lstrip()), b + len(text[b:e].rstrip())) for b, e in parts], signs


def guards(text, begin, end, drop, alone):
    """The mutants of the condition text[begin:end]: each operand that compares or asks becomes `drop`, the value with
    which nothing is guarded. `alone` is what a reader sees if there is no other operand, as Site.cut."""
    parts, signs = operands(text, begin, end)
    for i, (b, e) in enumerate(parts):
        operand = text[b:e]
        # A parity chooses an order. Constants of a template are the compiler's.
        if " % " in operand:
            continue
        asks = COMPARISON.search(operand) or operand.endswith(")")
        if not asks and not ("&&" in signs and re.fullmatch(r"[a-z]\w*", operand)):
            continue
        if len(parts) == 1:
            cut = alone
        elif drop or "&&" not in signs:
            cut = (b, parts[i + 1][0], "") if i == 0 else (parts[i - 1][1], e, "")
        else:
            cut = None  # without the operand the guard would be stronger
        opened = "(lapidary_mutant(@) || (" if drop else "(!lapidary_mutant(@) && ("
        yield Site("guard", b, e, opened, "))", cut)


def ternary_end(text, at):
    """The positions of the `:` that belongs to the `?` at `at`, and of the end of the whole expression."""
    depth, colon, i = 0, None, at + 1
    while True:
        if text[i] in "([{":
            i = closing(text, i)
            continue
        if arguments := TEMPLATE.match(text, i):
            i = arguments.end()
            continue
        if text[i] in ",;)}]" and colon:
            return colon, i
        if text[i] == "?":
            depth += 1
        elif text[i] == ":" and text[i - 1] != ":" and text[i + 1] != ":":
            if depth == 0:
                colon = i
            depth -= 1
        i += 1


def ternary_begin(text, at):
    """Where the condition begins that ends before the `?` at `at`."""
    depth = 0
    for i in range(at - 1, -1, -1):
        depth += (text[i] in ")]}") - (text[i] in "([{")
        assignment = text[i] == "=" and text[i - 1] not in "=<>!" and text[i + 1] != "="
        if depth < 0 or (depth == 0 and (text[i] in ",;" or assignment or text[i - 6 : i + 1] == "return ")):
            begin = i + 1
            return begin + len(text[begin:at]) - len(text[begin:at].lstrip())
    raise ValueError("a ?: without a beginning")


def sites_of(text):
    """All sites of a file, in order."""
    text = blanked(text)
    constant = constant_ranges(text)
    sites = []
    for kind, names in CALLS.items():
        for match in re.finditer(rf"\b(?:\w+::)*(?:{names})\b(?:<[^;<>]*>)?\s*\(", text):
            end = closing(text, match.end() - 1)
            if text[end] == ";" and not text[: match.start()].rstrip().endswith("void"):
                cut = (match.start(), end + 1, "")
                sites.append(Site(kind, match.start(), end, "lapidary_mutant(@) ? void() : ", "", cut))
    for match in re.finditer(r"\bleft_in_tile\(", text):
        end = closing(text, match.end() - 1)
        if text[: match.start()].rstrip().endswith("int"):
            continue  # its definition
        extent = text[match.end() : end - 1].rsplit(",", 1)[1].strip()
        cut = (match.start(), end, extent)
        sites.append(Site("clamp", match.start(), end, f"(lapidary_mutant(@) ? {extent} : ", ")", cut))
    for match in re.finditer(r"\bif \(", text):
        begin, end = match.end(), closing(text, match.end() - 1) - 1
        leaves = re.match(r"\)\s*(return|break|continue)\b", text[end:])
        same_line = re.match(r"\) (?=[^\s{])", text[end:])
        has_else = re.match(r"\)[^;{]*;\s*else\b", text[end:])
        alone = None
        if same_line and not has_else:
            stop = text.index("\n", end)
            alone = (match.start(), stop, "") if leaves else (match.start(), end + 2, "")
        sites += guards(text, begin, end, not leaves, alone)
    for match in re.finditer(r"\?", text):
        begin = ternary_begin(text, match.start())
        colon, end = ternary_end(text, match.start())
        alone = (begin, end, text[match.end() : colon].strip())
        sites += guards(text, begin, len(text[: match.start()].rstrip()), True, alone)
    for answer in (r"\bconst bool \w+ = ([^;?]*);", r"\bbool \w+\([^)]*\) (?:const )?\{ return ([^;?]*); \}"):
        for match in re.finditer(answer, text):
            sites += guards(text, match.start(1), match.end(1), True, None)
    sites = [s for s in sites if not any(b <= s.begin < e for b, e in constant)]
    return sorted(sites, key=lambda s: (s.begin, -s.end))


def only_range(code, text, begin, end, entry):
    """Where the text is in code[begin:end], which is one place."""
    pattern = re.compile(r"\s+".join(re.escape(word) for word in text.split()))
    found = [match.span() for match in pattern.finditer(code, begin, end)]
    if len(found) != 1:
        sys.exit(f"{PLANTED.name}, {entry['bug']}: {entry['file']} has `{text}` {len(found)} times and not once")
    return found[0]


def planted_sites(text, entries, others):
    """The sites of those entries of planted.json that are of this file, in which the others are."""
    code = blanked(text)
    sites = []
    for entry in entries:
        begin, end = only_range(code, entry["in"], 0, len(code), entry) if "in" in entry else (0, len(code))
        begin, end = only_range(code, entry["text"], begin, end, entry)
        for site in (*others, *sites):
            if begin < site.begin < end < site.end or site.begin < begin < site.end < end:
                what = f"`{entry['text']}` and `{text[site.begin : site.end]}` overlap"
                sys.exit(f"{PLANTED.name}, {entry['bug']}: {entry['file']}: {what}; one has to be within the other")
        instead = entry["instead"]
        if entry["text"].endswith(";"):
            before, behind = f"if (lapidary_mutant(@)) {{ {instead} }} else {{ ", " }"
        else:
            before, behind = f"(lapidary_mutant(@) ? ({instead}) : (", "))"
        sites.append(Site(entry["bug"], begin, end, before, behind, (begin, end, instead)))
        sites[-1].instead, sites[-1].kernels = instead, entry.get("kernels")
    return sites


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
        planted = json.loads(PLANTED.read_text())
        files = set()
        for path in sorted([*(ROOT / "src/kernels").glob("*/*.cuh"), *(ROOT / "src/tile").glob("*.hpp")]):
            file = str(path.relative_to(ROOT))
            files.add(file)
            text = self.text[file] = path.read_text()
            sites = sites_of(text)
            sites += planted_sites(text, [entry for entry in planted if entry["file"] == file], sites)
            seen, inserts = collections.Counter(), []
            for site in sites:
                site.file, site.line = file, text.count("\n", 0, site.begin) + 1
                site.code = text[site.begin : site.end]
                seen[site.kind, site.code] += 1
                site.occurrence = seen[site.kind, site.code]
                number = len(self.sites)
                # Of two that begin or end at one place the shorter one is inside; of two of one place, the later one.
                inserts.append((site.begin, 1, -site.end, number, site.before.replace("@", str(number))))
                inserts.append((site.end, 0, -site.begin, -number, site.behind))
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


def build_object(build, mutants, rung, family, kernels):
    """Of those of the rung's kernels, by number."""
    folder = mutants.folder
    own = f"src/kernels/{family}/{rung}.cuh"
    # In a folder of its own, so that other rungs that include this file find the whole of it.
    unit = folder / "units" / rung / "unit.cpp"
    unit.parent.mkdir(parents=True, exist_ok=True)
    # Functions of constants are also those of threads, and chosen from there alone.
    text = f"""extern "C" __attribute__((const)) bool lapidary_is_mutant(int);
constexpr bool lapidary_mutant(int number) {{ return !__builtin_is_constant_evaluated() && lapidary_is_mutant(number); }}
#line 1 "{folder}/{own}"
{only_kernels((folder / own).read_text(), kernels).replace("#pragma once", "", 1)}
#include <iterator>
extern "C" __attribute__((visibility("default"))) lapidary::BuiltRung lapidary_mutants() {{
  using namespace lapidary;
  return {{&{rung}::info, std::data({rung}::built_kernels<void>), static_cast<int>(std::size({rung}::built_kernels<void>))}};
}}
"""
    if not unit.exists() or unit.read_text() != text:
        unit.write_text(text)
    words = compile_command(build, rung)
    compiler = words[:1]
    options = [w for w in words[1:] if not re.fullmatch(r"-O\d|-W.*", w)]
    # -Bsymbolic and hidden names: run_mutants has the rung without mutants in it, too.
    options.append(f"-DLAPIDARY_ONLY_KERNELS={','.join(map(str, kernels))}")
    options += ["-O1", "-w", "-Wno-psabi", "-fvisibility=hidden", f"-ffile-prefix-map={folder}/=/./"]
    if "clang" not in compiler[0]:
        options.append("-fno-gnu-unique")
    run([*compiler, f"-I{folder}/src", *options, "-c", unit, "-o", unit.with_suffix(".o")])
    target = unit.with_suffix(".so")
    run([*compiler, "-shared", "-Wl,-Bsymbolic", unit.with_suffix(".o"), "-o", target])
    return target


def moved(fault, shown, site):
    """A fault's text with the lines that the reader of the mutant has."""
    if shown.get("becomes", "") is not None:
        return fault

    def move(match):
        line = int(match[2])
        return f"{match[1]}:{line - (line > site.line)}"

    return re.sub(rf"({re.escape(site.file)}):(\d+)", move, fault)


def run_rung(build, mutants, rung, most=None):
    """The record of a rung: what it is without a mutation, and each of its mutants, or as many as `most`, by the first of
    its kernels that tells them apart."""
    name, family = rung["name"], rung["family"]
    ids = {(k["type"], k["tile"]): k["id"] for k in rung["kernels"]}
    all_kernels = list(ids)
    kernels = [all_kernels[0], *MORE_KERNELS.get(name, [])]
    target = build_object(build, mutants, name, family, [all_kernels.index(kernel) for kernel in kernels])
    found, sound, chosen = {}, [], set()
    for type_name, tile in kernels:

        def outcomes(numbers):
            done = run([build / "test/run_mutants", target, name, type_name, tile, SCHEDULES, *numbers])
            return [json.loads(line) for line in done.stdout.splitlines()]

        whole = outcomes([0])[0]
        if whole["caught"]:
            sound.append(f"{name}, {type_name}, tile {tile}: {whole['fault']}")
        own = [n for n in whole["reached"] if mutants.is_of(n, name)]
        if most is not None:
            chosen.update(random.Random(rung["hash"]).sample(own, min(most, len(own))))
            own = [n for n in own if n in chosen]
        uncaught = [n for n in own if not (n in found and found[n]["caught"])]
        for result in outcomes(uncaught) if uncaught else []:
            number = result["number"]
            if number in found and not result["caught"]:
                continue
            site, shown = mutants.sites[number], mutants.shown(number)
            record = {"kernel": name, "id": ids[type_name, tile], "type": type_name, "tile": tile, **mutants.key(number), "line": site.line}
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
