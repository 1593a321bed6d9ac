#!/usr/bin/env bash
# Predictions of `simulate sched --trace` beside measurements: record a mixed load under mq-deadline, predict its
# latencies under bfq and none, then measure both. whatif.py describes the method. The defaults take about a minute and
# a half.
#
#     WHATIF_ROUNDS=1 WHATIF_SECONDS=15 WHATIF_DEPTH=4 WHATIF_READERS=12 WHATIF_BURST=24 WHATIF_BLOCK=256k
#     bench/whatif.sh [FOLDER ON A REAL DISK]
name=What-if
. "$(dirname "$0")/common.sh"
needs_root
needs_tools fio losetup python3
device=""
restore() {
    if [ -n "$device" ]; then
        # nr_requests outlives the loop device's file, and the kernel ignores a write of the value that it already
        # shows: write another one first.
        echo none >"/sys/block/${device#/dev/}/queue/scheduler" || true
        echo 64 >"/sys/block/${device#/dev/}/queue/nr_requests" || true
        echo 128 >"/sys/block/${device#/dev/}/queue/nr_requests" || true
    fi
    detach "$device"
}
make_scratch "${1:-${TMPDIR:-/var/tmp}}"
# Written, not only allocated: reads of unwritten blocks never reach the disk.
head -c 1G /dev/urandom >"$scratch/image"
sync "$scratch/image"
device=$(losetup --find --show --direct-io=on "$scratch/image")
WHATIF_DEVICE=$device WHATIF_SCRATCH=$scratch measure python3 bench/whatif.py
