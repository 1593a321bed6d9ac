-- One issue: what it is, and where and since when it happens.
with once as (
    select host, tid, start_utc, fingerprint,
           max(main_cause) as main_cause, max(chain) as chain, max(lock) as lock, max(file_system) as file_system,
           max(device_model) as device_model, max(kernel) as kernel, max(duration_ns) as duration_ns
    from stalls
    where fingerprint like '${fingerprint}%'
    group by host, tid, start_utc, fingerprint
)
select fingerprint, max(main_cause) as cause, max(lock) as lock, max(file_system) as file_system,
       max(device_model) as device_model, count(*) as stalls, cast(sum(duration_ns) as double) / 1e9 as seconds,
       cast(max(duration_ns) as double) / 1e9 as longest_seconds, count(distinct host) as hosts,
       count(distinct kernel) as kernels, min(start_utc) as first_seen, max(start_utc) as last_seen, max(chain) as chain
from once
group by fingerprint
order by stalls desc, fingerprint
