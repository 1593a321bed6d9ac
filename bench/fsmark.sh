#!/usr/bin/env bash
# Files a second of `run fsmark` beside fs_mark, in turn: empty files on tmpfs, files of 4 KiB on XFS (a loop device
# over memory) without sync and with fsync, by 1, 2 and 4 processes. fsmark.py describes the method. About three
# minutes.
#
#     FSMARK_ROUNDS=3 FSMARK_SCALE=0.5 FSMARK_CASES=tmpfs FSMARK_THREADS="1 4" bench/fsmark.sh
name="Small files"
. "$(dirname "$0")/common.sh"
needs_root
needs_tools fs_mark mkfs.xfs losetup python3
restore() { unmount "$scratch/xfs" "$scratch/memory"; }
make_scratch
mkdir "$scratch/memory" "$scratch/xfs"
mount -t tmpfs -o size=4g none "$scratch/memory"
mkdir "$scratch/memory/files" "$scratch/memory/runs"
truncate -s 2G "$scratch/memory/image"
mkfs.xfs -q "$scratch/memory/image"
mount -o loop "$scratch/memory/image" "$scratch/xfs"
FSMARK_TMPFS=$scratch/memory/files FSMARK_XFS=$scratch/xfs FSMARK_RUNS=$scratch/memory/runs measure python3 \
    bench/fsmark.py
