"""Judges an answer of 'stallscope-fleet grew --json' by the generator's truth: judge.py ANSWER.json LAKE.truth.json

Precision counts issues that were found, recall events of which an issue was found. Purity is the share of stalls that
belong to the seed that is most frequent in their fingerprint.
"""

import collections
import json
import sys

answer, truth = (json.load(open(path)) for path in sys.argv[1:3])
seeds = collections.defaultdict(collections.Counter)
for row in truth["seeds"]:
    seeds[row["fingerprint"]][row["seed"]] += row["stalls"]
events = {event["seed"]: set(event["hosts"]) for event in truth["events"]}
found = [(row, set(seeds[row["name"]]) & set(events)) for row in answer["rows"] if row["differs"]]
right = [row for row, hit in found if hit]
named = [(host, hit) for row, hit in found if hit for host in row["grown_hosts"]]
true_hosts = sum(any(host in events[seed] for seed in hit) for host, hit in named)
stalls = sum(sum(counts.values()) for counts in seeds.values())
pure = sum(max(counts.values()) for counts in seeds.values())
print(
    json.dumps(
        {
            "found": len(found),
            "precision": len(right) / len(found) if found else None,
            "recall": len(set().union(*(hit for _, hit in found), set())) / len(events) if events else None,
            "named_hosts": len(named),
            "precision_of_hosts": true_hosts / len(named) if named else None,
            "tested": answer["tested"],
            "stalls": stalls,
            "fingerprints": len(seeds),
            "seeds": len({row["seed"] for row in truth["seeds"]}),
            "purity": pure / stalls,
        }
    )
)
