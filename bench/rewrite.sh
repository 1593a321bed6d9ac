#!/usr/bin/env bash
# Rewriting a file block by block (read 8 KiB, change a byte, seek back, write), by bonnie++ and by `stallscope run bonnie`,
# alternating, on tmpfs and on XFS on a loop device over memory. Each writes its file first and goes through the same phases; both
# rates count the bytes once and the fsync at the end, and are medians of the rounds. The defaults take about a minute.
#
#     REWRITE_ROUNDS=5 REWRITE_SIZE_MIB=1536 bench/rewrite.sh
set -euo pipefail
cd "$(dirname "$0")/.."
PATH=$PATH:/usr/sbin:/sbin
if [ "$(id -u)" != 0 ]; then
    echo "Rewriting: needs root, not measured"
    exit 0
fi
for tool in bonnie++ mkfs.xfs python3; do
    command -v $tool >/dev/null || { echo "Rewriting: $tool is missing, not measured"; exit 0; }
done
size=${REWRITE_SIZE_MIB:-1536}
scratch=$(mktemp -d)
measuring=""
# Also on a signal: stop the child first, since it keeps the mounts busy.
away() {
    trap '' INT TERM HUP
    if [ -n "$measuring" ]; then kill "$measuring" 2>/dev/null || true; wait "$measuring" 2>/dev/null || true; fi
    for place in xfs image tmpfs; do
        if mountpoint -q "$scratch/$place"; then umount "$scratch/$place" || umount --lazy "$scratch/$place" || true; fi
    done
    rm -rf --one-file-system "$scratch"
}
trap away EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
mkdir "$scratch/tmpfs" "$scratch/image" "$scratch/xfs"
mount -t tmpfs -o size=$((size + 256))m none "$scratch/tmpfs"
mount -t tmpfs -o size=$((size + 1024))m none "$scratch/image"
truncate -s $((size + 768))M "$scratch/image/disk"
mkfs.xfs -q "$scratch/image/disk"
mount -o loop "$scratch/image/disk" "$scratch/xfs"
# In the background, so that the trap runs at once.
REWRITE_SIZE_MIB=$size REWRITE_SCRATCH=$scratch python3 bench/rewrite.py &
measuring=$!
wait "$measuring"
