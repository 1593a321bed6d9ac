"""Cost of tracing a load; called by trace.sh, which makes the device.

One fio runs all the time. Beside it the methods of tracing alternate, forward and backward. Each is measured for one
window, once it is attached, between two windows without tracing. Printed are the median of the differences from those
two and its interval of at least 95 % (sign test; the range for fewer than six rounds). The rate of a load drifts within
seconds by more than tracing changes it. For an accuracy of some percent, programs are therefore switched on and off
within milliseconds (crates/record/examples/switch.rs), in many short windows. `stallscope record` then runs as for its
users: with all samplers, tracing the whole machine.

CPU time is that of the whole machine: on each CPU a SCHED_IDLE thread counts loops, which measures the time that the
others left idle, interrupts included. The kernel's tick-based accounting misses most events this short and frequent.
The machine must be otherwise idle.
"""

import glob
import json
import math
import mmap
import os
import re
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import time

import page

DEVICE, SCRATCH = os.environ["TRACE_DEVICE"], os.environ["TRACE_SCRATCH"]
ROUNDS = int(os.environ.get("TRACE_ROUNDS", 5))
SECONDS = float(os.environ.get("TRACE_SECONDS", 2))
RATE = int(os.environ.get("TRACE_RATE", 50000))
ENGINE = os.environ.get("TRACE_ENGINE", "io_uring")
# 0: without the other tracers, for many rounds in a short time.
PEERS = os.environ.get("TRACE_PEERS", "1") != "0"
CPUS = sorted(os.sched_getaffinity(0))
DISK = os.path.basename(DEVICE)
PROGRAM, SWITCH = "target/release/stallscope", "target/release/examples/switch"
# The same example of another version, whose programs are measured beside these: what a change of them costs.
OTHER_SWITCH = os.environ.get("TRACE_OTHER_SWITCH")
SWITCH_ROUNDS = int(os.environ.get("TRACE_SWITCH_ROUNDS", 60))
SWITCH_SECONDS = 0.25
# The tracer measures its programs within its first second, which costs more than they do.
SETTLE_SECONDS = 1.2
TRACEFS = next(
    (path for path in ("/sys/kernel/tracing", "/sys/kernel/debug/tracing") if os.path.exists(path + "/trace_clock")),
    None,
)

BIOSNOOP = """
tracepoint:block:block_rq_issue { @start[args->dev, args->sector] = nsecs; @by[args->dev, args->sector] = comm; }
tracepoint:block:block_rq_complete /@start[args->dev, args->sector]/ {
    printf("%u %s %d %s %d %u\\n", elapsed / 1000, @by[args->dev, args->sector], args->dev, args->rwbs, args->sector,
        (nsecs - @start[args->dev, args->sector]) / 1000);
    delete(@start[args->dev, args->sector]); delete(@by[args->dev, args->sector]);
}
END { clear(@start); clear(@by); }
"""

started = []
spinners = []


def start(command, **options):
    options = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, **options}
    started.append(subprocess.Popen(command, **options))
    return started[-1]


def end(process, number=signal.SIGINT):
    process.send_signal(number)
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    started.remove(process)


class Spare:
    """Idle CPU time: loops per second of an idle thread on each CPU, relative to those of an idle machine."""

    BATCH = 5000

    def __init__(self):
        self.board = mmap.mmap(-1, 4096)
        for slot, cpu in enumerate(CPUS):
            child = os.fork()
            if not child:
                self.spin(slot, cpu)
            spinners.append(child)
        time.sleep(0.3)
        self.idle = 0
        # Other activity only lowers it.
        for _ in range(5):
            before = self.look()
            time.sleep(0.3)
            self.idle = max(self.idle, self.per_second(before))

    def spin(self, slot, cpu):
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.sched_setaffinity(0, {cpu})
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
        parent = os.getppid()
        count = 0
        while count % 1000 or os.getppid() == parent:
            for _ in range(self.BATCH):
                pass
            count += 1
            struct.pack_into("Q", self.board, 8 * slot, count)
        os._exit(0)

    def look(self):
        return time.monotonic(), sum(struct.unpack_from(f"{len(CPUS)}Q", self.board))

    def per_second(self, before):
        now = self.look()
        return (now[1] - before[1]) / (now[0] - before[0])

    def busy_ns(self, before):
        """CPU time per second that others used since `before`, on all CPUs."""
        return (1 - min(self.per_second(before) / self.idle, 1)) * len(CPUS) * 1e9


