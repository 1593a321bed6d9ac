#!/usr/bin/env bash
# Random reads and writes beside fio: the same blocks, files and threads on tmpfs, alternating, both with full latency
# histograms. It prints operations per second as counted by each program (median and range of the rounds), and the ratio
# of the rates within a round. The null engines do no I/O: they show each program's own cost per operation.
set -euo pipefail
cd "$(dirname "$0")/.."
command -v fio >/dev/null || { echo "randrw: fio is missing: no comparison"; exit 0; }
rounds=${BENCH_ROUNDS:-5} seconds=${BENCH_SECONDS:-4}
scratch=$(mktemp -d)
cleanup() { umount -l "$scratch/tmpfs" 2>/dev/null || true; rm -rf "$scratch"; }
trap cleanup EXIT
mkdir "$scratch/tmpfs"
where=$scratch/tmpfs
if ! mount -t tmpfs -o size=2g none "$where" 2>/dev/null; then
    where=$(mktemp -d -p /dev/shm)
    trap 'rm -rf "$where"; cleanup' EXIT
fi
python3 bench/randrw.py "$rounds" "$seconds" "$PWD/target/release/stallscope" "$where" "$scratch"
echo "The cost of stallscope by part:"
target/release/examples/own_cost
