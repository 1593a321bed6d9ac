//! `run.json`: the description of a run.

use serde::{Deserialize, Serialize};

use crate::block::DeviceNumber;
use crate::preflight::{Finding, Subject, Untraced};
use crate::simulation::{Origin, Simulation};
use crate::stall::TraceSettings;
use crate::time::Moment;

/// Version of the run directory's format. Readers refuse a newer one and read all older ones.
pub const FORMAT_VERSION: u32 = 1;

/// Everything about a run that is known when it begins. Written once, never changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunDescription {
    /// [`FORMAT_VERSION`] of the writer.
    pub format: u32,
    /// Version of the program that wrote the run.
    pub version: String,
    /// Workload's name: a recipe's, `record`, or the recorded command's.
    pub workload: String,
    /// The command line, as given.
    pub command: Vec<String>,
    /// Both clocks when the run began.
    pub started: Moment,
    /// Time between samples, ns.
    pub sample_interval_ns: u64,
    /// Time between a load's interval records, ns; `None` where Stallscope ran no load.
    pub report_interval_ns: Option<u64>,
    /// Operations slower than this are recorded individually, and running ones older than this are stuck; ns.
    pub slower_than_ns: u64,
    /// How the kernel was traced; `None` where it was not.
    #[serde(default)]
    pub trace: Option<TraceSettings>,
    /// Seed of the load's random choices.
    pub seed: Option<u64>,
    /// The recipe as run, with its variables' values; `None` where Stallscope ran no load.
    pub recipe: Option<RecipeAsRun>,
    /// What was simulated; `None` for runs on a machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulated: Option<Simulation>,
    /// Configuration of a sweep, or the user's configuration label; runs with the same label are repetitions.
    #[serde(default)]
    pub configuration: Option<Configuration>,
    /// The machine.
    pub host: Host,
    /// Mounted file systems that the run touches, or all real ones when recording.
    pub mounts: Vec<Mount>,
    /// Block devices.
    pub devices: Vec<Device>,
    /// Directories that a recorded command is likely to use: those of `--device-of`, else its working directory and the
    /// paths among its words. A load's are in its recipe.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub under_test: Vec<String>,
    /// Tasks that counted as the recorded command: what `--follow` named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub followed: Vec<String>,
    /// The memory cgroup and device limits that the load ran in.
    pub limits: Limits,
    /// What the machine allowed.
    pub preflight: Vec<Finding>,
}

/// The mount of a directory: the longest mount point that is a prefix of its path, the last mounted there.
pub fn mount_of<'a>(mounts: &'a [Mount], directory: &str) -> Option<&'a Mount> {
    let holds = |mount: &&Mount| {
        let rest = directory.strip_prefix(mount.point.trim_end_matches('/'));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    mounts.iter().filter(holds).max_by_key(|mount| mount.point.len())
}

/// Whether a mount's source is that disk or a partition of it: `/dev/sda1` of `sda`, `/dev/loop1p2` of `loop1`.
fn is_of_disk(source: &str, disk: &str) -> bool {
    let Some(rest) = source.strip_prefix("/dev/").and_then(|name| name.strip_prefix(disk)) else { return false };
    let partition = if disk.ends_with(|c: char| c.is_ascii_digit()) { rest.strip_prefix('p') } else { Some(rest) };
    rest.is_empty() || (!disk.is_empty() && partition.is_some_and(|digits| digits.bytes().all(|c| c.is_ascii_digit())))
}

impl Device {
    /// Its number; `None` where a damaged description has none.
    pub fn device_number(&self) -> Option<DeviceNumber> {
        DeviceNumber::parse(&self.number)
    }

    /// Whether a mount's source is this device by the device mapper's name for it.
    pub fn is_mapped_as(&self, source: &str) -> bool {
        let name = self.mapper.as_ref().and_then(|mapper| mapper.name.as_deref());
        name.is_some() && source.strip_prefix("/dev/mapper/") == name
    }
}

