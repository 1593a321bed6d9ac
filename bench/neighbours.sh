#!/usr/bin/env bash
# Noisy neighbours: eight tenants in cgroups share a file system, one of them takes what the others need. How much of the time that
# they lose does `explain` give to that one, and how much to an innocent? neighbours.py describes the method. One run takes about
# 20 s; the default is one seed of each of the seven kinds.
#
#     NEIGHBOURS_SEEDS=20 NEIGHBOURS_FIRST=1 NEIGHBOURS_SECONDS=8 NEIGHBOURS_KINDS="journal inodes" NEIGHBOURS_KEEP=FOLDER \
#         NEIGHBOURS_PROGRAM=target/release/stallscope bench/neighbours.sh
set -euo pipefail
cd "$(dirname "$0")/.."
if [ "$(id -u)" != 0 ]; then
    echo "Neighbours: needs root, not measured"
    exit 0
fi
for tool in fio losetup mkfs.ext4 python3 tar gzip taskset; do
    command -v $tool >/dev/null || { echo "Neighbours: $tool is missing, not measured"; exit 0; }
done
for controller in blkio memory cpu; do
    [ -d /sys/fs/cgroup/$controller ] || { echo "Neighbours: no cgroup v1 controller $controller, not measured"; exit 0; }
done
scratch=$(mktemp -d /dev/shm/stallscope-neighbours-XXXXXX)
base="" disk="" measuring=""
# Also on a signal: stop the child first, since it keeps the mounts busy.
away() {
    trap '' INT TERM HUP
    if [ -n "$measuring" ]; then kill "$measuring" 2>/dev/null || true; wait "$measuring" 2>/dev/null || true; fi
    # A slow disk would be slow to unmount, too.
    if [ -n "$base" ]; then
        for what in read_bps write_bps read_iops write_iops; do
            echo "$(cat "/sys/block/${base#/dev/}/dev") 0" >"/sys/fs/cgroup/blkio/blkio.throttle.${what}_device" || true
        done
    fi
    for point in disk base; do
        if mountpoint -q "$scratch/$point"; then umount "$scratch/$point" || umount --lazy "$scratch/$point" || true; fi
        if [ $point = disk ] && [ -n "$disk" ]; then losetup --detach "$disk" || true; fi
    done
    if [ -n "$base" ]; then losetup --detach "$base" || true; fi
    rm -rf --one-file-system "$scratch"
}
trap away EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
# A limit on the device itself would let metadata pass: the disk is a file on one with a limit.
mkdir "$scratch/base" "$scratch/disk"
truncate --size 1G "$scratch/image"
base=$(losetup --find --show --direct-io=on "$scratch/image")
mkfs.ext4 -q -F -E lazy_itable_init=0,lazy_journal_init=0 "$base"
mount -o noatime "$base" "$scratch/base"
head -c 700M /dev/zero >"$scratch/base/image"
sync "$scratch/base/image"
disk=$(losetup --find --show --direct-io=on "$scratch/base/image")
mkfs.ext4 -q -F -J size=4 -N 160000 -E lazy_itable_init=0,lazy_journal_init=0 "$disk"
mount -o noatime "$disk" "$scratch/disk"
# In the background, so that the trap runs at once.
NEIGHBOURS_BASE=$(cat "/sys/block/${base#/dev/}/dev") NEIGHBOURS_DISK=$(cat "/sys/block/${disk#/dev/}/dev") \
    NEIGHBOURS_SCRATCH=$scratch python3 bench/neighbours.py &
measuring=$!
wait "$measuring"
