"""Reads what nvcc, nvdisasm and ptxas print of kernels."""
import os
import re
import shutil
import sys
from pathlib import Path

from lib.project import ROOT, run

ARCHITECTURE = "sm_90a"
FLAGS = ["-std=c++20", "-O3", f"-arch={ARCHITECTURE}", "-lineinfo"]


def tool(name, variable, advice):
    path = os.environ.get(variable) or shutil.which(name)
    if not path:
        sys.exit(f"{name} is not on the PATH; {advice}")
    return path


def below_root(path):
    return os.path.relpath(path, ROOT) if path.startswith(str(ROOT)) else Path(path).name


def source_line(chain):
    """Of a chain of inlined calls the line in a kernel's file, as the emulated machine names it."""
    for file, line in chain:
        if "/src/kernels/" in file:
            return f"{below_root(file)}:{line}"
    return f"{below_root(chain[0][0])}:{chain[0][1]}"


def control(high):
    bits = high >> 41
    stall, no_yield, write, read, wait = bits & 15, bits >> 4 & 1, bits >> 5 & 7, bits >> 8 & 7, bits >> 11 & 63
    waits = "".join(str(i) if wait >> i & 1 else "-" for i in range(6))
    scoreboard = lambda number: "-" if number == 7 else str(number)
    return f"B{waits}:R{scoreboard(read)}:W{scoreboard(write)}:{'-' if no_yield else 'Y'}:S{stall:02}"


def with_labels_from_zero(rows):
    labels = {row[:-1]: f"L{i}" for i, row in enumerate(dict.fromkeys(row for row in rows if re.fullmatch(r"L\w+:", row)))}
    return [re.sub(r"\bL\w+\b", lambda m: labels.get(m[0], m[0]), row) for row in rows]


def sass_functions(text):
    """The functions of nvdisasm's text: name -> lines of the record."""
    functions, lines, chain, where = {}, None, [], ""
    for row in text.splitlines():
        if match := re.match(r"\.text\.(\S+):", row):
            lines = functions.setdefault(match[1], [])
            chain, where = [], ""
        elif row.startswith("\t.section"):
            lines = None
        elif lines is None:
            continue
        elif match := re.search(r'//## File "([^"]+)", line (\d+)( inlined at)?', row):
            chain.append((match[1], match[2]))
        elif match := re.match(r"\.L_x_(\d+):", row):
            lines.append(f"L{match[1]}:")
        elif match := re.match(r"\s+/\*([0-9a-f]{4,})\*/\s+(.*?)\s*;\s+/\* 0x[0-9a-f]+ \*/", row):
            if chain and source_line(chain) != where:
                where = source_line(chain)
                lines.append(f"// {where}")
            chain = []
            instruction = re.sub(r"`\(\.L_x_(\d+)\)", r"L\1", match[2])
            pending = f"{match[1]}  {instruction}"
        elif match := re.match(r"\s+/\* 0x([0-9a-f]+) \*/", row):
            offset, instruction = pending.split("  ", 1)
            lines.append(f"  {control(int(match[1], 16))}  {offset}  {instruction}")
    # Labels are counted over the whole file, and padding follows the last branch: neither says anything.
    for name, rows in functions.items():
        functions[name] = with_labels_from_zero(rows)
        while functions[name] and (functions[name][-1].endswith("NOP") or functions[name][-1].startswith("//")):
            functions[name].pop()
    return functions


def ptx_functions(text):
    """The entries of a file of PTX: name -> lines of the record."""
    files = dict(re.findall(r'^\s*\.file\s+(\d+)\s+"([^"]+)"', text, re.MULTILINE))
    # Of braces at the beginning of a line those of inline assembly are not the function's.
    inline = re.compile(r"// begin inline asm\n.*?// end inline asm", re.DOTALL)
    text = inline.sub(lambda m: re.sub(r"^[{}]", " ", m[0], flags=re.MULTILINE), text)
    functions = {}
    for entry in re.finditer(r"^\.visible \.entry (\w+)\(.*?^\{\n(.*?)^\}", text, re.MULTILINE | re.DOTALL):
        name, rows, where, here = entry[1], [], "", ""
        callers = {}  # of a place in an inlined function the place of the call, as the lines so far have it
        code = re.sub(r"//.*", "", entry[2]).replace(f"{name}_param_", "param_")
        code = re.sub(r"^(\s*\.loc\s.*)$", r"\1;", code, flags=re.MULTILINE)
        code = re.sub(r"\$L__BB(\w+)(:?)", lambda m: f"L{m[1]}" + (":;" if m[2] else ""), code)
        for statement in code.split(";"):
            statement = " ".join(statement.lstrip("{} \t\n").split())
            if match := re.match(r"\.loc (\d+ \d+ \d+)(?:, function_name \S+, inlined_at (\d+ \d+ \d+))?", statement):
                place, callers[match[1]] = match[1], match[2]
                chain = []
                while place and place not in chain:
                    chain.append(place)
                    place = callers.get(place)
                if match[1].split()[1] != "0":  # line 0: of no line
                    here = source_line([(files[p.split()[0]], p.split()[1]) for p in chain])
            elif statement.endswith(":"):
                rows.append(statement)
            elif statement and not statement.startswith("."):
                if here != where:
                    where = here
                    rows.append(f"// {where}")
                rows.append(f"  {statement}")
        functions[name] = with_labels_from_zero(rows)
    mangled = sorted(set(re.findall(r"\b_Z\w+", "\n".join(row for rows in functions.values() for row in rows))))
    plain = dict(zip(mangled, (name.split("::")[-1] for name in run(["c++filt", *mangled]).stdout.splitlines()))) if mangled else {}
    return {
        name: [re.sub(r"\b_Z\w+", lambda m: plain[m[0]], row) for row in rows] for name, rows in functions.items()
    }


def resources_of(text):
    """ptxas -v: name -> facts."""
    found, name = {}, None
    for row in text.splitlines():
        if match := re.search(r"Compiling entry function '(\S+)'", row):
            name = match[1]
            found[name] = {"registers": 0, "barriers": 0, "stack-bytes": 0, "spilled-bytes": 0}
        elif match := re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", row):
            found[name]["stack-bytes"] = int(match[1])
            found[name]["spilled-bytes"] = int(match[2]) + int(match[3])
        elif match := re.search(r"Used (\d+) registers(?:, used (\d+) barriers)?", row):
            found[name]["registers"] = int(match[1])
            found[name]["barriers"] = int(match[2] or 0)
    return found


def version_of(nvcc):
    """As records name it."""
    return "nvcc " + re.search(r"V(\d+\.\d+\.\d+)", run([nvcc, "--version"]).stdout)[1]
