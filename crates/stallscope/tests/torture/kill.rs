//! `kill -9` at each system call that changes something: before it is executed, or after.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::aftermath::{last_flush_ns, leftovers, problems_of_answers};
use crate::calls;
use crate::random::Random;
use crate::report::Report;
use crate::sys::Call;
use crate::victim::{self, Scene, VICTIMS, Verdict, Victim};

const LIMIT: Duration = Duration::from_secs(60);
/// A flush a second, and the time that a stopped program takes for one.
const LOSS_LIMIT_NS: u64 = 1_500_000_000;

/// Kills each victim at that number of points, chosen by the seed.
pub fn campaign(seed: u64, points: u64, only: Option<&str>) -> Report {
    let mut report = Report::default();
    let mut worst_loss_ns = 0;
    for victim in VICTIMS.iter().filter(|victim| only.is_none_or(|name| victim.name == name)) {
        let stops = count(*victim, &mut report);
        report.note(format!("{}: {stops} points in an undisturbed run", victim.name));
        let mut random = Random::new(seed);
        for _ in 0..points {
            let (point, choice) = (random.below(stops), random.next());
            let name = format!("{} killed at point {point}, choice {}", victim.name, choice % 4);
            println!("{name}");
            worst_loss_ns = worst_loss_ns.max(kill_at(*victim, point, choice, &name, &mut report));
        }
    }
    report.note(format!("most that a kill lost: {:.2} s", worst_loss_ns as f64 / 1e9));
    report
}

/// The number of points of an undisturbed run, which must also end well under stops.
fn count(victim: Victim, report: &mut Report) -> u64 {
    let scene = Scene::new(victim);
    let mut stops = 0;
    let mut kinds: BTreeMap<&str, u64> = BTreeMap::new();
    let judge = |_: i32, call: &Call, _: i32| {
        if let Some(known) = calls::find(call).filter(|known| calls::is_kill_point(known, call)) {
            stops += 1;
            *kinds.entry(known.name).or_default() += 1;
        }
        Verdict::Pass
    };
    match scene.attack(LIMIT, judge) {
        Ok(course) if course.code == 0 => {}
        Ok(course) => report.finding(format!("{} does not run: {} {}", victim.name, course.code, course.stderr)),
        Err(error) => report.finding(format!("{} cannot be traced: {error}", victim.name)),
    }
    let kinds: Vec<String> = kinds.iter().map(|(name, count)| format!("{count} {name}")).collect();
    report.note(format!("{}: {}", victim.name, kinds.join(", ")));
    stops
}

/// Kills at a point and checks what is left. Returns how much was lost.
fn kill_at(victim: Victim, point: u64, choice: u64, name: &str, report: &mut Report) -> u64 {
    let scene = Scene::new(victim);
    let mut passed = 0;
    let mut place = None;
    let judge = |tid: i32, call: &Call, program: i32| {
        let Some(known) = calls::find(call).filter(|known| calls::is_kill_point(known, call)) else {
            return Verdict::Pass;
        };
        passed += 1;
        if passed != point + 1 {
            return Verdict::Pass;
        }
        place = Some(format!("{} {}", known.name, calls::object(tid, known, call)));
        // The process that makes the call, such as the load's, or the program itself.
        let target = if choice & 2 == 0 && victim::is_ours(tid) { victim::process_of(tid) } else { program };
        if choice & 1 == 0 { Verdict::KillBefore(target) } else { Verdict::KillAfter(target) }
    };
    let course = match scene.attack(LIMIT, judge) {
        Ok(course) => course,
        Err(error) => {
            report.finding(format!("{name}: {error}"));
            return 0;
        }
    };
    report.tried(format!("kills of `{}`", victim.name));
    let place = place.unwrap_or_else(|| "its end".into());
    let mut problems = problems_of_answers(&scene);
    problems.extend(leftovers(course.pid, &scene).into_iter().map(|left| format!("left: {left}")));
    problems.extend(course.hung.then(|| "its processes did not end".to_owned()));
    problems.extend(course.stderr.contains("panicked").then(|| course.stderr.clone()));
    let flushed = scene.run().and_then(|run| last_flush_ns(&run));
    let was_killed = course.code == 128 + libc::SIGKILL;
    let lost_ns = match (course.killed_ns.filter(|_| was_killed), flushed) {
        (Some(killed), Some(flushed)) => killed.saturating_sub(flushed),
        _ => 0,
    };
    problems.extend((lost_ns > LOSS_LIMIT_NS).then(|| format!("lost {:.2} s", lost_ns as f64 / 1e9)));
    problems.into_iter().for_each(|problem| report.finding(format!("{name} ({place}): {problem}")));
    lost_ns
}
