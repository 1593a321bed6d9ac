"""Containers of podman, with their names."""

import os

from truth import Culprit, absent, edge, stall


@stall(
    "io_throttle",
    Culprit(cgroup="/libpod-", disk="data", name="loader"),
    [edge("io_limit", "/libpod-")],
    victims="/libpod-",
)
def container_limit(machine):
    "dd of container 'loader' is throttled by its own --device-write-bps"
    folder = machine.ext4()
    dd = "dd if=/dev/zero of=/v/f bs=1M count=3 conv=fdatasync".split()
    limit = ["--device-write-bps", f"{machine.disk('data')}:1mb"]
    machine.container("loader", machine.app("command", 3, 0.2, *dd), *limit, "-v", f"{folder}:/v")
    with machine.record():
        machine.start("loader")
        machine.wait_for_container("loader")


@stall(
    ["device", "scheduler_queue", "request_wait"],
    Culprit(task="^dd/", cgroup="/libpod-", disk="slow", name="hog"),
    [absent("libpod-|^dd|hog"), edge("scheduler_queue")],
    victims="/libpod-",
)
def container_neighbour(machine):
    "container 'hog' writes to the slow disk on which container 'ledger' commits"
    folder = machine.ext4("slow")
    machine.container("hog", "dd if=/dev/zero of=/v/hog bs=1M count=300 oflag=direct".split(), "-v", f"{folder}:/v")
    machine.container("ledger", machine.app("commits", "/v/log", 5, 4096, 0.2), "-v", f"{folder}:/v")
    with machine.record():
        machine.start("hog")
        machine.start("ledger")
        machine.wait_for_container("ledger")


@stall("stopped", [Culprit(cgroup="/libpod-", name="api"), Culprit(task="^(podman|crun)/")], [edge("stopped")])
def container_paused(machine):
    "a client waits for the server of container 'api', which is paused for 4 s"
    machine.container(
        "api", machine.app("server", "/run/api/socket", 0), "-v", f"{machine.folder('/run/api')}:/run/api"
    )
    machine.start("api")
    machine.until(lambda: os.path.exists("/run/api/socket"), "the server does not listen")
    with machine.record(machine.app("client", "/run/api/socket", 60, 0.3)):
        machine.until_begun()
        machine.during(4, ["podman", "pause", "api"], ["podman", "unpause", "api"])
