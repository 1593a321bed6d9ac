"""The stalls of remedies.py: loads, the settings and neighbours under which they stall, and what is tried against that.
"""

import os

NUMBER = os.environ.get("REMEDIES_NUMBER", "")
MOUNT = os.environ.get("REMEDIES_MOUNT", "")
SCRATCH = os.environ.get("REMEDIES_SCRATCH", "")
BLKIO = "/sys/fs/cgroup/blkio/blkio.throttle."
BDI = f"/sys/class/bdi/{NUMBER}/"
FLAG = f"{SCRATCH}/flag"


def put(path, value):
    with open(path, "w", encoding="utf8") as file:
        file.write(value)


def rule(name, value):
    """A file with a line for each device, and its line."""
    return BLKIO + name, f"{NUMBER} {value}"


class Remedy:
    """What is tried: a setting (file and value), or a pair of commands; and which of the predicted changes it is."""

    def __init__(self, name, edge=None, factor=None, absent=None, setting=None, commands=None):
        self.name, self.edge, self.factor, self.absent = name, edge, factor, absent
        self.setting, self.commands = setting, commands

    def words(self):
        if self.setting:
            return [f"--set={self.setting[0]}={self.setting[1]}"]
        return [f"--apply={self.commands[0]}", f"--revert={self.commands[1]}"]

    def predicted(self, choices):
        for choice in choices:
            change = choice["change"]
            if self.absent:
                if change.get("absent", {}).get("task") == self.absent:
                    return choice
            elif change.get("edge") == self.edge and change.get("factor") == self.factor:
                return choice
        return None


class Scenario:
    """A load, the settings under which it stalls, its neighbours, and what is tried."""

    def __init__(self, name, job, remedies, settings=(), neighbours=(), cgroups=(), commands=None):
        self.name, self.job, self.remedies = name, job, remedies
        self.settings, self.neighbours, self.cgroups, self.commands = settings, neighbours, cgroups, commands


def limited(name, job, file="write_bps_device", limit=2 << 20, factors=(2, 4, None), more=(), **stage):
    """Under a limit: raised by each factor (None: lifted), and what else is tried."""
    remedies = [
        Remedy(
            f"limit x {factor}" if factor else "limit lifted",
            "io_limit",
            factor,
            setting=rule(file, factor * limit if factor else 0),
        )
        for factor in factors
    ]
    settings = [*stage.pop("settings", ()), rule(file, limit)]
    return Scenario(name, job, [*remedies, *more], settings=settings, **stage)


READS = "read_bps_device"
CPU, MEMORY = f"/sys/fs/cgroup/cpu/remedies-{os.getpid()}", f"/sys/fs/cgroup/memory/remedies-{os.getpid()}"


def stopped(name):
    return Remedy(
        f"without {name}",
        absent=name,
        commands=(
            f"touch {FLAG}; kill -STOP $(cat {SCRATCH}/{name}.pid)",
            f"rm -f {FLAG}; kill -CONT $(cat {SCRATCH}/{name}.pid)",
        ),
    )


def gone(edge, name):
    """What the neighbours hold while the flag is absent."""
    return Remedy(name, edge, commands=(f"touch {FLAG}", f"rm -f {FLAG}"))


FREEZER = f"while :; do [ -e {FLAG} ] || {{ fsfreeze -f {MOUNT}; sleep 0.2; fsfreeze -u {MOUNT}; }}; sleep 0.3; done"
SCENARIOS = [
    limited("direct writes of 32 KiB", "dwrite:32768", limit=1 << 20),
    limited("direct writes of 512 KiB", "dwrite:524288", limit=3 << 20, factors=(2, 4)),
    limited("direct writes of 128 KiB, pause of 30 ms", "dwrite:131072:30", factors=(2, 4)),
    limited("direct writes of 256 KiB", "dwrite:262144"),
    limited("direct writes of 16 KiB, 80 a second", "dwrite:16384", "write_iops_device", 80),
    limited("direct reads of 128 KiB", "dread:131072", READS, 4 << 20),
    limited("direct reads of 64 KiB, pause of 8 ms", "dread:65536:8", READS, factors=(2, 4)),
    limited("direct reads of 256 KiB, pause of 25 ms", "dread:262144:25", READS, 3 << 20, factors=(2, 4)),
    limited("reads of 64 KiB through the page cache", "rread:65536", READS, 3 << 19),
    limited("fsync of 128 KiB", "fsync:131072", limit=3 << 20, factors=(2, 4)),
    limited("fsync of 32 KiB, pause of 15 ms", "fsync:32768:15", limit=1 << 20),
    limited("appends of 8 KiB, each with fdatasync", "log:8192", limit=3 << 17, factors=(2, 4)),
    limited("new files of 16 KiB, each with fsync", "create:16384", "write_iops_device", 90, factors=(4, None)),
    limited(
        "fsync of 32 KiB beside a stream of direct writes",
        "fsync:32768",
        limit=6 << 20,
        factors=(2,),
        neighbours=[("dwrite:524288", "neighbour")],
        more=[stopped("neighbour")],
    ),
    limited(
        "two readers under one limit",
        "dread:131072",
        READS,
        6 << 20,
        factors=(2, 4),
        neighbours=[("dread:524288", "neighbour")],
        more=[stopped("neighbour")],
    ),
    limited(
        "reads with pauses beside two readers",
        "dread:65536:25",
        READS,
        6 << 20,
        factors=(4,),
        neighbours=[("dread:262144", "neighbour"), ("dread:65536", "other")],
        more=[stopped("neighbour")],
    ),
    limited(
        "writes that wait for the inode lock of a throttled writer",
        "small:4096:2",
        limit=3 << 20,
        factors=(2, 4),
        neighbours=[("append:786432", "holder")],
    ),
    limited(
        "a flock whose holder calls fsync",
        "flock:0:1",
        limit=3 << 19,
        factors=(4, None),
        neighbours=[("holdsync:131072:10", "holder")],
        more=[gone("lock", "not held")],
    ),
    limited(
        "a strict dirty limit",
        "write:1048576",
        limit=12 << 20,
        factors=(2,),
        settings=[(f"{BDI}max_ratio", "1"), (f"{BDI}strict_limit", "1")],
    ),
    limited(
        "reads of 1 MiB in a memory cgroup of 32 MiB",
        "read:1048576",
        READS,
        16 << 20,
        factors=(2,),
        settings=[(f"{MEMORY}/memory.limit_in_bytes", str(32 << 20))],
        cgroups=[MEMORY],
    ),
    Scenario("flock held for 50 ms", "flock:0:1", [gone("lock", "not held")], neighbours=[("hold:50:5", "holder")]),
    Scenario("a file system frozen for 200 ms", "write:4096:5", [gone("frozen", "not frozen")], commands=FREEZER),
    Scenario(
        "a CPU quota of 30 %",
        "write:16777216",
        [Remedy("quota off", "cpu_quota", setting=(f"{CPU}/cpu.cfs_quota_us", "-1"))],
        settings=[(f"{CPU}/cpu.cfs_quota_us", "30000")],
        cgroups=[CPU],
    ),
]
# Those whose effect is too large for any machine to hide.
OF_SHORT = ("direct writes of 256 KiB", "direct reads of 128 KiB", "flock held for 50 ms")
