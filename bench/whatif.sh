#!/usr/bin/env bash
# Predictions of `simulate sched --trace` beside measurements: record a mixed load under mq-deadline, predict its latencies under
# bfq and none, then measure both. whatif.py describes the method. The defaults take about a minute and a half.
#
#     WHATIF_ROUNDS=1 WHATIF_SECONDS=15 WHATIF_DEPTH=4 WHATIF_READERS=12 WHATIF_BURST=24 WHATIF_BLOCK=256k bench/whatif.sh [FOLDER ON A REAL DISK]
set -euo pipefail
cd "$(dirname "$0")/.."
if [ "$(id -u)" != 0 ]; then
    echo "What-if: needs root, not measured"
    exit 0
fi
for tool in fio losetup python3; do
    command -v $tool >/dev/null || { echo "What-if: $tool is missing, not measured"; exit 0; }
done
scratch=$(mktemp -d "${1:-${TMPDIR:-/var/tmp}}/stallscope-whatif-XXXXXX")
device="" measuring=""
# Also on a signal: stop the child first.
away() {
    trap '' INT TERM HUP
    if [ -n "$measuring" ]; then kill "$measuring" 2>/dev/null || true; wait "$measuring" 2>/dev/null || true; fi
    if [ -n "$device" ]; then
        # nr_requests outlives the loop device's file, and the kernel ignores a write of the value that it already shows: write
        # another one first.
        echo none >"/sys/block/${device#/dev/}/queue/scheduler" || true
        echo 64 >"/sys/block/${device#/dev/}/queue/nr_requests" || true
        echo 128 >"/sys/block/${device#/dev/}/queue/nr_requests" || true
        losetup --detach "$device" || true
    fi
    rm -rf --one-file-system "$scratch"
}
trap away EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
# Written, not only allocated: reads of unwritten blocks never reach the disk.
head -c 1G /dev/urandom >"$scratch/image"
sync "$scratch/image"
device=$(losetup --find --show --direct-io=on "$scratch/image")
# In the background, so that the trap runs at once.
WHATIF_DEVICE=$device WHATIF_SCRATCH=$scratch python3 bench/whatif.py &
measuring=$!
wait "$measuring"
