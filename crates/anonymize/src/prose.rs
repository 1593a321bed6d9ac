//! Sentences and other texts in which names occur.

use model::detail::{CpuQuota, Detail, Freezer, OtherEnd};

use crate::address::host;
use crate::cgroup::cgroup;
use crate::disk::device;
use crate::known::is_device;
use crate::names::Names;
use crate::path::path;

/// The replacement of a sentence of the recorder: paths, addresses and names that are known by now are replaced.
pub(crate) fn sentence(names: &mut Names, text: &str) -> String {
    let after: Vec<String> = text.split(' ').map(|word| in_sentence(names, word)).collect();
    after.join(" ")
}

fn in_sentence(names: &mut Names, word: &str) -> String {
    let core = word.trim_matches(|c: char| "'\"`(),;:.".contains(c));
    let Some(at) = word.find(core).filter(|_| !core.is_empty()) else { return word.to_owned() };
    let after = match names.as_changed(core) {
        Some(after) => after.to_owned(),
        None if core.starts_with('/') => path(names, core),
        None if core.parse::<core::net::IpAddr>().is_ok() => host(names, core),
        None => return word.to_owned(),
    };
    format!("{}{after}{}", &word[..at], &word[at + core.len()..])
}

/// That of a stall's detail: the cgroup that froze a task or whose quota held it, the path of a FIFO, the disk of a
/// shrinker.
pub(crate) fn detail(names: &mut Names, detail: Detail) -> Detail {
    match detail {
        Detail::CpuQuota(quota) => Detail::CpuQuota(CpuQuota { cgroup: cgroup(names, &quota.cgroup), ..quota }),
        Detail::Freezer(freezer) => Detail::Freezer(Freezer { cgroup: cgroup(names, &freezer.cgroup), ..freezer }),
        Detail::OtherEnd(OtherEnd::Fifo(Some(file))) => Detail::OtherEnd(OtherEnd::Fifo(Some(path(names, &file)))),
        // The name that the file system has for its disk may be any.
        Detail::Shrinker { function, file_system: Some((kind, disk)) } => {
            let after = if is_device(&disk) || disk.contains(' ') { disk } else { device(names, &disk) };
            Detail::Shrinker { function, file_system: Some((kind, after)) }
        }
        // The last component of a path.
        Detail::Name(name) => Detail::Name(path(names, &name)),
        Detail::Words(words) => Detail::Words(sentence(names, &words)),
        kept => kept,
    }
}

#[cfg(test)]
mod tests {
    use model::detail::{CpuQuota, Detail, Freezer, OtherEnd};

    use super::{detail, sentence};
    use crate::names::{Comms, Names};

    #[test]
    fn names_of_details_are_replaced() {
        let mut names = Names::new(Comms::Known, Vec::new());
        let shrinker = |disk: &str| Detail::Shrinker {
            function: "super_cache_scan".to_owned(),
            file_system: Some(("xfs".to_owned(), disk.to_owned())),
        };
        let freezer = |cgroup: &str| Detail::Freezer(Freezer { cgroup: cgroup.to_owned(), is_v2: true, through: 0 });
        let quota = |cgroup: &str| Detail::CpuQuota(CpuQuota { cgroup: cgroup.to_owned(), quota_ns: 1, period_ns: 2 });
        let fifo = |path: &str| Detail::OtherEnd(OtherEnd::Fifo(Some(path.to_owned())));
        for (before, expected) in [
            (Detail::LockFlags(4), Detail::LockFlags(4)),
            (shrinker("loop0"), shrinker("loop0")),
            (shrinker("acme-volume"), shrinker("n1")),
            (freezer("/acme"), freezer("/n2")),
            (freezer("/system.slice/acme.service"), freezer("/system.slice/n2.service")),
            (quota("/acme"), quota("/n2")),
            (fifo("/srv/acme/a b"), fifo("/srv/n2/n3")),
            (Detail::OtherEnd(OtherEnd::Pipe), Detail::OtherEnd(OtherEnd::Pipe)),
        ] {
            assert_eq!(detail(&mut names, before), expected);
        }
        assert_eq!(
            sentence(&mut names, "cannot read '/srv/acme': no such file"),
            "cannot read '/srv/n2': no such file"
        );
    }
}
