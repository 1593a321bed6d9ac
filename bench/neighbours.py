#!/usr/bin/env python3
"""Eight tenants, one of them a noisy neighbour; called by neighbours.sh, which makes the disk.

Seven tenants each do one small thing from time to time and clock it. The eighth is a program that nobody here wrote.
The seed chooses which tenant it is, and the moments at which the others act. All of the time that the tenants lose,
they lose to the neighbour: alone, they are never slow.

Printed for each run: slow calls by the victims' clocks, the share of their time that `explain` found, and whom it gave
the lost time to: the neighbour; the innocent with the most of what others lost; the victims themselves; kernel threads
and unknown tasks; processes outside of the tenants, such as other work of the machine. Shares are of what was not given
to those outside. So is the CPU time of kernel threads in the proportion in which they used it before the neighbour
began: they worked for others then.

NEIGHBOURS_ALONE=1 leaves the neighbour out: what the tenants lose then is their own. NEIGHBOURS_AGAIN=1 explains the
runs kept in NEIGHBOURS_KEEP once more, with another program; that needs no disk: python3 bench/neighbours.py.

The tenants have cgroups of memory and cpu. All are in the root cgroup of blkio: the limit there is the speed of the
disk. A process that used that limit is named with the root cgroup, and known by the name of the process on the disks of
the tenants."""

import json
import mmap
import os
import random
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

SCRATCH = Path(os.environ.get("NEIGHBOURS_SCRATCH", "/nonexistent"))
PROGRAM = os.environ.get("NEIGHBOURS_PROGRAM", "target/release/stallscope")
SECONDS = float(os.environ.get("NEIGHBOURS_SECONDS", 8))
SEEDS = int(os.environ.get("NEIGHBOURS_SEEDS", 1))
FIRST = int(os.environ.get("NEIGHBOURS_FIRST", 1))
KEEP = os.environ.get("NEIGHBOURS_KEEP")
AGAIN = os.environ.get("NEIGHBOURS_AGAIN") == "1"
ALONE = os.environ.get("NEIGHBOURS_ALONE") == "1"
CGROUPS = Path("/sys/fs/cgroup")
TENANTS = 8
GOAL, INNOCENT = 0.90, 0.02


@dataclass
class Kind:
    neighbour: str
    victim: str
    limits: dict = field(default_factory=dict)
    every_ms: int = 200
    file: int = 4 << 20
    slower_ms: int = 10
    # Of all tenants together.
    memory: int = 0
    one_cpu: bool = False
    strict_dirty: bool = False
    # Files that nobody has cached.
    inodes: int = 0


DISK = {"read_bps": 16 << 20, "write_bps": 16 << 20, "read_iops": 400, "write_iops": 400}
FIO = "fio --output=/dev/null --name=neighbour --size=96m --time_based --runtime=600 "
BURN = "while :; do find ../inodes -size +1 >/dev/null; done"
UNPACK = "while :; do tar -xf ../files.tar && rm -rf files; done"
KINDS = {
    "streams": Kind(FIO + "--rw=write --bs=1m --direct=1 --ioengine=libaio --iodepth=8", "direct_write", DISK),
    "reads": Kind(FIO + "--rw=randread --bs=64k --direct=1 --ioengine=libaio --iodepth=16", "direct_read", DISK),
    "fsyncs": Kind(
        FIO + "--rw=randwrite --bs=4k --size=4m --fsync=1 --ioengine=psync --numjobs=16", "append", DISK, every_ms=600
    ),
    "journal": Kind(UNPACK, "rename", DISK, every_ms=300),
    # The files are there before: ext4 pins what is new until its journal is committed, and a cgroup full of that kills
    # tenants.
    "inodes": Kind(BURN, "shared_memory", memory=128 << 20, every_ms=400, slower_ms=4, inodes=140_000),
    "dirties": Kind(
        "while :; do dd if=/dev/zero of=big bs=1M count=150 conv=notrunc status=none; done",
        "buffered_write",
        DISK,
        strict_dirty=True,
    ),
    "cpu": Kind(
        "for i in 1 2 3 4 5 6; do gzip -9 </dev/zero >/dev/null & done; wait",
        "cached_read",
        every_ms=1500,
        file=32 << 20,
        one_cpu=True,
    ),
}


# --- A victim ---


