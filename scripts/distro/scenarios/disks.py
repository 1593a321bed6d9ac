"""Slow disks, and neighbours that use them, on stacks of devices."""

from truth import Culprit, absent, edge, stall

DISK = ["device", "scheduler_queue", "request_wait"]
# A disk that one program alone uses: a faster one, or fewer requests.
ALONE = [edge("device"), edge("journal"), edge("writeback")]


def slow_commits(machine, folder):
    with machine.record():
        machine.run("app", machine.app("commits", folder / "log", 5, 1_000_000, 0.2))


@stall(DISK, Culprit(disk="slow"), ALONE)
def slow_disk(machine):
    "the disk beneath ext4 writes 1.5 MB/s"
    slow_commits(machine, machine.ext4("slow"))


@stall(DISK, Culprit(disk="slow"), ALONE)
def slow_disk_luks(machine):
    "the disk beneath ext4 on LUKS writes 1.5 MB/s"
    slow_commits(machine, machine.ext4_on_luks("slow"))


@stall(DISK, Culprit(disk="slow"), ALONE)
def slow_disk_xfs_lvm(machine):
    "the disk beneath XFS on LVM writes 1.5 MB/s"
    slow_commits(machine, machine.xfs_on_lvm("slow"))


@stall(DISK, Culprit(disk="raid1"), ALONE)
def slow_leg_of_raid1(machine):
    "one disk of a RAID 1 writes 1.5 MB/s"
    slow_commits(machine, machine.ext4_on_raid1("raid0", "raid1"))


@stall(DISK, Culprit(disk="slow"), ALONE, loop=True)
def slow_disk_of_image(machine):
    "the disk beneath a file system that is mounted from an image writes 1.5 MB/s"
    slow_commits(machine, machine.mount_image(machine.ext4("slow") / "image"))


@stall(DISK, Culprit(disk="slow"), [edge("device")])
def slow_reads(machine):
    "the disk reads 1.5 MB/s"
    file = machine.file(machine.ext4("slow"), 6)
    with machine.record():
        machine.run("app", machine.app("reads", file, 5, 1_000_000, 0.1))


@stall("frozen", [Culprit(disk="data"), Culprit(task="^fsfreeze/")], [edge("frozen")])
def frozen_file_system(machine):
    "fsfreeze freezes the file system for 3 s"
    folder = machine.ext4()
    commits = machine.app("commits", folder / "log", 1000, 4096, 0.4)
    with machine.record():
        machine.run_beside(commits, lambda: machine.during(3, ["fsfreeze", "-f", folder], ["fsfreeze", "-u", folder]))


@stall(
    [*DISK, "writeback_wait"],
    Culprit(task=r"^(tar|sync)/", cgroup=r"/backup\.service$"),
    [absent(r"backup\.service|^(tar|sync)")],
    known_wrong="a faster disk is advised before doing without the backup",
)
def backup_timer(machine):
    "a timer's backup writes to the slow disk on which a unit commits"
    folder = machine.ext4("slow")
    machine.timer("backup", f"tar -cf {folder}/backup.tar /usr/bin/podman", f"sync {folder}/backup.tar")
    with machine.record():
        machine.run_beside(machine.app("commits", folder / "log", 1000, 4096, 0.4), lambda: machine.run_timer("backup"))


@stall(
    [*DISK, "writeback_wait"],
    Culprit(task=r"^dd/", cgroup=r"/hog\.service$"),
    [absent(r"hog\.service|^dd"), edge("writeback"), edge("device")],
)
def sync_behind_neighbour(machine):
    "sync waits for pages that dd of another unit has written"
    folder = machine.ext4("slow")
    with machine.record():
        machine.run("hog", f"dd if=/dev/zero of={folder}/hog bs=1M count=12".split())
        machine.run("app", machine.app("command", 1, 0, "sync", "-f", folder))
