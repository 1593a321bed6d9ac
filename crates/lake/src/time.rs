//! Days, minutes and the identity of a run.

use model::run::RunDescription;

use crate::fingerprint::Fnv;

/// Counters and requests are summed over this time.
pub const MINUTE_NS: i64 = 60_000_000_000;

/// The day of a moment in UTC, as `2026-11-23`.
pub fn date_of(wall_ns: i64) -> String {
    formatted(wall_ns, "%Y-%m-%d")
}

/// The identity of a run: when it began, and a hash of its machine's boot, its clocks, its workload and its end. A copy
/// of a run has the same; runs that a flight recorder saved from one ring differ in their end.
pub fn run_id(run: &RunDescription, end_ns: Option<u64>) -> String {
    let mut hash = Fnv::default();
    for part in [&run.host.boot_id, &run.host.hostname, &run.workload] {
        hash.part(part);
    }
    hash.part(&run.started.monotonic_ns.to_string());
    hash.part(&run.started.wall_ns.to_string());
    hash.part(&end_ns.map_or_else(String::new, |end_ns| end_ns.to_string()));
    format!("{}-{}", formatted(run.started.wall_ns, "%Y%m%dT%H%M%SZ"), hash.digits())
}

/// The day on which a run began, by its identity; `None` for a text of another form.
pub(crate) fn day_of_run(run: &str) -> Option<String> {
    let (begin, hash) = run.split_once('-')?;
    // The reader of moments also takes shorter numbers.
    let has_form = begin.len() == 16 && hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    let moment = jiff::civil::DateTime::strptime("%Y%m%dT%H%M%SZ", begin).ok().filter(|_| has_form)?;
    Some(moment.date().to_string())
}

fn formatted(wall_ns: i64, format: &str) -> String {
    let moment = jiff::Timestamp::from_nanosecond(wall_ns.into()).unwrap_or_default();
    moment.strftime(format).to_string()
}

#[cfg(test)]
mod tests {
    use model::run::RunDescription;
    use model::time::Moment;

    use super::{date_of, day_of_run, run_id};

    #[test]
    fn days_are_those_of_utc() {
        const S: i64 = 1_000_000_000;
        for (wall_ns, expected) in [
            (0, "1970-01-01"),
            (-1, "1969-12-31"),
            (1_795_392_000 * S - 1, "2026-11-22"),
            (1_795_392_000 * S, "2026-11-23"),
            (i64::MAX, "2262-04-11"),
            (i64::MIN, "1677-09-21"),
        ] {
            assert_eq!(date_of(wall_ns), expected, "{wall_ns}");
        }
    }

    #[test]
    fn runs_of_one_ring_differ_by_their_end() {
        let run = RunDescription::new("record", Moment { monotonic_ns: 5, wall_ns: 1_795_392_000_000_000_000 });
        let id = run_id(&run, Some(9));
        assert!(id.starts_with("20261123T000000Z-"), "{id}");
        assert_eq!(day_of_run(&id).as_deref(), Some("2026-11-23"));
        for other in [
            "compacted-0123456789abcdef",
            "20261123T000000Z",
            "20261323T000000Z-0123456789abcdef",
            &id[1..],
            &format!("{id}0"),
        ] {
            assert_eq!(day_of_run(other), None, "{other}");
        }
        assert_eq!(id, run_id(&run.clone(), Some(9)));
        let other = RunDescription { started: Moment { monotonic_ns: 6, ..run.started }, ..run.clone() };
        assert!([run_id(&run, Some(10)), run_id(&run, None), run_id(&other, Some(9))].iter().all(|other| *other != id));
    }
}
