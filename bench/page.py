"""Writes a bench's table into docs/COST.md, where `make bench` names that page in COST_PAGE."""

import os

END = "<!-- end -->\n"


def write(bench, lines):
    """Replaces what the page has between the marks of this bench."""
    path = os.environ.get("COST_PAGE")
    if not path:
        return
    with open(path) as file:
        page = file.read()
    mark = f"<!-- rows of {bench} -->\n"
    before, rest = page.split(mark)
    _, after = rest.split(END, 1)
    with open(path, "w") as file:
        file.write(before + mark + "".join(line + "\n" for line in lines) + END + after)
