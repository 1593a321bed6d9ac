-- Days on which hosts report: they have a run that began, or a stall. Without them, a host that is off looks like one without stalls.
select host, date
from runs
where date between cast('${before_from}' as date) and cast('${before_to}' as date)
   or date between cast('${after_from}' as date) and cast('${after_to}' as date)
union
select host, date
from stalls
where date between cast('${before_from}' as date) and cast('${before_to}' as date)
   or date between cast('${after_from}' as date) and cast('${after_to}' as date)
