"""Runs the statements of fleet/sql on a lake with several engines, compares their answers and prints a table of times.

    engines.py LAKE [--engines datafusion,duckdb,spark,ballista] [--repeat 3] [--fingerprint DIGITS] [--before LAKE]

With --before, the first engine also reads another lake, which must give the same answers: a copy from before it was
compacted. Engines are Python packages, Ballista is built by 'make ballista'; one that is missing is named and left out.
The exit code is 1 where answers differ or an engine fails.
"""

import argparse
import datetime
import decimal
import json
import math
import os
import pathlib
import subprocess
import sys
import time

SQL = pathlib.Path(__file__).resolve().parent.parent / "sql"
TABLES = ["stalls", "runs"]
VALUES = {
    "since": "1970-01-01",
    "until": "2262-04-11",
    "limit": "10",
    "where_a": "kernel like '6.1.%'",
    "where_b": "kernel like '6.12%'",
    "runs_a": "kernel like '6.1.%'",
    "runs_b": "kernel like '6.12%'",
    "before_from": "1970-01-01",
    "before_to": "2026-11-08",
    "after_from": "2026-11-09",
    "after_to": "2262-04-11",
}
QUESTIONS = [
    ("top by kernel", "top", {"column": "kernel"}),
    ("top by issue", "top", {"column": "fingerprint"}),
    ("grew", "grew", {"column": "fingerprint"}),
    ("reporting", "reporting", {}),
    ("diff by cause", "diff", {"column": "main_cause"}),
    ("diff: days", "diff_reporting", {}),
    ("find", "find", {}),
    ("find: days", "find_days", {}),
    ("find: runs", "find_runs", {}),
]


def statement(name, values):
    text = (SQL / f"{name}.sql").read_text()
    for key, value in {**VALUES, **values}.items():
        text = text.replace("${%s}" % key, value)
    assert "${" not in text, text
    return text


def datafusion(lake):
    import datafusion as df
    import pyarrow as pa

    config = (
        df.SessionConfig()
        .with_target_partitions(os.cpu_count())
        .set("datafusion.execution.collect_statistics", "false")
    )
    context = df.SessionContext(config)
    for table in TABLES:
        context.register_listing_table(
            table,
            f"{lake}/table={table}/",
            [("date", pa.date32()), ("host", pa.string())],
            ".parquet",
            schema_of(lake, table),
        )
    return lambda sql: [tuple(row.values()) for row in context.sql(sql).to_pylist()]


def schema_of(lake, table):
    import pyarrow.parquet as pq

    return pq.ParquetFile(next(pathlib.Path(lake).glob(f"table={table}/*/*/*.parquet"))).schema_arrow.remove_metadata()


def duckdb(lake):
    import duckdb as engine

    connection = engine.connect(config={"threads": os.cpu_count(), "memory_limit": "1GB"})
    for table in TABLES:
        connection.execute(
            f"create view {table} as select * from read_parquet('{lake}/table={table}/*/*/*.parquet', "
            "hive_partitioning = true, hive_types = {'date': date, 'host': varchar})"
        )
    return lambda sql: connection.execute(sql).fetchall()


