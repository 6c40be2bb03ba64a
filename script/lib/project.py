"""Where the project is, what is on its ladder, and how its program and others are run."""
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

# Of a card, what `lapidary bench` wrote; of a kernel at a size the first one counts.
TIMED = ("times.json", "ladder.json", "tensor.json", "kinds.json", "f32.json")
ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAM = Path(os.environ.get("LAPIDARY", ROOT / "build" / "lapidary"))
LADDER = ROOT / "src" / "kernels" / "ladder.def"
ENTRY = re.compile(r"^\s*LAPIDARY_(OPTIONAL_)?RUNG\(\s*(\w+)\s*,\s*(\w+)\s*[,)]", re.MULTILINE)


class Entry(NamedTuple):
    """A rung on the ladder."""

    name: str
    family: str
    optional: bool

    @property
    def source(self):
        """Its file, below src/."""
        return f"kernels/{self.family}/{self.name}.cuh"


def ladder():
    """name -> Entry, in the order of the ladder"""
    return {name: Entry(name, family, bool(optional)) for optional, family, name in ENTRY.findall(LADDER.read_text())}


def attempt(command, **options):
    """Runs a command, whatever becomes of it; its output is text."""
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)


def run(command, **options):
    """Runs a command, which has to succeed."""
    done = attempt(command, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stderr}")
    return done


def ask(command, program=PROGRAM):
    """What the program answers to a command, read from JSON."""
    return json.loads(run([program, *command, "--json"]).stdout)


def load(path):
    """A file of JSON, by its path below the project's root."""
    try:
        return json.loads((ROOT / path).read_text())
    except (OSError, ValueError) as error:
        sys.exit(f"{path}: {error}")


def save(path, document):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=1) + "\n")
