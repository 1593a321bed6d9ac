-- Lost time by a column. An operation that a flight recorder saved in two runs counts once: it is its host, thread and begin.
with once as (
    select host, tid, start_utc,
           max(coalesce(cast(${column} as string), 'unknown')) as name,
           max(main_cause) as main_cause,
           max(fingerprint) as fingerprint,
           max(duration_ns) as duration_ns
    from stalls
    where date between cast('${since}' as date) and cast('${until}' as date)
    group by host, tid, start_utc
), named as (
    select name,
           cast(sum(duration_ns) as double) / 1e9 as seconds,
           count(*) as stalls,
           count(distinct host) as hosts,
           count(distinct fingerprint) as issues,
           case when min(main_cause) = max(main_cause) then max(main_cause) else 'several' end as cause,
           min(start_utc) as first_seen,
           max(start_utc) as last_seen
    from once
    group by name
)
select name, seconds, seconds / sum(seconds) over () as share, stalls, hosts, issues, cause, first_seen, last_seen
from named
order by seconds desc, name
limit ${limit}
