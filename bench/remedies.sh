#!/usr/bin/env bash
# What remedies were predicted to bring beside what trials of them measured. remedies.py describes the method and holds the
# scenarios. All of them take about half an hour; --short takes three and checks only what holds on any machine.
#
#     REMEDIES_SECONDS=8 REMEDIES_PERIODS=24 REMEDIES_ONLY='WORD ...' bench/remedies.sh [--short] [FOLDER ON A REAL DISK]
set -euo pipefail
cd "$(dirname "$0")/.."
if [ "${1:-}" = --short ]; then
    shift
    export REMEDIES_SHORT=1 REMEDIES_SECONDS=${REMEDIES_SECONDS:-4} REMEDIES_PERIODS=${REMEDIES_PERIODS:-4}
fi
if [ "$(id -u)" != 0 ] || [ ! -e /sys/fs/cgroup/blkio/blkio.throttle.write_bps_device ]; then
    echo "Remedies: needs root and the blkio controller of cgroup v1, not measured"
    exit 0
fi
for tool in losetup mkfs.ext4 fsfreeze python3; do
    command -v $tool >/dev/null || { echo "Remedies: $tool is missing, not measured"; exit 0; }
done
scratch=$(mktemp -d "${1:-${TMPDIR:-/var/tmp}}/stallscope-remedies-XXXXXX")
device="" measuring=""
# Also on a signal: stop the child first.
away() {
    trap '' INT TERM HUP
    if [ -n "$measuring" ]; then kill "$measuring" 2>/dev/null || true; wait "$measuring" 2>/dev/null || true; fi
    if mountpoint -q "$scratch/mount"; then umount --lazy "$scratch/mount" || true; fi
    if [ -n "$device" ]; then losetup --detach "$device" || true; fi
    rm -rf --one-file-system "$scratch"
}
trap away EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
mkdir "$scratch/mount"
# Written, not only allocated.
head -c 640M /dev/zero >"$scratch/image"
mkfs.ext4 -q -F "$scratch/image"
device=$(losetup --find --show --direct-io=on "$scratch/image" 2>/dev/null || losetup --find --show "$scratch/image")
mount "$device" "$scratch/mount"
# In the background, so that the trap runs at once.
REMEDIES_DEVICE=$device REMEDIES_NUMBER=$(cat "/sys/block/${device#/dev/}/dev") REMEDIES_MOUNT=$scratch/mount \
    REMEDIES_SCRATCH=$scratch python3 bench/remedies.py &
measuring=$!
wait "$measuring"
