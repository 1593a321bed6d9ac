#!/usr/bin/env bash
# What remedies were predicted to bring beside what trials of them measured. remedies.py describes the method,
# remedies_scenarios.py holds the stalls. All of them take about half an hour; --short takes two minutes and checks only
# what holds on any machine.
#
#     REMEDIES_SECONDS=8 REMEDIES_PERIODS=24 REMEDIES_ONLY='WORD ...' bench/remedies.sh [--short] [FOLDER ON A REAL
#     DISK]
#
# With REMEDIES_RUNS=FOLDER REMEDIES_OUT=FILE, recordings and cases are kept; REMEDIES_AGAIN=1 predicts them once more.
name=Remedies
. "$(dirname "$0")/common.sh"
if [ "${1:-}" = --short ]; then
    shift
    export REMEDIES_SHORT=1 REMEDIES_SECONDS=${REMEDIES_SECONDS:-4} REMEDIES_PERIODS=${REMEDIES_PERIODS:-4}
fi
if [ "${REMEDIES_AGAIN:-}" = 1 ]; then exec python3 bench/remedies.py; fi
needs_root
needs_controllers blkio
needs_tools losetup mkfs.ext4 fsfreeze python3
device=""
restore() {
    unmount "$scratch/mount"
    detach "$device"
}
make_scratch "${1:-${TMPDIR:-/var/tmp}}"
mkdir "$scratch/mount"
# Written, not only allocated.
head -c 640M /dev/zero >"$scratch/image"
mkfs.ext4 -q -F "$scratch/image"
device=$(losetup --find --show --direct-io=on "$scratch/image" 2>/dev/null || losetup --find --show "$scratch/image")
mount "$device" "$scratch/mount"
# A loop device keeps what another program set.
device_number=$(number "$device")
echo 100 >"/sys/class/bdi/$device_number/max_ratio"
echo 0 >"/sys/class/bdi/$device_number/strict_limit"
REMEDIES_NUMBER=$device_number REMEDIES_MOUNT=$scratch/mount REMEDIES_SCRATCH=$scratch measure python3 bench/remedies.py
