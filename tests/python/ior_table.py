#!/usr/bin/env python3
"""IOR's table by hand: ior_table.py SET TABLE

Computes each row of the table that `run ior --format native` printed, or `show`, from what each rank recorded in the
journals of a set's nodes, by the definitions of IOR (ReduceIterResults in src/ior.c of IOR 4.1), and ends with an error
where a figure differs by more than its last digit. No code is shared with the program.
"""

import json
import pathlib
import sys


def clock_offset(node):
    """As docs/FORMAT.md says: the middle of both measurements."""
    begin, end = node["clock_at_begin"], node["clock_at_end"] or node["clock_at_begin"]
    return begin["offset_ns"] + int((end["offset_ns"] - begin["offset_ns"]) / 2)


def job_threads(run):
    """The phases of one node with what their ranks recorded, in order."""
    for line in (run / "journal").read_text().splitlines():
        what = json.loads(line.split(" ", 1)[1]).get("what", {})
        if what.get("event") == "job_threads":
            yield what["phase"], what["members"]


def ranks_of_phases(folder):
    """Of each phase and repetition, all ranks with times on the clock of rank 0."""
    phases = {}
    for node in json.loads((folder / "set.json").read_text())["nodes"]:
        offset, seen = clock_offset(node), {}
        for phase, members in job_threads(folder / f"node-{node['name']}"):
            number = seen[phase] = seen.get(phase, -1) + 1
            for member in members:
                moved = {
                    key: value - offset
                    for key, value in member.items()
                    if key in ("start_ns", "opened_ns", "closing_ns", "end_ns")
                }
                phases.setdefault((phase, number), []).append({**member, **moved})
    return phases


def row(ranks):
    """Bandwidth (MiB/s), operations per second, latency, and the times of open, transfer, close and all (s)."""
    first = lambda key: min(rank[key] for rank in ranks)
    last = lambda key: max(rank[key] for rank in ranks)
    total = (last("end_ns") - first("start_ns")) / 1e9
    access = (last("closing_ns") - first("opened_ns")) / 1e9
    latency = min((rank["closing_ns"] - rank["opened_ns"]) / 1e9 / rank["items"] for rank in ranks)
    moved = sum(rank["bytes"] for rank in ranks) / 2**20 / total
    times = [(last("opened_ns") - first("start_ns")) / 1e9, access, (last("end_ns") - first("closing_ns")) / 1e9, total]
    return [moved, sum(rank["items"] for rank in ranks) / access, latency, *times]


def main():
    folder, table = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).read_text()
    phases, rows = ranks_of_phases(folder), 0
    for line in table.splitlines():
        words = line.split()
        if words[:1] not in (["write"], ["read"]) or len(words) != 11:
            continue
        printed = [float(words[at]) for at in (1, 2, 3, 6, 7, 8, 9)]
        ranks = phases[words[0], int(words[10])]
        expected = row(ranks)
        for name, got, want, digit in zip(
            ("bw", "IOPS", "latency", "open", "wr/rd", "close", "total"), printed, expected, (0.01, 0.01, *[1e-6] * 5)
        ):
            if abs(got - want) > digit:
                sys.exit(
                    f"{words[0]} {words[10]}: {name} is {got} in the table, and {want:.6f} by hand, of ranks {ranks}"
                )
        rows += 1
    if rows == 0:
        sys.exit("the table has no rows")
    print(f"{rows} rows, of {len(next(iter(phases.values())))} ranks each")


main()
