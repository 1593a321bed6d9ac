#!/usr/bin/env bash
# What the program costs, in one table (docs/COST.md): start, the first line about a stall, samples, block traces,
# explanations, beside sadc(8) and blkparse with btt. costs.py describes the method. The defaults take about 15 minutes
# on an idle machine; the cost of tracing is measured by trace.sh.
#
#     COSTS_ROUNDS=5 COSTS_SECONDS=30 COSTS_BEFORE=OTHER/target/release COSTS_ONLY="start block_traces" bench/costs.sh
name=Costs
. "$(dirname "$0")/common.sh"
needs_root
needs_tools fio losetup python3 perl taskset flock mkfs.ext4
device=""
restore() {
    unmount "$scratch/files"
    detach "$device"
    unmount "$scratch/memory"
}
make_scratch
mkdir "$scratch/memory" "$scratch/files" "$scratch/runs"
mount -t tmpfs -o size=10g none "$scratch/memory"
truncate -s 6G "$scratch/memory/image"
mkfs.ext4 -q -F "$scratch/memory/image"
device=$(losetup --find --show "$scratch/memory/image")
mount "$device" "$scratch/files"
# Thirteen threads of five kinds.
cat >"$scratch/load.fio" <<JOB
[global]
directory=$scratch/files
size=128m
runtime=30
time_based
group_reporting
[syncs]
rw=randwrite
bs=4k
fsync=1
numjobs=4
[writes]
rw=write
bs=256k
numjobs=2
[direct]
rw=randread
bs=4k
direct=1
numjobs=3
[cached]
rw=randread
bs=16k
numjobs=2
[uring]
ioengine=io_uring
rw=randrw
bs=8k
iodepth=16
direct=1
numjobs=2
JOB
COSTS_SCRATCH=$scratch/runs COSTS_MEMORY=$scratch/memory COSTS_FIO=$scratch/load.fio measure python3 bench/costs.py
