#!/usr/bin/env python3
"""What the judge calls right and wrong: a right answer, and one change of it or of the truth for each thing that may be
wrong."""

import copy
import unittest

import judge
import truth

S = 10**9
TRUTH = {
    "truth": "",
    "causes": ["io_throttle"],
    "culprits": [{"task": "^dd/", "cgroup": r"/hog\.service$", "disk": "data", "name": None}],
    "advice": [truth.absent(r"hog\.service"), truth.edge("io_limit", r"/limited\.slice$")],
    "victims": None,
    "slower_than_ms": 300,
    "unmade": None,
    "disks": {"data": "vdb"},
    "clocks": [{"pids": [7], "operations": [[10 * S, 11 * S], [12 * S, 14 * S], [15 * S, 15 * S + 1000]]}],
}


def causes(length=1, **shares):
    return [{"cause": cause, "time_ns": int(share * length * S), "share": share} for cause, share in shares.items()]


RIGHT = {"io_throttle": 0.8, "device": 0.1, "unexplained": 0.1}


def stall(task, tid, begin, length, shares=None, **more):
    made = {"task": task, "tid": tid, "cgroup": "/system.slice/app.service", "operation": "fsync", "neighbour": None}
    times = {
        "start_ns": int(begin * S),
        "duration_ns": int(length * S),
        "causes": causes(length, **(shares or RIGHT)),
        "chain": [],
    }
    return {**made, **times, **more}


def choice(edge="io_limit", cgroup="/limited.slice", saved=0.9, remedy="v2-write-limit-x4"):
    change = {"edge": edge, "factor": 4, "of": []}
    return {
        "title": remedy,
        "change": change,
        "saved_share": saved,
        "target": {"cgroup": cgroup},
        "remedies": [{"id": remedy}],
    }


def gone(task, cgroup):
    return {**choice(), "change": {"absent": {"task": task, "cgroup": cgroup}}}


ANSWER = {
    "slow_operations": 2,
    "command": None,
    "short_waits": {"matter": False},
    "culprits": [
        {"task": "tar/8", "cgroup": "/", "device_name": "vda", "cause": "device", "victims": [{"task": "cron/5"}]},
        {
            "task": "dd/9",
            "cgroup": "/limited.slice/hog.service",
            "device_name": "vdb",
            "cause": "io_throttle",
            "victims": [{"task": "python3/7"}],
        },
    ],
    "stalls": [stall("python3/7", 7, 12, 1.95), stall("python3/7", 7, 10, 0.98)],
    "what_if": {"choices": [choice(saved=0.01, edge="cpu"), choice()]},
}


