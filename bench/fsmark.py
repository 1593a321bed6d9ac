"""Files per second of `stallscope run fsmark` and of fs_mark, alternating within each round; called by fsmark.sh.

Both programs are measured by the same two methods. *By the files' own times*: all files over the time from the first to
the last modification time. That is the true rate of all processes together. *As the sum of each process's own rate*,
which is what fs_mark prints: it is too high where processes start late or end early, because the others run faster
then. stallscope also reports its own true rate, from the common start to the last end.

stallscope runs with the default recorder (kernel events traced, all metrics sampled, every latency in a histogram), and
with sampling alone. CPU time is that of the processes that create the files, so that it is comparable on a busy machine
too. Files are kept, so that no time goes into removing them during a measurement; between two measurements they are
removed and dirty pages are written.
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
    """Files per second, from the first modification time to the last."""
    first, last, found = None, None, 0
    for folder, _, names in os.walk(place):
        for name in names:
            if name.startswith("."):
                continue
            when = os.stat(os.path.join(folder, name)).st_mtime_ns
            first, last = min(first or when, when), max(last or when, when)
            found += 1
    if found != files:
        sys.exit(f"{place}: {found} files found, {files} expected")
    return (files - 1) * 1e9 / max(1, last - first)


def ours(place, flags, files, *more):
    out = os.path.join(RUNS, "run")
    command = [PROGRAM, "run", "fsmark", *flags, "-k", "--keep", "-d", place, "--json", "-q", "--out", out, *more]
    shown = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    shutil.rmtree(out)
    threads = next(phase["job_threads"] for phase in shown["phases"] if phase["name"] == "create")
    used = threads["cpu_s"] / threads["items"]
    return {
        TIMES: (by_their_times(place, files), used),
        SUM: (threads["sum_of_own_items_per_s"], used),
        "as reported": (shown["rates"]["files_per_s"]["mean"], used),
    }


def fs_mark(place, flags, files):
    log = os.path.join(RUNS, "log")
    before = cpu_s()
    text = subprocess.run(
        ["fs_mark", *flags, "-k", "-d", place, "-l", log], check=True, capture_output=True, text=True
    ).stdout
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
        # Rotate the order.
        for name, run in subjects[number % 3 :] + subjects[: number % 3]:
            clean(place)
            for kind, figures in run().items():
                found.setdefault((kind, name), []).append(figures)
    clean(place)
    for kind, name in sorted(found, key=lambda known: [TIMES, SUM, "as reported"].index(known[0])):
        rates, cpu = zip(*found[kind, name])
        # Compare the same kind of rate; the one that stallscope reports is a true rate.
        peer = statistics.median(rate for rate, _ in found[SUM if kind == SUM else TIMES, "fs_mark"])
        middle, spread = statistics.median(rates), f"({min(rates):,.0f} - {max(rates):,.0f})"
        cpu_us = statistics.median(cpu) * 1e6
        print(f"  {threads}  {name:<22} {kind:<24} {middle:>9,.0f} {spread:<19} {middle / peer:.2f}  {cpu_us:>6.1f}")


def main():
    print(f"Small files by processes: files per second, median of {ROUNDS} rounds (min - max); ratio to fs_mark;")
    print("CPU time per file in microseconds, without the recorder's own")
    for name, title, place, flags, total in CASES:
        if name in WANTED:
            print(f" {title}")
            for threads in THREADS:
                measure(title, place, flags, threads, total)
                sys.stdout.flush()


main()
