#!/usr/bin/env bash
# What tracing costs a load of 4 KiB random reads on a loop device over memory: once as fast as the machine can, with all
# CPUs busy, and once at a fixed rate. How it is measured is told in trace.py. The defaults take some five minutes.
#
#     TRACE_ROUNDS=5 TRACE_SECONDS=2 TRACE_RATE=50000 TRACE_ENGINE=io_uring TRACE_SCHEDULER=none TRACE_PEERS=1 \
#         bench/trace.sh
set -euo pipefail
cd "$(dirname "$0")/.."
if [ "$(id -u)" != 0 ]; then
    echo "Tracing: needs root, not measured"
    exit 0
fi
for tool in fio losetup python3; do
    command -v $tool >/dev/null || { echo "Tracing: $tool is missing, not measured"; exit 0; }
done
scratch=$(mktemp -d)
device="" queue="" scheduler="" tracefs="" measuring=""
# Also when it is interrupted or terminated: what was started ends first, as it holds what was mounted.
away() {
    trap '' INT TERM HUP
    if [ -n "$measuring" ]; then kill "$measuring" 2>/dev/null || true; wait "$measuring" 2>/dev/null || true; fi
    # The scheduler outlives the loop device's file.
    if [ -n "$scheduler" ]; then echo "$scheduler" >"$queue/scheduler" || true; fi
    if [ -n "$device" ]; then losetup --detach "$device" || true; fi
    if mountpoint -q "$scratch/memory"; then umount "$scratch/memory" || umount --lazy "$scratch/memory" || true; fi
    if [ -n "$tracefs" ]; then umount "$tracefs" || true; fi
    rm -rf --one-file-system "$scratch"
}
trap away EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
# The two peers look for tracefs where it belongs; it is not mounted everywhere.
if [ -d /sys/kernel/tracing ] && [ ! -e /sys/kernel/tracing/trace_clock ]; then
    mount -t tracefs none /sys/kernel/tracing && tracefs=/sys/kernel/tracing
fi
mkdir "$scratch/memory"
mount -t tmpfs -o size=3g none "$scratch/memory"
head -c 1G /dev/zero >"$scratch/memory/image"
device=$(losetup --find --show "$scratch/memory/image")
# As a device of its kind comes, whatever somebody has set for the one of this number before.
queue=/sys/block/$(basename "$device")/queue
scheduler=$(sed 's/.*\[\(.*\)\].*/\1/' "$queue/scheduler")
echo "${TRACE_SCHEDULER:-mq-deadline}" >"$queue/scheduler"
echo -1 >"$queue/wbt_lat_usec" || true
# In the background, so that a signal is heard at once.
TRACE_DEVICE=$device TRACE_SCRATCH=$scratch/memory python3 bench/trace.py &
measuring=$!
wait "$measuring"
