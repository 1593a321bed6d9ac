-- On which hosts is the issue that grew most, and which run has its longest stall there?
select stalls.host, count(*) as stalls, round(max(stalls.duration_ns) / 1e6) as longest_ms,
       arg_max(runs.path, stalls.duration_ns) as run
from (select *, start_utc >= timestamp '2026-11-16 00:00:00' as later
      from read_parquet('lake/table=stalls/**/*.parquet', hive_partitioning = true)) as stalls
join read_parquet('lake/table=runs/**/*.parquet', hive_partitioning = true) as runs using (host, run)
where later and fingerprint = 'FINGERPRINT' group by stalls.host order by stalls.host;
