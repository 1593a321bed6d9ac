#!/usr/bin/env python3
"""Writes cases.json: random inputs of the tests of `compare` and `sweep` with what SciPy and NumPy make of them.

    pip install scipy && crates/compare/tests/scipy/cases.py >crates/compare/tests/scipy/cases.json

Where SciPy lacks a test (ties in exact tests, strata, intervals of a shift), its ranks and its own exact tests are
enumerated or inverted here, which is slow and needs no formula of ours."""

import itertools
import json
import sys

import numpy
import scipy
from scipy import stats

CONFIDENCE = 0.95
random = numpy.random.default_rng(20261201)


def sample(size, factor=1.0, ties=False):
    values = random.lognormal(sigma=0.7, size=size) * factor
    # Whole numbers up to about 10, of which several are equal.
    return [float(value) for value in (numpy.ceil(values * 2.0) if ties else numpy.round(values, 6))]


def two_sided(below, above):
    return min(1.0, 2.0 * min(below, above))


def all_splits(a, b):
    """Each sum of the ranks of side A over all splits, and the one found."""
    ranks = stats.rankdata(a + b)
    sums = [sum(ranks[at] for at in chosen) for chosen in itertools.combinations(range(len(ranks)), len(a))]
    return numpy.array(sums), sum(ranks[: len(a)])


def share(is_so):
    return float(numpy.mean(is_so))


def rank_sum(a, b, method):
    if method == "splits":
        sums, found = all_splits(a, b)
        p = two_sided(share(sums <= found + 1e-9), share(sums >= found - 1e-9))
    else:
        p = stats.mannwhitneyu(a, b, method=method).pvalue
    return {"a": a, "b": b, "p": float(p)}


def rank_sums():
    sizes = [(m, n) for m in (1, 2, 3, 5, 8) for n in (2, 4, 5, 7)]
    for m, n in sizes:
        yield rank_sum(sample(m), sample(n, random.choice([1.0, 1.5, 4.0])), "exact")
        yield rank_sum(sample(m, ties=True), sample(n, random.choice([1.0, 2.0]), ties=True), "splits")
    for m, n in [(31, 30), (40, 35), (12, 60)]:
        yield rank_sum(sample(m), sample(n, 1.2), "asymptotic")
        yield rank_sum(sample(m, ties=True), sample(n, 1.2, ties=True), "asymptotic")


def signed_rank(logs, method):
    if method == "signs":
        left = [log for log in logs if log != 0.0]
        ranks = stats.rankdata(numpy.abs(left))
        signs = itertools.product([0, 1], repeat=len(left))
        sums = numpy.array([float(numpy.dot(sign, ranks)) for sign in signs])
        found = sum(rank for rank, log in zip(ranks, left) if log > 0.0)
        p = two_sided(share(sums <= found + 1e-9), share(sums >= found - 1e-9))
    else:
        p = stats.wilcoxon(logs, method=method, correction=True).pvalue
    return {"logs": logs, "p": float(p)}


def differences(size, middle):
    return [float(log) for log in numpy.round(random.normal(middle, 0.3, size), 6)]


def signed_ranks():
    for size in (2, 3, 5, 6, 8, 11, 15, 25, 60, 100):
        for middle in (0.0, 0.15, 0.5):
            yield signed_rank(differences(size, middle), "exact")
    for size in (4, 7, 10, 12):
        for middle in (0, 1):
            logs = [float(log) for log in random.integers(-3, 4, size) + middle]
            if any(logs):
                yield signed_rank(logs, "signs")
    yield signed_rank(differences(140, 0.05), "approx")


def inverted(places, p_of):
    """The interval of a shift: from which to which of these places shifts are not rejected."""
    between = [(low + high) / 2.0 for low, high in zip(places, places[1:])]
    kept = [p_of(shift) > 1.0 - CONFIDENCE for shift in between]
    if p_of(places[0] - 1.0) > 1.0 - CONFIDENCE:
        return None
    return [places[kept.index(True)], places[len(kept) - kept[::-1].index(True)]]


def shift(a, b):
    a_logs, b_logs = numpy.log(a), numpy.log(b)
    places = sorted(float(y - x) for x in a_logs for y in b_logs)
    interval = inverted(places, lambda by: stats.mannwhitneyu(a_logs, b_logs - by, method="exact").pvalue)
    return {"a": a, "b": b, "log_ratio": float(numpy.median(places)), "log_interval": interval}


