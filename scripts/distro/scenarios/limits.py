"""Limits of cgroups v2, set by properties of units."""

from truth import Culprit, absent, edge, remedy, stall

# Time that a request spends at the disk or before it.
DISK = ["device", "scheduler_queue", "request_wait"]
OWN = Culprit(cgroup=r"/app\.service$", disk="data")


def limited_commits(machine, folder):
    """Commits of a unit that may write 1 MB/s."""
    with machine.record():
        machine.run(
            "app",
            machine.app("commits", folder / "log", 6, 1_000_000, 0.2),
            IOWriteBandwidthMax=f"{machine.disk('data')} 1M",
        )


@stall("io_throttle", OWN, [edge("io_limit", r"/app\.service$")], loop=False)
def own_write_limit(machine):
    "a unit's own IOWriteBandwidthMax throttles its fsyncs; the module loop is not loaded"
    limited_commits(machine, machine.ext4())


@stall("io_throttle", OWN, [edge("io_limit", r"/app\.service$")], loop=True)
def own_write_limit_loop(machine):
    "the same while a file system is mounted from an image: the module loop is loaded"
    folder = machine.ext4()
    machine.mount_image(folder / "image")
    limited_commits(machine, folder)


@stall("io_throttle", OWN, [edge("io_limit", r"/app\.service$")])
def own_write_limit_xfs_lvm(machine):
    "a unit's own IOWriteBandwidthMax on the disk beneath XFS on LVM"
    limited_commits(machine, machine.xfs_on_lvm())


@stall("io_throttle", OWN, [edge("io_limit", r"/app\.service$")])
def own_write_limit_luks(machine):
    "a unit's own IOWriteBandwidthMax on the disk beneath ext4 on LUKS"
    limited_commits(machine, machine.ext4_on_luks("data"))


@stall("io_throttle", OWN, [edge("io_limit", r"/app\.service$")])
def own_read_limit(machine):
    "a unit's own IOReadBandwidthMax throttles its reads"
    file = machine.file(machine.ext4(), 8)
    with machine.record():
        machine.run(
            "app", machine.app("reads", file, 6, 1_000_000, 0.1), IOReadBandwidthMax=f"{machine.disk('data')} 1M"
        )


@stall("io_throttle", OWN, [edge("io_limit", r"/app\.service$")], victims=r"/app\.service$")
def own_read_iops_limit(machine):
    "a unit's own IOReadIOPSMax throttles fio's random reads"
    file = machine.file(machine.ext4(), 8)
    fio = (
        f"fio --name=reads --filename={file} --rw=randread --bs=4k --direct=1 --ioengine=psync --runtime=6 --time_based"
    )
    with machine.record():
        machine.run("app", machine.app("command", 1, 0, *fio.split()), IOReadIOPSMax=f"{machine.disk('data')} 2")


@stall(
    "io_throttle",
    Culprit(task=r"^dd/", cgroup=r"/limited\.slice", disk="data"),
    [absent(r"hog\.service|^dd"), edge("io_limit", r"/limited\.slice$")],
)
def slice_limit_used_up(machine):
    "dd of another unit uses up the write limit of the slice that both are in"
    folder = machine.ext4()
    machine.slice("limited", IOWriteBandwidthMax=f"{machine.disk('data')} 1M")
    with machine.record():
        dd = f"dd if=/dev/zero of={folder}/hog bs=1M count=400 oflag=direct"
        machine.unit("hog", dd.split(), Slice="limited.slice")
        machine.until_grown(folder / "hog")
        machine.run("app", machine.app("commits", folder / "log", 5, 4096, 0.2), Slice="limited.slice")


@stall(
    "reclaim_throttle",
    Culprit(cgroup=r"/app\.service$"),
    [remedy("v2-memory-high-off", r"/app\.service$")],
    slower_than_ms=200,
)
def memory_high(machine):
    "a unit above its own MemoryHigh is throttled as it allocates memory"
    with machine.record():
        machine.run_beside(machine.app("grow", 100), lambda: machine.pause(10), MemoryHigh="40M")


@stall(
    ["swap", *DISK],
    Culprit(cgroup=r"/app\.service$", disk="swap"),
    [edge("memory", r"/app\.service$"), edge("device"), edge("swap")],
    slower_than_ms=100,
)
def memory_max_swap(machine):
    "a unit at its own MemoryMax reads pages from swap on a slow disk"
    machine.swap_on("swap")
    with machine.record():
        machine.run_beside(machine.app("cycle", 24, 50), lambda: machine.pause(12), MemoryMax="26M")


@stall("cpu_throttle", Culprit(cgroup=r"/busy\.service$"), [edge("cpu_quota", r"/busy\.service$")])
def quota_of_server(machine):
    "a client waits for a server that has used up its CPUQuota"
    socket = machine.serve("busy", 200_000)
    machine.set_property("busy.service", CPUQuota="5%")
    with machine.record(machine.app("client", socket, 4, 0.3)):
        pass


@stall("cpu_throttle", Culprit(cgroup=r"/job\.scope$"), [edge("cpu_quota", r"/job\.scope$")])
def quota_of_command(machine):
    "the recorded command itself has a CPUQuota (systemd-run --scope)"
    with machine.record(
        ["systemd-run", "-q", "--scope", "--unit=job", "-p", "CPUQuota=5%", *machine.app("compute", 40)]
    ):
        pass


@stall(
    "cpu_wait", Culprit(task=r"^sha256sum/", cgroup=r"/burn\d\.service$"), [edge("cpu"), absent(r"burn\d|sha256sum")]
)
def run_queue(machine):
    "a client waits for a server of CPUWeight=1 beside programs that compute"
    socket = machine.serve("busy", 20_000, CPUWeight=1)
    for number in range(4):
        machine.unit(f"burn{number}", ["sha256sum", "/dev/zero"])
    with machine.record(machine.app("client", socket, 4, 0.3)):
        pass


def hog_and_reads(machine, hog_weight, weight):
    """fio reads from a slow disk with many requests in flight, and a unit one at a time."""
    folder = machine.ext4("slow")
    file, other = machine.file(folder, 8), machine.file(folder, 8, "other")
    fio = f"fio --name=hog --filename={other} --rw=randread --bs=64k --direct=1 --ioengine=libaio --iodepth=16 --runtime=60 --time_based"
    with machine.record():
        machine.unit("hog", fio.split(), IOWeight=hog_weight)
        machine.until_busy("slow")
        machine.run("app", machine.app("reads", file, 8, 65536, 0.1), IOWeight=weight)


@stall(
    DISK,
    Culprit(task=r"^fio/", cgroup=r"/hog\.service$", disk="slow"),
    [absent(r"hog\.service|^fio"), edge("scheduler_queue")],
    known_wrong="a faster disk is advised before doing without the hog, whose own slow reads count as well",
)
def weight_bfq(machine):
    "reads of a unit of IOWeight=10 wait behind fio's of IOWeight=1000, on bfq"
    machine.write(f"/sys/block/{machine.disk_name('slow')}/queue/scheduler", "bfq")
    hog_and_reads(machine, 1000, 10)


@stall(
    "io_throttle", Culprit(task=r"^fio/", cgroup=r"/hog\.service$"), [absent(r"hog\.service|^fio"), edge("io_limit")]
)
def weight_io_cost(machine):
    "reads of a unit of IOWeight=10 are throttled by io.cost beside fio's of IOWeight=1000"
    machine.set_io_cost("slow", "rbps=1200000 rseqiops=18 rrandiops=18 wbps=1200000 wseqiops=18 wrandiops=18")
    hog_and_reads(machine, 1000, 10)
