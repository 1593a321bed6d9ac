"""What the program itself costs, in one table: medians (least to most) of ROUNDS rounds in each of which every version
has
its turn.

A figure of a process is its user and system time and its highest resident size; a time of a clock is a monotonic one.
BEFORE names the directory of another version's programs (its target/release), which are measured in the same rounds."""

import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import threading
import time

import page

HERE = os.path.realpath("target/release")
BEFORE = os.environ.get("COSTS_BEFORE", "")
ROUNDS = int(os.environ.get("COSTS_ROUNDS", "5"))
SCRATCH = os.environ["COSTS_SCRATCH"]
MEMORY = os.environ["COSTS_MEMORY"]
SECONDS = int(os.environ.get("COSTS_SECONDS", "30"))
VERSIONS = {"now": HERE} | ({"before": BEFORE} if BEFORE else {})
# Prints a monotonic clock and becomes another program, in about 3 ms.
CLOCK = "use Time::HiRes 'clock_gettime'; printf STDERR \"at %.6f\\n\", clock_gettime(1); exec @ARGV"


class Used:
    """A process that ended: CPU seconds, MiB at most, seconds of the clock, and what it printed."""

    def __init__(self, command, stdout=subprocess.DEVNULL, cpu=None, folder=None):
        before = time.monotonic()
        pinned = ["taskset", "-c", str(cpu)] if cpu is not None else []
        process = subprocess.Popen(pinned + command, stdout=stdout, stderr=subprocess.PIPE, cwd=folder)
        self.stdout = process.stdout.read() if stdout == subprocess.PIPE else b""
        self.stderr = process.stderr.read().decode(errors="replace")
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.begin, self.seconds = before, time.monotonic() - before
        self.cpu, self.mib = usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024
        if process.returncode not in (0, 1):
            raise RuntimeError(f"{command[0]} ended with {process.returncode}: {self.stderr.strip()}")


class Row:
    """One line of the table: the figures of each version by column. `peer` names the program of that column."""

    def __init__(self, what, goal, unit, peer=None):
        self.what, self.goal, self.unit, self.peer, self.seen = what, goal, unit, peer, {}

    def add(self, column, figure):
        self.seen.setdefault(column, []).append(figure)

    def cell(self, column):
        figures = sorted(self.seen.get(column, []))
        if not figures:
            return "-"
        places = 0 if figures[-1] >= 100 else 1 if figures[-1] >= 20 else 2
        shown = (f"{figure:,.{places}f}" for figure in (figures[0], statistics.median(figures), figures[-1]))
        low, middle, high = shown
        name = f"{self.peer} " if column == "peer" and self.peer else ""
        return f"{name}{middle} ({low} to {high})"

    def text(self, columns):
        cells = [f"{self.what}, {self.unit}", *(self.cell(column) for column in columns), self.goal]
        return "| " + " | ".join(cells) + " |"


def in_turn(number):
    """The versions in this round: each comes first as often."""
    names = list(VERSIONS)
    return names if number % 2 == 0 else names[::-1]


def run_of(name):
    """A directory for a run that does not exist yet."""
    path = os.path.join(SCRATCH, name)
    shutil.rmtree(path, ignore_errors=True)
    return path


def start():
    whole, until = (
        Row("`record -- true`, start and end", "0.4", "s of CPU"),
        Row("launch to the command's start", "0.3", "s"),
    )
    for number in range(max(ROUNDS, 7)):
        for name in in_turn(number):
            run = run_of("start")
            used = Used(
                [VERSIONS[name] + "/stallscope", "record", "-q", "--out", run, "--", "perl", "-e", CLOCK, "true"]
            )
            began = next(float(line.split()[1]) for line in used.stderr.splitlines() if line.startswith("at "))
            whole.add(name, used.cpu)
            until.add(name, began - used.begin)
    return [whole, until]


def first_stall():
    row = Row("a first stall's begin to its live line", "2", "s")
    path = os.path.join(SCRATCH, "lock")
    open(path, "w").close()
    for number in range(ROUNDS):
        for name in in_turn(number):
            holder = subprocess.Popen(["flock", path, "sleep", "4"])
            time.sleep(0.3)
            command = [
                VERSIONS[name] + "/stallscope",
                "record",
                "--out",
                run_of("stall"),
                "--",
                "perl",
                "-e",
                CLOCK,
                "flock",
                path,
                "true",
            ]
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            began, is_named = None, False
            for line in process.stderr:
                if line.startswith("at "):
                    began = float(line.split()[1])
                # A second line says that the stall lasts twice as long by now.
                if line.startswith("stallscope: flock/") and " blocked " in line and not is_named:
                    is_named = True
                    row.add(name, time.monotonic() - began)
            process.wait()
            holder.wait()
            if not is_named:
                raise RuntimeError(f"{name}: no line named the stall")
    return [row]


