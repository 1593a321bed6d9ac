#!/usr/bin/env python3
"""Trials whose truth is known: A/A, where B is as A, and a limit lowered by 20 %; called by trials.sh, which gives a
device.

Each trial is one of `stallscope trial` on two threads of fio that read a throttled loop device at random."""

import json
import os
import subprocess
import sys

DEVICE = os.environ["TRIALS_DEVICE"]
SCRATCH = os.environ["TRIALS_SCRATCH"]
COUNT = int(os.environ.get("TRIALS_COUNT", "20"))
PERIODS = os.environ.get("TRIALS_PERIODS", "36")
PERIOD = os.environ.get("TRIALS_PERIOD", "400ms")
SEED = int(os.environ.get("TRIALS_SEED", "1"))
RATIO = float(os.environ.get("TRIALS_RATIO", "1"))
PROGRAM = os.environ.get("TRIALS_PROGRAM", "target/release/stallscope")
LIMIT = 4 << 20
RULES = "/sys/fs/cgroup/blkio/blkio.throttle.read_bps_device"


def number():
    with open(f"/sys/block/{os.path.basename(DEVICE)}/dev", encoding="utf8") as file:
        return file.read().strip()


def rule(limit):
    with open(RULES, "w", encoding="utf8") as file:
        file.write(f"{number()} {limit}")


def trial(at):
    run = f"{SCRATCH}/run"
    fio = (
        f"fio --output=/dev/null --filename={DEVICE} --bs=32k --rw=randread --direct=1 --ioengine=psync --numjobs=2 "
        f"--thread "
        f"--time_based --runtime=600 --name=reader --randseed={SEED + at}"
    )
    command = [
        PROGRAM,
        "trial",
        f"--set={RULES}={number()} {int(LIMIT * RATIO)}",
        f"--periods={PERIODS}",
        f"--period={PERIOD}",
    ]
    command += [
        f"--wash-out={int(PERIOD.removesuffix('ms')) // 5}ms",
        "--interval=100ms",
        "--slower-than=5ms",
        f"--seed={SEED + at}",
    ]
    command += ["--json", "--quiet", f"--out={run}", "--", *fio.split()]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    subprocess.run(["rm", "-rf", "--one-file-system", run], check=True)
    if done.returncode != 0:
        print(f"trial {at}: code {done.returncode}: {done.stderr.strip()}", flush=True)
        return None
    return json.loads(done.stdout)


def main():
    ran = claimed = carried = found = 0
    for at in range(COUNT):
        rule(LIMIT)
        document = trial(at)
        if document is None:
            continue
        ran += 1
        load = os.getloadavg()[0]
        differs = {e["figure"]: e for e in document["effects"] if e["verdict"] in ("better", "worse", "different")}
        carry_over = [test["figure"] for test in document["carry_over"]]
        claimed += bool(differs)
        carried += bool(carry_over)
        found += differs.get("bytes_per_s", {}).get("verdict") == "worse"
        words = ", ".join(f"{name} {effect['verdict']} x{effect['ratio']:.3f}" for name, effect in differs.items())
        print(
            f"trial {at}: load {load:.1f}: {words or 'no difference'}; carry-over: {', '.join(carry_over) or 'none'}",
            flush=True,
        )
    print(
        f"{ran} trials of {PERIODS} periods of {PERIOD}, the limit x {RATIO:g}: {claimed} claim a difference, "
        f"{carried} claim "
        f"carry-over; throughput worse in {found}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
