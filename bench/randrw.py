"""Run stallscope and fio alternately; called by randrw.sh."""

import json
import statistics
import subprocess
import sys

SECONDS, PROGRAM, WHERE, SCRATCH = sys.argv[2:]
ROUNDS = int(sys.argv[1])
SIZE = "128m"
# Name, mix, threads, stallscope's engine, fio's engine, depth.
CASES = [
    ("read, 1 thread", "read", 1, "sync", "psync", 1),
    ("read, 2 threads", "read", 2, "sync", "psync", 1),
    ("write, 1 thread", "write", 1, "sync", "psync", 1),
    ("write, 2 threads", "write", 2, "sync", "psync", 1),
    ("read, io_uring, depth 16", "read", 1, "io_uring", "io_uring", 16),
    ("write, io_uring, depth 16", "write", 1, "io_uring", "io_uring", 16),
    ("null engine", "read", 1, "null", "null", 1),
]


def output(words):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{words}: {done.stderr}")
    return json.loads(done.stdout)


def ours(case, number):
    _, mix, threads, engine, _, depth = case
    run = output(
        [
            PROGRAM,
            "run",
            "randrw",
            "--json",
            "-q",
            "--no-trace",
            "--keep",
            "--mix",
            mix,
            "--threads",
            str(threads),
            "--engine",
            engine,
            "--depth",
            str(depth),
            "--file-size",
            SIZE,
            "--warmup",
            "500ms",
            "--runtime",
            f"{SECONDS}s",
            "--out",
            f"{SCRATCH}/run{number}",
            WHERE,
        ]
    )
    return run["operations"][mix]["count"] / run["duration_s"]


def fios(case):
    _, mix, threads, _, engine, depth = case
    run = output(
        [
            "fio",
            "--name=t",
            f"--directory={WHERE}",
            f"--size={SIZE}",
            "--bs=4k",
            f"--rw=rand{mix}",
            f"--ioengine={engine}",
            f"--iodepth={depth}",
            f"--numjobs={threads}",
            "--thread",
            "--group_reporting",
            "--time_based",
            "--ramp_time=500ms",
            f"--runtime={SECONDS}",
            "--invalidate=0",
            "--norandommap",
            "--output-format=json",
        ]
    )
    return run["jobs"][0][mix]["iops"]


def shown(values, form):
    return f"{form % statistics.median(values)} ({form % min(values)} to {form % max(values)})"


print(f"Random 4 KiB blocks on tmpfs, {SECONDS} s each, medians and ranges of {ROUNDS} alternating rounds")
number = 0
for case in CASES:
    pairs = []
    for turn in range(ROUNDS):
        number += 1
        # Alternate the order.
        if turn % 2:
            theirs = fios(case)
            pairs.append((ours(case, number), theirs))
        else:
            mine = ours(case, number)
            pairs.append((mine, fios(case)))
    mine, theirs = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    if case[3] == "null":
        mine, theirs = [1e9 / value for value in mine], [1e9 / value for value in theirs]
        print(f"{case[0]:26} stallscope {shown(mine, '%.0f')} ns/operation   fio {shown(theirs, '%.0f')} ns/operation")
        continue
    ratios = [pair[0] / pair[1] for pair in pairs]
    mine, theirs = [value / 1e3 for value in mine], [value / 1e3 for value in theirs]
    print(
        f"{case[0]:26} stallscope {shown(mine, '%.0f')} k/s   fio {shown(theirs, '%.0f')} k/s   ratio "
        f"{shown(ratios, '%.2f')}"
    )
