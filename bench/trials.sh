#!/usr/bin/env bash
# Trials whose truth is known: how many claim a difference where there is none (A/A), and how many find a limit that is
# lowered by 20 % (TRIALS_RATIO=0.8). trials.py describes the load. A trial takes about 20 s.
#
#     TRIALS_COUNT=20 TRIALS_RATIO=1 TRIALS_PERIODS=36 TRIALS_PERIOD=400ms TRIALS_SEED=1 bench/trials.sh [FOLDER]
set -euo pipefail
cd "$(dirname "$0")/.."
if [ "$(id -u)" != 0 ] || [ ! -e /sys/fs/cgroup/blkio/blkio.throttle.read_bps_device ]; then
    echo "Trials: needs root and the blkio controller of cgroup v1, not measured"
    exit 0
fi
for tool in fio losetup python3; do
    command -v $tool >/dev/null || { echo "Trials: $tool is missing, not measured"; exit 0; }
done
scratch=$(mktemp -d "${1:-${TMPDIR:-/var/tmp}}/stallscope-trials-XXXXXX")
device="" measuring=""
# Also on a signal: stop the child first.
away() {
    trap '' INT TERM HUP
    if [ -n "$measuring" ]; then kill "$measuring" 2>/dev/null || true; wait "$measuring" 2>/dev/null || true; fi
    if [ -n "$device" ]; then
        echo "$(cat "/sys/block/${device#/dev/}/dev") 0" >/sys/fs/cgroup/blkio/blkio.throttle.read_bps_device || true
        losetup --detach "$device" || true
    fi
    rm -rf --one-file-system "$scratch"
}
trap away EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
# Written, not only allocated: reads of unwritten blocks never reach the disk.
head -c 64M /dev/urandom >"$scratch/image"
sync "$scratch/image"
device=$(losetup --find --show "$scratch/image")
# In the background, so that the trap runs at once.
TRIALS_DEVICE=$device TRIALS_SCRATCH=$scratch python3 bench/trials.py &
measuring=$!
wait "$measuring"
