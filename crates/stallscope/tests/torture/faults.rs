//! Errors of system calls, at each place of the program that makes one.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::aftermath::{last_line, leftovers, problems_of_any_answers};
use crate::calls::{self, Known};
use crate::random::Random;
use crate::report::Report;
use crate::sys::Call;
use crate::victim::{self, Course, Scene, VICTIMS, Verdict, Victim};

const LIMIT: Duration = Duration::from_secs(60);

/// A call on a kind of object, such as `fdatasync .../run/recent-N`.
type Site = (&'static str, String);

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
            Fault::Error(errno) => format!("{:?}", rustix::io::Errno::from_raw_os_error(errno)),
            Fault::Half => "half of it".to_owned(),
        }
    }
}

/// Injects errors at that number of pairs of site and error of each victim, chosen by the seed.
pub fn campaign(seed: u64, points: u64, only: Option<&str>) -> Report {
    let mut report = Report::default();
    for victim in VICTIMS.iter().filter(|victim| only.is_none_or(|name| victim.name == name)) {
        let sites = sites(*victim);
        let mut attacks: Vec<(&Site, u64, Fault)> = sites
            .iter()
            .flat_map(|(site, (known, count))| faults(known).map(move |fault| (site, *count, fault)))
            .collect();
        report.note(format!("{}: {} sites, {} pairs of site and fault", victim.name, sites.len(), attacks.len()));
        let mut random = Random::new(seed);
        for _ in 0..points.min(attacks.len() as u64) {
            let (site, count, fault) = attacks.swap_remove(random.below(attacks.len() as u64) as usize);
            // The first, or a later one; and only that one, or it and all that follow. A call that is interrupted each time is
            // rightly made again.
            let (nth, often) = (random.below(2) * random.below(count), random.below(3) == 0);
            let forever = often && !matches!(fault, Fault::Error(libc::EINTR));
            let one = Attack { victim: *victim, site, nth, forever, fault };
            println!("{}", one.name());
            one.make(&mut report);
        }
    }
    report
}

/// Lets allocations of memory fail: that number of each victim, chosen by the seed. Rust ends a program that gets none, which is
/// then like a kill.
pub fn allocations(seed: u64, points: u64, only: Option<&str>) -> Report {
    let mut report = Report::default();
    for victim in VICTIMS.iter().filter(|victim| only.is_none_or(|name| victim.name == name)) {
        let sites: Vec<(Site, u64)> = sites(*victim)
            .into_iter()
            .filter(|((call, _), _)| calls::ALLOCATIONS.contains(call))
            .map(|(site, (_, count))| (site, count))
            .collect();
        let all: u64 = sites.iter().map(|(_, count)| count).sum();
        report.note(format!("{}: {all} allocations", victim.name));
        let mut random = Random::new(seed);
        for _ in 0..points {
            let mut nth = random.below(all);
            let chosen = sites.iter().find(|(_, count)| {
                let is_here = nth < *count;
                nth -= if is_here { 0 } else { *count };
                is_here
            });
            let Some((site, _)) = chosen else { break };
            let forever = random.below(3) == 0;
            let one = Attack { victim: *victim, site, nth, forever, fault: Fault::Error(libc::ENOMEM) };
            println!("{}", one.name());
            one.make(&mut report);
        }
    }
    report
}

fn faults(known: &Known) -> impl Iterator<Item = Fault> + use<> {
    let is_write = ["write", "pwrite64"].contains(&known.name);
    known.errors.iter().map(|errno| Fault::Error(*errno)).chain(is_write.then_some(Fault::Half))
}

/// The sites that a run reaches, and how often.
fn sites(victim: Victim) -> BTreeMap<Site, (&'static Known, u64)> {
    let scene = Scene::new(victim);
    let mut sites = BTreeMap::new();
    let _ = scene.attack(LIMIT, |tid, call, _| {
        if let Some((known, site)) = site_of(tid, call, &scene) {
            sites.entry(site).or_insert((known, 0)).1 += 1;
        }
        Verdict::Pass
    });
    sites
}

/// The site of a call of the program itself.
fn site_of(tid: i32, call: &Call, scene: &Scene) -> Option<(&'static Known, Site)> {
    let known = calls::find(call).filter(|_| victim::is_ours(tid))?;
    let folder = scene.folder().file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let object = calls::object_named(tid, known, call, &folder);
    Some((known, (known.name, object)))
}

/// A fault at a site.
struct Attack<'a> {
    victim: Victim,
    site: &'a Site,
    nth: u64,
    forever: bool,
    fault: Fault,
}

impl Attack<'_> {
    fn name(&self) -> String {
        let often = if self.forever { "from there on" } else { "once" };
        let (call, object) = self.site;
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

    fn make(&self, report: &mut Report) {
        let scene = Scene::new(self.victim);
        let (mut passed, mut injected) = (0, 0_u64);
        let judge = |tid: i32, call: &Call, _: i32| {
            let here = site_of(tid, call, &scene).is_some_and(|(_, site)| site == *self.site);
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
        let course = match scene.attack(LIMIT, judge) {
            Ok(course) => course,
            Err(error) => return report.finding(format!("{}: {error}", self.name())),
        };
        if injected == 0 {
            return report.tried("not reached again");
        }
        report.tried(format!("faults in `{}`, exit code {}", self.victim.name, course.code));
        let (mut problems, whole) = problems_of_any_answers(&scene);
        problems.extend(leftovers(course.pid, &scene).into_iter().map(|left| format!("left: {left}")));
        problems.extend(course.hung.then(|| format!("hung for {LIMIT:?}")));
        let broke = !(0..=3).contains(&course.code) || course.stderr.contains("panicked");
        // The dynamic linker ends a program at the first error.
        let is_linked = !course.stderr.contains("error while loading shared libraries");
        let broke = broke && is_linked && !self.is_end_without_memory(&course);
        problems.extend(broke.then(|| format!("code {}: {}", course.code, course.stderr)));
        // Operations of a load that failed are in its summary.
        let summary = std::fs::metadata(scene.folder().join("stdout")).map_or(0, |file| file.len());
        let is_said = !course.stderr.trim().is_empty() || course.code == 1 && summary > 0;
        let is_silent = course.code != 0 && !is_said;
        problems.extend(is_silent.then(|| format!("exit code {} without a word", course.code)));
        let is_hidden = course.code == 0 && !whole && course.stderr.trim().is_empty();
        problems.extend(is_hidden.then(|| format!("lost data, exit code 0, stderr {:?}", last_line(&course.stderr))));
        problems.into_iter().for_each(|problem| report.finding(format!("{}: {problem}", self.name())));
    }
}
