"""The table of scripts/test-vm (standard input: its head and rows) as docs/SUPPORT.md has it: a row for each suite of
tests, a column for each kernel. Writes it between the page's marks; suites and kernels that did not run, and suites
that ran out of time, keep what the page says."""

import sys

PAGE = "docs/SUPPORT.md"
BEGIN, END = "<!-- suites of scripts/test-vm -->\n", "<!-- end -->\n"


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def answer(cell):
    """A cell such as `4 ok, 1 skipped, 62 s`."""
    counts = {word: int(number) for number, word in (part.split(" ", 1) for part in cell.split(", ") if " " in part)}
    if counts.get("failed") or not counts.get("ok"):
        return "no"
    return "part" if counts.get("skipped") else "yes"


def kernel(release):
    """`6.12.117+deb13-amd64`, `6.1.0-50-amd64`: without the architecture and what Debian adds."""
    return release.removesuffix("-amd64").split("+")[0]


def ran(lines):
    """By suite and kernel."""
    head, *rows = [cells(line) for line in lines if line.startswith("|") and not line.startswith("|---")]
    suites = [suite.strip("`") for suite in head[2:]]
    return {
        (suite, kernel(row[1])): answer(cell)
        for row in rows
        for suite, cell in zip(suites, row[2:])
        if cell != "-" and not cell.startswith("out of time")
    }


def known(block):
    head, _, *rows = [cells(line) for line in block.splitlines()]
    return {(row[0].strip("`"), name): cell for row in rows for name, cell in zip(head[1:], row[1:])}


def matrix(answers):
    kernels = sorted(
        {name for _, name in answers},
        key=lambda name: [int(part) for part in name.replace("-", ".").split(".") if part.isdigit()],
    )
    suites = list(dict.fromkeys(suite for suite, _ in answers))
    rows = [
        ["suite", *kernels],
        *([f"`{suite}`", *(answers.get((suite, name), "-") for name in kernels)] for suite in suites),
    ]
    lines = ["| " + " | ".join(row) + " |\n" for row in rows]
    return "".join([lines[0], "|---" * (len(kernels) + 1) + "|\n", *lines[1:]])


def updated(page, lines):
    before, rest = page.split(BEGIN)
    block, after = rest.split(END, 1)
    return before + BEGIN + matrix(known(block) | ran(lines)) + END + after


def main():
    with open(PAGE) as file:
        page = file.read()
    with open(PAGE, "w") as file:
        file.write(updated(page, sys.stdin.readlines()))


if __name__ == "__main__":
    main()
