"""Services that stop, hold locks, or are limited: Debian's own and others."""

from truth import Culprit, absent, edge, stall

# The program that asked the manager to stop a unit, not the manager. `systemctl freeze` asks by the message bus,
# `systemctl kill` by the manager's own socket: who asked by the bus is not known.
DOER = Culprit(task="^systemctl/")
FREEZER = Culprit(task="^(systemctl|systemd)/")


@stall("stopped", FREEZER, [edge("stopped")])
def frozen_service(machine):
    "a client waits for a server that 'systemctl freeze' froze for 4 s"
    socket = machine.serve("appsrv")
    with machine.record(machine.app("client", socket, 50, 0.3)):
        machine.until_begun()
        machine.during(4, ["systemctl", "freeze", "appsrv"], ["systemctl", "thaw", "appsrv"])


@stall("stopped", DOER, [edge("stopped")])
def stopped_journald(machine):
    "syslog() waits for journald, which SIGSTOP stopped for 5 s"
    kill = ["systemctl", "kill", "systemd-journald", "-s"]
    with machine.record(machine.app("syslog", 3000, 0.003)):
        machine.until_begun()
        machine.during(5, [*kill, "STOP"], [*kill, "CONT"])


@stall("stopped", FREEZER, [edge("stopped")])
def journal_sync(machine):
    "journalctl --sync waits for journald, which 'systemctl freeze' froze for 4 s"
    words = machine.app("command", 1000, 0.4, "journalctl", "--sync")
    with machine.record():
        freeze, thaw = (["systemctl", verb, "systemd-journald"] for verb in ("freeze", "thaw"))
        machine.run_beside(words, lambda: machine.during(4, freeze, thaw))


@stall(
    "lock",
    Culprit(task=r"^(flock|sleep)/", cgroup=r"/holder\.service$"),
    [edge("lock"), absent(r"holder\.service|^(flock|sleep)"), edge("timer")],
)
def file_lock(machine):
    "flock(1) waits for a lock that another unit's job holds for 4 s"
    words = machine.app("command", 1000, 0.3, "flock", "/run/lock/job", "true")
    with machine.record():
        machine.run_beside(words, lambda: machine.run("holder", "flock /run/lock/job sleep 4".split()))


@stall(
    "lock",
    Culprit(task=r"^(sqlite3|sh|sleep)/", cgroup=r"/holder\.service$"),
    [edge("lock"), absent(r"holder\.service|^sqlite3"), edge("timer")],
)
def sqlite_lock(machine):
    "a program waits for a transaction that sqlite3 of another unit keeps open for 4 s"
    base = machine.ext4() / "base"
    machine.sh("sqlite3", base, "create table t (n)")
    holder = ["sqlite3", base, "begin immediate", "insert into t values (1)", ".shell sleep 4", "commit"]
    words = machine.app("insert", base, 1000, 0.3)
    with machine.record():
        machine.run_beside(words, lambda: machine.run("holder", holder))


@stall("lock", Culprit(task=r"^(postgres|psql|sleep|sh)/"), [edge("lock"), absent(r"postgres|psql|holder\.service")])
def postgres_lock(machine):
    "an update waits for a row that a session, idle in its transaction, has locked for 5 s"
    machine.postgres("create table t (n int); insert into t values (1)")
    holder = ["sh", "-c", "(echo 'begin; update t set n = 2;'; sleep 5; echo 'commit;') | psql -q"]
    words = machine.app("psql", 1000, 0.3, "update t set n = n + 1;")
    with machine.record():
        machine.run_beside(words, lambda: machine.run("holder", holder, User="postgres"), User="postgres")


@stall("io_throttle", Culprit(cgroup=r"/postgresql@"), [edge("io_limit", "/postgresql@")])
def postgres_limit(machine):
    "checkpoints and commits of Debian's PostgreSQL unit are throttled by its own IOWriteBandwidthMax"
    unit = machine.postgres("create table t (n text)")
    root = machine.root_disk()
    machine.set_property(unit, IOWriteBandwidthMax=f"{root} 1M")
    row = "insert into t select repeat(md5(random()::text), 30) from generate_series(1, 2000); checkpoint;"
    with machine.record():
        machine.unit("app", machine.app("psql", 4, 0.3, row), User="postgres")
        machine.wait("app", 100)
