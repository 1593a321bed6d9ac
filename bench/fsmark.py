"""Files a second of `stallscope run fsmark` and of fs_mark, in turn within each round; called by fsmark.sh.

Each program is measured in the same two ways. *By the files' own times*: all files over the time from the first file's
modification time to the last one's, as the file system keeps them. That is the true rate of all processes together, and it is the
same gauge for both. *As the sum of each process's own rate*, which is what fs_mark prints: it is too much where processes begin late
or end early, as the others are faster meanwhile. Ours also says its own true rate, from the common start to the last end.

Ours runs with the recorder as it is by default (kernel events traced, all metrics sampled, every latency in a histogram), and with
sampling alone. CPU time is that of the processes that make the files: it says on a machine that has other things to do, too, which
of the two does more for a file. Files are kept, so that no time goes into removing them while others are created; they are removed,
and what is dirty is written, between two measurements.
"""

import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import time

PROGRAM = os.environ.get("STALLSCOPE", "target/release/stallscope")
ROUNDS = int(os.environ.get("FSMARK_ROUNDS", "5"))
SCALE = float(os.environ.get("FSMARK_SCALE", "1"))
THREADS = [int(count) for count in os.environ.get("FSMARK_THREADS", "1 2 4").split()]
# Name, place, flags, files of all processes together.
CASES = [
    ("tmpfs", "empty files on tmpfs, no sync", os.environ["FSMARK_TMPFS"], "-S 0 -s 0", 80_000),
    ("xfs", "4 KiB on XFS, no sync", os.environ["FSMARK_XFS"], "-S 0 -s 4096", 24_000),
    ("fsync", "4 KiB on XFS, fsync", os.environ["FSMARK_XFS"], "-S 1 -s 4096", 8_000),
]
WANTED = os.environ.get("FSMARK_CASES", "tmpfs xfs fsync").split()
RUNS = os.environ["FSMARK_RUNS"]
TIMES, SUM = "by the files' times", "as the sum of own rates"


def clean(place):
    for name in os.listdir(place):
        path = os.path.join(place, name)
        shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
    os.sync()


def figures(text):
    lines = text.splitlines()
    heading = next(number for number, line in enumerate(lines) if line.startswith("FSUse%"))
    return float(lines[heading + 1].split()[3])


def by_their_times(place, files):
    """Files a second from the first file's time to the last one's."""
    first, last, found = None, None, 0
    for folder, _, names in os.walk(place):
        for name in names:
            if name.startswith("."):
                continue
            when = os.stat(os.path.join(folder, name)).st_mtime_ns
            first, last = min(first or when, when), max(last or when, when)
            found += 1
    if found != files:
        sys.exit(f"{place}: {found} files are there, and {files} should be")
    return (files - 1) * 1e9 / max(1, last - first)


def ours(place, flags, files, *more):
    out = os.path.join(RUNS, "run")
    command = [PROGRAM, "run", "fsmark", *flags, "-k", "--keep", "-d", place, "--json", "-q", "--out", out, *more]
    shown = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    shutil.rmtree(out)
    crew = next(phase["crew"] for phase in shown["phases"] if phase["name"] == "create")
    used = crew["cpu_s"] / crew["items"]
    return {
        TIMES: (by_their_times(place, files), used),
        SUM: (crew["sum_of_own_items_per_s"], used),
        "as it says": (shown["rates"]["files_per_s"]["mean"], used),
    }


def fs_mark(place, flags, files):
    log = os.path.join(RUNS, "log")
    before = cpu_s()
    text = subprocess.run(["fs_mark", *flags, "-k", "-d", place, "-l", log], check=True, capture_output=True, text=True).stdout
    used = (cpu_s() - before) / files
    return {TIMES: (by_their_times(place, files), used), SUM: (figures(text), used)}


def cpu_s():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(title, place, flags, threads, total):
    count = max(1, int(total * SCALE / threads))
    flags = flags.split() + ["-n", str(count), "-t", str(threads)]
    subjects = [
        ("stallscope", lambda: ours(place, flags, count * threads)),
        ("stallscope --no-trace", lambda: ours(place, flags, count * threads, "--no-trace")),
        ("fs_mark", lambda: fs_mark(place, flags, count * threads)),
    ]
    found = {}
    for number in range(ROUNDS):
        # Each comes first as often as the others.
        for name, run in subjects[number % 3:] + subjects[:number % 3]:
            clean(place)
            for kind, figures in run().items():
                found.setdefault((kind, name), []).append(figures)
    clean(place)
    for kind, name in sorted(found, key=lambda known: [TIMES, SUM, "as it says"].index(known[0])):
        rates, cpu = zip(*found[kind, name])
        # Like is compared with like; what ours says of itself is a true rate.
        peer = statistics.median(rate for rate, _ in found[SUM if kind == SUM else TIMES, "fs_mark"])
        middle, spread = statistics.median(rates), f"({min(rates):,.0f} - {max(rates):,.0f})"
        cpu_us = statistics.median(cpu) * 1e6
        print(f"  {threads}  {name:<22} {kind:<24} {middle:>9,.0f} {spread:<19} {middle / peer:.2f}  {cpu_us:>6.1f}")


def main():
    print(f"Small files by processes: files a second, median of {ROUNDS} rounds (least - most); as a share of fs_mark's;")
    print("CPU time of a file in microseconds, the recorder's own left out")
    for name, title, place, flags, total in CASES:
        if name in WANTED:
            print(f" {title}")
            for threads in THREADS:
                measure(title, place, flags, threads, total)
                sys.stdout.flush()


main()
