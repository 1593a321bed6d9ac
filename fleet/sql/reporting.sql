-- Days on which hosts report: they have a run that began. Days with stalls alone, after midnight, are those of the other statement. Without
-- them, a host that is off looks like one without stalls.
select distinct host, date
from runs
where date between cast('${before_from}' as date) and cast('${before_to}' as date)
   or date between cast('${after_from}' as date) and cast('${after_to}' as date)
