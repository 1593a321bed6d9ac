#!/usr/bin/env bash
# Trials whose truth is known: how many claim a difference where there is none (A/A), and how many find a limit that is
# lowered by 20 % (TRIALS_RATIO=0.8). trials.py describes the load. A trial takes about 20 s.
#
#     TRIALS_COUNT=20 TRIALS_RATIO=1 TRIALS_PERIODS=36 TRIALS_PERIOD=400ms TRIALS_SEED=1 bench/trials.sh [FOLDER]
name=Trials
. "$(dirname "$0")/common.sh"
needs_root
needs_controllers blkio
needs_tools fio losetup python3
device=""
restore() {
    if [ -n "$device" ]; then echo "$(number "$device") 0" >/sys/fs/cgroup/blkio/blkio.throttle.read_bps_device ||
        true; fi
    detach "$device"
}
make_scratch "${1:-${TMPDIR:-/var/tmp}}"
# Written, not only allocated: reads of unwritten blocks never reach the disk.
head -c 64M /dev/urandom >"$scratch/image"
sync "$scratch/image"
device=$(losetup --find --show "$scratch/image")
TRIALS_DEVICE=$device TRIALS_SCRATCH=$scratch measure python3 bench/trials.py
