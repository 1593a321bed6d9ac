#!/usr/bin/env python3
"""Judges answers against the truth of scenarios: judge.py PROGRAM FOLDER [SUITE...] prints a table, scenario by suite.

FOLDER/SUITE/SCENARIO holds `truth.json` and the recording `run`, which PROGRAM explains; its answer is kept as
`answer.json`. The exit code is 1 if an answer is wrong and its truth does not say so already (`known_wrong`), or 3 if a
scenario could not be made. Only names of JSON are compared. FOLDER/wrong lists the scenarios whose answers are wrong,
and not known to be.

The emulator computes slowly: stalls and advice about computing or waiting for a CPU are left out where they are not the
truth, and the cause and the culprit are those of the victim's own stalls.
"""

import json
import pathlib
import re
import subprocess
import sys

# Least share of what the victim's clock measured that is found, and most that it may be. An operation of the clock may
# be two system calls, of which one is beneath the threshold: from SLOW thresholds on, and from this part of the longest
# on, it must be found.
FOUND, TOO_LONG, SLOW, OF_LONGEST = 0.8, 1.25, 1.5, 0.5
# Least share of its causes among the causes that are known, and of its saving, for advice to be named (as in the
# findings).
CAUSE, SAVED = 0.5, 0.05
# Waits for the log of a file system: what its thread waits for is the end of the chain.
LOGS = {"journal", "fs_log", "fs_transaction"}
# The unit that makes the scenarios: its programs wait for their end.
HARNESS = "/system.slice/trial.service"
# Causes and kinds of advice that are the emulator's.
COMPUTING, COMPUTING_EDGES = {"running", "cpu_wait"}, {"work", "cpu"}


def seconds(ns):
    return f"{ns / 1e9:.2f} s"


def covered(spans, begin, end):
    """The time between begin and end that the spans cover together."""
    total, reached = 0, begin
    for first, last in sorted(spans):
        first, last = max(first, reached), min(last, end)
        if last > first:
            total, reached = total + last - first, last
    return total


def slow_operations(truth):
    """What the victims' own clocks measured that is certainly slow."""
    least = max(truth["slower_than_ms"] * 1e6 * SLOW, OF_LONGEST * longest_measured(truth))
    return [span for clock in truth["clocks"] for span in clock["operations"] if span[1] - span[0] >= least]


def longest_measured(truth):
    return max((last - first for clock in truth["clocks"] for first, last in clock["operations"]), default=0)


def is_victim(truth, stall):
    pids = {pid for clock in truth["clocks"] for pid in clock["pids"]}
    if truth["victims"]:
        return re.search(truth["victims"], stall["cgroup"] or "") is not None
    return stall["tid"] in pids


def part_of(answer):
    """What the headline is about: the recorded command, its shorter waits, or all."""
    command, short = answer.get("command"), answer.get("short_waits") or {}
    if not command:
        return answer
    if short.get("matter") and short["time_ns"] > command["wall_ns"]:
        return short
    return command if command["operations"] > 0 else answer


def found(truth, answer):
    """Whether the victim's slow operations are, in their length."""
    operations = slow_operations(truth)
    stalls = [stall for stall in answer["stalls"] if is_victim(truth, stall)]
    spans = [(stall["start_ns"], stall["start_ns"] + stall["duration_ns"]) for stall in stalls]
    measured = sum(last - first for first, last in operations)
    seen = sum(covered(spans, first, last) for first, last in operations)
    short = answer.get("short_waits") or {}
    if short.get("matter") and part_of(answer) is short:
        seen = max(seen, short["time_ns"])
    if seen < FOUND * measured:
        return f"found {seconds(seen)} of {seconds(measured)}"
    longest = max((last - first for first, last in spans), default=0)
    if longest > TOO_LONG * longest_measured(truth):
        return f"too long: {seconds(longest)}, not {seconds(longest_measured(truth))}"
    return stranger(truth, answer, longest)


def is_emulators(truth, stall):
    """Whether a stall is mostly computing, which takes long in the emulator only."""
    main = max(stall["causes"], key=lambda one: one["time_ns"], default=None)
    return main is not None and main["cause"] in COMPUTING - set(truth["causes"] or [])


def stranger(truth, answer, longest):
    """A stall of a program that waited for nothing, before those of the victim."""

    def is_of_culprit(stall):
        keys = [(wanted[key], stall[key]) for wanted in truth["culprits"] for key in ("task", "cgroup")]
        return any(pattern and re.search(pattern, value or "") for pattern, value in keys)

    def is_strange(stall):
        of_part = not answer.get("command") or stall["neighbour"] is False
        other = not is_victim(truth, stall) and not is_of_culprit(stall) and not is_emulators(truth, stall)
        return of_part and other and stall["cgroup"] != HARNESS and stall["duration_ns"] > longest

    strange = [stall for stall in answer["stalls"] if is_strange(stall)]
    if not strange:
        return None
    worst = max(strange, key=lambda stall: stall["duration_ns"])
    return f"the longest is {worst['operation']} of {worst['task']}, {seconds(worst['duration_ns'])}"


