# shellcheck shell=bash
# What the benches that make disks and file systems have in common; to be sourced. A bench sets `name`, may define
# `restore` to take back what it made below $scratch, and calls make_scratch before it makes anything.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
PATH=$PATH:/usr/sbin:/sbin
scratch="" measuring=""

skip() {
    echo "$name: $1, not measured"
    exit 0
}

needs_root() {
    [ "$(id -u)" = 0 ] || skip "needs root"
}

needs_controllers() { # needs_controllers NAME...
    local controller
    for controller; do
        [ -d "/sys/fs/cgroup/$controller" ] || skip "needs the controller $controller of cgroup v1"
    done
}

needs_tools() { # needs_tools NAME...
    local tool
    for tool; do
        command -v "$tool" >/dev/null || skip "$tool is missing"
    done
}

restore() { :; }

# Also on a signal: stop the child first, since it keeps the mounts busy.
away() {
    trap '' INT TERM HUP
    if [ -n "$measuring" ]; then kill "$measuring" 2>/dev/null || true; wait "$measuring" 2>/dev/null || true; fi
    restore
    rm -rf --one-file-system "$scratch"
}

make_scratch() { # make_scratch [PARENT]
    scratch=$(mktemp -d "${1:-${TMPDIR:-/tmp}}/stallscope-bench-XXXXXX")
    trap away EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
}

unmount() { # unmount DIRECTORY...
    local point
    for point; do
        if mountpoint -q "$point"; then umount "$point" || umount --lazy "$point" || true; fi
    done
}

detach() { # detach DEVICE, or nothing
    if [ -n "$1" ]; then losetup --detach "$1" || true; fi
}

number() { # number DEVICE: MAJOR:MINOR
    cat "/sys/block/${1#/dev/}/dev"
}

# In the background, so that the trap runs at once.
measure() { # VARIABLE=VALUE... measure COMMAND...
    "$@" &
    measuring=$!
    wait "$measuring"
}