def requests():
    fields = [int(field) for field in open(f"/sys/block/{DISK}/stat").read().split()]
    return fields[0] + fields[4]


def links(pid):
    """Number of programs that the process has attached."""
    count = 0
    for path in glob.glob(f"/proc/{pid}/fd/*"):
        try:
            count += os.readlink(path) == "anon_inode:bpf_link"
        except OSError:
            pass
    return count


def attached(process):
    """Wait until the process attaches no more programs."""
    before, deadline = 0, time.monotonic() + 15
    while time.monotonic() < deadline and process.poll() is None:
        now = links(process.pid)
        if now and now == before:
            time.sleep(SETTLE_SECONDS)
            return process
        before = now
        time.sleep(0.3)
    raise OSError(f"{process.args[0]} has not attached its programs")


class Method:
    """A method of tracing. `values` are printed in the remark beside its figures."""

    def __init__(self):
        self.values = []

    def begin(self):
        time.sleep(0.3)

    def end(self, done):
        pass


class Record(Method):
    def __init__(self, *options):
        super().__init__()
        self.options = options

    def begin(self):
        shutil.rmtree(SCRATCH + "/run", ignore_errors=True)
        command = [PROGRAM, "record", "--quiet", "--json", "--runtime", "1h", "--out", SCRATCH + "/run", *self.options]
        self.process = start(command)
        attached(self.process)

    def end(self, done):
        end(self.process)
        if self.options:
            answer = subprocess.run([PROGRAM, "check", "--json", SCRATCH + "/run"], capture_output=True)
            rows = json.loads(answer.stdout)["rows"].get("requests", 0)
            size = sum(os.path.getsize(path) for path in glob.glob(SCRATCH + "/run/requests*"))
            self.values.append(size / max(rows, 1))

    def remark(self):
        return f"{statistics.median(self.values):.1f} archive bytes per request" if self.values else ""


