"""Where a source is changed to make mutants of it: found by pattern, or planted.

Entries of planted.json: `bug`, `file`, the `text` that is replaced, a statement if it ends with a semicolon and an
expression otherwise, and what stands `instead`. The text is in the file's code once, or once `in` a longer one that is
there once; any white space may be between its words. Constants that the compiler evaluates stay as they are. `kernels`
are those that have the bug, where others come by the text and it does them no harm.
"""
import re
import sys

from lib.project import ROOT

PLANTED = ROOT / "test/mutants/planted.json"

CALLS = {
    "barrier": r"__syncthreads|__syncwarp|barrier_\w+|mbarrier_arrive\w*|cluster_(?:sync|arrive|wait)\w*",
    "wait": r"wait|\w*wait_group\w*|mbarrier_\w*wait\w*|grid_wait",
    "commit": r"\w*commit_group",
    "fence": r"\w*fence\w*",
}
# In the order of the pages.
KINDS = (*CALLS, "clamp", "condition", "bound", "argument", "factor", "offset")

# What may be taken for each other: sizes; a leading dimension for those of the other matrices and for the sizes of its
# own; bases of one type.
SIZES = {"M": "NK", "N": "MK", "K": "MN"}
STRIDES = {"lda": "MK", "ldb": "KN", "ldc": "MN", "ldd": "MN"}
BASES = {"A": "B", "B": "A", "C": "D", "D": "C"}
FACTORS = {"alpha": ("1", "beta"), "beta": ("0", "1", "alpha")}

TEMPLATE = re.compile(r"(?<=\w)<[^<>;]*>")
COMPARISON = re.compile(r"==|!=|<=|>=| < | > ")
# A parity chooses an order.
PARITY = re.compile(r"[\w.]+ % 2 == 0")


class Site:
    """A place in a file where a mutant differs: what stands before and behind the text begin:end of the file when all
    mutants are compiled together, and what stands there instead of from:to for a reader."""

    def __init__(self, kind, begin, end, before, behind, cut=None, instead=None):
        self.kind, self.begin, self.end, self.before, self.behind = kind, begin, end, before, behind
        self.cut = cut  # (from, to, text), or None where the mutant does not read like what a person would write
        self.instead = instead  # what stands there; None if nothing does
        self.kernels = None  # those that have it, if not all that come by
        self.evaluable = False  # by the compiler, so that threads may never come by


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


def constexpr_ranges(text):
    """The functions that the compiler may evaluate, and the values that it has evaluated."""
    functions, values = [], []
    for match in re.finditer(r"(?<!if )\bconstexpr\b", text):
        i, called = match.end(), False
        while text[i] not in ";{" and not (text[i] == "=" and text[i - 8 : i] != "operator" and text[i - 1] != "="):
            called |= text[i] == "("
            i = closing(text, i) if text[i] in "([" else i + 1
        if called and text[i] == "{":
            functions.append((match.start(), closing(text, i)))
            continue
        while text[i] != ";":
            i = closing(text, i) if text[i] in "([{" else i + 1
        values.append((match.start(), i + 1))
    return functions, values


def constant_ranges(text):
    """What the compiler alone evaluates beside constexpr values."""
    constants = (
        r"^#if defined\(__CUDACC__\)$.*?^#(?:else|elif|endif)",  # what is left to nvcc
        r"^\s*#.*?$",
        r"\busing\s+\w+\s*=[^;]*;",
        r"^\s*\w+ \w+\[[^\]]*\];",  # lengths of arrays that are members
        r"\btemplate <.*?>$",
        r"\b(?:class|struct) \w+ : [^{;]*\{",
    )
    ranges = [m.span() for m in re.finditer("|".join(constants), text, re.MULTILINE | re.DOTALL)]
    for match in re.finditer(r"(?:\bstatic_assert|\bif constexpr|\brequires|__launch_bounds__) ?(?=[({])", text):
        ranges.append((match.start(), closing(text, match.end())))
    return ranges


def pieces(text, begin, end, separator):
    """The parts of text[begin:end] that the separators outside of brackets cut it into, as (begin, end) without space
    around them, and the separators between them."""
    parts, signs, start, i = [], [], begin, begin
    pattern = re.compile(separator)
    while i < end:
        if text[i] in "([{":
            i = closing(text, i)
        elif arguments := TEMPLATE.match(text, i):
            i = arguments.end()
        elif sign := pattern.match(text, i, end):
            parts.append((start, i))
            signs.append(sign[0])
            start = i = sign.end()
        else:
            i += 1
    parts.append((start, end))
    return [(b + len(text[b:e]) - len(text[b:e].lstrip()), b + len(text[b:e].rstrip())) for b, e in parts], signs


def exchanged(kind, text, begin, end, instead, typed=None):
    """The mutant with another expression, which `typed` converts, in the place of text[begin:end]."""
    other = typed or f"({instead})"
    return Site(kind, begin, end, f"(lapidary_mutant(@) ? {other} : (", "))", (begin, end, instead), instead)


