-- The longest stalls of an issue, and the runs that hold them.
select stalls.host, stalls.start_utc, cast(stalls.duration_ns as double) / 1e9 as seconds, stalls.task, stalls.operation,
       stalls.blocker_task as blocker, stalls.run, runs.path
from stalls
left join runs on runs.run = stalls.run and runs.host = stalls.host
where stalls.fingerprint = '${fingerprint}'
order by stalls.duration_ns desc, stalls.host, stalls.start_utc, stalls.run
limit ${limit}
