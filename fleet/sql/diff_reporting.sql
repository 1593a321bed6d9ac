-- Days on which hosts of both sets report: the hosts' part of the conditions, on runs.
select 'A' as side, host, count(distinct date) as days from runs where ${runs_a} group by host
union all
select 'B' as side, host, count(distinct date) as days from runs where ${runs_b} group by host
