"""A cluster of Ballista on this machine (fleet/ballista): scheduler, two executors and a client, each a process of its
own."""

import atexit
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time

PROGRAM = pathlib.Path(__file__).resolve().parent.parent / "ballista/target/release/stallscope-ballista"
EXECUTORS = 2
START_S = 30


def free_ports(count):
    """Ports that nothing listens on now."""
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return [str(port) for port in ports]


class Cluster:
    """Answers statements; its processes end with this one."""

    def __init__(self, lake):
        if not PROGRAM.exists():
            raise SystemExit(f"{PROGRAM} is missing: make ballista")
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="stallscope-ballista-"))
        self.processes = []
        atexit.register(self.stop)
        scheduler, *ports = free_ports(1 + 2 * EXECUTORS)
        self.start("scheduler", scheduler)
        self.wait_for(scheduler)
        for number in range(EXECUTORS):
            folder = self.folder / f"executor-{number}"
            folder.mkdir()
            self.start("executor", scheduler, *ports[2 * number : 2 * number + 2], str(folder))
        for port in ports[::2]:
            self.wait_for(port)
        self.client = self.start("client", scheduler, lake)

    def start(self, *words):
        log = self.folder / f"{len(self.processes)}.log"
        with open(log, "w") as file:
            process = subprocess.Popen([PROGRAM, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=file)
        self.processes.append((process, log))
        return process

    def wait_for(self, port):
        last = time.monotonic() + START_S
        while True:
            try:
                return socket.create_connection(("127.0.0.1", int(port)), 1).close()
            except OSError:
                if time.monotonic() > last or any(process.poll() is not None for process, _ in self.processes):
                    raise SystemExit(self.said() or f"nothing listens on port {port}")
                time.sleep(0.02)

    def said(self):
        return "; ".join(line for _, log in self.processes for line in log.read_text().splitlines()[-1:])

    def rows(self, sql):
        import pyarrow as pa

        try:
            self.client.stdin.write(sql.encode() + b"\0")
            self.client.stdin.flush()
            table = pa.ipc.open_stream(self.client.stdout).read_all()
        except (OSError, pa.ArrowInvalid):
            # The client ended, with the reason.
            self.client.wait()
            raise SystemExit(self.said())
        return [tuple(row) for row in zip(*(column.to_pylist() for column in table.columns))]

    def stop(self):
        for process, _ in reversed(self.processes):
            process.kill()
            process.wait()
        shutil.rmtree(self.folder)
