-- Stall time by a column, host and day, in two periods.
with once as (
    select host, tid, start_utc, date,
           max(coalesce(cast(${column} as string), 'unknown')) as name,
           max(main_cause) as main_cause,
           max(duration_ns) as duration_ns
    from stalls
    where date between cast('${before_from}' as date) and cast('${before_to}' as date)
       or date between cast('${after_from}' as date) and cast('${after_to}' as date)
    group by host, tid, start_utc, date
)
select name, host, date, max(main_cause) as cause, count(*) as stalls, cast(sum(duration_ns) as double) as stall_ns
from once
group by name, host, date
