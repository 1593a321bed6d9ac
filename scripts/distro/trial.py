#!/usr/bin/env python3
"""Makes scenarios on this machine, within a time: trial.py SECONDS NAME... Prints a line for each, `distro: end NAME
WHAT
SECONDS`.

Each leaves /var/lib/recordings/NAME: the recording `run`, and `truth.json` with what the judge needs.
"""

import json
import os
import signal
import subprocess
import sys
import time

import machine
import truth

# No scenario takes longer, its undoing included.
SCENARIO_S, UNDO_S = 240, 90


class Late(Exception):
    """The scenario takes too long."""


def late(*_):
    raise Late(f"it takes longer than {SCENARIO_S} s")


def make(scenario):
    """Makes one; why it could not be made, or None."""
    on, why = machine.Machine(scenario), None
    facts = on.facts()
    if scenario.loop is False and "loop" in facts["modules"]:
        # Debian 12 loads it as it boots, for nobody; it is there again afterwards.
        subprocess.run(["modprobe", "-r", "loop"], check=False)
        on.stack.callback(subprocess.run, ["modprobe", "loop"], check=False)
        facts = on.facts()
        if "loop" in facts["modules"]:
            return "the module loop is in use", facts
    on.begin()
    signal.alarm(SCENARIO_S)
    try:
        scenario.make(on)
        facts = on.facts()
    except (machine.Unmade, Late, OSError, subprocess.SubprocessError) as error:
        why = str(error)
    try:
        signal.alarm(UNDO_S)
        on.stack.close()
    except (Late, OSError, subprocess.SubprocessError) as error:
        why = why or f"what it made could not be undone: {error}"
    signal.alarm(0)
    facts["clocks"] = on.clocks()
    return why, facts


def run(scenario):
    """Makes one and writes its truth."""
    begin = time.monotonic()
    print(f"distro: begin {scenario.name}", flush=True)
    why, facts = make(scenario)
    folder = machine.RECORDINGS / scenario.name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "truth.json").write_text(json.dumps({**scenario.judged_by(), **facts, "unmade": why}))
    os.sync()
    print(
        f"distro: end {scenario.name} {'unmade: ' + ' '.join(why.split()) if why else 'made'} "
        f"{time.monotonic() - begin:.0f}",
        flush=True,
    )


def main(seconds, *names):
    signal.signal(signal.SIGALRM, late)
    release = os.uname().release
    print(f"\ndistro: up {release}, {time.monotonic():.0f} s after boot", flush=True)
    by_name = {scenario.name: scenario for scenario in truth.load()}
    for name in names:
        if time.monotonic() > float(seconds):
            break
        run(by_name[name])
    print("distro: done", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
