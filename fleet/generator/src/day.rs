//! A day of a machine, as a recorder would have saved it.

use std::collections::BTreeMap;

use export::explained::ExplainedRow;
use lake::{StallRow, Step, fingerprint};
use model::cause::Cause;

use crate::event::{self, Event};
use crate::host::Host;
use crate::issue::{ISSUES, Issue};
use statistics::SplitMix64;

pub(crate) const DAY_NS: i64 = 86_400_000_000_000;
/// What a recorder records individually by default.
const SLOWER_THAN_NS: f64 = 20e6;

/// How many stalls of a seed have which fingerprint.
pub(crate) type Seeds = BTreeMap<(String, String), u64>;

/// The stalls of a day that begins at a moment of the wall clock, by time; nothing where the host does not report.
pub(crate) fn stalls(
    (seed, events): (u64, &[Event]),
    host: &Host,
    (day, begin_ns): (usize, i64),
    seeds: &mut Seeds,
) -> Option<Vec<StallRow>> {
    let mut random = SplitMix64::of_parts(&[seed, 3, host.number as u64, day as u64]);
    if day < host.since || random.happens(0.02) {
        return None;
    }
    // Load is smaller at weekends, and differs between days.
    let weekday = (begin_ns / DAY_NS).rem_euclid(7);
    let load = random.lognormal(0.3) * if matches!(weekday, 2 | 3) { 0.8 } else { 1.0 };
    let mut rows = Vec::new();
    for &(number, rate) in &host.issues {
        let (often, long) = event::factors(events, host, number, day);
        let burst = if random.happens(0.01) { 5.0 } else { 1.0 };
        let noise = random.lognormal(0.4);
        let count = random.poisson(rate * load * burst * often * noise);
        for _ in 0..count {
            let start_ns = begin_ns + (random.unit() * DAY_NS as f64) as i64;
            let row = stall(host, (number, &ISSUES[number]), (host.kernel(day), start_ns, long), &mut random);
            *seeds.entry((row.fingerprint.clone(), host.seed_of(number))).or_default() += 1;
            rows.push(row);
        }
    }
    rows.sort_by_key(|row| row.explained.start_wall_ns);
    Some(rows)
}

fn stall(
    host: &Host,
    (number, issue): (usize, &Issue),
    (kernel, start_wall_ns, long): (usize, i64, f64),
    random: &mut SplitMix64,
) -> StallRow {
    let steps = issue.steps(number, kernel, random);
    let duration_ns = (issue.median_ms * 1e6 * random.lognormal(0.9) * long).max(SLOWER_THAN_NS) as u64;
    let causes_ns = causes(issue.cause, duration_ns, random);
    let chain: Vec<String> = steps.iter().map(text).collect();
    let file = random.below(64);
    let explained = ExplainedRow {
        task_key: None,
        tid: 1000 + random.below(64) as u32,
        pid: None,
        task: Some(host.task.to_owned()),
        cgroup: Some(host.cgroup.to_owned()),
        operation: issue.operation.to_owned(),
        path: (issue.operation != "futex").then(|| format!("/data/{}/{file:02}", host.task)),
        start_ns: 0,
        start_wall_ns,
        duration_ns,
        finished: true,
        causes_ns,
        chain: chain.join(" -> "),
        culprit: None,
        culprit_task_key: None,
        device: None,
    };
    StallRow {
        fingerprint: fingerprint(issue.cause, &steps, issue.lock, Some(host.file_system), Some(host.disk())),
        file_system: Some(host.file_system.to_owned()),
        device: Some(if host.model.is_some() { "nvme0n1" } else { "vda" }.to_owned()),
        device_model: host.model.map(str::to_owned),
        blocker_task: Some(if steps.len() > 1 { "kworker/u8:1" } else { host.task }.to_owned()),
        blocker_cgroup: None,
        lock: issue.lock.map(str::to_owned),
        explained,
    }
}

/// Time by cause: most of it the main one's, the rest ran or is unexplained.
fn causes(main: Cause, duration_ns: u64, random: &mut SplitMix64) -> [u64; Cause::ALL.len()] {
    let mut causes_ns = [0; Cause::ALL.len()];
    let main_ns = (duration_ns as f64 * (0.55 + 0.4 * random.unit())) as u64;
    causes_ns[main as usize] += main_ns;
    causes_ns[Cause::Running as usize] += (duration_ns - main_ns) / 2;
    causes_ns[Cause::Unexplained as usize] += (duration_ns - main_ns).div_ceil(2);
    causes_ns
}

/// A step as chains show it.
fn text(step: &Step) -> String {
    format!("{} ({})", step.cause.name(), step.functions.join(" < "))
}