def spark(lake):
    from pyspark.sql import SparkSession
    from pyspark.sql.functions import col

    # Two executors on one machine, each a process of its own.
    session = (
        SparkSession.builder.master("local-cluster[2,1,1024]")
        .appName("lake")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.sources.partitionColumnTypeInference.enabled", "false")
        .config("spark.sql.shuffle.partitions", "4")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    for table in TABLES:
        frame = session.read.option("basePath", f"{lake}/table={table}").parquet(f"{lake}/table={table}")
        frame.withColumn("date", col("date").cast("date")).createOrReplaceTempView(table)
    return lambda sql: [tuple(row) for row in session.sql(sql).collect()]


def ballista(lake):
    import cluster

    return cluster.Cluster(lake).rows


def peak_mib(of):
    """The peaks of a process and of all that it started, added up."""
    peaks, started = {}, {}
    for status in pathlib.Path("/proc").glob("[0-9]*/status"):
        try:
            fields = dict(line.split(":", 1) for line in status.read_text().splitlines())
        except OSError:
            continue  # It ended.
        started.setdefault(int(fields["PPid"]), []).append(int(fields["Pid"]))
        peaks[int(fields["Pid"])] = int(fields.get("VmHWM", "0 kB").split()[0]) / 1024

    def total(process):
        return peaks[process] + sum(map(total, started.get(process, [])))

    return total(of)


def plain(value):
    """A value as all engines write it."""
    if isinstance(value, (decimal.Decimal, float)):
        return float(value)
    if isinstance(value, datetime.datetime):
        return value.replace(tzinfo=None).isoformat()
    return value.isoformat() if isinstance(value, datetime.date) else value


def same(left, right):
    if isinstance(left, (int, float)) and isinstance(right, (int, float)):
        return math.isclose(left, right, rel_tol=1e-9)
    return left == right


def rows_of(rows):
    return sorted(
        (tuple(plain(value) for value in row) for row in rows),
        key=lambda row: [str(value) for value in row if not isinstance(value, float)],
    )


def measure(engine, lake, questions, repeat):
    """Answers and the shortest time of each question, and the opening's time and peak memory, in this process."""
    begun = time.monotonic()
    ask = {"datafusion": datafusion, "duckdb": duckdb, "spark": spark, "ballista": ballista}[engine](lake)
    found = {"open": time.monotonic() - begun, "times": {}, "answers": {}}
    for title, sql in questions:
        times = []
        for _ in range(repeat):
            begun = time.monotonic()
            rows = ask(sql)
            times.append(time.monotonic() - begun)
        found["times"][title] = times
        found["answers"][title] = rows_of(rows)
    found["peak_mib"] = peak_mib(os.getpid())
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("lake", type=lambda path: str(pathlib.Path(path).resolve()))
    parser.add_argument("--engines", default="datafusion,duckdb,spark,ballista")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--fingerprint", default="")
    parser.add_argument("--before", type=lambda path: str(pathlib.Path(path).resolve()))
    parser.add_argument("--child", help=argparse.SUPPRESS)
    args = parser.parse_args()
    find = {"fingerprint": args.fingerprint}
    questions = [
        (title, statement(name, {**find, **values}))
        for title, name, values in QUESTIONS
        if args.fingerprint or not name.startswith("find")
    ]
    if args.child:
        print(json.dumps(measure(args.child, args.lake, questions, args.repeat)))
        return 0
    results = {}
    engines = args.engines.split(",")
    readings = [(engine, engine, args.lake) for engine in engines]
    if args.before:
        readings.append((f"{engines[0]}, before", engines[0], args.before))
    for name, engine, lake in readings:
        # A process for each: memory is its own, and none is warmed by another.
        child = [
            sys.executable,
            __file__,
            lake,
            "--repeat",
            str(args.repeat),
            "--fingerprint",
            args.fingerprint,
            "--child",
            engine,
        ]
        done = subprocess.run(child, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if done.returncode and is_missing(done.stderr):
            print(f"{name}: left out: {done.stderr.strip().splitlines()[-1]}")
            continue
        if done.returncode:
            print(f"{name}: FAILED: {done.stderr}")
            return 1
        results[name] = json.loads(done.stdout.splitlines()[-1])
    return compare(results, [title for title, _ in questions]) if results else 1


def is_missing(said):
    """Whether an engine ended since it, or Java, is missing."""
    return any(
        sign in said
        for sign in ("ModuleNotFoundError", "is missing: make ballista", "JAVA_GATEWAY_EXITED", "JAVA_HOME")
    )


def compare(results, titles):
    names = list(results)
    print("| question | rows | " + " | ".join(f"{name} first, best (s)" for name in names) + " | answers |")
    print("|---" * (len(names) + 3) + "|")
    differ = 0
    for title in titles:
        answers = [results[name]["answers"][title] for name in names]
        alike = all(
            len(answer) == len(answers[0])
            and all(len(x) == len(y) and all(map(same, x, y)) for x, y in zip(answers[0], answer))
            for answer in answers
        )
        differ += not alike
        times = [f"{results[name]['times'][title][0]:.2f}, {min(results[name]['times'][title]):.2f}" for name in names]
        print(f"| {title} | {len(answers[0])} | " + " | ".join(times) + f" | {'the same' if alike else 'DIFFER'} |")
    print("| opening | | " + " | ".join(f"{results[name]['open']:.2f}" for name in names) + " | |")
    print(
        "| peaks of the processes (MiB) | | "
        + " | ".join(f"{results[name]['peak_mib']:.0f}" for name in names)
        + " | |"
    )
    return 1 if differ or len(names) < 2 else 0


if __name__ == "__main__":
    sys.exit(main())
