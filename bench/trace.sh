#!/usr/bin/env bash
# What tracing costs a load of 4 KiB random reads on a loop device over memory: once as fast as the machine can, with all
# CPUs busy, and once at a fixed rate. Beside `stallscope record` with its default and with `--requests all` stand the
# kernel's own `blk` tracer, read as blktrace's users would, and a biosnoop in bpftrace. The runs alternate, round by
# round, forth and back; what is shown is the median over the rounds and the range. CPU is that of the whole machine:
# it should have nothing else to do.
#
#     TRACE_ROUNDS=5 TRACE_SECONDS=8 TRACE_RATE=50000 TRACE_ENGINE=io_uring bench/trace.sh
set -euo pipefail
cd "$(dirname "$0")/.."
if [ "$(id -u)" != 0 ]; then
    echo "Tracing: needs root, not measured"
    exit 0
fi
for tool in fio losetup python3; do
    command -v $tool >/dev/null || { echo "Tracing: $tool is missing, not measured"; exit 0; }
done
program=$PWD/target/release/stallscope
scratch=$(mktemp -d)
device=""
# The two peers look for tracefs where it belongs; it is not mounted everywhere.
tracefs=""
away() {
    kill $(jobs -p) 2>/dev/null || true
    if [ -n "$device" ]; then losetup --detach "$device" || true; fi
    umount "$scratch/memory" || true
    if [ -n "$tracefs" ]; then umount "$tracefs" || true; fi
    rm -rf "$scratch"
}
trap away EXIT
if [ -d /sys/kernel/tracing ] && [ ! -e /sys/kernel/tracing/trace_clock ]; then
    mount -t tracefs none /sys/kernel/tracing && tracefs=/sys/kernel/tracing
fi
mkdir "$scratch/memory"
mount -t tmpfs -o size=2g none "$scratch/memory"
head -c 1G /dev/zero >"$scratch/memory/image"
device=$(losetup --find --show "$scratch/memory/image")

PROGRAM=$program DEVICE=$device SCRATCH=$scratch python3 - <<'PYTHON'
import glob, json, os, shutil, signal, statistics, subprocess, sys, time

program, device, scratch = os.environ["PROGRAM"], os.environ["DEVICE"], os.environ["SCRATCH"]
rounds = int(os.environ.get("TRACE_ROUNDS", 5))
seconds = int(os.environ.get("TRACE_SECONDS", 8))
rate = int(os.environ.get("TRACE_RATE", 50000))
engine = os.environ.get("TRACE_ENGINE", "io_uring")
cpus = os.cpu_count()
tracefs = next((path for path in ("/sys/kernel/tracing", "/sys/kernel/debug/tracing")
                if os.path.exists(path + "/trace_clock")), None)

BIOSNOOP = """
tracepoint:block:block_rq_issue { @start[args.dev, args.sector] = nsecs; @by[args.dev, args.sector] = comm; }
tracepoint:block:block_rq_complete /@start[args.dev, args.sector]/ {
    printf("%u %s %d %s %d %u\\n", elapsed / 1000, @by[args.dev, args.sector], args.dev, args.rwbs, args.sector,
        (nsecs - @start[args.dev, args.sector]) / 1000);
    delete(@start[args.dev, args.sector]); delete(@by[args.dev, args.sector]);
}
"""

def fio(per_job):
    command = ["fio", "--name=x", "--filename=" + device, "--direct=1", "--rw=randread", "--bs=4k", "--size=1g",
               "--ioengine=" + engine, "--iodepth=32", f"--numjobs={cpus}", "--group_reporting", "--time_based",
               f"--runtime={seconds}", "--ramp_time=2", "--output-format=json", f"--output={scratch}/fio.json"]
    return command + ([f"--rate_iops={per_job}"] if per_job else [])

def busy_ns():
    fields = [int(field) for field in open("/proc/stat").readline().split()[1:]]
    return (sum(fields[:3]) + sum(fields[5:8])) * 10_000_000

