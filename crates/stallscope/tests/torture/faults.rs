//! Errors of system calls, at each place of the program that makes one.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::Plan;
use crate::aftermath::{leftovers, problems_of_any_answers};
use crate::calls::{self, Known};
use crate::pool::side_by_side;
use crate::random::Random;
use crate::report::Report;
use crate::sites::{self, Count, Site, site_of};
use crate::sys::Call;
use crate::victim::{self, Course, Scene, Verdict, Victim};

const LIMIT: Duration = Duration::from_secs(60);

/// What is done to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// It fails with that error.
    Error(i32),
    /// It writes half of the bytes.
    Half,
}

impl Fault {
    fn name(self) -> String {
        match self {
            Fault::Error(errno) => error_name(errno).to_owned(),
            Fault::Half => "half of it".to_owned(),
        }
    }
}

/// As the manual calls it.
fn error_name(errno: i32) -> &'static str {
    match errno {
        libc::EIO => "EIO",
        libc::ENOSPC => "ENOSPC",
        libc::EINTR => "EINTR",
        libc::ENOMEM => "ENOMEM",
        libc::EAGAIN => "EAGAIN",
        libc::EMFILE => "EMFILE",
        libc::EPERM => "EPERM",
        _ => "another error",
    }
}

/// Injects errors at that number of pairs of site and error of each victim, chosen by the seed.
pub fn campaign(plan: &Plan) -> Report {
    let mut report = Report::default();
    let mut chosen = Vec::new();
    for victim in plan.victims() {
        let sites = own_sites(victim, calls::CALLS.iter().filter(|known| !known.errors.is_empty()));
        let mut pairs: Vec<(&Site, &Count, Fault)> = sites
            .iter()
            .flat_map(|(site, count)| faults(count.known).map(move |fault| (site, count, fault)))
            // The kernel takes half of a setting for another setting.
            .filter(|(site, _, fault)| *fault != Fault::Half || !site.1.starts_with("/sys/"))
            .filter(|(site, _, fault)| plan.is_at(&format!("{} at {} {}", fault.name(), site.0, site.1)))
            .collect();
        report.note(format!("{}: {} sites, {} pairs of site and fault", victim.name, sites.len(), pairs.len()));
        let mut random = Random::new(plan.seed);
        for _ in 0..plan.points.min(pairs.len() as u64) {
            let (site, count, fault) = pairs.swap_remove(random.below(pairs.len() as u64) as usize);
            // The first, or a later one; and only that one, or it and all that follow. A call that is interrupted each
            // time is rightly made again.
            let (nth, often) = (sites::choose(count, &mut random), random.below(3) == 0);
            let forever = often && !matches!(fault, Fault::Error(libc::EINTR));
            chosen.push(Attack { victim, known: count.known, site: site.clone(), nth, forever, fault });
        }
    }
    side_by_side(plan.at_a_time, &chosen, &mut report, Attack::make);
    report
}

/// Lets allocations of memory fail: that number of each victim, chosen by the seed. Rust ends a program that gets none,
/// which is then like a kill.
pub fn allocations(plan: &Plan) -> Report {
    let mut report = Report::default();
    let mut chosen = Vec::new();
    for victim in plan.victims() {
        let sites = own_sites(victim, calls::CALLS.iter().filter(|known| calls::ALLOCATIONS.contains(&known.name)));
        let all: u64 = sites.values().map(|count| count.calls).sum();
        report.note(format!("{}: {all} allocations", victim.name));
        let mut random = Random::new(plan.seed);
        for _ in 0..plan.points {
            let mut nth = random.below(all);
            let found = sites.iter().find(|(_, count)| {
                let is_here = nth < count.calls;
                nth -= if is_here { 0 } else { count.calls };
                is_here
            });
            let Some((site, count)) = found else { break };
            let (forever, fault) = (random.below(3) == 0, Fault::Error(libc::ENOMEM));
            chosen.push(Attack { victim, known: count.known, site: site.clone(), nth, forever, fault });
        }
    }
    side_by_side(plan.at_a_time, &chosen, &mut report, Attack::make);
    report
}

