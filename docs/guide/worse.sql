select fingerprint, any_value(main_cause) as cause, any_value(file_system) as file_system, any_value(device) as device,
       count(distinct host) as hosts, count(distinct run) as runs, count(*) as stalls, round(sum(duration_ns) / 1e9, 1) as seconds
from read_parquet('lake/table=stalls/**/*.parquet', hive_partitioning = true)
where complete group by fingerprint order by seconds desc limit 6;
