"""The truth of a scenario, and the table of all scenarios.

A scenario is a function in a file of scripts/distro/scenarios. It makes one stall on a `Machine` (machine.py), or none:

    @stall(cause="io_throttle", culprit=Culprit(cgroup="app.service"), advice=[edge("io_limit")])
    def own_write_limit(machine):
        "a unit's own IOWriteBandwidthMax of 1 MB/s throttles its fsyncs"
        file = machine.ext4() / "commits"
        with machine.record():
            limit = f"{machine.disk('data')} 1M"
            machine.run("app", machine.app("commits", file, 6, 1_000_000, 0.2), IOWriteBandwidthMax=limit)

The truth follows from how the stall is made and is stated before any answer is seen. All of it is in words of `explain
--json`.
"""

import dataclasses
import importlib
import pathlib

SCENARIOS = []


@dataclasses.dataclass
class Culprit:
    """Regular expressions that one of JSON's `culprits` fulfils: each that is given, from its begin or end as they say.
    """

    task: str | None = None  # "dd/93"
    cgroup: str | None = None  # "/system.slice/app.service"
    disk: str | None = None  # the serial number of a disk of the machine, whose name the scenario's record has
    name: str | None = None  # "loader": anywhere in it, such as a container's name
    # A culprit without a task (a limit, a freezer) is named by its cgroup alone; any other has the task's.


def edge(name, cgroup=None):
    """Advice that changes a kind of wait, in a cgroup (a regular expression)."""
    return {"edge": name, "cgroup": cgroup}


def remedy(name, cgroup=None):
    """Advice that begins with this remedy."""
    return {"remedy": name, "cgroup": cgroup}


def absent(name):
    """Advice that one program or cgroup do less (a regular expression on either)."""
    return {"absent": name}


@dataclasses.dataclass
class Scenario:
    """A row of the table."""

    name: str
    make: object
    truth: str
    # None: a quiet one, in which no operation is slow.
    causes: list | None
    culprits: list
    advice: list
    # A regular expression on the cgroup of those that waited; None: the programs that have a clock.
    victims: str | None
    slower_than_ms: int
    suites: list | None
    loop: bool | None
    # Why today's answer is wrong; it is judged all the same, and listed.
    known_wrong: str | None

    def judged_by(self):
        """What the judge needs, as JSON."""
        return {
            "truth": self.truth,
            "causes": self.causes,
            "culprits": [dataclasses.asdict(culprit) for culprit in self.culprits],
            "advice": self.advice,
            "victims": self.victims,
            "slower_than_ms": self.slower_than_ms,
            "known_wrong": self.known_wrong,
        }


def stall(cause, culprit, advice, victims=None, slower_than_ms=300, suites=None, loop=None, known_wrong=None):
    """A scenario with a stall. `cause` and `culprit` may be lists, of which any is right; `loop`: whether the module is
    there, if that matters."""

    def add(make):
        causes = [cause] if isinstance(cause, str) else cause
        culprits = [culprit] if isinstance(culprit, Culprit) else culprit
        SCENARIOS.append(
            Scenario(
                make.__name__,
                make,
                make.__doc__,
                causes,
                culprits,
                advice,
                victims,
                slower_than_ms,
                suites,
                loop,
                known_wrong,
            )
        )
        return make

    return add


def quiet(slower_than_ms=500, suites=None):
    """A scenario in which no operation is slow."""

    def add(make):
        SCENARIOS.append(
            Scenario(make.__name__, make, make.__doc__, None, [], [], None, slower_than_ms, suites, None, None)
        )
        return make

    return add


def load():
    """All scenarios, by file; those without the module loop come before all others, which may load it, and those with
    it
    last."""
    for file in sorted((pathlib.Path(__file__).parent / "scenarios").glob("[a-z]*.py")):
        importlib.import_module(f"scenarios.{file.stem}")
    return in_order(SCENARIOS)


def in_order(scenarios):
    """What needs the absence of a module before what may load it, else as they are."""
    return sorted(scenarios, key=lambda scenario: {False: 0, None: 1, True: 2}[scenario.loop])