impl RunDescription {
    /// The disk of a number; `None` if the run does not describe it.
    pub fn device(&self, number: DeviceNumber) -> Option<&Device> {
        self.devices.iter().find(|device| device.device_number() == Some(number))
    }

    /// Whether a disk is below a directory that the load or the recorded command uses.
    pub fn is_under_test(&self, disk: &Device) -> bool {
        let directories = self.recipe.iter().flat_map(|recipe| &recipe.directories).chain(&self.under_test);
        let mut mounts = directories.filter_map(|directory| mount_of(&self.mounts, directory));
        mounts.any(|mount| mount.device == disk.number || is_of_disk(&mount.source, &disk.name))
    }

    /// Whether operations of that class consist of operations of other classes.
    pub fn is_whole(&self, class: &str) -> bool {
        self.recipe.as_ref().is_some_and(|recipe| recipe.wholes.iter().any(|whole| whole == class))
    }

    /// What the run says nothing certain of, because the sources for it were not traced.
    pub fn untraced(&self) -> Vec<Untraced> {
        if self.simulated.is_some() {
            return Vec::new();
        }
        let finding = |subject: Subject| subject.lacks(&self.preflight);
        let off = self.trace.is_none().then_some(("tracing was switched off", "record without --no-trace"));
        let untraced = |subject: Subject| {
            let (why, remedy) = match (finding(subject), off) {
                (Some(finding), _) => (finding.why.clone(), finding.remedy.clone()),
                (None, Some((why, remedy))) => (Some(why.to_owned()), Some(remedy.to_owned())),
                (None, None) => return None,
            };
            Some(Untraced { subject, why, remedy })
        };
        Subject::ALL.into_iter().filter_map(untraced).collect()
    }

    /// The model of a simulated run; `None` for runs on a machine.
    pub fn origin(&self) -> Option<Origin> {
        let simulation = self.simulated.as_ref()?;
        Some(Origin { model: simulation.model.clone(), policy: simulation.policy.clone(), seed: self.seed })
    }

    /// A description in the current format, with only the name and the begin known.
    pub fn new(workload: &str, started: Moment) -> RunDescription {
        RunDescription {
            format: FORMAT_VERSION,
            version: String::new(),
            workload: workload.to_owned(),
            command: Vec::new(),
            started,
            sample_interval_ns: 0,
            report_interval_ns: None,
            slower_than_ns: 0,
            trace: None,
            seed: None,
            recipe: None,
            simulated: None,
            configuration: None,
            host: Host::default(),
            mounts: Vec::new(),
            devices: Vec::new(),
            under_test: Vec::new(),
            followed: Vec::new(),
            limits: Limits::default(),
            preflight: Vec::new(),
        }
    }
}

/// The configuration of a run within a sweep.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Configuration {
    /// The settings together: `fs=xfs threads=4`; `baseline` where the sweep varies nothing.
    pub name: String,
    /// Name and value of each setting that the sweep varies, in the sweep's order.
    pub settings: Vec<(String, String)>,
    /// Which repetition of the configuration, from 0.
    pub repetition: u32,
    /// Whether this is the second half of an A/A pair: the same configuration as the sweep's baseline, to measure
    /// the noise floor.
    pub is_twin: bool,
    /// What each setting changes; empty if unknown, as in runs of older versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub varied: Vec<Varied>,
}

impl Configuration {
    /// A configuration with only a name.
    pub fn named(name: &str) -> Configuration {
        Configuration { name: name.to_owned(), settings: Vec::new(), repetition: 0, is_twin: false, varied: Vec::new() }
    }
}

/// What a setting of a sweep changes.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Varied {
    /// The setting, by its name in [`Configuration::settings`].
    pub name: String,
    /// Its kind in sweep files: `variable`, `option`, `mount`, ...
    pub vary: String,
    /// Which variable, option, sysctl or attribute.
    pub key: String,
    /// Variables of the recipe that take their values from it unless set explicitly.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub followers: Vec<String>,
}

