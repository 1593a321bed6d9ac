#!/usr/bin/env bash
# Noisy neighbours: eight tenants in cgroups share a file system, one of them takes what the others need. How much of
# the time that they lose does `explain` give to the neighbour, and how much to an innocent? neighbours.py describes the
# method. One run takes about 20 s; the default is one seed of each of the seven kinds.
#
#     NEIGHBOURS_SEEDS=20 NEIGHBOURS_FIRST=1 NEIGHBOURS_SECONDS=8 NEIGHBOURS_KINDS="journal inodes"
#     NEIGHBOURS_KEEP=FOLDER \
#         NEIGHBOURS_PROGRAM=target/release/stallscope bench/neighbours.sh
name=Neighbours
. "$(dirname "$0")/common.sh"
needs_root
needs_controllers blkio memory cpu
needs_tools fio losetup mkfs.ext4 python3 tar gzip taskset
base="" disk=""
restore() {
    # A slow disk would be slow to unmount, too.
    if [ -n "$base" ]; then
        for what in read_bps write_bps read_iops write_iops; do
            echo "$(number "$base") 0" >"/sys/fs/cgroup/blkio/blkio.throttle.${what}_device" || true
        done
    fi
    unmount "$scratch/disk"
    detach "$disk"
    unmount "$scratch/base"
    detach "$base"
}
make_scratch /dev/shm
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
export NEIGHBOURS_BASE NEIGHBOURS_DISK NEIGHBOURS_DEVICE=$disk NEIGHBOURS_SCRATCH=$scratch
NEIGHBOURS_BASE=$(number "$base") NEIGHBOURS_DISK=$(number "$disk")
measure python3 bench/neighbours.py
