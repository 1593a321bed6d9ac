#!/usr/bin/env python3
"""Remedies of recorded stalls: predicted effect beside that measured by a trial; called by remedies.sh, which gives a
file
system.

Each scenario is recorded, and right after it a remedy is tried: periods without and with it in blocks of ABBA or BAAB.
The load times its own calls. Compared are its slow calls (REMEDIES_SLOW) and the time lost in them, per second; and the
two halves of a trial with each other: no prediction can be closer than the measurement to itself."""

import json
import os
import signal
import subprocess
import sys
import time

from remedies_scenarios import BLKIO, FLAG, MOUNT, NUMBER, OF_SHORT, SCENARIOS, SCRATCH, put

PROGRAM = os.environ.get("REMEDIES_PROGRAM", "target/release/stallscope")
SECONDS = os.environ.get("REMEDIES_SECONDS", "8")
PERIODS = os.environ.get("REMEDIES_PERIODS", "24")
PERIOD_MS = int(os.environ.get("REMEDIES_PERIOD_MS", "1000"))
SHORT = os.environ.get("REMEDIES_SHORT") == "1"
ONLY = os.environ.get("REMEDIES_ONLY", "").split()
# Where the recordings are kept, and the cases; and whether these are only to be predicted again.
RUNS = os.environ.get("REMEDIES_RUNS", SCRATCH)
OUT = os.environ.get("REMEDIES_OUT", "")
AGAIN = os.environ.get("REMEDIES_AGAIN") == "1"
# What people notice is longer; shorter calls are noise of the machine, as is which of them are longer than 1 ms.
SLOW_US = int(os.environ.get("REMEDIES_SLOW_US", "10000"))
LOAD = ["python3", "bench/remedies_load.py"]


def in_cgroups(cgroups, command):
    """The command within these cgroups: the recorder stays outside."""
    enter = "".join(f"echo $$ >{cgroup}/cgroup.procs; " for cgroup in cgroups)
    return ["sh", "-c", f'{enter}exec "$@"', "sh", *command]


class Stage:
    """A scenario's settings and neighbours, while it lasts."""

    def __init__(self, scenario):
        self.scenario, self.children, self.before = scenario, [], []

    def __enter__(self):
        for cgroup in self.scenario.cgroups:
            os.makedirs(cgroup, exist_ok=True)
        for file, value in self.scenario.settings:
            with open(file, encoding="utf8") as now:
                self.before.append((file, now.read().strip()))
            put(file, value)
        for job, name in self.scenario.neighbours:
            log = "/dev/null"
            child = subprocess.Popen([*LOAD, job, MOUNT, name, log, FLAG])
            put(f"{SCRATCH}/{name}.pid", str(child.pid))
            self.children.append(child)
        if self.scenario.commands:
            self.children.append(subprocess.Popen(["sh", "-c", self.scenario.commands]))
        return self

    def __exit__(self, *_):
        for child in self.children:
            child.send_signal(signal.SIGCONT)
            child.kill()
            child.wait()
        if os.path.exists(FLAG):
            os.remove(FLAG)
        subprocess.run(["fsfreeze", "-u", MOUNT], stderr=subprocess.DEVNULL, check=False)
        for file, value in reversed(self.before):
            put(file, f"{NUMBER} 0" if file.startswith(BLKIO) else value)
        for cgroup in self.scenario.cgroups:
            for _ in range(50):
                try:
                    os.rmdir(cgroup)
                    break
                except OSError:
                    time.sleep(0.1)


def fresh_files():
    """Written, not only allocated."""
    for name in ("victim", "neighbour", "holder", "other"):
        with open(f"{MOUNT}/{name}", "wb") as file:
            for _ in range(64):
                file.write(os.urandom(1 << 20))
    os.sync()


def warm_up(scenario):
    """The load for a second, which nobody records: first calls find files and programs that later ones have in memory.
    """
    child = subprocess.Popen(in_cgroups(scenario.cgroups, [*LOAD, scenario.job, MOUNT, "victim", "/dev/null"]))
    time.sleep(1)
    child.kill()
    child.wait()