/// A recipe together with the values it was run with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RecipeAsRun {
    /// Recipe's name.
    pub name: String,
    /// The recipe file's text.
    pub text: String,
    /// Value of each variable, in base units (bytes, ns, plain numbers), in the recipe's order.
    pub variables: Vec<(String, f64)>,
    /// Value of each variable whose values are words, as text.
    #[serde(default)]
    pub words: Vec<(String, String)>,
    /// Classes whose operations consist of operations of other classes: a checkout of its reads and writes. They have
    /// latencies, and are in no sum.
    #[serde(default)]
    pub wholes: Vec<String>,
    /// Directories given by the user.
    pub directories: Vec<String>,
    /// Length of the warm-up phases, ns.
    pub warmup_ns: u64,
}

/// The machine a run was made on.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Host {
    /// Host name.
    pub hostname: String,
    /// `uname -r`.
    pub kernel_release: String,
    /// `uname -v`.
    pub kernel_version: String,
    /// `uname -m`.
    pub architecture: String,
    /// Online CPUs.
    pub cpus: u32,
    /// Total memory.
    pub memory_bytes: u64,
    /// Memory page size.
    pub page_size_bytes: u64,
    /// Clock ticks per second, the unit of /proc/stat.
    pub clock_ticks_per_s: u64,
    /// `/proc/sys/kernel/random/boot_id`: two runs with the same one share a monotonic clock.
    pub boot_id: String,
    /// Kernel command line.
    pub kernel_command_line: String,
    /// Settings that change how memory and writeback behave, by their name under /proc/sys.
    pub sysctl: Vec<(String, String)>,
    /// Cgroup version that limits CPU, memory and I/O there: 1 where any of these controllers is of version 1; `None`
    /// where none is mounted, and in older runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cgroup_version: Option<u8>,
}

/// A mounted file system.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mount {
    /// Where.
    pub point: String,
    /// What is mounted.
    pub source: String,
    /// File system type.
    pub fs_type: String,
    /// Mount options, per-mount and per-superblock.
    pub options: String,
    /// `major:minor`.
    pub device: String,
}

/// A block device.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Device {
    /// `major:minor`.
    pub number: String,
    /// Kernel name: `sda`, `nvme0n1`, `loop3`.
    pub name: String,
    /// Identity that survives renaming and is used as the metrics' instance: WWN, serial, the loop's backing file, or
    /// the name if nothing better is known.
    pub identity: String,
    /// Model that it reports, of a partition that of its disk; `None` for virtual devices that report none, and in
    /// older runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Size.
    pub size_bytes: u64,
    /// Rotational disk, if known.
    pub rotational: Option<bool>,
    /// I/O scheduler in use.
    pub scheduler: Option<String>,
    /// `nr_requests`.
    pub queue_depth: Option<u64>,
    /// Whether its own share limits dirty pages (`strict_limit` of its bdi); `None` where the kernel does not say, and
    /// in older runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strict_limit: Option<bool>,
    /// Of a device of the device mapper or md; `None` for others, and in older runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mapper: Option<Mapper>,
}

/// What makes a device of those below it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Mapper {
    /// Type of its first target (`linear`, `crypt`), or md's level (`raid1`); `None` where the kernel does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The device mapper's name for it, below /dev/mapper.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Kernel names of the devices below.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub below: Vec<String>,
}

/// The limits applied to the load.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Limits {
    /// Size of the memory cgroup.
    pub memory_bytes: Option<u64>,
    /// Bytes per second, reads and writes separately, of each device under test.
    pub disk_bytes_per_s: Option<u64>,
    /// Operations per second, reads and writes separately, of each device under test.
    pub disk_operations_per_s: Option<u64>,
    /// Cgroup version that enforced the limits.
    pub cgroup_version: Option<u8>,
    /// Cgroup that held the load, as in /proc/PID/cgroup.
    pub cgroup: Option<String>,
}
