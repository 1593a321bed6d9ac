"""Files a second of `stallscope run fsmark` and of fs_mark, in turn within each round; called by fsmark.sh.

Ours is the true rate, from the common start to the end of the last process, with the recorder as it is by default (kernel
events traced, all metrics sampled, every latency in a histogram), and with sampling alone. fs_mark's is what it prints, which
is the sum of each process's own rate and so too much, and its files over the time from its start to its end by the wall
clock, which has its own start and end in it and so is a little too few. CPU time is that of the processes that make the files: it
says on a machine that has other things to do, too, which of the two does more for a file. Files are kept, so that no time goes into removing
them while others are created; they are removed, and what is dirty is written, between two measurements.
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


def clean(place):
    for name in os.listdir(place):
        path = os.path.join(place, name)
        shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
    os.sync()


def figures(text):
    lines = text.splitlines()
    heading = next(number for number, line in enumerate(lines) if line.startswith("FSUse%"))
    return float(lines[heading + 1].split()[3])


def ours(place, flags, *more):
    out = os.path.join(RUNS, "run")
    command = [PROGRAM, "run", "fsmark", *flags, "-k", "-d", place, "--json", "-q", "--out", out, *more]
    shown = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    shutil.rmtree(out)
    crew = next(phase["crew"] for phase in shown["phases"] if phase["name"] == "create")
    return {"": (shown["rates"]["files_per_s"]["mean"], crew["cpu_s"] / crew["items"])}


def fs_mark(place, flags, files):
    log = os.path.join(RUNS, "log")
    before, began = cpu_s(), time.monotonic()
    text = subprocess.run(["fs_mark", *flags, "-k", "-d", place, "-l", log], check=True, capture_output=True, text=True).stdout
    took = time.monotonic() - began
    used = (cpu_s() - before) / files
    return {"as it says": (figures(text), used), "by the wall clock": (files / took, used)}


def cpu_s():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(title, place, flags, threads, total):
    count = max(1, int(total * SCALE / threads))
    flags = flags.split() + ["-n", str(count), "-t", str(threads)]
    subjects = [
        ("stallscope, recording as by default", lambda: ours(place, flags)),
        ("stallscope --no-trace", lambda: ours(place, flags, "--no-trace")),
        ("fs_mark", lambda: fs_mark(place, flags, count * threads)),
    ]
    found = {}
    for number in range(ROUNDS):
        # Each comes first as often as the others.
        for name, run in subjects[number % 3:] + subjects[:number % 3]:
            clean(place)
            for kind, figures in run().items():
                found.setdefault(f"{name} {kind}".strip(), []).append(figures)
    clean(place)
    peer = statistics.median(rate for rate, _ in found["fs_mark as it says"])
    for name in sorted(found, key=lambda name: name.startswith("fs_mark")):
        rates, cpu = zip(*found[name])
        middle, spread = statistics.median(rates), f"({min(rates):,.0f} - {max(rates):,.0f})"
        cpu_us = statistics.median(cpu) * 1e6
        print(f"  {threads}  {name:<36} {middle:>9,.0f} {spread:<19} {middle / peer:.2f}  {cpu_us:>6.1f}")


def main():
    print(f"Small files by processes: files a second, median of {ROUNDS} rounds (least - most); as a share of what fs_mark says;")
    print("CPU time of a file in microseconds, the recorder's own left out")
    for name, title, place, flags, total in CASES:
        if name in WANTED:
            print(f" {title}")
            for threads in THREADS:
                measure(title, place, flags, threads, total)
                sys.stdout.flush()


main()
