"""What C++ files are made of: themselves, what they include of this project, and what is linked for that."""
import hashlib
import re

from lib.project import ROOT

INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)


def linked(files):
    """The files, the headers that they include, and the .cpp beside each of these, and so on: paths below the root."""
    found, waiting = set(), list(files)
    while waiting:
        path = waiting.pop()
        if path in found or not (ROOT / path).is_file():
            continue
        found.add(path)
        for header in INCLUDE.findall((ROOT / path).read_text()):
            waiting += [f"src/{header}", re.sub(r"\.hpp$", ".cpp", f"src/{header}")]
    return found


def code_of(path):
    """A file without comments and spacing. The lines of code that runs on the device stay: faults name them."""
    text = (ROOT / path).read_text()
    text = re.sub(r"//[^\n]*" if path.endswith((".hpp", ".cpp", ".cuh")) else r"#[^\n]*", "", text)
    return re.sub(r"[ \t]+" if path.startswith("src/tile/") or path.endswith(".cuh") else r"\s+", " ", text)


def hash_of(*texts):
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]