def samples():
    cpu = Row("a sample", "0.8", "ms of CPU", "`sadc -S ALL`")
    size = Row("a sample on the disk", "200", "bytes", "`sadc`, zstd")
    sadc = next((path for path in ("/usr/lib/sysstat/sadc", "/usr/lib64/sa/sadc") if os.path.exists(path)), None)

    def ours(name):
        run = run_of("samples-" + name)
        command = ["record", "--no-trace", "--json", "-q", "--runtime", f"{SECONDS}s", "--out", run]
        used = Used([VERSIONS[name] + "/stallscope", *command], stdout=subprocess.PIPE)
        count = json.loads(used.stdout)["recording"]["samples"]
        files = [file for file in os.listdir(run) if file.startswith(("journal", "samples", "metrics"))]
        cpu.add(name, 1000 * used.cpu / count)
        size.add(name, sum(os.path.getsize(os.path.join(run, file)) for file in files) / count)

    def peer():
        file = os.path.join(SCRATCH, "sadc")
        used = Used([sadc, "-S", "ALL", "1", str(SECONDS + 1), file])
        cpu.add("peer", 1000 * used.cpu / (SECONDS + 1))
        packed = subprocess.run(["zstd", "-q", "-c", file], stdout=subprocess.PIPE, check=True).stdout
        size.add("peer", len(packed) / (SECONDS + 1))
        os.unlink(file)

    for _ in range(ROUNDS):
        # All of one machine at the same time.
        threads = [threading.Thread(target=ours, args=(name,)) for name in VERSIONS] + (
            [threading.Thread(target=peer)] if sadc else []
        )
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
    return [cpu, size]


def many_things():
    """On a machine with many cgroups, disks or threads: CPU time of the sampling thread."""
    parents = [path for path in ("memory", "cpu", "blkio") if os.path.isdir(f"/sys/fs/cgroup/{path}")]
    rows = []
    for what, count in (("cgroups in each hierarchy", 2000), ("loop devices", 200), ("sleeping threads", 10_000)):
        row = Row(f"a sample with {count:,} {what}", "10", "ms of CPU")
        undo = many(what, count, parents)
        try:
            for _ in range(ROUNDS):
                used = Used(
                    [HERE + "/stallscope", "record", "--json", "-q", "--runtime", "5s", "--out", run_of("many")],
                    stdout=subprocess.PIPE,
                )
                row.add("now", json.loads(used.stdout)["recording"]["cpu_ms_per_sample"])
        finally:
            undo()
        rows.append(row)
    return rows