def causes_of_victims(truth, answer):
    """Time by cause, of the victims' stalls or their shorter waits; what has no cause is named, too."""
    part, times = part_of(answer), {}
    if part is answer.get("short_waits"):
        lists = [part["causes"]]
    else:
        lists = [stall["causes"] for stall in answer["stalls"] if is_victim(truth, stall)]
    for one in (one for causes in lists for one in causes):
        times[one["cause"]] = times.get(one["cause"], 0) + one["time_ns"]
    return times


def through_logs(truth, answer):
    """Time of the victims' stalls in which a log was waited for, and its thread for a true cause, as the chain says."""

    def time(stall):
        chain = stall["chain"]
        leads_on = (
            chain and chain[0]["waits_for"] in LOGS and any(link["waits_for"] in truth["causes"] for link in chain[1:])
        )
        return sum(one["time_ns"] for one in stall["causes"] if leads_on and one["cause"] == chain[0]["waits_for"])

    return sum(time(stall) for stall in answer["stalls"] if is_victim(truth, stall))


def cause(truth, answer):
    """Whether the largest cause is the true one, with enough of the time."""
    times = causes_of_victims(truth, answer)
    whole = sum(times.values())
    known = {name: ns / whole for name, ns in times.items() if name != "unexplained"} if whole else {}
    if not known:
        return "no cause"
    largest = max(known, key=known.get)
    behind_logs = through_logs(truth, answer) / whole if not LOGS & set(truth["causes"]) else 0
    share = sum(known.get(name, 0) for name in truth["causes"]) + behind_logs
    if (largest in truth["causes"] or behind_logs > 0 and largest in LOGS) and share >= CAUSE:
        return None
    return f"cause {largest} {known[largest]:.0%}, true: {share:.0%}"


def strings(value):
    """All strings in a JSON value."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [text for one in value for text in strings(one)]
    return [value] if isinstance(value, str) else []


def tasks_of_victims(truth, answer):
    return {stall["task"] for stall in answer["stalls"] if is_victim(truth, stall)}


def first_culprit(truth, answer):
    """The first culprit of the victims' waits."""
    part = part_of(answer)
    culprits, victims = part.get("culprits") or [], tasks_of_victims(truth, answer)
    if part is not answer:
        return culprits[0] if culprits else None
    return next((one for one in culprits if any(victim["task"] in victims for victim in one["victims"])), None)


def misses(truth, wanted, first):
    """What of a culprit is not as wanted."""
    named = f"{first['task'] or '-'} of {first['cgroup'] or '-'} on {first['device_name'] or '-'}"
    for key in ("task", "cgroup"):
        # A limit or a freezer has no task of its own.
        has_none = key == "task" and first["task"] is None and wanted["cgroup"]
        if wanted[key] and not has_none and not re.search(wanted[key], first[key] or ""):
            return f"culprit {named}"
    if wanted["disk"] and first["device_name"] != truth["disks"][wanted["disk"]]:
        return f"culprit {named}, not on {truth['disks'][wanted['disk']]}"
    if wanted["name"] and not any(re.search(wanted["name"], text) for text in strings(first)):
        return f"culprit {named}, without the name '{wanted['name']}'"
    return None


def culprit(truth, answer):
    """Whether the first culprit is a true one."""
    first = first_culprit(truth, answer)
    if first is None:
        return "no culprit"
    wrong = [misses(truth, wanted, first) for wanted in truth["culprits"]]
    return None if None in wrong else wrong[0]


def fits(choice, wanted):
    """Whether a choice of what_if is the advice."""
    change, target, remedies = choice["change"], choice["target"], choice["remedies"]
    gone = change.get("absent")
    if "absent" in wanted:
        return gone is not None and any(re.search(wanted["absent"], gone[key] or "") for key in ("task", "cgroup"))
    if wanted.get("cgroup") and not re.search(wanted["cgroup"], target["cgroup"] or ""):
        return False
    if "remedy" in wanted:
        return bool(remedies) and remedies[0]["id"] == wanted["remedy"]
    return change.get("edge") == wanted["edge"]


def advice(truth, answer):
    """Whether the first advice that saves enough is right."""
    left_out = COMPUTING_EDGES - {wanted.get("edge") for wanted in truth["advice"]}
    choices = [choice for choice in answer["what_if"]["choices"] if choice["saved_share"] >= SAVED]
    choices = [choice for choice in choices if choice["change"].get("edge") not in left_out]
    if not choices:
        return "no advice"
    if any(fits(choices[0], wanted) for wanted in truth["advice"]):
        return None
    where = choices[0]["target"]["cgroup"]
    return f"advice: {choices[0]['title']}" + (f" ({where})" if where else "")


