#!/usr/bin/env bash
# Cost of recording, beside sadc(8) of sysstat: both sample the same machine at the same time, first idle, then while
# fio runs. CPU is user plus system time of the whole process, start and end included, divided by the samples. Bytes are
# the size on disk at the end; sadc's file is compressed with zstd, since sadc does not compress. The part of a
# recording that does not grow with the samples (run.json, descriptions of the metrics) is printed separately.
set -euo pipefail
cd "$(dirname "$0")/.."
program=$PWD/target/release/stallscope
sadc=$(PATH="$PATH:/usr/lib/sysstat:/usr/lib64/sa:/usr/lib/sa" command -v sadc || true)
seconds=${BENCH_SECONDS:-120}
scratch=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$scratch"' EXIT

timed() { # timed FILE COMMAND...: CPU seconds of the command into FILE
    local into=$1; shift
    # `time` runs in a subshell, so that only its line reaches the file.
    ( TIMEFORMAT='%U %S'; { time "$@" >"$into.out" 2>"$into.err"; } 2>"$into" )
}

figure() { python3 -c "import json,sys; d=json.load(open('$1')); print(d['recording']['$2'])"; }

compare() { # compare NAME
    local name=$1
    if [ -n "$sadc" ]; then timed "$scratch/sadc.$name" "$sadc" -S ALL 1 "$((seconds + 1))" "$scratch/$name.sa" & fi
    timed "$scratch/ours.$name" "$program" record --no-trace --json --quiet --runtime "${seconds}s" --out \
        "$scratch/$name.run" &
    local ours=$! peak=0 rss child
    while kill -0 $ours 2>/dev/null; do
        child=$(pgrep -f "record --no-trace --json --quiet --runtime ${seconds}s --out $scratch/$name.run" |
            tail -n 1 || true)
        rss=$(awk '/^VmHWM/ { print $2 }' "/proc/${child:-none}/status" 2>/dev/null || echo 0)
        [ "${rss:-0}" -gt "$peak" ] && peak=$rss
        sleep 0.5
    done
    wait
    local json=$scratch/ours.$name.out samples bytes fixed
    samples=$(figure "$json" samples)
    bytes=$(cat "$scratch/$name.run"/{journal,samples*,metrics*} | wc -c)
    fixed=$(cat "$scratch/$name.run"/{run.json,descriptors*} | wc -c)
    awk -v n="$samples" -v rss="$peak" -v bytes="$bytes" -v own="$(figure "$json" cpu_ms_per_sample)" \
        -v metrics="$(figure "$json" metrics)" -v fixed="$fixed" -v name="$name" '
        { printf "%-6s stallscope  %5.2f ms/sample (sampling thread %.2f)  %4.0f bytes/sample + %.0f KiB  %d metrics  %.1f MiB resident\n",
            name, ($1 + $2) * 1000 / n, own, bytes / n, fixed / 1024, metrics, rss / 1024 }' "$scratch/ours.$name"
    if [ -n "$sadc" ]; then
        bytes=$(zstd -q -c "$scratch/$name.sa" | wc -c)
        awk -v n="$((seconds + 1))" -v bytes="$bytes" -v name="$name" '
            { printf "%-6s sadc -S ALL %5.2f ms/sample  %4.0f bytes/sample (zstd)\n", name, ($1 + $2) * 1000 / n, bytes / n }' "$scratch/sadc.$name"
    else
        echo "$name   sadc is missing: no comparison"
    fi
}

echo "Samplers, $seconds samples at 1 s"
compare idle
if command -v fio >/dev/null; then
    fio --name=busy --directory="$scratch" --size=256m --bs=16k --rw=randrw --ioengine=psync --numjobs=2 \
        --rate_iops=2000 \
        --time_based --runtime=$((seconds + 10)) --output=/dev/null &
    sleep 3
    compare busy
    kill %1 2>/dev/null || true
fi