def many(what, count, parents):
    """Makes them; returns what removes them."""
    if what.startswith("cgroups"):
        made = [
            f"/sys/fs/cgroup/{parent}/costs-{os.getpid()}-{number}" for parent in parents for number in range(count)
        ]
        [os.mkdir(path) for path in made]
        return lambda: [os.rmdir(path) for path in made]
    if what.startswith("loop"):
        image = os.path.join(MEMORY, "small")
        with open(image, "wb") as file:
            file.truncate(1 << 20)
        attach = ["losetup", "--find", "--show", image]
        made = [
            subprocess.run(attach, check=True, stdout=subprocess.PIPE, text=True).stdout.strip() for _ in range(count)
        ]
        return lambda: [subprocess.run(["losetup", "--detach", device], check=True) for device in made]
    sleep = "import threading, time; [threading.Thread(target=time.sleep, args=(3600,), daemon=True).start() for _ in range(100)]; time.sleep(3600)"
    made = [
        subprocess.Popen([sys.executable, "-c", f"import threading; threading.stack_size(65536); {sleep}"])
        for _ in range(count // 100)
    ]
    time.sleep(5)
    return lambda: [(process.kill(), process.wait()) for process in made]


def block_traces():
    events = 5_000_000
    trace = os.path.join(MEMORY, "trace")
    subprocess.run([HERE + "/examples/blk_generate", str(events), trace], check=True, stderr=subprocess.DEVNULL)
    rate = Row("block trace, one CPU", "30", "million events per CPU-second", "`blkparse` and `btt`")
    gain = Row("block trace of two disks, on two CPUs", "1.8", "times as fast")
    memory = Row("block trace", "64", "MiB")
    for number in range(ROUNDS):
        for name in in_turn(number):
            command = [VERSIONS[name] + "/stallscope", "blk", "--json", trace]
            one, two = Used(command, cpu=0), Used(command)
            rate.add(name, events / one.cpu / 1e6)
            gain.add(name, one.seconds / two.seconds)
            memory.add(name, two.mib)
        if shutil.which("blkparse") and shutil.which("btt"):
            merged = os.path.join(MEMORY, "merged")
            parse = Used(["bash", "-c", f"exec blkparse -q -i - -d {merged} -O <{trace}"])
            # It also writes files into its current directory.
            btt = Used(["btt", "-i", merged, "-o", os.path.join(MEMORY, "btt")], folder=MEMORY)
            rate.add("peer", events / (parse.cpu + btt.cpu) / 1e6)
    decode = Used([HERE + "/examples/blk_walk", trace], stdout=subprocess.PIPE)
    for file in os.listdir(MEMORY):
        if file.startswith(("trace", "merged", "btt")) or file.endswith("_fp.dat"):
            os.unlink(os.path.join(MEMORY, file))
    return [rate, gain, memory], "Block traces, limit: " + decode.stdout.decode().strip()


def explained():
    run, long = run_of("fio"), run_of("long")
    recorded = [
        HERE + "/stallscope",
        "record",
        "-q",
        "--out",
        run,
        "--slower-than",
        "2ms",
        "--",
        "fio",
        os.environ["COSTS_FIO"],
    ]
    subprocess.run(recorded, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    rows = int(next(line.split()[0] for line in check(run) if "of stalls" in line).replace(",", ""))
    times = max(1, round(2_000_000 / rows))
    subprocess.run([HERE + "/examples/repeat", run, long, str(times)], check=True, stdout=subprocess.DEVNULL)
    figures = []
    # Goals are for 2 million waits.
    for path, waits, (seconds, mib) in ((run, rows, ("-", "-")), (long, rows * times, ("3", "512"))):
        cpu, elapsed = Row("", seconds, "s of CPU"), Row("the same", "-", "s of the clock")
        memory, slow = Row("the same", mib, "MiB"), 0
        for number in range(ROUNDS):
            for name in in_turn(number):
                used = Used([VERSIONS[name] + "/stallscope", "explain", "--json", path], stdout=subprocess.PIPE)
                found = json.loads(used.stdout)["slow_operations"] if used.stdout else 0
                slow = found if name == "now" else slow
                # A version that does not read today's format has no figure.
                if found:
                    [
                        row.add(name, figure)
                        for row, figure in ((elapsed, used.seconds), (cpu, used.cpu), (memory, used.mib))
                    ]
        cpu.what = f"`explain --json`, {waits:,} waits, {slow:,} slow operations"
        figures += [cpu, elapsed, memory]
    return figures


def check(run):
    done = subprocess.run(
        [HERE + "/stallscope", "check", run], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    return done.stdout.splitlines()


def main():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    wanted = os.environ.get("COSTS_ONLY", "").split()
    rows, remarks = [], []
    for measure in (start, first_stall, samples, many_things, block_traces, explained):
        if wanted and measure.__name__ not in wanted:
            continue
        print(f"{measure.__name__} ...", file=sys.stderr, flush=True)
        result = measure()
        figures, remark = result if isinstance(result, tuple) else (result, None)
        rows += figures
        remarks += [remark] if remark else []
    print(f"Costs, {ROUNDS} rounds, medians (least to most), load average {os.getloadavg()[0]:.1f} at the end\n")
    print("| what | before | now | peer | goal |\n|---|---|---|---|---|")
    [print(row.text(("before", "now", "peer"))) for row in rows]
    print("\n" + "\n".join(remarks))
    # A part of the table would take the place of the whole.
    if not wanted:
        page.write(
            "bench/costs.sh",
            ["| what | measured | peer | goal |", "|---|---|---|---|", *(row.text(("now", "peer")) for row in rows)],
        )


main()