class Switcher:
    """A process that attaches programs alone, without a recorder: their events are read and dropped."""

    def __init__(self, program):
        self.program = program
        self.process = start([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self.answer()
        self.set("off")

    def set(self, to):
        self.process.stdin.write(to + "\n")
        self.answer()
        time.sleep(0.03)

    def answer(self):
        if self.process.stdout.readline() != "ok\n":
            raise OSError(f"{self.program} has ended")


class Switch(Method):
    """Programs that a switcher attaches."""

    def __init__(self, switcher, to):
        super().__init__()
        self.switcher, self.to = switcher, to

    def begin(self):
        self.switcher.set(self.to)

    def end(self, done):
        self.switcher.set("off")


class BlkTracer(Method):
    def begin(self):
        self.set(f"/sys/block/{DISK}/trace/act_mask", "queue,issue,complete,requeue")
        self.set(f"/sys/block/{DISK}/trace/enable", "1")
        self.set(TRACEFS + "/current_tracer", "blk")
        pipes = glob.glob(TRACEFS + "/per_cpu/cpu*/trace_pipe_raw")
        self.readers = [start(["cat", path]) for path in pipes]
        self.lost_before = self.lost()
        time.sleep(1)

    @staticmethod
    def set(path, text):
        with open(path, "w") as file:
            file.write(text)

    @staticmethod
    def lost():
        lines = [line for path in glob.glob(TRACEFS + "/per_cpu/cpu*/stats") for line in open(path)]
        return sum(int(line.split(":")[1]) for line in lines if line.startswith(("overrun", "dropped")))

    def end(self, done):
        self.values.append(self.lost() - self.lost_before)
        for reader in self.readers:
            end(reader, signal.SIGTERM)
        self.off()

    def off(self):
        self.set(TRACEFS + "/current_tracer", "nop")
        self.set(f"/sys/block/{DISK}/trace/enable", "0")

    def remark(self):
        return f"{sum(self.values)} events lost" if self.values else ""


class Biosnoop(Method):
    def begin(self):
        self.lines = SCRATCH + "/biosnoop"
        self.process = start(["bpftrace", "-e", BIOSNOOP], stdout=open(self.lines, "w"))
        deadline = time.monotonic() + 15
        while not os.path.getsize(self.lines) and time.monotonic() < deadline and self.process.poll() is None:
            time.sleep(0.3)
        time.sleep(SETTLE_SECONDS)
        self.before = self.count()

    def count(self):
        """Number of lines for the device's requests so far."""
        major, minor = (int(part) for part in open(f"/sys/block/{DISK}/dev").read().split(":"))
        mine = f" {major << 20 | minor} ".encode()
        with open(self.lines, "rb") as lines:
            return lines.read().count(mine)

    def end(self, done):
        self.values.append(1 - (self.count() - self.before) / max(done, 1))
        end(self.process)

    def remark(self):
        return (
            f"no line for {100 * max(statistics.median(self.values), 0):.0f} % of the requests" if self.values else ""
        )


def switched_methods():
    if not os.path.exists(SWITCH):
        print(f"{SWITCH} is missing: cargo build --release -p record --example switch")
        return {}
    this = Switcher(SWITCH)
    methods = {
        "programs that do nothing": Switch(this, "nothing"),
        "programs of the default": Switch(this, "default"),
        "programs of --requests all": Switch(this, "all"),
        "nothing (the error of the bench)": Switch(this, "off"),
    }
    if OTHER_SWITCH:
        methods["default of the other version"] = Switch(Switcher(OTHER_SWITCH), "default")
    return methods


def recorded_methods():
    methods = {"stallscope record": Record(), "stallscope record --requests all": Record("--requests", "all")}
    if not PEERS:
        return methods
    if TRACEFS and os.path.exists(f"/sys/block/{DISK}/trace"):
        methods["ftrace's blk tracer"] = BlkTracer()
    else:
        print("ftrace's blk tracer: unsupported (needs tracefs and CONFIG_BLK_DEV_IO_TRACE)")
    if TRACEFS and shutil.which("bpftrace"):
        methods["bpftrace, biosnoop"] = Biosnoop()
    else:
        print("bpftrace or tracefs is missing: no comparison (Debian: bpftrace)")
    return methods


def load(per_job):
    command = [
        "fio",
        "--name=x",
        "--filename=" + DEVICE,
        "--direct=1",
        "--rw=randread",
        "--bs=4k",
        "--size=1g",
        "--ioengine=" + ENGINE,
        "--iodepth=32",
        f"--numjobs={len(CPUS)}",
        "--group_reporting",
        "--time_based",
        "--runtime=1h",
        "--output=/dev/null",
    ]
    return start(command + ([f"--rate_iops={per_job}"] if per_job else []))


class Window:
    """Some seconds of the load: requests per second; per request, ns of CPU and context switches."""

    def __init__(self, method, spare, seconds):
        method.begin()
        looked, before, switched = spare.look(), requests(), switches()
        time.sleep(seconds)
        busy_ns, passed, done = spare.busy_ns(looked), time.monotonic() - looked[0], max(requests() - before, 1)
        self.switches = (switches() - switched) / done
        method.end(done)
        self.rate, self.cpu_ns = done / passed, busy_ns * passed / done


def scheduler():
    return re.search(r"\[(.*)\]", open(f"/sys/block/{DISK}/queue/scheduler").read()).group(1)


def switches():
    return next(int(line.split()[1]) for line in open("/proc/stat") if line.startswith("ctxt"))


def measure(title, per_job, spare, methods, rounds, seconds):
    """Compare each traced window with the untraced windows before and after it: over minutes the rate of the load
    drifts
    by more than tracing changes it."""
    off, seen = Method(), {name: [] for name in methods}
    fio = load(per_job)
    time.sleep(2)
    try:
        before = Window(off, spare, seconds)
        for number in range(rounds):
            # The other tracers run every other time, to keep the whole within minutes.
            order = [name for name in methods if number % 2 == 0 or isinstance(methods[name], (Record, Switch))]
            for name in order if number % 3 == 0 else order[::-1]:
                try:
                    traced = Window(methods[name], spare, seconds)
                    after = Window(off, spare, seconds)
                    seen[name].append((before, traced, after))
                    before = after
                except (OSError, subprocess.SubprocessError, ValueError) as error:
                    print(f"{name}: {error}", file=sys.stderr)
    finally:
        end(fio)
    print(f"\n{title}")
    plain = [window for windows in seen.values() for _, _, window in windows]
    base = statistics.median(window.cpu_ns for window in plain)
    rates = [window.rate for window in plain]
    print(
        f"{'not traced':<32} {statistics.median(rates):7.0f} requests/s ({min(rates):.0f}-{max(rates):.0f})  "
        f"{base:6.0f} ns CPU and "
        f"{statistics.median(window.switches for window in plain):.2f} context switches per request"
    )
    for name, windows in seen.items():
        if windows:
            report(name, methods[name], windows, base)


def interval(values):
    """Interval of the median of at least 95 % (sign test); the range for fewer than six values."""
    ordered, count, below = sorted(values), len(values), 0
    out = -1
    while 2 * (below + math.comb(count, out + 1)) <= 0.05 * 2**count:
        out += 1
        below += math.comb(count, out)
    return ordered[max(out, 0)], ordered[-1 - max(out, 0)]


# By method, what docs/COST.md says of it.
ON_PAGE = {
    "programs of the default": "the default",
    "programs of --requests all": "`--requests all`",
    "ftrace's blk tracer": "ftrace's `blk` tracer, which loses events at that rate",
    "programs that do nothing": "empty programs on the same tracepoints",
    "nothing (the error of the bench)": "nothing: the error of the bench",
}
page_rows = {}


def report(name, method, windows, base):
    fewer = [100 * (1 - 2 * traced.rate / (before.rate + after.rate)) for before, traced, after in windows]
    more = [traced.cpu_ns - (before.cpu_ns + after.cpu_ns) / 2 for before, traced, after in windows]
    rate = statistics.median(traced.rate for _, traced, _ in windows)
    switched = statistics.median(traced.switches for _, traced, _ in windows)
    median = statistics.median(more)
    share = 100 * median * rate / (len(CPUS) * 1e9)
    (least, most), (low, high) = interval(fewer), interval(more)
    remark = getattr(method, "remark", str)()
    # The first measurement of a method is that at an unlimited rate.
    page_rows.setdefault(
        name,
        f"{statistics.median(fewer):.1f} % ({least:.1f} to {most:.1f}) | {median / 1e3:.2f} us ({low / 1e3:.2f} to "
        f"{high / 1e3:.2f})",
    )
    print(
        f"{name:<32} {rate:7.0f} requests/s {statistics.median(fewer):+5.1f} % fewer ({least:+.1f} to {most:+.1f})"
        f"  {median:+6.0f} ns CPU per request ({low:+.0f} to {high:+.0f}) = {100 * median / base:+5.1f} %, "
        f"{share:+5.2f} % of"
        f" the machine; {switched:.2f} switches{'  ' + remark if remark else ''}",
        flush=True,
    )


def terminate(*_):
    sys.exit(143)


def main():
    signal.signal(signal.SIGTERM, terminate)
    try:
        spare = Spare()
        print(f"Tracing, 4 KiB random reads, {ENGINE}, scheduler {scheduler()}, on {len(CPUS)} CPUs")
        methods = switched_methods()
        if methods:
            title = f"Unlimited rate, programs switched on and off: {SWITCH_ROUNDS} rounds of {SWITCH_SECONDS} s"
            measure(title, None, spare, methods, SWITCH_ROUNDS, SWITCH_SECONDS)
            for switcher in {method.switcher for method in methods.values()}:
                end(switcher.process)
        if not ROUNDS:
            return
        methods = recorded_methods()
        measure(f"Unlimited rate: {ROUNDS} rounds of {SECONDS:g} s", None, spare, methods, ROUNDS, SECONDS)
        for method in methods.values():
            method.values.clear()
        measure(
            f"At {RATE} requests/s: {ROUNDS} rounds of {SECONDS:g} s",
            RATE // len(CPUS),
            spare,
            methods,
            ROUNDS,
            SECONDS,
        )
        head = [
            "| 4 KiB random reads at the rate that two CPUs reach | fewer requests | CPU per request |",
            "|---|---:|---:|",
        ]
        page.write(
            "bench/trace.sh",
            head + [f"| {words} | {page_rows[name]} |" for name, words in ON_PAGE.items() if name in page_rows],
        )
    finally:
        for process in list(started):
            end(process)
        for child in spinners:
            os.kill(child, signal.SIGKILL)
        # Another user of tracefs may have unmounted it.
        if TRACEFS and os.path.exists(TRACEFS + "/current_tracer"):
            if open(TRACEFS + "/current_tracer").read().strip() == "blk":
                BlkTracer().off()


main()
