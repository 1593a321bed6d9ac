//! Places of a program: a call on a kind of object, such as `fdatasync .../run/recent-N`. A run makes one call a
//! thousand times, and another once, which is as likely to go wrong.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::calls::{self, Known};
use crate::random::Random;
use crate::sys::Call;
use crate::victim::{Course, Scene, Verdict, Victim};

/// A call and what it works on.
pub type Site = (&'static str, String);

/// How often a run makes the calls of a site.
#[derive(Debug, Clone, Copy)]
pub struct Count {
    pub known: &'static Known,
    pub calls: u64,
}

/// The site of a call.
pub fn site_of(tid: i32, call: &Call, scene: &Scene) -> Option<(&'static Known, Site)> {
    let known = calls::find(call)?;
    let folder = scene.folder().file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    Some((known, (known.name, calls::object(tid, known, call, &folder))))
}

/// The sites that an undisturbed run reaches with those of the calls that are meant, and how it ended.
pub fn sites(
    victim: Victim,
    limit: Duration,
    known: impl Iterator<Item = &'static Known>,
    is_meant: impl Fn(i32, &Known, &Call) -> bool,
) -> std::io::Result<(BTreeMap<Site, Count>, Course)> {
    let scene = Scene::new(victim);
    let mut sites = BTreeMap::new();
    let course = scene.attack(limit, known, |tid, call, _| {
        let site = site_of(tid, call, &scene).filter(|(known, _)| is_meant(tid, known, call));
        if let Some((known, site)) = site {
            sites.entry(site).or_insert(Count { known, calls: 0 }).calls += 1;
        }
        Verdict::Pass
    })?;
    Ok((sites, course))
}

/// One of the calls of a site: the first, which is often the only one of its kind, or any.
pub fn choose(count: &Count, random: &mut Random) -> u64 {
    random.below(2) * random.below(count.calls)
}