class Judge(unittest.TestCase):
    def check(self, expected, is_quiet=False, **changed):
        """`expected` is the begin of what is wrong, or None; `changed` are keys of the answer (also `culprits`) and the
        truth."""
        answer, wanted = copy.deepcopy(ANSWER), copy.deepcopy(TRUTH)
        for key, value in changed.items():
            (answer if key in answer else wanted)[key] = value
        if is_quiet:
            wanted["causes"] = None
        wrong = judge.judge(wanted, answer)
        if expected is None:
            self.assertEqual(wrong, [])
        else:
            self.assertEqual(len(wrong), 1, wrong)
            self.assertTrue(wrong[0].startswith(expected), wrong)

    def test_a_right_answer(self):
        self.check(None)

    def test_found(self):
        self.check("no slow operation", slow_operations=0)
        self.check("found 0.98 s of 3.00 s", stalls=ANSWER["stalls"][1:])
        # One of 400 ms at a threshold of 300 ms may be two calls.
        clocks = copy.deepcopy(TRUTH["clocks"])
        clocks[0]["operations"] += [[20 * S, 20 * S + 400_000_000]] * 9
        self.check(None, clocks=clocks)
        # Nor is a shorter one the stall.
        clocks[0]["operations"] += [[20 * S, 20 * S + 900_000_000]] * 9
        self.check(None, clocks=clocks)
        clocks[0]["operations"] += [[20 * S, 21 * S]]
        self.check("found 2.93 s of 4.00 s", clocks=clocks)
        self.check("not found: 2.00 s", stalls=[stall("python3/8", 8, 12, 1.95)])
        self.check("too long: 6.00 s, not 2.00 s", stalls=[stall("python3/7", 7, 9, 6)])
        # Two that overlap count once.
        self.check("found 1.20 s of 3.00 s", stalls=[stall("python3/7", 7, 12, 1), stall("python3/7", 7, 12.2, 1)])

    def test_a_log_is_right_if_its_thread_waited_for_the_cause(self):
        def of_journal(*waits_for):
            chain = [{"waits_for": cause} for cause in waits_for]
            return [
                stall("python3/7", 7, begin, length, {"journal": 0.98, "running": 0.02}, chain=chain)
                for begin, length in ((12, 1.95), (10, 0.98))
            ]

        self.check(None, stalls=of_journal("journal", "io_throttle"))
        self.check("cause journal 98%, true: 0%", stalls=of_journal("journal", "device"))
        self.check("cause journal 98%, true: 0%", stalls=of_journal("journal"))
        self.check(
            "cause lock", stalls=[{**one, "causes": causes(lock=1.0)} for one in of_journal("lock", "io_throttle")]
        )

    def test_programs_that_make_the_scenario_are_no_strangers(self):
        waits = stall("systemctl/9", 9, 5, 12.7, operation="ppoll", cgroup="/system.slice/trial.service")
        self.check(None, stalls=[waits, *ANSWER["stalls"]])

    def test_a_stranger_comes_first(self):
        idle = stall("systemd/1", 1, 5, 12.7, operation="epoll_wait", cgroup="/init.scope")
        self.check("the longest is epoll_wait of systemd/1, 12.70 s", stalls=[idle, *ANSWER["stalls"]])
        self.check(None, stalls=[{**idle, "duration_ns": S}, *ANSWER["stalls"]])
        self.check(None, stalls=[{**idle, "task": "dd/9"}, *ANSWER["stalls"]])
        self.check(None, stalls=[{**idle, "causes": causes(running=1)}, *ANSWER["stalls"]])

    def test_victims_by_cgroup(self):
        inside = [{**one, "tid": 99} for one in ANSWER["stalls"]]
        self.check("not found", stalls=inside)
        self.check(None, stalls=inside, victims=r"/app\.service$")

    def test_cause(self):
        def caused(expected, **shares):
            self.check(
                expected, stalls=[stall("python3/7", 7, 12, 1.95, shares), stall("python3/7", 7, 10, 0.98, shares)]
            )

        caused(None, io_throttle=0.6, device=0.4)
        caused("cause device 60%, true: 40%", io_throttle=0.4, device=0.6)
        caused("cause io_throttle 40%", io_throttle=0.4, unexplained=0.6)
        caused("no cause", unexplained=1)
        # That of other programs does not count.
        other = stall("cron/5", 5, 10, 1.9, {"device": 1})
        self.check(None, stalls=[other, *ANSWER["stalls"]])

    def test_culprit(self):
        other, right = ANSWER["culprits"]
        self.check("no culprit", culprits=[])
        self.check("no culprit", culprits=[other])
        self.check(
            "culprit dd/9 of /system.slice/app.service", culprits=[{**right, "cgroup": "/system.slice/app.service"}]
        )
        self.check("culprit stallscope/3", culprits=[{**right, "task": "stallscope/3"}, right])
        self.check(
            "culprit dd/9 of /limited.slice/hog.service on vda, not on vdb", culprits=[{**right, "device_name": "vda"}]
        )
        # A limit's culprit is its cgroup.
        self.check(None, culprits=[{**right, "task": None}])

    def test_name_of_a_culprit(self):
        right = ANSWER["culprits"][1]
        named = {**TRUTH, "culprits": [{"task": None, "cgroup": None, "disk": None, "name": "loader"}]}
        self.assertEqual(len(judge.judge(named, ANSWER)), 1)
        self.assertEqual(judge.judge(named, {**ANSWER, "culprits": [{**right, "container": "loader"}]}), [])
        # One of several is enough.
        either = {**TRUTH, "culprits": named["culprits"] + TRUTH["culprits"]}
        self.assertEqual(judge.judge(either, ANSWER), [])

    def test_advice(self):
        def advised(expected, *choices, **changed):
            self.check(expected, what_if={"choices": list(choices)}, **changed)

        advised("no advice")
        advised("no advice", choice(saved=0.04))
        advised("advice: faster-disk", choice(edge="device", remedy="faster-disk"), choice())
        advised("advice: v2-write-limit-x4 (/other.slice)", choice(cgroup="/other.slice"))
        # The emulator is slow to compute.
        advised(None, choice(edge="work", remedy="cheaper-call"), choice())
        advised(None, gone("dd", "/limited.slice/hog.service"))
        advised("advice: ", gone("python3", "/limited.slice/app.service"))
        memory = [truth.remedy("v2-memory-high-off")]
        advised(None, choice(edge="memory", remedy="v2-memory-high-off"), advice=memory)
        advised("advice: min-free", choice(edge="memory", remedy="min-free"), advice=memory)

    def test_the_recorded_command(self):
        part = {"operations": 2, "wall_ns": 3 * S, "culprits": ANSWER["culprits"][1:]}
        mine = [{**one, "neighbour": False} for one in ANSWER["stalls"]]
        other = stall("cron/5", 5, 1, 20, neighbour=True)
        self.check(None, command=part, culprits=[], stalls=[other, *mine])
        self.check("no culprit", command={**part, "culprits": []}, stalls=mine)

    def test_shorter_waits_of_the_command(self):
        short = {"matter": True, "time_ns": 2.8 * S, "causes": causes(2.8, **RIGHT), "culprits": ANSWER["culprits"][1:]}
        part = {"operations": 0, "wall_ns": 0, "culprits": []}
        self.check(None, command=part, short_waits=short, stalls=[], slow_operations=0)
        # Beside one that is slow, too.
        one = {"operations": 1, "wall_ns": S, "culprits": []}
        self.check(None, command=one, short_waits=short, stalls=[])
        self.check("not found", command={**one, "wall_ns": 4 * S}, short_waits=short, stalls=[])
        self.check(
            "found 1.00 s of 3.00 s", command=part, short_waits={**short, "time_ns": S}, stalls=[], slow_operations=0
        )

    def test_what_was_not_made(self):
        self.check("not made: no disk", unmade="no disk")
        self.check(
            "not made: by its own clock the victim took 0.20 s at most",
            clocks=[{"pids": [7], "operations": [[0, S // 5]]}],
        )

    def test_what_was_not_made_is_not_wrong(self):
        self.assertTrue(judge.is_unmade(["not made: no disk"]))
        self.assertFalse(judge.is_unmade(["no culprit"]))
        self.assertFalse(judge.is_unmade([]))
        right, other = ("one", []), ("two", ["any"])
        self.assertEqual(judge.exit_code([], [], [right]), 0)
        self.assertEqual(judge.exit_code([], ["two"], [right, other]), 3)
        self.assertEqual(judge.exit_code(["two"], ["two"], [right, other]), 1)
        self.assertEqual(judge.exit_code([], [], []), 1)

    def test_quiet(self):
        def quiet(expected, **changed):
            self.check(expected, is_quiet=True, **{"clocks": [], **changed})

        quiet(None, slow_operations=0, stalls=[], culprits=[])
        quiet("not made: by its own clock", clocks=TRUTH["clocks"], slow_operations=0, stalls=[], culprits=[])
        quiet("fsync of python3/7, 1.95 s", slow_operations=1, stalls=ANSWER["stalls"][:1], culprits=[])
        quiet(
            "culprit dd/9 of /limited.slice/hog.service", slow_operations=0, stalls=[], culprits=ANSWER["culprits"][1:]
        )
        # The emulator is slow to compute.
        computes = stall("crun/5", 5, 1, 3, {"running": 0.9, "device": 0.1})
        quiet(None, slow_operations=1, stalls=[computes], culprits=[{**ANSWER["culprits"][0], "cause": "cpu_wait"}])

    def test_the_table(self):
        results = {"one": {"trixie": [], "bookworm": ["a", "b | c"]}, "two": {"trixie": []}, "three": {"trixie": ["d"]}}
        rows = judge.table(results, {"three": "why"}, ["bookworm", "trixie"]).splitlines()[2:]
        self.assertEqual(rows, ["| `one` | a; b / c | right |", "| `two` | - | right |", "| `three` | - | d (known) |"])


class Scenarios(unittest.TestCase):
    def test_all_are_in_the_table_with_a_truth(self):
        scenarios = truth.load()
        names = [scenario.name for scenario in scenarios]
        self.assertEqual(len(names), len(set(names)))
        stalls = [scenario for scenario in scenarios if scenario.causes]
        self.assertGreaterEqual(len(stalls), 25)
        self.assertGreaterEqual(len(scenarios) - len(stalls), 8)
        for scenario in scenarios:
            self.assertTrue(scenario.truth, scenario.name)
            self.assertEqual(bool(scenario.causes), bool(scenario.culprits and scenario.advice), scenario.name)

    def test_what_needs_the_absence_of_a_module_comes_before_what_loads_it(self):
        order = [scenario.loop for scenario in truth.load()]
        self.assertEqual(order[0], False)
        self.assertEqual(order[-1], True)
        self.assertNotIn(False, order[order.index(None) :])


if __name__ == "__main__":
    unittest.main()
