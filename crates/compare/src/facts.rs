//! The conditions of a run that must not differ by accident, the most important first.

use std::fmt::Display;

use model::quantity::{Bytes, Nanoseconds};
use model::run::{Device, Limits, Mount, RecipeAsRun, RunDescription, mount_of};
use model::simulation::Simulation;

use super::figures::Fact;

/// Every condition that can make runs differ unintentionally.
pub(super) fn facts(run: &RunDescription) -> Vec<Fact> {
    let mut facts = Facts(Vec::new());
    facts.add("workload", &run.workload);
    if let Some(simulation) = &run.simulated {
        facts.simulation(simulation);
        return facts.0;
    }
    if let Some(recipe) = &run.recipe {
        facts.recipe(recipe);
    }
    let host = &run.host;
    facts.add_known("kernel", &host.kernel_release);
    facts.add_known("kernel build", &host.kernel_version);
    facts.add_known("machine", &host.hostname);
    facts.add_known("architecture", &host.architecture);
    facts.add("CPUs", host.cpus);
    facts.add("memory", Bytes(host.memory_bytes));
    facts.limits(&run.limits);
    facts.file_systems(run);
    facts.add("operations are slow from", Nanoseconds(run.slower_than_ns));
    facts.add(
        "tracing",
        run.trace.as_ref().map_or("off", |trace| if trace.all_requests { "all requests" } else { "on" }),
    );
    let untraced: Vec<&str> = run.untraced().iter().map(|untraced| untraced.subject.name()).collect();
    facts.add("not traced", if untraced.is_empty() { "nothing".to_owned() } else { untraced.join(", ") });
    facts.add("sample interval", Nanoseconds(run.sample_interval_ns));
    facts.0.extend(run.report_interval_ns.map(|ns| fact("report interval", Nanoseconds(ns))));
    for (name, value) in &host.sysctl {
        facts.add(name, value.split_whitespace().collect::<Vec<_>>().join(" "));
    }
    facts.add_known("kernel command line", &host.kernel_command_line);
    facts.add_known("stallscope", &run.version);
    facts.foreign_file_systems(run);
    facts.0
}

fn fact(what: &str, value: impl Display) -> Fact {
    Fact::new(what, value.to_string())
}

struct Facts(Vec<Fact>);

impl Facts {
    fn add(&mut self, what: &str, value: impl Display) {
        self.0.push(fact(what, value));
    }

    fn add_known(&mut self, what: &str, value: &str) {
        if !value.is_empty() {
            self.add(what, value);
        }
    }

    fn recipe(&mut self, recipe: &RecipeAsRun) {
        self.add("recipe", format!("{} #{:08x}", recipe.name, fingerprint(&recipe.text)));
        for (name, value) in &recipe.variables {
            // For a word, the number is only its index in the recipe's list.
            let word = recipe.words.iter().find(|(variable, _)| variable == name).map(|(_, word)| word.clone());
            self.add(&format!("variable {name}"), word.unwrap_or_else(|| value_of(*value)));
        }
        self.add("directories", recipe.directories.len());
    }

    /// The conditions of a simulation; there is no machine.
    fn simulation(&mut self, simulation: &Simulation) {
        self.add("simulated by", format!("model '{}'", simulation.model));
        self.add("policy", &simulation.policy);
        for (name, value) in &simulation.parameters {
            self.add(&format!("parameter {name}"), value_of(*value));
        }
        for (name, word) in &simulation.words {
            self.add(&format!("parameter {name}"), word);
        }
    }

    fn limits(&mut self, limits: &Limits) {
        let size = |bytes: Option<u64>| bytes.map_or_else(|| "none".to_owned(), |bytes| Bytes(bytes).to_string());
        self.add("memory cgroup", size(limits.memory_bytes));
        self.add("disk limit, bytes/s", size(limits.disk_bytes_per_s));
        let operations = limits.disk_operations_per_s;
        self.add("disk limit, operations/s", operations.map_or_else(|| "none".to_owned(), |count| count.to_string()));
        self.0.extend(limits.cgroup_version.map(|version| fact("cgroup version", version)));
    }