fn faults(known: &Known) -> impl Iterator<Item = Fault> + use<> {
    let is_write = ["write", "pwrite64"].contains(&known.name);
    known.errors.iter().map(|errno| Fault::Error(*errno)).chain(is_write.then_some(Fault::Half))
}

/// The sites that the program itself reaches, with its own calls.
fn own_sites(victim: Victim, known: impl Iterator<Item = &'static Known>) -> BTreeMap<Site, Count> {
    let sites = sites::sites(victim, LIMIT, known, |tid, _, _| victim::is_ours(tid));
    sites.map(|(sites, _)| sites).unwrap_or_default()
}

/// A fault at a site.
struct Attack {
    victim: Victim,
    known: &'static Known,
    site: Site,
    nth: u64,
    forever: bool,
    fault: Fault,
}

impl Attack {
    fn name(&self) -> String {
        let often = if self.forever { "from there on" } else { "once" };
        let (call, object) = &self.site;
        format!("{}: {} {often} at {call} {object} #{}", self.victim.name, self.fault.name(), self.nth)
    }

    /// Whether the standard library or the dynamic linker ended a program without memory.
    fn is_end_without_memory(&self, course: &Course) -> bool {
        let ends = [
            "shared librar",
            "TLS data",
            "memory allocation of",
            "an alternative stack",
            "thread panicked while processing",
        ];
        let is_said = course.stderr.is_empty() || ends.iter().any(|end| course.stderr.contains(end));
        calls::ALLOCATIONS.contains(&self.site.0) && is_said
    }

    fn make(&self) -> Report {
        let mut report = Report::default();
        let scene = Scene::new(self.victim);
        let (mut passed, mut injected) = (0, 0_u64);
        let judge = |tid: i32, call: &Call, _: i32| {
            let here = victim::is_ours(tid) && site_of(tid, call, &scene).is_some_and(|(_, site)| site == self.site);
            if !here {
                return Verdict::Pass;
            }
            passed += 1;
            let due = passed == self.nth + 1 || (self.forever && passed > self.nth);
            if !due {
                return Verdict::Pass;
            }
            injected += 1;
            match self.fault {
                Fault::Error(errno) => Verdict::Fail(errno),
                Fault::Half => Verdict::Shorten((call.arguments[2] / 2).max(1)),
            }
        };
        let course = scene.attack(LIMIT, [self.known], judge);
        match course {
            Ok(_) if injected == 0 => report.tried("not reached again"),
            Ok(course) => self.judge(&scene, &course, &mut report),
            Err(error) => report.finding(format!("{}: {error}", self.name())),
        }
        report
    }

    /// What is wrong with the end of the victim, and with what it left.
    fn judge(&self, scene: &Scene, course: &Course, report: &mut Report) {
        report.tried(format!("faults in `{}`, exit code {}", self.victim.name, course.code));
        let (mut problems, lacks) = problems_of_any_answers(scene);
        problems.extend(leftovers(course.pid, scene).into_iter().map(|left| format!("left: {left}")));
        problems.extend(course.hung.iter().map(|places| format!("hung for {LIMIT:?}: {places}")));
        let broke = !(0..=3).contains(&course.code) || course.stderr.contains("panicked");
        // The dynamic linker ends a program at the first error.
        let is_linked = !course.stderr.contains("error while loading shared libraries");
        let broke = broke && is_linked && !self.is_end_without_memory(course);
        problems.extend(broke.then(|| format!("code {}: {}", course.code, course.stderr)));
        // Operations of a load that failed are in its summary.
        let summary = std::fs::metadata(scene.folder().join("stdout")).map_or(0, |file| file.len());
        let is_said = !course.stderr.trim().is_empty() || course.code == 1 && summary > 0;
        let is_silent = course.code != 0 && !is_said && !self.is_end_without_memory(course);
        problems.extend(is_silent.then(|| format!("exit code {} without a word", course.code)));
        let is_hidden = course.code == 0 && course.stderr.trim().is_empty();
        problems.extend(lacks.filter(|_| is_hidden).map(|lacks| format!("exit code 0 without a word, and {lacks}")));
        problems.into_iter().for_each(|problem| report.finding(format!("{}: {problem}", self.name())));
    }
}
