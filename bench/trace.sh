#!/usr/bin/env bash
# Cost of tracing for 4 KiB random reads on a loop device over memory: once unlimited, with all CPUs busy, and once at a fixed
# rate. trace.py describes the method. The defaults take about five minutes.
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
# Also on a signal: stop the child first, since it keeps the mounts busy.
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
# The two peers expect tracefs at its usual path; some machines do not mount it.
if [ -d /sys/kernel/tracing ] && [ ! -e /sys/kernel/tracing/trace_clock ]; then
    mount -t tracefs none /sys/kernel/tracing && tracefs=/sys/kernel/tracing
fi
mkdir "$scratch/memory"
mount -t tmpfs -o size=3g none "$scratch/memory"
head -c 1G /dev/zero >"$scratch/memory/image"
device=$(losetup --find --show "$scratch/memory/image")
# The defaults of a new device: settings outlive the loop device that had this number before.
queue=/sys/block/$(basename "$device")/queue
scheduler=$(sed 's/.*\[\(.*\)\].*/\1/' "$queue/scheduler")
echo "${TRACE_SCHEDULER:-mq-deadline}" >"$queue/scheduler"
echo -1 >"$queue/wbt_lat_usec" || true
# In the background, so that the trap runs at once.
TRACE_DEVICE=$device TRACE_SCRATCH=$scratch/memory python3 bench/trace.py &
measuring=$!
wait "$measuring"
