#!/usr/bin/env python3
"""Record a mixed load under mq-deadline, predict other schedulers from it, and measure those; called by whatif.sh.

Each reader has one direct read in flight; a writer dirties blocks in bursts and starts writeback at once, without
waiting for it. The device is a loop device that takes only WHATIF_DEPTH requests, so that the queue forms in the
scheduler."""

import json
import os
import subprocess
import sys

DEVICE = os.environ["WHATIF_DEVICE"]
NAME = os.path.basename(DEVICE)
SCRATCH = os.environ["WHATIF_SCRATCH"]
SECONDS = os.environ.get("WHATIF_SECONDS", "15")
DEPTH = os.environ.get("WHATIF_DEPTH", "4")
READERS = os.environ.get("WHATIF_READERS", "12")
BURST = os.environ.get("WHATIF_BURST", "24")
PAUSE = os.environ.get("WHATIF_PAUSE", "150ms")
BLOCK = os.environ.get("WHATIF_BLOCK", "256k")
RECORDER = os.environ.get("WHATIF_RECORDER", "target/release/stallscope")
PREDICTOR = os.environ.get("WHATIF_PREDICTOR", RECORDER)
POLICIES = {"deadline": "mq-deadline", "bfq": "bfq", "none": "none"}
QUEUE = f"/sys/block/{NAME}/queue/"


def put(name, value):
    with open(QUEUE + name, "w", encoding="utf8") as file:
        file.write(value)


def scheduler(policy):
    # Without a scheduler nr_requests sets the device's depth, which stays when a scheduler is set.
    put("scheduler", "none")
    put("nr_requests", DEPTH)
    put("scheduler", POLICIES[policy])
    # Writeback throttling would delay the writes before they reach the scheduler.
    try:
        put("wbt_lat_usec", "0")
    except OSError:
        pass


def record(name, policy):
    scheduler(policy)
    subprocess.run(["blockdev", "--flushbufs", DEVICE], check=True)
    run = f"{SCRATCH}/{name}"
    fio = (
        f"fio --output=/dev/null --filename={DEVICE} --bs={BLOCK} --time_based --runtime={SECONDS} --norandommap "
        f"--randseed=7 --name=readers --rw=randread --direct=1 --ioengine=psync --numjobs={READERS} --name=writer "
        f"--rw=randwrite --direct=0 --ioengine=psync --sync_file_range=write:{BURST} --thinktime={PAUSE} "
        f"--thinktime_blocks={BURST}"
    )
    command = [RECORDER, "record", "--quiet", "--requests", "all", "--out", run, "--", *fio.split()]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return run


def predict(run):
    number = open(f"/sys/block/{NAME}/dev", encoding="utf8").read().strip()
    command = [PREDICTOR, "simulate", "sched", "--trace", run, "--device", number, "--policy", "none,deadline,bfq"]
    command += ["--set", f"depth={DEPTH}"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    document = subprocess.run([*command, "--json"], capture_output=True, text=True, check=True).stdout
    return shown, json.loads(document)["prediction"]


def ms(ns):
    return "-" if ns is None else f"{ns / 1e6:.2f}"


def main():
    rounds = int(os.environ.get("WHATIF_ROUNDS", "1"))
    for number in range(rounds):
        runs = {policy: record(f"{policy}-{number}", policy) for policy in POLICIES}
        again = record(f"deadline-again-{number}", "deadline")
        shown, prediction = predict(runs["deadline"])
        if number == 0:
            print(shown)
        measured = {policy: predict(run)[1]["recorded"] for policy, run in runs.items()}
        repeated = predict(again)[1]["recorded"]
        print("| requests | policy | | recorded | predicted, ms | measured, ms | predicted / measured |")
        print("|---|---|---|---:|---:|---:|---:|")
        for at, recorded in enumerate(prediction["recorded"]):
            if recorded["count"] == 0:
                continue
            for predicted in prediction["predicted"]:
                policy = predicted["policy"]
                truth = (repeated if policy == "deadline" else measured[policy])[at]
                for key in ("p50_ns", "p90_ns", "p99_ns"):
                    is_, was = predicted["latencies"][at][key], truth[key]
                    ratio = "-" if not is_ or not was else f"{is_ / was:.2f}"
                    print(
                        f"| {recorded['class']} | {policy} | {key[:-3]} | {ms(recorded[key])} | {ms(is_)} | {ms(was)} "
                        f"| {ratio} |"
                    )
        print(flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
