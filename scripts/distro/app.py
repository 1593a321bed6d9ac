#!/usr/bin/env python3
"""Programs that measure their own operations: the victim's clock of a scenario.

    app.py commits FILE TIMES BYTES PAUSE      append and fsync
    app.py reads FILE TIMES BYTES PAUSE        read what is not in the page cache, front to back
    app.py grow MIB                            fill memory, a page at a time
    app.py cycle MIB TIMES                     touch all pages of a memory area again and again, one at a time
    app.py compute TIMES                       compute, a little at a time
    app.py client SOCKET TIMES PAUSE           ask a server
    app.py server SOCKET WORK                  answer after WORK loops
    app.py syslog TIMES PAUSE                  write to the system log
    app.py psql TIMES PAUSE STATEMENT          one session of psql, TIMES statements
    app.py insert BASE TIMES PAUSE             insert a row into table t of an SQLite database
    app.py command TIMES PAUSE PROGRAM...      run a program; what it takes to start (--version) is not counted

Each operation's begin and end (CLOCK_MONOTONIC, ns) go to $CLOCK/PID.json at the end, also on SIGTERM; $CLOCK/begun
appears after the first. A server has no clock.
"""

import json
import mmap
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import syslog
import time

operations, pids = [], [os.getpid()]


def took(begin, end):
    """Notes an operation; of thousands that took no time, only the first."""
    if not operations and "CLOCK" in os.environ:
        open(f"{os.environ['CLOCK']}/begun", "w").close()
    if not operations or end - begin > 1_000_000:
        operations.append([begin, end])


def timed(operation):
    """Runs and times an operation; its result."""
    begin = time.monotonic_ns()
    try:
        return operation()
    finally:
        took(begin, time.monotonic_ns())


def commits(path, times, size, pause):
    file = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o644)
    data = b"x" * int(size)
    for _ in range(int(times)):
        timed(lambda: (os.write(file, data), os.fsync(file)))
        time.sleep(float(pause))


def reads(path, times, size, pause):
    file = os.open(path, os.O_RDONLY)
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_RANDOM)
    for number in range(int(times)):
        timed(lambda: os.pread(file, int(size), number * int(size)))
        time.sleep(float(pause))


def grow(mib):
    cycle(mib, 1)


def cycle(mib, times):
    area = mmap.mmap(-1, int(mib) << 20)
    for _ in range(int(times)):
        for page in range(0, len(area), 4096):
            timed(lambda: area.__setitem__(page, (area[page] + 1) % 256))


def compute(times):
    for _ in range(int(times)):
        timed(lambda: sum(range(100_000)))


def client(path, times, pause):
    server = socket.socket(socket.AF_UNIX)
    # A server without a CPU listens long after it has made its socket.
    for _ in range(600):
        try:
            server.connect(path)
            break
        except (ConnectionRefusedError, FileNotFoundError):
            time.sleep(0.1)
    for _ in range(int(times)):
        timed(lambda: (server.send(b"x"), server.recv(1)))
        time.sleep(float(pause))


def server(path, work):
    if os.path.exists(path):
        os.unlink(path)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(5)
    while True:
        connection, _ = listener.accept()
        while connection.recv(1):
            for _ in range(int(work)):
                pass
            connection.send(b"y")


def write_syslog(times, pause):
    for number in range(int(times)):
        timed(lambda: syslog.syslog("x" * 200 + str(number)))
        time.sleep(float(pause))


def psql(times, pause, statement):
    with subprocess.Popen(["psql", "-qAtX"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as session:

        def ask(text):
            session.stdin.write(f"{text}\n\\echo done\n")
            session.stdin.flush()
            return iter(session.stdout.readline, "done\n")

        pids.append(session.pid)
        # The session's own process of the server.
        pids.extend(int(line) for line in ask("select pg_backend_pid();"))
        for _ in range(int(times)):
            timed(lambda: list(ask(statement)))
            time.sleep(float(pause))
        session.stdin.close()


def insert(base, times, pause):
    connection = sqlite3.connect(base, timeout=60, isolation_level=None)
    for _ in range(int(times)):
        timed(lambda: connection.execute("insert into t values (2)"))
        time.sleep(float(pause))


def command(times, pause, *words):
    def run(*words):
        begin = time.monotonic_ns()
        child = subprocess.Popen(words, stdout=subprocess.DEVNULL)
        child.wait()
        pids.append(child.pid)
        return begin, time.monotonic_ns()

    # What the program takes to start is no part of what it does; the first time it is read from the disk.
    start_ns = 0
    for _ in range(2):
        begin, end = run(words[0], "--version")
        start_ns = end - begin
    for _ in range(int(times)):
        begin, end = run(*words)
        took(min(begin + start_ns, end), end)
        time.sleep(float(pause))


def write_clock(*_):
    folder = os.environ.get("CLOCK")
    if folder and operations:
        # The OOM killer may come meanwhile: a clock is whole, or absent.
        with open(f"{folder}/{os.getpid()}.new", "w") as clock:
            json.dump({"pids": pids, "operations": operations}, clock)
        os.rename(clock.name, f"{folder}/{os.getpid()}.json")


def main(name, *arguments):
    programs = {
        program.__name__: program
        for program in (commits, reads, grow, cycle, compute, client, server, psql, insert, command)
    }
    programs["syslog"] = write_syslog
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        programs[name](*arguments)
    finally:
        write_clock()


if __name__ == "__main__":
    main(*sys.argv[1:])