def operations(kind, folder, generator):
    """One turn of a victim: its timed calls."""
    mine = os.open(folder / "mine", os.O_RDWR)
    block = b"v" * 4096
    if kind in ("direct_read", "direct_write"):
        direct, buffer = os.open(folder / "mine", os.O_RDWR | os.O_DIRECT), mmap.mmap(-1, 4096)
        call = os.preadv if kind == "direct_read" else os.pwritev
        while True:
            at = generator.randrange(1024) * 4096
            yield lambda: call(direct, [buffer], at)
    if kind == "append":
        log = os.open(folder / "log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        while True:
            yield lambda: (os.write(log, block), os.fsync(log))
    if kind == "rename":
        while True:
            yield lambda: (
                os.close(os.open(folder / "new", os.O_WRONLY | os.O_CREAT)),
                os.rename(folder / "new", folder / "old"),
            )
    if kind == "shared_memory":
        memory, data = os.memfd_create("memory"), bytes(4 << 20)
        while True:
            yield lambda: (os.pwrite(memory, data, 0), os.ftruncate(memory, 0))
    if kind == "buffered_write":
        while True:
            at = generator.randrange(1024) * 4096
            yield lambda: os.pwrite(mine, block, at)
    while True:
        yield lambda: os.pread(mine, 32 << 20, 0)


def be_victim(kind, folder, every_ms, seed, log):
    # Processes of one name are one culprit.
    Path("/proc/self/comm").write_text(f"victim{folder[-1]}", encoding="utf8")
    generator = random.Random(seed)
    turns = operations(kind, Path(folder), generator)
    with open(log, "w", encoding="utf8") as out:
        while True:
            time.sleep(generator.uniform(0.5, 1.5) * int(every_ms) / 1000)
            call = next(turns)
            start = time.monotonic_ns()
            call()
            print(start, time.monotonic_ns() - start, file=out, flush=True)


def be_window(path):
    """The recorded command: what lies within it was recorded."""
    begin = time.monotonic_ns()
    time.sleep(SECONDS)
    Path(path).write_text(f"{begin} {time.monotonic_ns()}", encoding="utf8")


# --- The run ---


class KernelThreads:
    """Their CPU time from now on."""

    PF_KTHREAD = 0x00200000

    def __init__(self):
        self.at, self.used_ns = time.monotonic(), self.sum()

    def sum(self):
        used = 0
        for process in Path("/proc").glob("[0-9]*"):
            try:
                if int((process / "stat").read_text().rsplit(")", 1)[1].split()[6]) & self.PF_KTHREAD:
                    used += int((process / "schedstat").read_text().split()[0])
            except (FileNotFoundError, ProcessLookupError):
                pass
        return used

    def per_second(self):
        # The time of those that have ended since is gone.
        return max(self.sum() - self.used_ns, 0) / (time.monotonic() - self.at)


class Tenants:
    """The cgroups of a run, below one of each controller."""

    def __init__(self, memory):
        self.name = f"stallscope-neighbours-{os.getpid()}"
        self.parents = [CGROUPS / controller / self.name for controller in ("memory", "cpu")]
        for parent in self.parents:
            parent.mkdir()
            for tenant in range(TENANTS):
                (parent / f"tenant{tenant}").mkdir()
        # Other work of the machine delays them as little as possible.
        (self.parents[1] / "cpu.shares").write_text("262144")
        if memory:
            (self.parents[0] / "memory.limit_in_bytes").write_text(str(memory))

    def start(self, tenant, command, **options):
        groups = [parent / f"tenant{tenant}" for parent in self.parents]

        def enter():
            for group in groups:
                (group / "cgroup.procs").write_text(str(os.getpid()))

        return subprocess.Popen(command, preexec_fn=enter, stdin=subprocess.DEVNULL, start_new_session=True, **options)

    def processes(self):
        return [
            int(pid)
            for group in self.parents[0].glob("tenant*")
            for pid in (group / "cgroup.procs").read_text().split()
        ]

    def killed(self):
        """Processes killed because memory was full: without them, nothing is measured."""
        controls = [group / "memory.oom_control" for group in self.parents[0].glob("tenant*")]
        return sum(
            int(words[1])
            for control in controls
            if control.exists()
            for words in map(str.split, control.read_text().splitlines())
            if words[0] == "oom_kill"
        )

    def remove(self):
        until = time.monotonic() + 60
        while self.processes() and time.monotonic() < until:
            for pid in self.processes():
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            time.sleep(0.05)
        for parent in self.parents:
            for group in [*parent.glob("tenant*"), parent]:
                group.rmdir()


def limit(limits):
    """0 removes a limit."""
    for what in DISK:
        (CGROUPS / "blkio" / f"blkio.throttle.{what}_device").write_text(
            f"{os.environ['NEIGHBOURS_BASE']} {limits.get(what, 0)}"
        )


def strict_dirty(on):
    bdi = Path("/sys/class/bdi") / os.environ["NEIGHBOURS_DISK"]
    (bdi / "strict_limit").write_text(str(int(on)))
    (bdi / "max_ratio").write_text("1" if on else "100")


def prepare(folders, size):
    for folder in folders:
        subprocess.run(["rm", "-rf", folder], check=True)
        folder.mkdir()
        # Written, not only allocated: reads of unwritten blocks never reach the disk.
        (folder / "mine").write_bytes(os.urandom(size))
    # Names and inodes alone. Each folder has a block, which the journal holds.
    tree = SCRATCH / "disk/files.tar"
    if not tree.exists():
        files = SCRATCH / "files"
        for name in range(6000):
            path = files / f"{name % 2000}" / f"{name}"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
        subprocess.run(["tar", "-C", SCRATCH, "-cf", tree, "files"], check=True)
        subprocess.run(["rm", "-rf", files], check=True)
    os.sync()


def prepare_inodes(count):
    """The first look at each inode must read it, and count for the task that looks: cached ones count for their maker.
    """
    for at in range(count):
        folder = SCRATCH / f"disk/inodes/{at // 1000}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / str(at)).touch()
    if count:
        subprocess.run(["umount", SCRATCH / "disk"], check=True)
        subprocess.run(["mount", "-o", "noatime", os.environ["NEIGHBOURS_DEVICE"], SCRATCH / "disk"], check=True)


def run(name, seed, out):
    kind, generator = KINDS[name], random.Random(f"{name} {seed}")
    noisy = generator.randrange(TENANTS)
    for log in SCRATCH.glob("clock-*"):
        log.unlink()
    folders = [SCRATCH / "disk" / f"t{tenant}" for tenant in range(TENANTS)]
    prepare(folders, kind.file)
    prepare_inodes(kind.inodes)
    tenants = Tenants(kind.memory)
    pin = ["taskset", "-c", str(max(os.sched_getaffinity(0)))] if kind.one_cpu else []
    try:
        limit(kind.limits)
        strict_dirty(kind.strict_dirty)
        if kind.one_cpu:
            (tenants.parents[1] / f"tenant{noisy}" / "cpu.shares").write_text("16384")
        for tenant in set(range(TENANTS)) - {noisy}:
            own = [
                sys.executable,
                __file__,
                "victim",
                kind.victim,
                folders[tenant],
                str(kind.every_ms),
                f"{seed} {tenant}",
                SCRATCH / f"clock-{tenant}",
            ]
            tenants.start(tenant, [*pin, *own])
        kernel = KernelThreads()
        time.sleep(2)
        before = kernel.per_second()
        tenants.start(noisy, [*pin, "sh", "-c", "sleep 600" if ALONE else kind.neighbour], cwd=folders[noisy])
        time.sleep(2)
        command = [
            PROGRAM,
            "record",
            "--quiet",
            "--slower-than",
            f"{kind.slower_ms}ms",
            "--out",
            out,
            "--",
            sys.executable,
            __file__,
            "window",
            SCRATCH / "window",
        ]
        kernel = KernelThreads()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        others, killed = min(before / max(kernel.per_second(), 1), 1), tenants.killed()
    finally:
        limit({})
        tenants.remove()
        strict_dirty(False)
    known = {
        "noisy": noisy,
        "parent": tenants.name,
        "others": others,
        "killed": killed,
        "window": (SCRATCH / "window").read_text(encoding="utf8"),
        "disks": [os.environ["NEIGHBOURS_BASE"], os.environ["NEIGHBOURS_DISK"]],
        "clocks": {log.name: log.read_text(encoding="utf8") for log in sorted(SCRATCH.glob("clock-*"))},
    }
    out.with_suffix(".json").write_text(json.dumps(known), encoding="utf8")
    return known


# --- What is said of it ---


def clocked(kind, said, known):
    """Slow calls by the victims' own clocks within the recording: how many, and the share of their time that was found.
    """
    since, until = map(int, known["window"].split())
    total, found, count = 0, 0, 0
    for name, log in known["clocks"].items():
        spans = [
            (stall["start_ns"], stall["start_ns"] + stall["duration_ns"])
            for stall in said["stalls"]
            if (stall["cgroup"] or "").endswith(f"/tenant{name.removeprefix('clock-')}")
        ]
        for line in log.splitlines():
            start, duration = map(int, line.split())
            end = start + duration
            # A call of the victim may be two of the kernel, each shorter than what is recorded.
            if duration >= 2e6 * kind.slower_ms and since <= start and end <= until:
                count, total = count + 1, total + duration
                found += sum(max(0, min(end, to) - max(start, begin)) for begin, to in spans)
    return count, found / max(total, 1)


def judge(kind, out, known):
    """`others`: the part of the kernel threads' CPU time that was not for the neighbour."""
    noisy, parent, others = known["noisy"], known["parent"], known["others"]
    victims = [f"/{parent}/tenant{tenant}" for tenant in range(TENANTS) if tenant != noisy]
    command = [PROGRAM, "explain", "--json", "--worst", "1000000", out]
    for victim in victims:
        command += ["--cgroup", victim]
    said = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    given = {"neighbour": 0, "itself": 0, "kernel": 0, "outside": 0}
    innocents = dict.fromkeys(victims, 0)
    for culprit in said["culprits"]:
        own, lost = culprit["own_ns"], culprit["time_ns"] - culprit["own_ns"]
        given["itself"] += own
        cgroup = tenant_of(culprit, kind, known)
        if cgroup in innocents:
            innocents[cgroup] += lost
        elif cgroup:
            given["neighbour"] += lost
        elif is_of_kernel(culprit["task"]):
            outside = int(lost * others) if culprit["cause"] == "cpu_wait" else 0
            given["kernel"] += lost - outside
            given["outside"] += outside
        else:
            given["outside"] += lost
    total = sum(given.values()) + sum(innocents.values()) - given["outside"]
    share = {who: ns / max(total, 1) for who, ns in given.items()}
    calls, found = clocked(kind, said, known)
    return {
        "calls": calls,
        "found": found,
        "total_ns": total,
        "innocent": max(innocents.values()) / max(total, 1),
        **share,
        "causes": [f"{cause['cause']} {100 * cause['share']:.0f}" for cause in said["causes"][:3]],
    }


def tenant_of(culprit, kind, known):
    """The cgroup of the tenant that a culprit belongs to, if it is one."""
    noisy, parent = known["noisy"], known["parent"]
    cgroup, name = culprit["cgroup"] or "", (culprit["task"] or "").split("/")[0]
    if cgroup.startswith(f"/{parent}/"):
        return cgroup
    disks = [disk.replace(":", ",") for disk in known["disks"]]
    if cgroup not in ("", "/") or culprit["device"] not in disks:
        return None
    if name.startswith("victim"):
        return f"/{parent}/tenant{name.removeprefix('victim')}"
    programs = {"sh", *re.findall("[a-z]+", kind.neighbour)}
    return f"/{parent}/tenant{noisy}" if name in programs else None


def is_of_kernel(task):
    return task is None or task.startswith(
        ("kworker", "jbd2", "loop", "kswapd", "swapper", "ksoftirqd", "rcu", "migration", "thread ")
    )


def main():
    if sys.argv[1:2] == ["victim"]:
        return be_victim(*sys.argv[2:])
    if sys.argv[1:2] == ["window"]:
        return be_window(*sys.argv[2:])
    print(
        "| kind | seed | slow calls | found | given, s | neighbour | worst innocent | itself | kernel, unknown | "
        "outside | causes, % |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|")
    for name in os.environ.get("NEIGHBOURS_KINDS", " ".join(KINDS)).split():
        for seed in range(FIRST, FIRST + SEEDS):
            out = Path(KEEP or SCRATCH) / f"{name}-{seed}"
            known = json.loads(out.with_suffix(".json").read_text(encoding="utf8")) if AGAIN else run(name, seed, out)
            if known.get("killed"):
                print(
                    f"| {name} | {seed} | not measured: {known['killed']} killed for memory | | | | | | | | |",
                    flush=True,
                )
                continue
            of = judge(KINDS[name], out, known)
            shares = " | ".join(
                f"{100 * of[who]:.1f} %" for who in ("neighbour", "innocent", "itself", "kernel", "outside")
            )
            print(
                f"| {name} | {seed} | {of['calls']} | {100 * of['found']:.0f} % | {of['total_ns'] / 1e9:.2f} | "
                f"{shares} | {', '.join(of['causes'])} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