def shifts():
    for m, n in [(3, 3), (4, 4), (5, 5), (5, 7), (6, 4), (8, 8), (10, 9)]:
        for factor in (1.0, 1.5):
            yield shift(sample(m), sample(n, factor))


def block_shift(logs):
    pairs = itertools.combinations_with_replacement(logs, 2)
    places = sorted((x + y) / 2.0 for x, y in pairs)
    interval = inverted(places, lambda by: stats.wilcoxon(numpy.array(logs) - by, method="exact").pvalue)
    return {"logs": logs, "log_ratio": float(numpy.median(places)), "log_interval": interval}


def block_shifts():
    for size in (4, 5, 6, 7, 10, 16):
        for middle in (0.0, 0.4):
            yield block_shift(differences(size, middle))


def stratified(strata):
    """Van Elteren's test over all splits within the strata, weights the inverse of the stratum's values plus one."""
    chances, found = {0.0: 1.0}, 0.0
    for a, b in strata:
        sums, sum_of_a = all_splits(a, b)
        weight = 1.0 / (len(a) + len(b) + 1)
        found += weight * sum_of_a
        joined = {}
        for before, chance in chances.items():
            for one in sums:
                key = round(before + weight * one, 9)
                joined[key] = joined.get(key, 0.0) + chance / len(sums)
        chances = joined
    below = sum(chance for key, chance in chances.items() if key <= found + 1e-7)
    above = sum(chance for key, chance in chances.items() if key >= found - 1e-7)
    return {"strata": [{"a": a, "b": b} for a, b in strata], "p": two_sided(below, above)}


def stratifieds():
    # Sizes whose weights are to each other as whole numbers.
    for sizes in [[(3, 3)], [(2, 2), (2, 2), (2, 2)], [(3, 4), (1, 2)], [(4, 3), (2, 1), (3, 4)], [(2, 1)] * 6]:
        for ties in (False, True):
            for factor in (1.0, 2.5):
                yield stratified([(sample(m, ties=ties), sample(n, factor, ties)) for m, n in sizes])


def q_values():
    for size in (1, 2, 7, 40, 200):
        p_values = [float(p) for p in random.beta(0.6, 2.0, size)]
        yield {"p_values": p_values, "q_values": [float(q) for q in stats.false_discovery_control(p_values)]}


def medians():
    """The sign test's interval: the ranks between which the median lies in 95 % of cases."""
    for size in (1, 3, 5, 6, 7, 9, 12, 17, 30, 64):
        values = sample(size)
        ordered = sorted(values)
        outside = int(stats.binom.ppf((1.0 - CONFIDENCE) / 2.0, size, 0.5))
        # ppf is the first rank whose tail is as large as that: all before it are outside.
        interval = [ordered[outside - 1], ordered[size - outside]] if outside else None
        yield {"values": values, "median": float(numpy.median(values)), "interval": interval}


def quantiles():
    """Small whole numbers, which have a bucket each."""
    for size in (1, 2, 10, 99, 400):
        values = [int(value) for value in random.integers(1, 100, size)]
        for quantile in (0.5, 0.9, 0.99):
            smooth = float(stats.mstats.hdquantiles(values, quantile)[0]) if size > 1 else float(values[0])
            exact = int(numpy.quantile(values, quantile, method="inverted_cdf"))
            yield {"values": values, "quantile": quantile, "exact": exact, "smooth": smooth}


def trends():
    """The change from start to end by Theil and Sen's slope, relative to the median."""
    for size in (10, 25, 120):
        for change in (-0.5, 0.4, 1.0):
            rates = 100.0 * (1.0 + change * numpy.linspace(0.0, 1.0, size)) + random.normal(0.0, 1.0, size)
            rates = [float(rate) for rate in numpy.round(rates, 6)]
            slope = stats.theilslopes(rates)[0]
            yield {"rates": rates, "change": float(slope * (size - 1) / numpy.median(rates))}


kinds = [rank_sums, signed_ranks, shifts, block_shifts, stratifieds, q_values, medians, quantiles, trends]
print("{")
print(f' "scipy": {json.dumps(scipy.__version__)},')
for kind in kinds:
    rows = ",\n".join("  " + json.dumps(case) for case in kind())
    print(f' "{kind.__name__}": [\n{rows}\n ]' + ("," if kind is not kinds[-1] else ""))
print("}")
sys.exit(0)