def beside(kind, text, begin, end, step="1", signs="+-"):
    """The mutants with what bounds something one more and one less, or `step` more and less."""
    code = text[begin:end]
    whole = code if re.fullmatch(r"[\w.:]+|[\w.:<>]+\(.*\)|.* [+-] .*", code, re.DOTALL) else f"({code})"
    return [exchanged(kind, text, begin, end, f"{whole} {sign} {step}", f"(({code}) {sign} {step})") for sign in signs]


def conditions(text, begin, end, drop, alone, both=True):
    """The mutants of the condition text[begin:end]: each operand is true, and each is false, or not `both` and `drop`
    alone. With `drop` nothing is asked; `alone` is what a reader then sees if there is no other operand, as Site.cut."""
    parts, signs = pieces(text, begin, end, r"&&|\|\|")
    for i, (b, e) in enumerate(parts):
        for value in (True, False):
            if value != drop:
                cut = None
            elif len(parts) == 1:
                cut = alone
            elif drop or "&&" not in signs:
                cut = (b, parts[i + 1][0], "") if i == 0 else (parts[i - 1][1], e, "")
            else:
                cut = None  # without the operand less would be left
            if both or value == drop:
                opened = "(lapidary_mutant(@) || (" if value else "(!lapidary_mutant(@) && ("
                yield Site("condition", b, e, opened, "))", cut, str(value).lower())


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
        other = text[i] in "?:" and text[i - 1] == text[i + 1] == " "
        if depth < 0 or (depth == 0 and (text[i] in ",;" or assignment or other or text[i - 6 : i + 1] == "return ")):
            begin = i + 1
            return begin + len(text[begin:at]) - len(text[begin:at].lstrip())
    raise ValueError("a ?: without a beginning")


def call_sites(text):
    """Barriers, waits, commits and fences, each of which is left out."""
    for kind, names in CALLS.items():
        for match in re.finditer(rf"\b(?:\w+::)*(?:{names})\b(?:<[^;<>]*>)?\s*\(", text):
            end = closing(text, match.end() - 1)
            if text[end] == ";" and not text[: match.start()].rstrip().endswith("void"):
                cut = (match.start(), end + 1, "")
                yield Site(kind, match.start(), end, "lapidary_mutant(@) ? void() : ", "", cut)


def loop_sites(text):
    """Loops that wait for their condition, which then ask once."""
    for match in re.finditer(r"\bwhile \(", text):
        end = closing(text, match.end() - 1)
        if re.match(r" \{\s*\}", text[end:]):
            yield Site("wait", match.end(), end - 1, "(", ") && !lapidary_mutant(@)", None, "once")


def condition_sites(text):
    """Conditions of if, ?:, while and for, and what is kept or returned as one."""
    for match in re.finditer(r"\bif \(", text):
        begin, end = match.end(), closing(text, match.end() - 1) - 1
        begin = pieces(text, begin, end, ";")[0][-1][0]
        leaves = re.match(r"\)\s*(return|break|continue)\b", text[end:])
        same_line = re.match(r"\) (?=[^\s{])", text[end:])
        has_else = re.match(r"\)[^;{]*;\s*else\b", text[end:])
        alone = None
        if same_line and not has_else:
            stop = text.index("\n", end)
            alone = (match.start(), stop, "") if leaves else (match.start(), end + 2, "")
        yield from conditions(text, begin, end, not leaves, alone)
    for match in re.finditer(r"\?", text):
        begin = ternary_begin(text, match.start())
        colon, end = ternary_end(text, match.start())
        alone = (begin, end, text[match.end() : colon].strip())
        asked = len(text[: match.start()].rstrip())
        if not PARITY.fullmatch(text[begin:asked]):
            yield from conditions(text, begin, asked, True, alone)
    for match in re.finditer(r"\b(?:const bool \w+ =|return) ([^;?]*);", text):
        if re.search(r"&&|\|\||==|!=| [<>]=? |^!", match[1]) and "{" not in match[1]:
            yield from conditions(text, match.start(1), match.end(1), True, None)
    for match in re.finditer(r"\bfor \(([^;]*);([^;]*);", text):
        if "&&" in match[2]:
            yield from conditions(text, match.start(2), match.end(2), True, None, both=False)


