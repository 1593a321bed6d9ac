-- Which issues cost more since the release than before it, and on how many hosts?
select fingerprint, any_value(main_cause) as cause, mode(blocker_task) as blocker,
       count(distinct host) filter (where not later) as hosts, count(distinct host) filter (where later) as hosts_later,
       round(coalesce(sum(duration_ns) filter (where not later), 0) / 1e9, 1) as seconds,
       round(coalesce(sum(duration_ns) filter (where later), 0) / 1e9, 1) as seconds_later
from (select *, start_utc >= timestamp '2026-11-16 00:00:00' as later
      from read_parquet('lake/table=stalls/**/*.parquet', hive_partitioning = true))
where complete group by fingerprint having seconds_later > seconds order by seconds_later - seconds desc limit 3;
