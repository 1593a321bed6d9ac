"""Nothing is slow: no operation, no culprit."""

from truth import quiet


@quiet()
def idle(machine):
    "an idle machine"
    with machine.record():
        machine.pause(10)


@quiet()
def backup_of_a_fast_disk(machine):
    "a timer's backup, and commits beside it, on a disk that is fast enough"
    folder = machine.ext4()
    machine.timer("backup", f"tar -cf {folder}/backup.tar /usr/share/zoneinfo")
    with machine.record():
        machine.run_beside(machine.app("commits", folder / "log", 1000, 4096, 0.4), lambda: machine.run_timer("backup"))


@quiet()
def limit_not_reached(machine):
    "a unit far below its IOWriteBandwidthMax"
    folder = machine.ext4()
    with machine.record():
        machine.run(
            "app",
            machine.app("commits", folder / "log", 15, 4096, 0.3),
            IOWriteBandwidthMax=f"{machine.disk('data')} 200M",
        )


@quiet()
def freeze_of_an_idle_service(machine):
    "a server is frozen for 4 s that nobody asks"
    machine.serve("appsrv")
    with machine.record():
        machine.during(4, ["systemctl", "freeze", "appsrv"], ["systemctl", "thaw", "appsrv"])


@quiet()
def followers(machine):
    "programs that wait for work: tail -f, journalctl -f, a shell for its child, a server for clients"
    machine.serve("appsrv")
    with machine.record():
        machine.unit("tail", ["tail", "-f", "/var/log/dpkg.log"])
        machine.unit("journal", ["journalctl", "-f"])
        machine.run("shell", ["sh", "-c", "sleep 6; true"])


@quiet()
def rsyslog(machine):
    "rsyslog runs, whose thread waits for the kernel's messages"
    machine.sh("systemctl", "start", "rsyslog")
    machine.defer("systemctl", "stop", "rsyslog", "syslog.socket")
    with machine.record():
        machine.pause(8)


@quiet()
def restarts(machine):
    "Debian's own units are restarted, and its maintenance runs"
    with machine.record():
        for words in ("restart cron", "start logrotate", "start systemd-tmpfiles-clean", "daemon-reload"):
            machine.sh("systemctl", *words.split(), check=False)
            machine.pause(1)


@quiet()
def zram(machine):
    "a unit at its MemoryMax swaps to zram, which Debian's zramswap.service made"
    machine.sh("systemctl", "start", "zramswap")
    machine.defer("systemctl", "stop", "zramswap")
    with machine.record():
        machine.run_beside(machine.app("cycle", 24, 50), lambda: machine.pause(8), MemoryMax="20M")


@quiet()
def postgres_light(machine):
    "one session of Debian's PostgreSQL that commits now and then"
    machine.postgres("create table t (n int)")
    with machine.record():
        machine.run("app", machine.app("psql", 12, 0.4, "insert into t values (1);"), User="postgres")


@quiet()
def container_light(machine):
    "a container whose program asks for a time now and then, and sleeps"
    machine.container("worker", ["sh", "-c", "while :; do date; sleep 1; done"])
    machine.start("worker")
    with machine.record():
        machine.pause(8)


@quiet()
def niced_computation(machine):
    "a program of nice 19 computes beside commits"
    folder = machine.ext4()
    machine.unit("burn", ["sha256sum", "/dev/zero"], Nice=19)
    with machine.record():
        machine.run("app", machine.app("commits", folder / "log", 12, 4096, 0.3))
