-- Stall time by a column and host, of two sets of stalls.
with chosen as (
    select 'A' as side, host, tid, start_utc, ${column} as name, main_cause, duration_ns from stalls where ${where_a}
    union all
    select 'B' as side, host, tid, start_utc, ${column} as name, main_cause, duration_ns from stalls where ${where_b}
), once as (
    select side, host, tid, start_utc,
           max(coalesce(cast(name as string), 'unknown')) as name,
           max(main_cause) as main_cause,
           max(duration_ns) as duration_ns
    from chosen
    group by side, host, tid, start_utc
)
select side, name, host, max(main_cause) as cause, count(*) as stalls, cast(sum(duration_ns) as double) as stall_ns
from once
group by side, name, host