def bound_sites(text):
    """What is compared with, how far a tile reaches, how many parts there are, and how large a tensor is."""
    # Unrolled loops go over registers: one more would be past the thread's own array, and what is there nobody knows.
    steps, unrolled = {}, set()
    loop = r"(#pragma unroll[^\n]*\s+)?\bfor \([^;]*;([^;]*);\s*(?:\w+ \+= ([\w:<>]+(?:\(\w+\))?))?"
    for match in re.finditer(loop, text):
        condition = range(*match.span(2))
        steps.update((at, match[3] or "1") for at in condition)
        unrolled.update(condition if match[1] else ())
    for match in re.finditer(r" (?:<=?|>=?) ", text):
        stop = re.compile(r"[,;)\]}?]|&&|\|\|| : ")
        end = match.end()
        while not stop.match(text, end):
            arguments = TEMPLATE.match(text, end)
            end = closing(text, end) if text[end] in "([{" else arguments.end() if arguments else end + 1
        step = "1" if text.startswith("g.", match.end()) else steps.get(match.start(), "1")
        signs = "-" if match.start() in unrolled else "+-"
        yield from beside("bound", text, match.end(), len(text[:end].rstrip()), step, signs)
    for match in re.finditer(r"\b(?<!int )left_in_tile\(", text):
        end = closing(text, match.end() - 1)
        (size, _, extent), _ = pieces(text, match.end(), end - 1, ",")
        yield exchanged("clamp", text, match.start(), end, text[slice(*extent)])
        yield from beside("clamp", text, *size)
        yield from beside("clamp", text, *extent)
    for match in re.finditer(r"\bceil_div(?:<[^;<>]*>)?\(", text):
        yield from beside("bound", text, match.start(), closing(text, match.end() - 1))
    for match in re.finditer(r"\.size = \{", text):
        for part in pieces(text, match.end(), closing(text, match.end() - 1) - 1, ",")[0]:
            yield from beside("bound", text, *part)


def argument_sites(text):
    """Sizes, leading dimensions, bases, orders and factors of a problem, of what a kernel is given of it, and of its
    operands, of which one stands for another."""
    for match in re.finditer(r"\b(g|p|problem|o|operands)\.(\w+)\b(?!\(| = )", text):
        of, name = match[1], match[2]
        if name in FACTORS and of in ("g", "o", "operands"):
            for other in FACTORS[name]:
                yield exchanged("factor", text, *match.span(), other if other.isdigit() else f"{of}.{other}")
        others = SIZES.get(name, "")
        if name in STRIDES:
            others = [*(ld for ld in STRIDES if ld != name), *STRIDES[name]]
        for other in others:
            yield exchanged("argument", text, *match.span(), f"{of}.{other}")
        for other in BASES.get(name, ""):
            typed = f"(decltype({match[0]})) ({of}.{other})"
            yield exchanged("argument", text, *match.span(), f"{of}.{other}", typed)
    for match in re.finditer(r"(?<!case )\b(Matrix::|\w+\.aligned\.)([ABCD])\b", text):
        for other in "ABCD".replace(match[2], ""):
            yield exchanged("argument", text, *match.span(), match[1] + other)
    for match in re.finditer(r"\b((?:\w+\.)*kind\.)([ab])\b(?! = )", text):
        yield exchanged("argument", text, *match.span(), match[1] + "ba"["ab".index(match[2])])
    for match in re.finditer(r"\bKind::(alpha|beta)\b", text):
        yield exchanged("factor", text, *match.span(), "Kind::beta" if match[1] == "alpha" else "Kind::alpha")
    for match in re.finditer(r"\(std::int64_t M, std::int64_t N\b[^()]*\)[^;{]*\{", text):
        for name in re.compile(r"(?<![\w.])[MN]\b").finditer(text, match.end(), closing(text, match.end() - 1)):
            yield exchanged("argument", text, *name.span(), "N" if name[0] == "M" else "M")


def offset_sites(text):
    """What is multiplied by a leading dimension, which then has 32 bits."""
    for match in re.finditer(r"(?:\([^()]*\)|\b[\w.]+) \* (?:g\.ld[abcd]|ld|step_)\b", text):
        yield exchanged("offset", text, *match.span(), f"static_cast<int>({match[0]})")


def functions_named(text, names):
    """Where the bodies of those functions are."""
    for match in re.finditer(rf"\b(?:{names})\(", text):
        end = closing(text, match.end() - 1)
        if body := re.compile(r"[\w\s]*\{").match(text, end):
            yield body.end(), closing(text, body.end() - 1)


def sites_of(text, functions=None):
    """All sites of a file, in order; of these functions alone, if it is said."""
    text = blanked(text)
    evaluable, values = constexpr_ranges(text)
    constant = [*values, *constant_ranges(text)]
    wanted = list(functions_named(text, functions)) if functions else [(0, len(text))]
    found = {}
    for finder in (call_sites, loop_sites, condition_sites, bound_sites, argument_sites, offset_sites):
        for site in finder(text):
            if any(b <= site.begin < e for b, e in constant) or not any(b <= site.begin < e for b, e in wanted):
                continue
            site.evaluable = any(b <= site.begin < e for b, e in evaluable)
            found[site.kind, site.begin, site.end, site.instead] = site  # what is compared with may be ceil_div(), too
    return sorted(found.values(), key=lambda s: (s.begin, -s.end))


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
        sites.append(Site(entry["bug"], begin, end, before, behind, (begin, end, instead), instead))
        sites[-1].kernels = entry.get("kernels")
    return sites