    /// The file systems below the directories of the load or of the recorded command.
    fn file_systems(&mut self, run: &RunDescription) {
        match &run.recipe {
            Some(recipe) => {
                for (at, directory) in recipe.directories.iter().enumerate() {
                    if let Some(mount) = mount_of(&run.mounts, directory) {
                        let which = match recipe.directories.len() {
                            1 => String::new(),
                            _ => format!(" of directory {}", at + 1),
                        };
                        self.file_system(&which, mount, &run.devices);
                    }
                }
            }
            None => {
                let under_test = mounts_under_test(run);
                for mount in run.mounts.iter().filter(|mount| under_test.contains(&mount.point.as_str())) {
                    self.file_system(&format!(" of {}", mount.point), mount, &run.devices);
                }
            }
        }
    }

    /// Without a load, what a command used is not known for sure: the other file systems are conditions, too, but they
    /// come last.
    fn foreign_file_systems(&mut self, run: &RunDescription) {
        if run.recipe.is_some() {
            return;
        }
        let under_test = mounts_under_test(run);
        for mount in run.mounts.iter().filter(|mount| !under_test.contains(&mount.point.as_str())) {
            let first = self.0.len();
            self.file_system(&format!(" of {}", mount.point), mount, &run.devices);
            self.0[first..].iter_mut().for_each(|fact| fact.foreign_mount = Some(mount.point.clone()));
        }
    }

    fn file_system(&mut self, which: &str, mount: &Mount, devices: &[Device]) {
        self.add(&format!("file system{which}"), &mount.fs_type);
        self.add(&format!("mount options{which}"), &mount.options);
        let Some(device) = device_of(mount, devices) else { return };
        // Loop devices are interchangeable, and each run has a new backing file.
        let name = if device.name.starts_with("loop") { "a loop device" } else { &device.name };
        self.add(&format!("device{which}"), name);
        self.add(&format!("device size{which}"), Bytes(device.size_bytes));
        self.0.extend(device.scheduler.as_ref().map(|scheduler| fact(&format!("I/O scheduler{which}"), scheduler)));
        self.0.extend(device.queue_depth.map(|depth| fact(&format!("queue depth{which}"), depth)));
    }
}

/// Mount points below the directories that a recorded command is likely to use.
fn mounts_under_test(run: &RunDescription) -> Vec<&str> {
    run.under_test.iter().filter_map(|directory| Some(mount_of(&run.mounts, directory)?.point.as_str())).collect()
}

/// The device of a file system. btrfs mounts have their own device numbers, so the name decides.
fn device_of<'a>(mount: &Mount, devices: &'a [Device]) -> Option<&'a Device> {
    let by_number = devices.iter().find(|device| device.number == mount.device);
    let name = mount.source.strip_prefix("/dev/");
    by_number.or_else(|| devices.iter().find(|device| name == Some(device.name.as_str())))
}

/// Two digits for fractions: values that depend on free space or memory vary slightly.
fn value_of(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e15 { format!("{value}") } else { format!("{value:.1e}") }
}

/// FNV-1a, to distinguish texts at a glance.
fn fingerprint(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use model::run::{Device, Mount, mount_of};

    use super::device_of;

    #[test]
    fn a_device_is_found_by_number_or_by_name() {
        let device = |name: &str, number: &str| Device {
            number: number.into(),
            name: name.into(),
            identity: name.into(),
            ..Device::default()
        };
        let devices = [device("loop1", "7:1"), device("loop2", "7:2")];
        let found = |source: &str, number: &str| {
            let mount = Mount {
                point: "/mnt".into(),
                source: source.into(),
                fs_type: "btrfs".into(),
                options: "rw".into(),
                device: number.into(),
            };
            device_of(&mount, &devices).map(|device| device.name.as_str())
        };
        assert_eq!(found("/dev/loop1", "7:2"), Some("loop2"), "the number takes precedence");
        assert_eq!(found("/dev/loop1", "0:45"), Some("loop1"));
        assert_eq!((found("loop1", "0:45"), found("/dev/sda", "0:45")), (None, None));
    }

    #[test]
    fn the_mount_is_the_nearest_above() {
        let mount = |point: &str| Mount {
            point: point.into(),
            source: String::new(),
            fs_type: "xfs".into(),
            options: "rw".into(),
            device: "7:0".into(),
        };
        let mounts = [mount("/"), mount("/mnt/a"), mount("/mnt/ab")];
        let point = |directory| mount_of(&mounts, directory).map(|mount| mount.point.as_str());
        assert_eq!(
            [point("/mnt/ab/x"), point("/mnt/a"), point("/mnt/abc")],
            [Some("/mnt/ab"), Some("/mnt/a"), Some("/")]
        );
        assert_eq!(mount_of(&mounts[1..], "/var"), None);
    }
}
