#!/usr/bin/env bash
# Cost of a flight recorder that is always on: CPU of the whole process, of its threads and of its BPF programs, its
# memory, and the size of its ring on the disk. Idle means that the bench runs no load; the idle share of the machine is
# printed.
set -euo pipefail
cd "$(dirname "$0")/.."
program=$PWD/target/release/stallscope
seconds=${BENCH_SECONDS:-120}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

python3 - "$program" "$seconds" "$scratch/flight" <<'PYTHON'
import atexit, glob, json, os, pathlib, signal, subprocess, sys, time

program, seconds, directory = sys.argv[1], int(sys.argv[2]), sys.argv[3]
words = [program, "record", "--ring", f"{seconds + 60}s", "--on-stall", "5s", "--on-stall", "psi:io>60%", "--keep-last"]
recorder = subprocess.Popen(words + ["--quiet", "--json", "--out", directory], stdout=subprocess.DEVNULL)
atexit.register(recorder.terminate)


def process_ns():  # all threads of the process, including ended ones: the process's CPU clock
    return time.clock_gettime_ns((~recorder.pid << 3) | 2)


def threads_ns():  # by name, to a clock tick
    clocks = {}
    for task in glob.glob(f"/proc/{recorder.pid}/task/*/stat"):
        name, fields = pathlib.Path(task).read_text().split("(", 1)[1].rsplit(") ", 1)
        ticks = sum(int(field) for field in fields.split()[11:13])
        clocks[name] = clocks.get(name, 0) + ticks * 10**9 // os.sysconf("SC_CLK_TCK")
    return clocks


def machine():  # idle ticks, all ticks
    ticks = [int(word) for word in pathlib.Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    return ticks[3] + ticks[4], sum(ticks)


time.sleep(5)  # the cost of starting is excluded
before = time.monotonic_ns(), process_ns(), threads_ns(), machine()
time.sleep(seconds)
after = time.monotonic_ns(), process_ns(), threads_ns(), machine()
span_s = (after[0] - before[0]) / 1e9
memory = next(line for line in open(f"/proc/{recorder.pid}/status") if line.startswith("VmHWM")).split()[1]
disk = sum(file.stat().st_size for file in pathlib.Path(directory, "ring").glob("*/*"))
recorder.send_signal(signal.SIGINT)
recorder.wait()

costs = []
for journal in glob.glob(directory + "/*-last/journal"):
    events = (json.loads(line[9:]) for line in open(journal))
    costs += [event["what"] for event in events if event.get("what", {}).get("event") == "trace_cost"]
kernel_ns = [cost["programs_cpu_ns"] for cost in costs if cost["programs_cpu_ns"] is not None]
kernel = sum(kernel_ns) / 1e6 / (span_s + 5) if kernel_ns else None
own = (after[1] - before[1]) / 1e6 / span_s
idle = (after[3][0] - before[3][0]) / (after[3][1] - before[3][1])

print(f"Flight recorder, {span_s:.0f} s; the machine was {idle:.0%} idle")
print(f"process            {own:6.2f} ms of CPU a second")
for name, ns in sorted(after[2].items(), key=lambda item: -item[1]):
    print(f"  {name:<16} {(ns - before[2].get(name, 0)) / 1e6 / span_s:6.2f} ms")
kernel_cost = "not kernel_cost by this kernel" if kernel is None else f"{kernel:6.2f} ms"
print(f"programs in the kernel {kernel_cost}, {sum(cost['events'] for cost in costs) / (span_s + 5):.0f} events a second")
print(f"together {(own + (kernel or 0)) / 10:.2f} % of one CPU")
print(f"{int(memory) / 1024:.1f} MiB resident; the ring takes {disk / 1024 / (span_s + 5) * 60:.0f} KiB a minute")
PYTHON
