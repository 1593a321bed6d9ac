//! Details as the archive stores them: a type, a device, numbers and names.

use smallvec::SmallVec;

use super::{CpuQuota, Detail, DirtyPages, Freezer, JournalCommit, OtherEnd, Progress};
use crate::block::DeviceNumber;

/// What a type of detail stores, as docs/FORMAT.md shows it.
#[derive(Debug)]
pub struct DetailType {
    /// The name in the archive and in JSON.
    pub name: &'static str,
    /// Whether it has a device.
    pub device: bool,
    /// Its numbers, units last.
    pub numbers: &'static [&'static str],
    /// Its names. The last may be missing.
    pub names: &'static [&'static str],
}

const fn of(
    name: &'static str,
    device: bool,
    numbers: &'static [&'static str],
    names: &'static [&'static str],
) -> DetailType {
    DetailType { name, device, numbers, names }
}

/// All types but those of [`OtherEnd`], which have a name at most.
pub const DETAIL_TYPES: &[DetailType] = &[
    of("lock_flags", false, &["flags"], &[]),
    of(
        "dirty_pages",
        true,
        &["dirty_bytes", "limit_bytes", "device_dirty_bytes", "device_limit_bytes", "allowed_bytes_per_s"],
        &["backing_device"],
    ),
    of("inode", true, &["inode"], &[]),
    of("device", true, &[], &[]),
    of("pages_reclaimed", false, &["pages"], &[]),
    of("shrinker", false, &[], &["function", "file_system_type", "file_system_device"]),
    of("throttle_reason", false, &["reason"], &[]),
    of("journal_commit", true, &["locked_ms", "flushing_ms", "logging_ms", "handles", "blocks"], &[]),
    of("cpu_quota", false, &["quota_ns", "period_ns"], &["cgroup"]),
    of("freezer", false, &["cgroup_version", "through_pid"], &["cgroup"]),
    of("file_size", false, &["bytes"], &[]),
    of("name", false, &[], &["name"]),
    of("words", false, &[], &["words"]),
];

/// The numbers of a detail, in the order of [`DetailType::numbers`].
pub type Numbers = SmallVec<[u64; 5]>;

/// The names of a detail, in the order of [`DetailType::names`].
pub type Names<'a> = SmallVec<[&'a str; 3]>;

impl Detail {
    /// The name of its type.
    pub fn type_name(&self) -> &'static str {
        match self {
            Detail::LockFlags(_) => "lock_flags",
            Detail::DirtyPages(_) => "dirty_pages",
            Detail::Inode { .. } => "inode",
            Detail::Device(_) => "device",
            Detail::PagesReclaimed(_) => "pages_reclaimed",
            Detail::Shrinker { .. } => "shrinker",
            Detail::ThrottleReason(_) => "throttle_reason",
            Detail::JournalCommit(_) => "journal_commit",
            Detail::CpuQuota(_) => "cpu_quota",
            Detail::Freezer(_) => "freezer",
            Detail::OtherEnd(end) => end.name(),
            Detail::FileSize(_) => "file_size",
            Detail::Name(_) => "name",
            Detail::Words(_) => "words",
        }
    }

    /// Its numbers.
    pub fn numbers(&self) -> Numbers {
        let numbers: &[u64] = match self {
            Detail::LockFlags(bits) | Detail::ThrottleReason(bits) => &[u64::from(*bits)],
            Detail::DirtyPages(pages) => &pages.numbers(),
            Detail::Inode { inode: number, .. } | Detail::PagesReclaimed(number) | Detail::FileSize(number) => {
                &[*number]
            }
            Detail::JournalCommit(commit) => &commit.numbers(),
            Detail::CpuQuota(quota) => &[quota.quota_ns, quota.period_ns],
            Detail::Freezer(freezer) => &[if freezer.is_v2 { 2 } else { 1 }, u64::from(freezer.through)],
            Detail::Device(_) | Detail::Shrinker { .. } | Detail::OtherEnd(_) | Detail::Name(_) | Detail::Words(_) => {
                &[]
            }
        };
        numbers.iter().copied().collect()
    }

    /// Its names.
    pub fn names(&self) -> Names<'_> {
        match self {
            Detail::DirtyPages(pages) => Names::from_iter([pages.backing_device.as_str()]),
            Detail::Shrinker { function, file_system: None } => Names::from_iter([function.as_str()]),
            Detail::Shrinker { function, file_system: Some((kind, device)) } => {
                Names::from_iter([function.as_str(), kind, device])
            }
            Detail::CpuQuota(quota) => Names::from_iter([quota.cgroup.as_str()]),
            Detail::Freezer(freezer) => Names::from_iter([freezer.cgroup.as_str()]),
            Detail::OtherEnd(OtherEnd::Fifo(path)) => path.as_deref().into_iter().collect(),
            Detail::OtherEnd(end) => {
                end.progress().filter(|progress| *progress != Progress::Open).map(Progress::name).into_iter().collect()
            }
            Detail::Name(words) | Detail::Words(words) => Names::from_iter([words.as_str()]),
            _ => Names::new(),
        }
    }

    /// The detail that was stored so. `None` if the program does not know the type, or something that belongs to it is
    /// missing.
    pub fn of_stored(
        type_name: &str,
        device: Option<DeviceNumber>,
        numbers: &[u64],
        names: &[String],
    ) -> Option<Detail> {
        let (number, name) = (|at: usize| numbers.get(at).copied(), |at: usize| names.get(at).cloned());
        let bits = || u32::try_from(number(0)?).ok();
        Some(match type_name {
            "lock_flags" => Detail::LockFlags(bits()?),
            "dirty_pages" => Detail::DirtyPages(DirtyPages::of_numbers(name(0)?, device, numbers)?),
            "inode" => Detail::Inode { inode: number(0)?, device: device? },
            "device" => Detail::Device(device?),
            "file_size" => Detail::FileSize(number(0)?),
            "pages_reclaimed" => Detail::PagesReclaimed(number(0)?),
            "shrinker" => Detail::Shrinker { function: name(0)?, file_system: name(1).zip(name(2)) },
            "throttle_reason" => Detail::ThrottleReason(bits()?),
            "journal_commit" => Detail::JournalCommit(JournalCommit::of_numbers(device?, numbers)?),
            "cpu_quota" => Detail::CpuQuota(CpuQuota { cgroup: name(0)?, quota_ns: number(0)?, period_ns: number(1)? }),
            "freezer" => Detail::Freezer(Freezer {
                cgroup: name(0)?,
                is_v2: number(0)? == 2,
                through: u32::try_from(number(1).unwrap_or(0)).ok()?,
            }),
            "name" => Detail::Name(name(0)?),
            "words" => Detail::Words(name(0)?),
            end => Detail::OtherEnd(OtherEnd::from_name(end, names.first().map(String::as_str))?),
        })
    }
}

