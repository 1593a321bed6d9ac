#!/usr/bin/env python3
"""A load with its own clock, for remedies.py: JOB FOLDER NAME LOG [FLAG]. Every call is a line of LOG: start and
duration,
ns.

While the file FLAG exists, holders hold nothing."""

import fcntl
import mmap
import os
import signal
import sys
import time
from random import Random

now = time.monotonic_ns
SIZE = 64 << 20


def opened(path, flags=0):
    return os.open(path, os.O_RDWR | os.O_CREAT | flags)


def block(size):
    """Memory that O_DIRECT takes."""
    memory = mmap.mmap(-1, size)
    memory.write(b"x" * size)
    return memory


def calls(job, folder, name, flag):
    """Yields pairs: a call to be timed, and the pause after it in seconds."""
    kind, *rest = job.split(":")
    size = int(rest[0]) if rest else 0
    pause = float(rest[1]) if len(rest) > 1 else 0
    path = f"{folder}/{name}"
    at = 0

    def step():
        nonlocal at
        at = (at + size) % (SIZE - size) // 4096 * 4096
        return at

    if kind in ("dwrite", "dread"):
        file, data = opened(path, os.O_DIRECT), block(size)
        call = (
            (lambda: os.pwrite(file, data, step())) if kind == "dwrite" else (lambda: os.preadv(file, [data], step()))
        )
    elif kind == "append":
        # Each write extends the file, for which it holds the inode's lock alone.
        file, data = opened(f"{folder}/shared", os.O_DIRECT), block(size)

        def call():
            end = os.fstat(file).st_size
            os.pwrite(file, data, end if end < SIZE else os.ftruncate(file, 0) or 0)
    elif kind == "small":
        file, data = opened(f"{folder}/shared"), b"x" * size
        call = lambda: os.pwrite(file, data, 0)
    elif kind == "write":
        file, data = opened(path), b"x" * size
        call = lambda: os.pwrite(file, data, step())
    elif kind == "fsync":
        file, data = opened(path), b"x" * size

        def call():
            os.pwrite(file, data, step())
            os.fsync(file)
    elif kind == "log":
        # Appends need the journal, too. The file is emptied when it is full.
        file, data = opened(f"{path}.log"), b"x" * size

        def call():
            end = os.fstat(file).st_size
            os.pwrite(file, data, end if end < SIZE else os.ftruncate(file, 0) or 0)
            os.fdatasync(file)
    elif kind == "create":
        data, count = b"x" * size, 0

        def call():
            nonlocal count
            count = (count + 1) % 1000
            with open(f"{path}.{count}", "wb", buffering=0) as file:
                file.write(data)
                os.fsync(file.fileno())
    elif kind == "rread":
        # At random, and out of the page cache.
        file, random = opened(path), Random(size)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_RANDOM)

        def call():
            start = random.randrange(SIZE // size) * size
            os.posix_fadvise(file, start, size, os.POSIX_FADV_DONTNEED)
            os.pread(file, size, start)
    elif kind == "read":
        # What others have read does not count for this cgroup.
        file = opened(path)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        call = lambda: os.pread(file, size, step())
    elif kind == "flock":
        file = opened(f"{folder}/lock")

        def call():
            fcntl.flock(file, fcntl.LOCK_EX)
            fcntl.flock(file, fcntl.LOCK_UN)
    elif kind in ("hold", "holdsync"):
        file, shared = opened(f"{folder}/lock"), opened(path)

        def work():
            if kind == "hold":
                time.sleep(size / 1000)
            else:
                os.pwrite(shared, b"x" * size, step())
                os.fsync(shared)

        def call():
            if not os.path.exists(flag):
                fcntl.flock(file, fcntl.LOCK_EX)
                work()
                fcntl.flock(file, fcntl.LOCK_UN)
    else:
        raise SystemExit(f"unknown job {job}")
    while True:
        yield call, pause


def main():
    job, folder, name, log, *flag = sys.argv[1:]
    with open("/proc/self/comm", "w", encoding="utf8") as comm:
        comm.write(name)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with open(log, "w", encoding="utf8", buffering=1 << 16) as lines:
        for call, pause in calls(job, folder, name, flag[0] if flag else ""):
            start = now()
            call()
            lines.write(f"{start} {now() - start}\n")
            if pause:
                time.sleep(pause / 1000)


if __name__ == "__main__":
    main()
