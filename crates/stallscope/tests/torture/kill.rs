//! `kill -9` at each system call that changes something: before it is executed, or after.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::Plan;
use crate::aftermath::{last_flush_ns, leftovers, problems_of_answers};
use crate::calls::{self, Known};
use crate::pool::side_by_side;
use crate::random::Random;
use crate::report::Report;
use crate::sites::{self, Count, Site, site_of};
use crate::sys::Call;
use crate::victim::{self, Course, Scene, Verdict, Victim};

const LIMIT: Duration = Duration::from_secs(60);
/// A flush a second, and the time that a stopped program takes for one.
const LOSS_LIMIT_NS: u64 = 1_500_000_000;

/// A point of a victim.
struct Point {
    victim: Victim,
    known: &'static Known,
    site: Site,
    nth: u64,
    choice: u64,
}

/// Kills each victim at that number of points, chosen by the seed.
pub fn campaign(plan: &Plan) -> Report {
    let mut report = Report::default();
    let mut points = Vec::new();
    for victim in plan.victims() {
        let sites: Vec<(Site, Count)> = all_sites(victim, &mut report).into_iter().collect();
        let mut random = Random::new(plan.seed);
        let points_of_it = if sites.is_empty() { 0 } else { plan.points };
        points.extend((0..points_of_it).map(|_| {
            let (site, count) = &sites[random.below(sites.len() as u64) as usize];
            let (nth, choice) = (sites::choose(count, &mut random), random.next() >> 8);
            Point { victim, known: count.known, site: site.clone(), nth, choice }
        }));
    }
    points.retain(|point| plan.is_at(&point.name()));
    side_by_side(plan.at_a_time, &points, &mut report, Point::attack);
    report
}

/// The places of an undisturbed run, which must also end well under stops.
fn all_sites(victim: Victim, report: &mut Report) -> BTreeMap<Site, Count> {
    let changing = calls::CALLS.iter().filter(|known| known.changes);
    let is_meant = |_: i32, known: &Known, call: &Call| calls::is_kill_point(known, call);
    let (sites, course) = match sites::sites(victim, LIMIT, changing, is_meant) {
        Ok(all) => all,
        Err(error) => {
            report.finding(format!("{} cannot be traced: {error}", victim.name));
            return BTreeMap::new();
        }
    };
    if course.code != 0 {
        report.finding(format!("{} does not run: {} {}", victim.name, course.code, course.stderr));
    }
    let calls: u64 = sites.values().map(|count| count.calls).sum();
    report.note(format!("{}: {} places, {calls} calls of an undisturbed run", victim.name, sites.len()));
    sites
}

impl Point {
    /// Kills there and checks what is left, and how much was lost.
    fn attack(&self) -> Report {
        let mut report = Report::default();
        let scene = Scene::new(self.victim);
        let (mut passed, mut is_reached) = (0, false);
        let judge = |tid: i32, call: &Call, program: i32| {
            let is_meant = calls::is_kill_point(self.known, call);
            if !is_meant || site_of(tid, call, &scene).is_none_or(|(_, site)| site != self.site) {
                return Verdict::Pass;
            }
            passed += 1;
            if passed != self.nth + 1 {
                return Verdict::Pass;
            }
            is_reached = true;
            // The process that makes the call, such as the load's, or the program itself.
            let target = if self.choice & 2 == 0 && victim::is_ours(tid) { victim::process_of(tid) } else { program };
            if self.choice & 1 == 0 { Verdict::KillBefore(target) } else { Verdict::KillAfter(target) }
        };
        match scene.attack(LIMIT, [self.known], judge) {
            Ok(course) => self.judge(&scene, &course, is_reached, &mut report),
            Err(error) => report.finding(format!("{}: {error}", self.name())),
        }
        report
    }

    fn name(&self) -> String {
        let ((call, object), choice) = (&self.site, self.choice % 4);
        format!("{} killed at {call} {object} #{}, choice {choice}", self.victim.name, self.nth)
    }

    fn judge(&self, scene: &Scene, course: &Course, is_reached: bool, report: &mut Report) {
        // A place that this run did not reach so often: it ended as usual.
        report.tried(if is_reached { format!("kills of `{}`", self.victim.name) } else { "not reached again".into() });
        let (mut problems, is_cut_off) = problems_of_answers(scene);
        problems.extend(leftovers(course.pid, scene).into_iter().map(|left| format!("left: {left}")));
        problems.extend(course.hung.iter().map(|places| format!("its processes did not end: {places}")));
        problems.extend(course.stderr.contains("panicked").then(|| course.stderr.clone()));
        let flushed = scene.run().and_then(|run| last_flush_ns(&run));
        // One that was closed before had nothing to lose.
        let was_killed = course.code == 128 + libc::SIGKILL && is_cut_off;
        let lost_ns = match (course.killed_ns.filter(|_| was_killed), flushed) {
            (Some(killed), Some(flushed)) => killed.saturating_sub(flushed),
            _ => 0,
        };
        report.lost("a kill", lost_ns);
        problems.extend((lost_ns > LOSS_LIMIT_NS).then(|| format!("lost {:.2} s", lost_ns as f64 / 1e9)));
        problems.into_iter().for_each(|problem| report.finding(format!("{}: {problem}", self.name())));
    }
}