def measure(scenario, arguments, run, log):
    """A program of ours over the load; its JSON document."""
    subprocess.run(["rm", "-rf", "--one-file-system", run], check=True)
    command = [
        PROGRAM,
        *arguments,
        f"--slower-than={SLOW_US}us",
        "--interval=200ms",
        "--quiet",
        "--json",
        f"--out={run}",
        "--",
    ]
    command += in_cgroups(scenario.cgroups, [*LOAD, scenario.job, MOUNT, "victim", log])
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    # 1: rows were lost, which do not matter here: the load has its own clock. A trial that ended early has too few
    # periods.
    if done.returncode not in (0, 1, 143) or (done.returncode == 1 and not done.stdout.startswith("{")):
        raise RuntimeError(f"{scenario.name}: code {done.returncode}: {done.stderr.strip()}")
    return json.loads(done.stdout) if done.stdout.startswith("{") else {}


def quantile(values, share):
    return values[max(0, -(-int(share * len(values) * 1000) // 1000) - 1)] if values else 0


def calls_of(log):
    """Start and duration of each call."""
    with open(log, encoding="utf8") as lines:
        fields = [line.split() for line in lines]
    # The last line may be incomplete.
    return [(int(start), int(ns)) for start, ns in fields[:-1]]


def figures(calls, spans):
    """Of the calls within these spans: the slow ones, the time lost in them per second, and the mean of all."""
    ended = [(start, ns) for start, ns in calls if any(a <= start + ns < b for a, b in spans)]
    slow = sorted(ns for _, ns in ended if ns >= SLOW_US * 1000)
    within_spans = lambda start, ns: sum(max(0, min(b, start + ns) - max(a, start)) for a, b in spans)
    lost = sum(within_spans(start, ns) for start, ns in calls if ns >= SLOW_US * 1000)
    mean = sum(ns for _, ns in ended) / max(len(ended), 1)
    return {
        "calls": len(ended),
        "slow": len(slow),
        "p50": quantile(slow, 0.5),
        "p99": quantile(slow, 0.99),
        "lost": lost / sum(b - a for a, b in spans),
        "mean": mean,
    }


def tried(scenario, remedy):
    """One case: predicted and measured."""
    run = recording(scenario, remedy)
    warm_up(scenario)
    measure(scenario, ["record", f"--runtime={SECONDS}s"], run, f"{SCRATCH}/record.log")
    log = f"{run}.calls"
    arguments = [
        "trial",
        *remedy.words(),
        f"--periods={PERIODS}",
        f"--period={PERIOD_MS}ms",
        f"--wash-out={PERIOD_MS // 5}ms",
    ]
    document = measure(scenario, arguments, f"{SCRATCH}/trial", log)
    if len(document["periods"]) < int(PERIODS):
        raise RuntimeError(f"{scenario.name}: the trial ended early")
    spans = {
        side: [(p["counted_from_ns"], p["ended_ns"]) for p in document["periods"] if p["side"] == side] for side in "AB"
    }
    calls = calls_of(log)
    a, b = figures(calls, spans["A"]), figures(calls, spans["B"])
    # Where nothing was slow there is no such figure.
    verdict = next(
        (effect["verdict"] for effect in document["effects"] if effect["figure"] == "stall_time"), "nothing slow"
    )
    case = {
        "scenario": scenario.name,
        "remedy": remedy.name,
        "verdict": verdict,
        "restored": document["restored"],
        "a": a,
        "b": b,
        "halves": [
            figures(calls, spans["B"][from_period:][: len(spans["B"]) // 2])
            for from_period in (0, len(spans["B"]) // 2)
        ],
    }
    return predicted(case, remedy, run)


def predicted(case, remedy, run):
    """The case with what its recording predicts."""
    choice = remedy.predicted(explained(run)["what_if"]["choices"])
    if choice:
        same, before = choice["predicted"]["in_same_time"], choice["predicted"]["recorded"]["total_ns"]
        lost = {key: value / max(before, 1) * case["a"]["lost"] for key, value in same["total_ns"].items()}
        case["predicted"] = {"p50": same["p50_ns"], "p99": same["p99_ns"], "lost": lost}
        case["predicted"]["share"] = choice["predicted"]["total_ns"]["value"] / max(before, 1)
        case["at_most"] = choice["at_most"]
    return case


def recording(scenario, remedy):
    return f"{RUNS}/{scenario.name}, {remedy.name}".replace(" ", "-")


def explained(run):
    shown = subprocess.run(
        [PROGRAM, "explain", run, "--comm=victim", "--remedies=bench/remedies_twice.toml", "--json"],
        capture_output=True,
        text=True,
        check=False,
    )
    if not shown.stdout.startswith("{"):
        raise RuntimeError(f"{run}: {shown.stderr.strip()}")
    return json.loads(shown.stdout)


def measured_before():
    """The cases of OUT, predicted once more from their recordings."""
    with open(OUT, encoding="utf8") as file:
        before = {(case["scenario"], case["remedy"]): case for case in json.load(file)}
    for scenario in SCENARIOS:
        for remedy in scenario.remedies:
            case = before.get((scenario.name, remedy.name))
            if case:
                case.pop("predicted", None)
                yield predicted(case, remedy, recording(scenario, remedy))


def ms(ns):
    return f"{ns / 1e6:.3g}" if ns else "-"


# Percentiles of fewer calls are not compared: chance decides which of them are slow. The prediction gives none of fewer
# either.
LEAST_SLOW = 10
# Of the time lost before: less is as good as gone.
GONE = 0.05
# Two remedies whose effects are that close are no ranking.
NOISE = 0.02


def close(one, other, share):
    """Whether a percentile is that close to another. Where no call is slow, both sides must say so."""
    if not one or not other:
        return bool(one) == bool(other)
    return abs(one / other - 1) <= share


def within(case, figure, share):
    return close(case["predicted"][figure]["value"], case["b"][figure], share)


def repeatable(cases):
    """How often the two halves of a trial agree, where both have slow calls."""
    some = [case["halves"] for case in cases if all(half["slow"] >= LEAST_SLOW for half in case["halves"])]
    agree = lambda figure, share: sum(close(*(half[figure] for half in halves), share) for halves in some)
    return f"halves of the trials agree: p50 in {agree('p50', 0.2)}, p99 in {agree('p99', 0.35)} of {len(some)}"


def is_comparable(case, figure):
    """Whether calls that stay slow are predicted, and enough of them are."""
    estimate = case["predicted"][figure]
    return bool(estimate and estimate["value"]) and case["b"]["slow"] >= LEAST_SLOW


def known(cases, figure):
    """Those in which the figure can be compared."""
    return [case for case in cases if figure == "lost" or is_comparable(case, figure)]


def is_gone(case, lost):
    return lost <= GONE * case["a"]["lost"]


def count_gone(cases):
    """Those of which nearly no time is predicted to be lost, and how many lose nearly none."""
    gone = [case for case in cases if is_gone(case, case["predicted"]["lost"]["value"])]
    return f"nearly all time predicted to be gone in {len(gone)}, and measured so in {sum(is_gone(c, c['b']['lost']) for c in gone)}"


def holds(case, figure):
    estimate, measured = case["predicted"][figure], case["b"][figure]
    return estimate["low"] <= measured <= estimate["high"]


def shares_left(cases):
    """The part of a call's time that is left, predicted and measured, of loads that did stall."""
    return [
        (c["predicted"]["share"], c["b"]["mean"] / max(c["a"]["mean"], 1))
        for c in cases
        if c["a"]["slow"] >= LEAST_SLOW
    ]


def kendall(pairs, least):
    """Tau-b; values that differ by no more than `least` are equal."""
    sign = lambda x: (x > least) - (x < -least)
    same = left = right = 0
    for at, (a, b) in enumerate(pairs):
        for c, d in pairs[:at]:
            same += sign(a - c) * sign(b - d)
            left += sign(a - c) != 0
            right += sign(b - d) != 0
    return same / (left * right) ** 0.5 if left and right else float("nan")


def row(case):
    name = f"| {case['scenario']} | {case['remedy']} |"
    a, b = case["a"], case["b"]
    if "predicted" not in case:
        return f"{name} not advised | {ms(b['p50'])} | not advised | {ms(b['p99'])} | - | {b['lost']:.2f} ({a['lost']:.2f}) | {case['verdict']} | - |"
    p = case["predicted"]
    bound = "at most: " if case["at_most"] else ""
    estimate = lambda e: f"{ms(e['value'])} ({ms(e['low'])} to {ms(e['high'])})" if e else "not predicted"
    misses = [
        figure
        for figure, share in (("p50", 0.2), ("p99", 0.35))
        if is_comparable(case, figure) and not within(case, figure, share)
    ]
    return (
        f"{name} {bound}{estimate(p['p50'])} | {ms(b['p50'])} | {estimate(p['p99'])} | {ms(b['p99'])} | "
        f"{p['lost']['value']:.2f} | "
        f"{b['lost']:.2f} ({a['lost']:.2f}) | {case['verdict']} | {', '.join(misses) or '-'} |"
    )


def summary(cases):
    advised = [case for case in cases if "predicted" in case]
    print(repeatable(cases))
    for name, some in (("all", advised), ("without bounds", [case for case in advised if not case["at_most"]])):
        count = len(some)
        if not count:
            continue
        good = {
            figure: [within(case, figure, share) for case in known(some, figure)]
            for figure, share in (("p50", 0.2), ("p99", 0.35))
        }
        held = [holds(case, figure) for figure in ("p50", "p99", "lost") for case in known(some, figure)]
        tau = [kendall(shares_left(some), least) for least in (0, NOISE)]
        print(
            f"{name}: {count} cases; p50 within 20 %: {sum(good['p50'])} of {len(good['p50'])}; p99 within 35 %: "
            f"{sum(good['p99'])} of "
            f"{len(good['p99'])}; intervals held {sum(held)} of {len(held)}; "
            f"Kendall's tau of the time of a call: {tau[0]:.2f}, {tau[1]:.2f} if what differs by less than "
            f"{100 * NOISE:g} % of it counts as "
            f"equal; {count_gone(some)}"
        )
    helps = [
        c
        for c in advised
        if c["predicted"]["lost"]["value"] < 0.9 * c["a"]["lost"] and c["verdict"] in ("worse", "equivalent")
    ]
    print(
        f"not advised: {len(cases) - len(advised)}; said to save a tenth of the time, and measured worse or "
        f"equivalent: "
        f"{len(helps)} {[c['scenario'] + ': ' + c['remedy'] for c in helps]}",
        flush=True,
    )


def check(cases):
    """What holds on any machine."""
    for case in cases:
        name = f"{case['scenario']}: {case['remedy']}"
        assert case["restored"], f"{name}: not restored"
        assert "predicted" in case, f"{name}: not advised"
        assert case["b"]["lost"] < case["a"]["lost"] or case["b"]["mean"] < case["a"]["mean"], (
            f"{name}: no effect: {case}"
        )
    print(f"{len(cases)} remedies were advised, tried, reverted, and shortened the stalls")


def measured():
    """Cases as they are measured."""
    fresh_files()
    for scenario in SCENARIOS:
        if (SHORT and scenario.name not in OF_SHORT) or (ONLY and not any(word in scenario.name for word in ONLY)):
            continue
        try:
            with Stage(scenario):
                for remedy in scenario.remedies:
                    yield tried(scenario, remedy)
        except (RuntimeError, OSError, KeyError) as error:
            print(f"| {scenario.name} | not measured: {error} |", flush=True)
            if SHORT:
                raise


def main():
    # So that what was changed is changed back.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    cases = []
    print(
        "| load | remedy | p50 of slow calls, predicted, ms | measured | p99, predicted, ms | measured | time lost per "
        "second, predicted, s "
        "| measured (without) | verdict | misses |"
    )
    print("|---|---|---:|---:|---:|---:|---:|---:|---|---|", flush=True)
    for case in measured_before() if AGAIN else measured():
        cases.append(case)
        print(row(case), flush=True)
        if OUT and not AGAIN:
            put(OUT, json.dumps(cases, indent=1))
    print()
    summary(cases)
    if SHORT:
        check(cases)
    return 0


if __name__ == "__main__":
    sys.exit(main())
