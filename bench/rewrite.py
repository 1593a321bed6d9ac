"""Run bonnie++ and stallscope alternately on each file system below REWRITE_SCRATCH, and print the rewrite rates."""

import json
import os
import statistics
import subprocess

SCRATCH = os.environ["REWRITE_SCRATCH"]
SIZE_MIB = int(os.environ["REWRITE_SIZE_MIB"])
ROUNDS = int(os.environ.get("REWRITE_ROUNDS", "5"))
PROGRAM = os.environ.get("STALLSCOPE", "target/release/stallscope")
# Index of the rewrite's KiB/s in bonnie++'s CSV line.
REWRITE = 13


def theirs(directory):
    command = ["bonnie++", "-d", directory, "-s", str(SIZE_MIB), "-r", "0", "-n", "0", "-f", "-u", "root", "-q"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    rate = done.stdout.strip().splitlines()[-1].split(",")[REWRITE]
    # bonnie++ prints pluses for less than half a second: no figure.
    return None if rate.startswith("+") else float(rate) * 1024


def ours(directory):
    out = os.path.join(SCRATCH, "run")
    command = [PROGRAM, "run", "bonnie", "-d", directory, "-s", str(SIZE_MIB), "-n", "0", "-f", "--no-trace"]
    done = subprocess.run([*command, "-q", "--json", "--out", out], capture_output=True, text=True, check=True)
    subprocess.run(["rm", "-r", out], check=True)
    phases = json.loads(done.stdout)["phases"]
    return next(phase["bytes_per_s"] for phase in phases if phase["name"] == "rewrite")


def row(name, rates):
    gib = [rate / 2**30 for rate in rates]
    return f"  {name:<11} {statistics.median(gib):6.2f} GiB/s   ({min(gib):.2f} to {max(gib):.2f})"


def main():
    for system in ("tmpfs", "xfs"):
        directory = os.path.join(SCRATCH, system)
        pairs, too_short = [], 0
        for round_number in range(ROUNDS):
            # The order matters, so it alternates.
            order = (theirs, ours) if round_number % 2 == 0 else (ours, theirs)
            rates = {run: run(directory) for run in order}
            if rates[theirs] is None:
                too_short += 1
            else:
                pairs.append((rates[theirs], rates[ours]))
        if too_short:
            print(
                f"Rewriting {SIZE_MIB} MiB on {system}: too short for a figure of bonnie++ in {too_short} of {ROUNDS} "
                f"rounds; "
                "give a larger REWRITE_SIZE_MIB"
            )
        if not pairs:
            continue
        ratio = statistics.median(own / other for other, own in pairs)
        print(
            f"Rewriting {SIZE_MIB} MiB on {system}, {len(pairs)} alternating rounds: {ratio:.2f} times bonnie++'s rate"
        )
        print(row("bonnie++", [other for other, _ in pairs]))
        print(row("stallscope", [own for _, own in pairs]), flush=True)


main()
