-- One issue by day.
select date, count(distinct host) as hosts, count(*) as stalls, cast(sum(duration_ns) as double) / 1e9 as seconds
from (
    select distinct host, tid, start_utc, date, duration_ns from stalls where fingerprint = '${fingerprint}'
) as once
group by date
order by date