impl DirtyPages {
    fn numbers(&self) -> [u64; 5] {
        let DirtyPages { dirty_bytes, limit_bytes, device_dirty_bytes, device_limit_bytes, .. } = self;
        [*dirty_bytes, *limit_bytes, *device_dirty_bytes, *device_limit_bytes, self.allowed_bytes_per_s]
    }

    fn of_numbers(backing_device: String, device: Option<DeviceNumber>, numbers: &[u64]) -> Option<DirtyPages> {
        let &[dirty_bytes, limit_bytes, device_dirty_bytes, device_limit_bytes, allowed_bytes_per_s] = numbers else {
            return None;
        };
        Some(DirtyPages {
            dirty_bytes,
            limit_bytes,
            backing_device,
            device,
            device_dirty_bytes,
            device_limit_bytes,
            allowed_bytes_per_s,
        })
    }
}

impl JournalCommit {
    fn numbers(&self) -> [u64; 5] {
        [self.locked_ms, self.flushing_ms, self.logging_ms, self.handles, self.blocks]
    }

    fn of_numbers(device: DeviceNumber, numbers: &[u64]) -> Option<JournalCommit> {
        let &[locked_ms, flushing_ms, logging_ms, handles, blocks] = numbers else { return None };
        Some(JournalCommit { device, locked_ms, flushing_ms, logging_ms, handles, blocks })
    }
}

#[cfg(test)]
mod tests {
    use super::DETAIL_TYPES;
    use crate::block::DeviceNumber;
    use crate::detail::{Detail, OtherEnd, Progress};

    /// A detail as it is read after it was stored.
    fn read(detail: &Detail) -> Option<Detail> {
        let names: Vec<String> = detail.names().iter().map(|name| (*name).to_owned()).collect();
        Detail::of_stored(detail.type_name(), detail.device(), &detail.numbers(), &names)
    }

    #[test]
    fn each_type_is_read_as_it_was_stored() {
        for known in DETAIL_TYPES {
            let device = known.device.then(|| DeviceNumber::new(8, 1));
            let numbers: Vec<u64> = (1..=known.numbers.len() as u64).collect();
            let names: Vec<String> = known.names.iter().map(|name| (*name).to_owned()).collect();
            let detail =
                Detail::of_stored(known.name, device, &numbers, &names).unwrap_or_else(|| panic!("{}", known.name));
            assert_eq!((detail.type_name(), detail.device()), (known.name, device));
            assert_eq!((detail.numbers().as_slice(), detail.names().as_slice()), (&*numbers, known.names));
            assert_eq!(Detail::of_stored(known.name, None, &[], &[]), None, "{}: it lacks its facts", known.name);
        }
        assert_eq!(Detail::of_stored("moon", None, &[], &[]), None);
    }

    #[test]
    fn each_other_end_is_read_as_it_was_stored() {
        let plain = OtherEnd::plain();
        let connections = Progress::ALL.into_iter().flat_map(|progress| {
            [OtherEnd::Tcp(progress), OtherEnd::TcpElsewhere(progress), OtherEnd::UnixSocket(progress)]
        });
        let fifos = [OtherEnd::Fifo(None), OtherEnd::Fifo(Some("/run/fifo".to_owned()))];
        for end in plain.chain(connections).chain(fifos) {
            let detail = Detail::OtherEnd(end);
            assert_eq!(read(&detail).as_ref(), Some(&detail));
        }
    }
}
