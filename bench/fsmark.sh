#!/usr/bin/env bash
# Files a second of `run fsmark` beside fs_mark, in turn: empty files on tmpfs, files of 4 KiB on XFS (a loop device over
# memory) without sync and with fsync, by 1, 2 and 4 processes. fsmark.py describes the method. About three minutes.
#
#     FSMARK_ROUNDS=3 FSMARK_SCALE=0.5 FSMARK_CASES=tmpfs FSMARK_THREADS="1 4" bench/fsmark.sh
set -euo pipefail
cd "$(dirname "$0")/.."
if [ "$(id -u)" != 0 ]; then
    echo "Small files: needs root, not measured"
    exit 0
fi
for tool in fs_mark mkfs.xfs losetup python3; do
    PATH="$PATH:/usr/sbin:/sbin" command -v $tool >/dev/null || { echo "Small files: $tool is missing, not measured"; exit 0; }
done
scratch=$(mktemp -d)
measuring=""
# Also on a signal: stop the child first, since it keeps the mounts busy.
away() {
    trap '' INT TERM HUP
    if [ -n "$measuring" ]; then kill "$measuring" 2>/dev/null || true; wait "$measuring" 2>/dev/null || true; fi
    for mount in "$scratch/xfs" "$scratch/memory"; do
        if mountpoint -q "$mount"; then umount "$mount" || umount --lazy "$mount" || true; fi
    done
    rm -rf --one-file-system "$scratch"
}
trap away EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
mkdir "$scratch/memory" "$scratch/xfs"
mount -t tmpfs -o size=4g none "$scratch/memory"
mkdir "$scratch/memory/files" "$scratch/memory/runs"
truncate -s 2G "$scratch/memory/image"
mkfs.xfs -q "$scratch/memory/image"
mount -o loop "$scratch/memory/image" "$scratch/xfs"
# In the background, so that the trap runs at once.
FSMARK_TMPFS=$scratch/memory/files FSMARK_XFS=$scratch/xfs FSMARK_RUNS=$scratch/memory/runs python3 bench/fsmark.py &
measuring=$!
wait "$measuring"
