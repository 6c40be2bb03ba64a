#!/usr/bin/env python3
"""Runs the commands that README, docs/ and the exercises of rungs show, and follows the links between pages.

    commands.py PROGRAM

A command ends well (0) or with a verdict against a kernel (1): what the program does not know ends with 2. Commands
with a name in capitals for what readers put there, and those that need a GPU or minutes, are left out.
"""
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ON_A_GPU = {"bench", "calibrate", "regret", "tune"}
LONG = {"ladder", "report"}  # have tests of their own
BLOCK = re.compile(r"^(?:\$ )?build/lapidary ([^\n#|>&]+)", re.MULTILINE)
INLINE = re.compile(r"`(?:build/)?lapidary ([^`\n]+)`")
CODE = re.compile(r"```.*?^```|`[^`\n]*`", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")


def pages():
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def commands():
    """Each once, with the first page that has it."""
    found = {}
    for page in pages():
        text = page.read_text()
        for match in (*BLOCK.finditer(text), *INLINE.finditer(text)):
            found.setdefault(match[1].strip().replace('\\"', '"'), page.relative_to(ROOT))
    return found


def is_whole(command):
    try:
        words = shlex.split(command)
    except ValueError:  # cut off at a character of the shell's
        return False
    if len(words) < 2 and words[0] not in ("list", "gpus", "roofline", "raster"):
        return False
    if words[0] in ON_A_GPU | LONG or "my_kernel.cu" in words or "…" in words:
        return False
    return not any(re.fullmatch(r"[A-Z]{3,}|\[?[A-Z]+\]?|<\w+>|--(json|check|count)", word) for word in words[1:2])


def run(program, folder, command):
    done = subprocess.run([program, *shlex.split(command)], cwd=folder, input="1\n", capture_output=True, text=True)
    return done.returncode, done.stderr.strip()


def anchors(page):
    """The names of its headings, as GitHub makes them."""
    names = set()
    for heading in re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE):
        names.add(re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-"))
    return names


def broken_links():
    for page in pages():
        for link in LINK.findall(CODE.sub("", page.read_text())):
            if re.match(r"\w+:", link):
                continue
            path, _, anchor = link.partition("#")
            target = (page.parent / path).resolve() if path else page
            if not target.exists():
                yield f"{page.relative_to(ROOT)}: {link} leads nowhere"
            elif anchor and target.suffix == ".md" and anchor not in anchors(target):
                yield f"{page.relative_to(ROOT)}: {target.name} has no heading {anchor}"
            elif re.fullmatch(r"L\d+", anchor) and int(anchor[1:]) > len(target.read_text().splitlines()):
                yield f"{page.relative_to(ROOT)}: {link} is beyond the end"


def main():
    program = os.path.abspath(sys.argv[1])
    problems = list(broken_links())
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        for path in ROOT.iterdir():  # commands write where they run
            if path.name != "out":
                (Path(folder) / path.name).symlink_to(path)
        record = json.loads((ROOT / "results/emulator/questions.json").read_text())
        answered = {command["command"] for command in record}  # by a test of their own
        found = {c: page for c, page in commands().items() if is_whole(c) and c not in answered}
        for (command, page), (code, error) in zip(found.items(), pool.map(lambda c: run(program, folder, c), found)):
            if code not in (0, 1):
                problems.append(f"{page}: lapidary {command}: exit status {code}: {error}")
    if len(found) < 60:
        problems.append(f"only {len(found)} commands were found")
    print(*problems, sep="\n")
    print(f"{len(found)} commands, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