def judge_stall(truth, answer):
    if not slow_operations(truth):
        return [f"not made: by its own clock the victim took {seconds(longest_measured(truth))} at most"]
    if answer["slow_operations"] == 0 and part_of(answer) is answer:
        return ["no slow operation"]
    if not causes_of_victims(truth, answer):
        return [f"not found: {seconds(longest_measured(truth))} by the victim's clock"]
    return [wrong for wrong in (ask(truth, answer) for ask in (found, cause, culprit, advice)) if wrong]


def judge_quiet(truth, answer):
    if slow_operations(truth):
        return [f"not made: by its own clock a program took {seconds(longest_measured(truth))}"]
    stalls = [stall for stall in answer["stalls"] if not is_emulators(truth, stall)]
    wrong = [f"{stall['operation']} of {stall['task']}, {seconds(stall['duration_ns'])}" for stall in stalls[:2]]
    if len(stalls) > len(wrong):
        wrong.append(f"{len(stalls)} slow operations")
    culprits = [one for one in answer["culprits"] if one["cause"] not in COMPUTING]
    if culprits:
        wrong.append(f"culprit {culprits[0]['task']} of {culprits[0]['cgroup']}")
    return wrong


def judge(truth, answer):
    """What is wrong; nothing if the answer is right."""
    if truth["unmade"]:
        return [f"not made: {truth['unmade']}"]
    return judge_stall(truth, answer) if truth["causes"] else judge_quiet(truth, answer)


def explain(program, folder):
    """The answer of the program, which is kept; or an error."""
    done = subprocess.run(
        [program, "explain", folder / "run", "--json", "--worst", "1000"], capture_output=True, text=True, check=False
    )
    (folder / "answer.json").write_text(done.stdout)
    return (
        (json.loads(done.stdout), None)
        if done.stdout
        else (None, done.stderr.strip() or f"exit code {done.returncode}")
    )


def judge_folder(program, folder):
    """What is wrong with the answer to one recording."""
    truth = json.loads((folder / "truth.json").read_text())
    if truth["unmade"]:
        return truth, judge(truth, None)
    answer, error = explain(program, folder)
    return truth, [f"no answer: {error}"] if error else judge(truth, answer)


def table(results, known, suites):
    """Rows of scenario by suite."""

    def cell(name, wrong):
        if not wrong:
            return "-" if wrong is None else "right"
        return "; ".join(wrong).replace("|", "/") + (" (known)" if known.get(name) else "")

    lines = ["| scenario | " + " | ".join(suites) + " |", "|---|" + "---|" * len(suites)]
    for name in results:
        cells = [cell(name, results[name].get(suite)) for suite in suites]
        lines.append(f"| `{name}` | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def is_unmade(wrong):
    """Whether the scenario did not come about: no answer to it was judged."""
    return any(reason.startswith("not made: ") for reason in wrong)


def exit_code(unknown, unmade, verdicts):
    """1: an answer is wrong, or nothing was judged; 3: a scenario was not made; else 0."""
    if unknown or not verdicts:
        return 1
    return 3 if unmade else 0


def main(program, folder, *suites):
    folder = pathlib.Path(folder)
    suites = suites or sorted(path.name for path in folder.iterdir() if path.is_dir())
    results, truths, known, kernels = {}, {}, {}, {}
    for suite in suites:
        for truth_file in sorted(folder.glob(f"{suite}/*/truth.json"), key=lambda file: file.stat().st_mtime):
            name = truth_file.parent.name
            truth, wrong = judge_folder(program, truth_file.parent)
            results.setdefault(name, {})[suite] = wrong
            truths[name], known[name], kernels[suite] = truth["truth"], truth.get("known_wrong"), truth["kernel"]
    print(table(results, known, suites))
    print("\nkernels: " + ", ".join(f"{suite} {kernels.get(suite, '-')}" for suite in suites))
    verdicts = [(name, wrong) for name, row in results.items() for wrong in row.values()]
    unmade = [name for name, wrong in verdicts if is_unmade(wrong)]
    wrong = [name for name, wrong in verdicts if wrong and not is_unmade(wrong)]
    for name in dict.fromkeys(wrong):
        print(f"  {'known' if known[name] else 'wrong'}: {name}: {known[name] or truths[name]}")
    for name in dict.fromkeys(unmade):
        print(f"  not made: {name}: {truths[name]}")
    unknown = [name for name in wrong if not known[name]]
    (folder / "wrong").write_text("".join(f"{name}\n" for name in dict.fromkeys(unknown)))
    right = len(verdicts) - len(wrong) - len(unmade)
    print(f"{right} right, {len(wrong)} wrong, {len(wrong) - len(unknown)} of these known, {len(unmade)} not made")
    return exit_code(unknown, unmade, verdicts)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
