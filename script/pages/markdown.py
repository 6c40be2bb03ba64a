"""What pages are written with."""


def table(head, rows):
    """A Markdown table; columns whose head ends with a colon are aligned to the right."""
    rule = ["--:" if name.endswith(":") else "---" for name in head]
    lines = [[name.rstrip(":") for name in head], rule, *rows]
    return "".join("| " + " | ".join(cells) + " |\n" for cells in lines)


def lapidary(command):
    return f"`lapidary {command}`"
