#!/usr/bin/env bash
# Cost of tracing for 4 KiB random reads on a loop device over memory: once unlimited, with all CPUs busy, and once at a
# fixed rate. trace.py describes the method. The defaults take about five minutes.
#
#     TRACE_ROUNDS=5 TRACE_SECONDS=2 TRACE_RATE=50000 TRACE_ENGINE=io_uring TRACE_SCHEDULER=none TRACE_PEERS=1 \
#         bench/trace.sh
#
# TRACE_SWITCH_ROUNDS=60 sets the number of short windows of each set of programs, TRACE_OTHER_SWITCH another version's
# target/release/examples/switch that is measured beside this one's, and TRACE_ROUNDS=0 leaves it at that.
name=Tracing
. "$(dirname "$0")/common.sh"
needs_root
needs_tools fio losetup python3
device="" queue="" scheduler="" tracefs=""
restore() {
    # The scheduler outlives the loop device's file.
    if [ -n "$scheduler" ]; then echo "$scheduler" >"$queue/scheduler" || true; fi
    detach "$device"
    unmount "$scratch/memory"
    if [ -n "$tracefs" ]; then umount "$tracefs" || true; fi
}
make_scratch
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
TRACE_DEVICE=$device TRACE_SCRATCH=$scratch/memory measure python3 bench/trace.py