def quietly(command):
    return subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

def off(load):
    quietly(load)

def record(*options):
    def run(load):
        shutil.rmtree(scratch + "/run", ignore_errors=True)
        quietly([program, "record", "--quiet", "--json", "--out", scratch + "/run", *options, "--", *load])
    return run

def blk_tracer(load):
    name = os.path.basename(device)
    write, readers = lambda path, text: open(path, "w").write(text), []
    try:
        write(f"/sys/block/{name}/trace/act_mask", "queue,issue,complete,requeue")
        write(f"/sys/block/{name}/trace/enable", "1")
        write(tracefs + "/current_tracer", "blk")
        readers = [subprocess.Popen(["cat", path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                   for path in glob.glob(tracefs + "/per_cpu/cpu*/trace_pipe_raw")]
        quietly(load)
    finally:
        for reader in readers:
            reader.terminate(); reader.wait()
        write(tracefs + "/current_tracer", "nop")
        write(f"/sys/block/{name}/trace/enable", "0")

def biosnoop(load):
    tracer = subprocess.Popen(["bpftrace", "-e", BIOSNOOP], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(2)
    try:
        quietly(load)
    finally:
        tracer.send_signal(signal.SIGINT); tracer.wait()

ways = {"not traced": off, "stallscope record": record(), "stallscope record --requests all": record("--requests", "all")}
if tracefs and os.path.exists(f"/sys/block/{os.path.basename(device)}/trace"):
    ways["ftrace's blk tracer"] = blk_tracer
else:
    print("ftrace's blk tracer: not there (needs tracefs and CONFIG_BLK_DEV_IO_TRACE)")
if shutil.which("bpftrace"):
    ways["bpftrace, biosnoop"] = biosnoop
else:
    print("bpftrace is missing: no comparison (Debian: bpftrace)")

def measure(title, per_job):
    seen = {name: [] for name in ways}
    per_request = []
    for round in range(rounds):
        for name in (list(ways) if round % 2 == 0 else list(ways)[::-1]):
            before = busy_ns()
            try:
                ways[name](fio(per_job))
            except (OSError, subprocess.CalledProcessError) as error:
                print(f"{name}: {error}", file=sys.stderr)
                continue
            spent = busy_ns() - before
            read = json.load(open(scratch + "/fio.json"))["jobs"][0]["read"]
            # The ramp's requests are not counted, but cost the same.
            requests = read["total_ios"] * (seconds + 2) / seconds
            seen[name].append((read["iops"], spent / requests))
            if name.endswith("all"):
                rows = json.loads(subprocess.run([program, "check", "--json", scratch + "/run"], check=True,
                                                 capture_output=True).stdout)["rows"].get("requests", 0)
                size = sum(os.path.getsize(path) for path in glob.glob(scratch + "/run/requests*"))
                per_request.append(size / max(rows, 1))
    print(f"\n{title}")
    base = [statistics.median(column) for column in zip(*seen["not traced"])]
    for name, values in seen.items():
        if not values:
            continue
        iops, cpu = zip(*values)
        less = 100 * (1 - statistics.median(iops) / base[0])
        more = statistics.median(cpu) - base[1]
        print(f"{name:<34} {statistics.median(iops):9.0f} requests/s ({min(iops):.0f}-{max(iops):.0f}) {less:+6.1f} % fewer"
              f"  {statistics.median(cpu):6.0f} ns CPU a request ({min(cpu):.0f}-{max(cpu):.0f}) {more:+6.0f}"
              f" = {100 * more / base[1]:+5.1f} %")
    if per_request:
        print(f"archive, --requests all: {statistics.median(per_request):.1f} bytes a request")

print(f"Tracing, 4 KiB random reads, {engine}, {rounds} alternating rounds of {seconds} s on {cpus} CPUs")
measure("As fast as it goes", None)
measure(f"At {rate} requests/s", rate // cpus)
PYTHON
