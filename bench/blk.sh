#!/usr/bin/env bash
# Cost of analyzing a block trace: `stallscope blk`, all tables and queue-watch on, beside `blkparse -d` + `btt` on the
# same simulated trace. CPU is user plus system time, memory the highest resident size of the process. A second, longer
# trace shows that memory does not grow with the trace.
#
#     BLK_EVENTS=5000000 BLK_LONG_EVENTS=50000000 bench/blk.sh
set -euo pipefail
cd "$(dirname "$0")/.."
program=$PWD/target/release/stallscope
examples=$PWD/target/release/examples
events=${BLK_EVENTS:-5000000}
long=${BLK_LONG_EVENTS:-50000000}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

measure() { # measure NAME EVENTS COMMAND: its CPU time and memory; standard output is dropped
    python3 - "$@" <<'PYTHON'
import resource, subprocess, sys
name, events, command = sys.argv[1], int(sys.argv[2]), sys.argv[3]
subprocess.run(["bash", "-c", "exec " + command], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
use = resource.getrusage(resource.RUSAGE_CHILDREN)
cpu = use.ru_utime + use.ru_stime
print(f"{name:<44} {cpu:7.2f} s CPU {events / cpu / 1e6:7.2f} million events/s {use.ru_maxrss / 1024:8.1f} MiB resident")
PYTHON
}

"$examples/blk_generate" "$events" "$scratch/trace" 2>/dev/null
echo "Block traces, $events events, $(stat -c %s "$scratch/trace") bytes"
"$examples/blk_walk" "$scratch/trace"
measure "stallscope blk" "$events" "$program blk --json $scratch/trace"
measure "stallscope blk --slower-than 200us" "$events" "$program blk --json --slower-than 200us $scratch/trace"
zstd -q -1 "$scratch/trace" -o "$scratch/trace.zst"
measure "stallscope blk, compressed with zstd" "$events" "$program blk --json $scratch/trace.zst"
if command -v blkparse >/dev/null && command -v btt >/dev/null; then
    cd "$scratch"
    measure "blkparse -d" "$events" "blkparse -q -i - -d $scratch/merged -O <$scratch/trace"
    measure "btt" "$events" "btt -i $scratch/merged -o $scratch/btt"
    measure "blkparse, text" "$events" "blkparse -q -i - <$scratch/trace"
    cd - >/dev/null
    rm -f "$scratch/merged" "$scratch"/btt*
else
    echo "blkparse and btt are missing: no comparison (Debian: blktrace)"
fi
if [ "$long" -gt 0 ]; then
    "$examples/blk_generate" "$long" "$scratch/trace" 2>/dev/null
    measure "stallscope blk, $long events" "$long" "$program blk --json $scratch/trace"
fi
