"""docs/refusals.md: the rules by which calls of the library are refused."""
import json
import re
import sys

from lib.project import ROOT

from pages.markdown import table

CATALOGUE = ROOT / "src/core/refusals.def"
ENTRY = re.compile(r'LAPIDARY_REFUSAL\((\w+), (\w+),\s*("(?:[^"\\]|\\.)*"),\s*("(?:[^"\\]|\\.)*")\)')


def refusals():
    text = CATALOGUE.read_text()
    rows = [[f"`{group}.{name}`", json.loads(rule), json.loads(mended_by)] for group, name, rule, mended_by in ENTRY.findall(text)]
    if len(rows) != text.count("\nLAPIDARY_REFUSAL("):
        sys.exit(f"{CATALOGUE}: not every rule is written as LAPIDARY_REFUSAL(group, name, \"rule\", \"mended by\")")
    return table(["id", "rule", "what is legal, for example"], rows)


REGIONS = {"refusals": refusals}
