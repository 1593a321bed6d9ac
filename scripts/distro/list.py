#!/usr/bin/env python3
"""Prints the names of scenarios: list.py [-v] [-f FIRST] [PATTERN...]; -v with their truth, -f in an order that begins
at
FIRST."""

import argparse
import fnmatch
import sys

import truth


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-v", action="store_true")
    parser.add_argument("-f", type=int, default=0)
    parser.add_argument("patterns", nargs="*")
    options = parser.parse_args()
    scenarios = truth.load()
    for pattern in options.patterns:
        if not any(fnmatch.fnmatch(scenario.name, pattern) for scenario in scenarios):
            sys.exit(f"test-distro: no scenario '{pattern}' (-l lists them)")
    chosen = [
        one
        for one in scenarios
        if not options.patterns or any(fnmatch.fnmatch(one.name, pattern) for pattern in options.patterns)
    ]
    first = options.f % max(len(chosen), 1)
    for one in truth.in_order(chosen[first:] + chosen[:first]):
        print(
            f"{one.name}: {'quiet: ' if one.causes is None else ''}{one.truth}" if options.v else one.name,
            end="\n" if options.v else " ",
        )


if __name__ == "__main__":
    main()
