#!/usr/bin/env python3
"""The table of sweeps/fsmark-scaling.toml in the form of "VFS scalability git tree": thousands of files per second by
threads.

    stallscope sweep sweeps/fsmark-scaling.toml
    bench/fsmark_table.py stallscope-sweeps/fsmark-scaling

Each figure is the median of its runs, followed by their range.
"""

import json
import os
import statistics
import subprocess
import sys

PROGRAM = os.environ.get("STALLSCOPE", "target/release/stallscope")


def main(sweep):
    found = {}
    for name in sorted(os.listdir(os.path.join(sweep, "runs"))):
        directory = os.path.join(sweep, "runs", name)
        shown = subprocess.run(
            [PROGRAM, "show", "--json", directory], check=True, capture_output=True, text=True
        ).stdout
        with open(os.path.join(directory, "run.json")) as description:
            configuration = json.load(description)["configuration"]
        # The baseline's second set of runs measures the noise.
        if configuration.get("is_twin"):
            continue
        settings = dict(configuration["settings"])
        file_system, threads = settings["fs"], settings["threads"]
        found.setdefault((int(threads), file_system), []).append(
            json.loads(shown)["rates"]["files_per_s"]["mean"] / 1000
        )
    kinds = [kind for kind in ("xfs", "ext4", "btrfs") if any(kind == found_kind for _, found_kind in found)]
    print("threads" + "".join(f"{kind:>20}" for kind in kinds))
    for threads in sorted({threads for threads, _ in found}):
        cells = (found[threads, kind] for kind in kinds)
        figures = (f"{statistics.median(cell):.1f} ({min(cell):.1f}-{max(cell):.1f})" for cell in cells)
        print(f"{threads:>7}" + "".join(f"{figure:>20}" for figure in figures))


main(sys.argv[1])
