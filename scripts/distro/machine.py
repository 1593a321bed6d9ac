"""The machine that a scenario runs on: its disks, units, containers and the recorder. What it makes is undone at the
scenario's end."""

import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

HERE = pathlib.Path(__file__).parent
RECORDINGS = pathlib.Path("/var/lib/recordings")
CLOCKS = pathlib.Path("/run/clocks")
# The serial numbers of the disks.
DISKS = [line.split()[0] for line in (HERE / "disks").read_text().splitlines() if line[:1] != "#"]
APP = "/usr/local/bin/app.py"


class Unmade(Exception):
    """The scenario could not be made; the message says why."""


def sh(*words, check=True, seconds=60, **options):
    """Runs a program; what it printed."""
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=seconds, **options)
    if check and done.returncode:
        raise Unmade(f"{' '.join(map(str, words))}: {done.stderr.strip() or done.stdout.strip() or done.returncode}")
    return done.stdout.strip()


class Machine:
    """What a scenario has at hand."""

    def __init__(self, scenario):
        self.scenario = scenario
        self.stack = contextlib.ExitStack()
        self.run_folder = RECORDINGS / scenario.name / "run"

    # --- Disks. ---

    def disk(self, serial):
        """The path of a disk, by its serial number: that of scripts/distro/disks."""
        return os.path.realpath(f"/dev/disk/by-id/virtio-{serial}")

    def defer(self, *words):
        """Runs a program at the end of the scenario."""
        self.stack.callback(sh, *words, check=False)

    def write(self, path, text):
        """Writes a setting and restores it at the end."""
        old = pathlib.Path(path).read_text()
        self.stack.callback(pathlib.Path(path).write_text, re.sub(r".*\[(.*)\].*", r"\1", old))
        try:
            pathlib.Path(path).write_text(text)
        except OSError as error:
            raise Unmade(f"{path}: {error.strerror}") from error

    def mount(self, device, kind, *options):
        """A new file system on a device, mounted; its folder."""
        # Nothing is left to be initialized later.
        whole = ["-q", "-F", "-N", "2048", "-J", "size=8", "-E", "lazy_itable_init=0,lazy_journal_init=0"]
        folder = pathlib.Path("/srv") / pathlib.Path(device).name
        folder.mkdir(exist_ok=True)
        sh(f"mkfs.{kind}", *(whole if kind == "ext4" else ["-q", "-f"]), device)
        sh("mount", *options, device, folder)
        self.defer("umount", "-l", folder)
        return folder

    def ext4(self, serial="data"):
        """ext4 on a disk."""
        return self.mount(self.disk(serial), "ext4")

    def xfs_on_lvm(self, serial="data"):
        """XFS on a logical volume of a disk."""
        disk = self.disk(serial)
        sh("pvcreate", "-qff", "-y", disk)
        self.defer("pvremove", "-qff", "-y", disk)
        sh("vgcreate", "-q", "vg0", disk)
        self.defer("vgremove", "-qff", "-y", "vg0")
        sh("lvcreate", "-q", "-y", "-W", "n", "-l", "100%FREE", "-n", "data", "vg0")
        return self.mount("/dev/vg0/data", "xfs")

    def ext4_on_luks(self, serial):
        """ext4 on an encrypted disk."""
        key = "/run/key"
        pathlib.Path(key).write_text("secret")
        sh(
            "cryptsetup",
            "luksFormat",
            "-q",
            "--type",
            "luks1",
            "--pbkdf-force-iterations",
            "1000",
            self.disk(serial),
            key,
        )
        sh("cryptsetup", "open", "--key-file", key, self.disk(serial), "secret")
        self.defer("cryptsetup", "close", "secret")
        return self.mount("/dev/mapper/secret", "ext4")

    def ext4_on_raid1(self, *serials):
        """ext4 on an md RAID 1 of disks, without its first synchronization."""
        disks = [self.disk(serial) for serial in serials]
        sh(
            "mdadm",
            "--create",
            "/dev/md0",
            "--run",
            "--assume-clean",
            "--level=1",
            f"--raid-devices={len(disks)}",
            *disks,
        )
        self.defer("mdadm", "--zero-superblock", *disks)
        self.defer("mdadm", "--stop", "/dev/md0")
        return self.mount("/dev/md0", "ext4")

    def mount_image(self, image):
        """ext4 in an image, mounted through the loop device that mount(8) makes; its folder."""
        with open(image, "w") as file:
            file.truncate(64 << 20)
        return self.mount(image, "ext4", "-o", "loop")

    def disk_name(self, serial):
        """A disk's name in /sys/block."""
        return os.path.basename(self.disk(serial))

    def root_disk(self):
        """The path of the root's disk."""
        return sh("findmnt", "-no", "SOURCE", "/")

    def set_io_cost(self, serial, model):
        """Switches io.cost on for a disk, by what its administrator says of it."""
        number = pathlib.Path(f"/sys/block/{self.disk_name(serial)}/dev").read_text().strip()
        qos, costs = (pathlib.Path(f"/sys/fs/cgroup/io.cost.{name}") for name in ("qos", "model"))
        if not qos.exists():
            raise Unmade("this kernel has no io.cost")
        costs.write_text(f"{number} ctrl=user model=linear {model}\n")
        qos.write_text(f"{number} enable=1 ctrl=user rpct=0 wpct=0 min=100 max=100\n")
        self.stack.callback(qos.write_text, f"{number} enable=0\n")

    def file(self, folder, mib, name="file"):
        """A file of some MiB that is on the disk and not in the page cache."""
        path = folder / name
        sh("dd", "if=/dev/zero", f"of={path}", "bs=1M", f"count={mib}", "oflag=direct")
        sh("sync", "-f", path)
        return path

    def swap_on(self, serial):
        """Swap on a disk."""
        sh("mkswap", self.disk(serial))
        sh("swapon", self.disk(serial))
        self.defer("swapoff", self.disk(serial))

    # --- Units. ---

    def app(self, *arguments):
        """A command line of app.py."""
        return ["python3", APP, *map(str, arguments)]

    def unit(self, name, words, **properties):
        """Starts a transient service."""
        settings = [f"--property={key}={value}" for key, value in properties.items()]
        sh("systemd-run", "-q", f"--unit={name}", f"--setenv=CLOCK={CLOCKS}", *settings, "--", *words)
        self.stack.callback(self.stop, name)

    def stop(self, name):
        """Ends a unit, and forgets how it ended."""
        sh("systemctl", "stop", name, check=False)
        sh("systemctl", "reset-failed", name, check=False)

    def wait(self, name, seconds=60):
        """Waits for the end of a unit. One that does not end is stopped: its clock says how far it got."""
        end = time.monotonic() + seconds
        while sh("systemctl", "is-active", name, check=False) in ("active", "activating", "deactivating"):
            if time.monotonic() > end:
                # A program that swaps takes long to end.
                sh("systemctl", "stop", name, check=False, seconds=120)
                return
            time.sleep(0.3)

    def run(self, name, words, **properties):
        """Runs a transient unit to its end."""
        self.unit(name, words, **properties)
        self.wait(name)

    def serve(self, name, work=0, **properties):
        """A unit with a server; its socket."""
        path = f"/run/{name}.sock"
        self.unit(name, self.app("server", path, work), **properties)
        self.until(lambda: os.path.exists(path), f"{name} does not listen")
        return path

    def slice(self, name, **properties):
        """A slice with limits."""
        sh("systemctl", "start", f"{name}.slice")
        self.stack.callback(sh, "systemctl", "stop", f"{name}.slice", check=False)
        self.set_property(f"{name}.slice", **properties)

    def set_property(self, unit, **properties):
        """Sets properties of a unit, until the end of the scenario."""
        sh("systemctl", "set-property", "--runtime", unit, *(f"{key}={value}" for key, value in properties.items()))
        self.stack.callback(
            sh, "systemctl", "set-property", "--runtime", unit, *(f"{key}=" for key in properties), check=False
        )

    def timer(self, name, *commands):
        """A timer whose unit runs commands, two seconds after `run_timer`."""
        units = pathlib.Path("/run/systemd/system")
        units.mkdir(exist_ok=True)
        starts = "".join(f"ExecStart={command}\n" for command in commands)
        (units / f"{name}.service").write_text(f"[Service]\nType=oneshot\n{starts}")
        (units / f"{name}.timer").write_text("[Timer]\nOnActiveSec=2s\nAccuracySec=100ms\n")
        sh("systemctl", "daemon-reload")
        for kind in ("service", "timer"):
            self.stack.callback((units / f"{name}.{kind}").unlink)
            self.stack.callback(self.stop, f"{name}.{kind}")

    def run_timer(self, name):
        """Starts a timer, and waits until its unit has run."""
        sh("systemctl", "start", f"{name}.timer")
        ended = ["systemctl", "show", "-P", "ExecMainExitTimestampMonotonic", f"{name}.service"]
        self.until(lambda: sh(*ended) not in ("", "0"), f"{name}.service does not run")
        self.wait(f"{name}.service")

    def postgres(self, statement):
        """Starts Debian's PostgreSQL and runs a statement; the unit of its cluster."""
        clusters = sorted(pathlib.Path("/etc/postgresql").glob("*/main"))
        if not clusters:
            raise Unmade("Debian's PostgreSQL has no cluster")
        unit = f"postgresql@{clusters[-1].parent.name}-main.service"
        sh("systemctl", "start", unit, seconds=90)
        self.stack.callback(sh, "systemctl", "stop", unit, check=False)
        psql = ["runuser", "-u", "postgres", "--", "psql", "-qAtX", "-c"]
        sh(*psql, "drop table if exists t", cwd="/")
        sh(*psql, statement, cwd="/")
        return unit

    # --- Time. ---

    def sh(self, *words, **options):
        """Runs a program."""
        return sh(*words, **options)

    def pause(self, seconds):
        """Lets time pass."""
        time.sleep(seconds)

    def during(self, seconds, begin, end):
        """Runs a program, lets time pass, and runs another one in any case."""
        try:
            sh(*begin)
            time.sleep(seconds)
        finally:
            sh(*end, check=False)

    def folder(self, path):
        """A folder."""
        os.makedirs(path, exist_ok=True)
        return path

    def until(self, is_true, why, seconds=60):
        """Waits for a condition."""
        end = time.monotonic() + seconds
        while not is_true():
            if time.monotonic() > end:
                raise Unmade(why)
            time.sleep(0.2)

    def until_begun(self):
        """Waits until a program with a clock has done its first operation: the emulator takes long to start it."""
        self.until((CLOCKS / "begun").exists, "no program with a clock begins")

    def until_grown(self, path):
        """Waits until a file has data."""
        self.until(lambda: os.path.exists(path) and os.stat(path).st_size > 0, f"{path} does not grow")

    def until_busy(self, serial):
        """Waits until a disk has something to do."""
        inflight = pathlib.Path(f"/sys/block/{self.disk_name(serial)}/inflight")
        self.until(lambda: any(map(int, inflight.read_text().split())), f"nobody uses {serial}")

    def run_beside(self, words, make, **properties):
        """Runs a program with a clock as unit `app`, and makes the stall once it has begun; it ends a little later."""
        self.unit("app", words, **properties)
        self.until_begun()
        make()
        time.sleep(1)
        self.wait("app", 0)

    # --- Containers. ---

    def container(self, name, words, *options):
        """Makes a container with this machine's programs, which `start` starts."""
        if subprocess.run(["podman", "image", "exists", "small"], check=False).returncode:
            self.make_image()
        self.stack.callback(sh, "podman", "rm", "-f", "-t", "0", name, check=False)
        shared = ["--network", "none", "-v", "/usr:/usr:ro", "-v", f"{CLOCKS}:{CLOCKS}", "-e", f"CLOCK={CLOCKS}"]
        sh("podman", "create", "-q", "--name", name, *shared, *options, "small", *words, seconds=120)

    def start(self, name):
        """Starts a container."""
        sh("podman", "start", name, seconds=90)

    def wait_for_container(self, name, seconds=40):
        """Waits for the end of a container, or ends it: its clock says how far it got."""
        try:
            sh("podman", "wait", name, seconds=seconds)
        except subprocess.TimeoutExpired:
            sh("podman", "stop", "-t", "5", name, check=False)

    def make_image(self):
        """An image whose programs are those of the machine."""
        tree = pathlib.Path("/var/tmp/image")
        for folder in ("usr", "etc", "tmp", "proc", "sys", "dev", "run", "v"):
            (tree / folder).mkdir(parents=True, exist_ok=True)
        for link in ("bin", "sbin", "lib", "lib64"):
            if not (tree / link).is_symlink():
                (tree / link).symlink_to(f"usr/{link}")
        with subprocess.Popen(["tar", "-C", tree, "-c", "."], stdout=subprocess.PIPE) as tar:
            sh("podman", "import", "-", "small", stdin=tar.stdout, seconds=120)

    # --- The recording. ---

    @contextlib.contextmanager
    def record(self, command=None, seconds=90):
        """Records while the block runs: the machine, or a command until its end. The block begins when the tracer does.
        """
        self.run_folder.parent.mkdir(parents=True, exist_ok=True)
        words = ["stallscope", "record", "--slower-than", f"{self.scenario.slower_than_ms}ms", "--out", self.run_folder]
        words += ["--", *command] if command else ["--runtime", f"{seconds}s"]
        log = open(self.run_folder.parent / "record.log", "w")
        recorder = subprocess.Popen(
            [str(word) for word in words], stdout=log, stderr=log, env={**os.environ, "CLOCK": str(CLOCKS)}
        )
        try:
            self.until(
                lambda: recorder.poll() is not None or self.traces(recorder.pid), "the recorder does not begin", 150
            )
            if recorder.poll() is not None and not command:
                raise Unmade(f"the recorder ended: {(self.run_folder.parent / 'record.log').read_text()[-300:]}")
            yield
            if not command:
                time.sleep(1)
        finally:
            if not command:
                recorder.send_signal(signal.SIGINT)
            try:
                recorder.wait(60 if not command else seconds)
            except subprocess.TimeoutExpired:
                recorder.send_signal(signal.SIGINT)
                recorder.wait(60)

    def traces(self, pid):
        """Whether the recorder's programs are attached: their number no longer grows."""

        def links():
            names = (os.readlink(f"/proc/{pid}/fd/{number}") for number in os.listdir(f"/proc/{pid}/fd"))
            return sum("bpf_link" in name or "bpf-prog" in name or "perf_event" in name for name in names)

        try:
            before = links()
            time.sleep(1)
            return self.run_folder.exists() and before > 0 and links() == before
        except OSError:
            return False

    # --- The end. ---

    def begin(self):
        """Nothing of another scenario is left."""
        shutil.rmtree(CLOCKS, ignore_errors=True)
        CLOCKS.mkdir(mode=0o777)
        CLOCKS.chmod(0o777)
        shutil.copy(HERE / "app.py", APP)

    def clocks(self):
        """What the victims measured."""
        return [json.loads(file.read_text()) for file in sorted(CLOCKS.glob("*.json"))]

    def facts(self):
        """What the judge must know of this machine."""
        return {
            "kernel": os.uname().release,
            "modules": sorted(line.split()[0] for line in pathlib.Path("/proc/modules").read_text().splitlines()),
            "disks": {serial: os.path.basename(self.disk(serial)) for serial in DISKS},
        }
