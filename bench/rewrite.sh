#!/usr/bin/env bash
# Rewriting a file block by block (read 8 KiB, change a byte, seek back, write), by bonnie++ and by `stallscope run
# bonnie`, alternating, on tmpfs and on XFS on a loop device over memory. Each writes its file first and goes through
# the same phases; both rates count the bytes once and the fsync at the end, and are medians of the rounds. The defaults
# take about a minute.
#
#     REWRITE_ROUNDS=5 REWRITE_SIZE_MIB=1536 bench/rewrite.sh
name=Rewriting
. "$(dirname "$0")/common.sh"
needs_root
needs_tools bonnie++ mkfs.xfs python3
size=${REWRITE_SIZE_MIB:-1536}
restore() { unmount "$scratch/xfs" "$scratch/image" "$scratch/tmpfs"; }
make_scratch
mkdir "$scratch/tmpfs" "$scratch/image" "$scratch/xfs"
mount -t tmpfs -o size=$((size + 256))m none "$scratch/tmpfs"
mount -t tmpfs -o size=$((size + 1024))m none "$scratch/image"
truncate -s $((size + 768))M "$scratch/image/disk"
mkfs.xfs -q "$scratch/image/disk"
mount -o loop "$scratch/image/disk" "$scratch/xfs"
REWRITE_SIZE_MIB=$size REWRITE_SCRATCH=$scratch measure python3 bench/rewrite.py
