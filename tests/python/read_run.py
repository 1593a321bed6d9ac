#!/usr/bin/env python3
"""Reads a Stallscope run directory with pyarrow, as docs/FORMAT.md describes, and prints a summary as JSON.

    read_run.py DIRECTORY [--metric NAME] [--class CLASS]

Reads finished, live and cut-off runs: only data that the journal lists as live.
"""

import argparse
import json
import pathlib

import pyarrow as pa


def crc32c_table():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = (byte >> 1) ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


CRC32C = crc32c_table()


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = (crc >> 8) ^ CRC32C[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def parse_line(line):
    """The JSON of a checksummed line, or None if the checksum differs."""
    if line[8:9] == b" " and line[:8] == b"%08x" % crc32c(line[9:]):
        return json.loads(line[9:])
    return None


def recent_batches(data):
    """Yields (table, message) of each whole flush of a recent file."""
    at = 0
    while (end := data.find(b"\n", at)) >= 0:
        header = parse_line(data[at:end])
        if header is None:
            return
        at, messages = end + 1, []
        for batch in header["batches"]:
            message = data[at : at + batch["length"]]
            at += batch["length"]
            if len(message) < batch["length"]:
                return
            messages.append((batch, message))
        if all(crc32c(message) == batch["crc32c"] for batch, message in messages):
            yield from ((batch["table"], message) for batch, message in messages)


def read_run(directory):
    """Returns the run's tables, by name, and its events."""
    lines = (directory / "journal").read_bytes().split(b"\n")
    entries = [entry for entry in map(parse_line, lines) if entry is not None]
    schemas, tables, batches, replaced, events = {}, {}, {}, set(), []
    for entry in entries:
        if entry["entry"] == "segment":
            data = (directory / entry["file"]).read_bytes()
            schema = pa.ipc.read_schema(pa.py_buffer(data[: entry["length"]]))
            tables[entry["file"]] = entry["table"]
            schemas[entry["table"]] = schema
            batches.setdefault(entry["table"], [])
        elif entry["entry"] == "consolidated":
            replaced.update(entry["replaces"])
            for batch in entry["batches"]:
                table = tables[batch["file"]]
                data = (directory / batch["file"]).read_bytes()
                message = data[batch["offset"] : batch["offset"] + batch["length"]]
                if crc32c(message) == batch["crc32c"]:
                    batches[table].append(pa.ipc.read_record_batch(pa.py_buffer(message), schemas[table]))
        elif entry["entry"] == "event":
            events.append(entry["what"])
    for path in sorted(directory.glob("recent-*")):
        if path.name not in replaced:
            for table, message in recent_batches(path.read_bytes()):
                batches[table].append(pa.ipc.read_record_batch(pa.py_buffer(message), schemas[table]))
    return {table: pa.Table.from_batches(batches[table], schemas[table]) for table in schemas}, events


def series(tables, name, instance=""):
    """The value of a metric at each sample, rebuilt from its changes."""
    descriptors = tables["descriptors"].to_pylist()
    metric = next(d["metric"] for d in descriptors if (d["name"], d["instance"]) == (name, instance))
    changes = {c["sample"]: c["value"] for c in tables["metrics"].to_pylist() if c["metric"] == metric}
    values, value = [], None
    for sample in sorted(tables["samples"]["sample"].to_pylist()):
        value = changes.get(sample, value)
        values.append(value)
    return values


def bucket_high_ns(low):
    """The upper bound of the bucket that begins at low."""
    return low + (1 << max(0, low.bit_length() - 11)) - 1


def percentile(tables, name, percent):
    """A percentile of a class's latency over the run: the upper bound of its bucket."""
    counts = {}
    for row in tables["intervals"].to_pylist():
        if row["class"] == name:
            for low, count in zip(row["bucket_low_ns"], row["bucket_count"]):
                counts[low] = counts.get(low, 0) + count
    wanted, seen = sum(counts.values()) * percent / 100, 0
    for low in sorted(counts):
        seen += counts[low]
        if seen >= wanted:
            return bucket_high_ns(low)
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("--metric", help="print this metric's value at each sample")
    parser.add_argument("--class", dest="operation_class", help="print percentiles of this operation class")
    arguments = parser.parse_args()
    description = json.loads((arguments.directory / "run.json").read_text())
    if description["format"] > 1:
        parser.error(f"format {description['format']} is newer than this script")
    tables, events = read_run(arguments.directory)
    summary = {
        "workload": description["workload"],
        "rows": {name: table.num_rows for name, table in tables.items()},
        "events": [event["event"] for event in events],
    }
    if arguments.metric:
        summary["series"] = series(tables, arguments.metric)
    if arguments.operation_class:
        summary["percentiles"] = {str(p): percentile(tables, arguments.operation_class, p) for p in (50, 99)}
    print(json.dumps(summary))


if __name__ == "__main__":
    main()
