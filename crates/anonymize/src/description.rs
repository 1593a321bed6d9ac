//! The description of a run.

use model::preflight::Finding;
use model::run::{Configuration, Device, Host, Limits, Mapper, Mount, RecipeAsRun, RunDescription, Varied};

use crate::address::host;
use crate::cgroup::cgroup;
use crate::disk::{identity, options, source};
use crate::file_name::file_name;
use crate::names::{Kept, Names};
use crate::path::path;
use crate::program::program;
use crate::prose::sentence;

/// Replaces the names in a description. Its command line, its recipe's text, and what tells one boot from another are
/// left out.
pub fn description(names: &mut Names, run: RunDescription) -> RunDescription {
    #[rustfmt::skip]
    let RunDescription {
        format, version, workload, command, started, sample_interval_ns, report_interval_ns, slower_than_ns, trace,
            seed, recipe, simulated,
        configuration, host, mounts, devices, under_test, followed, limits, preflight,
    } = run;
    // The name of a recipe, of which `recipe` says more.
    let is_load = recipe.is_some() || simulated.is_some();
    let devices: Vec<Device> = devices.into_iter().map(|device| disk(names, device)).collect();
    let mounts: Vec<Mount> = mounts.into_iter().map(|mount| mounted(names, mount)).collect();
    RunDescription {
        format,
        version,
        workload: if is_load { names.keep(Kept::Load, &workload) } else { program(names, &workload) },
        command: words(&command),
        started,
        sample_interval_ns,
        report_interval_ns,
        slower_than_ns,
        trace,
        seed,
        recipe: recipe.map(|recipe| as_run(names, recipe)),
        simulated,
        configuration: configuration.map(|configuration| configured(names, configuration)),
        host: machine(names, host),
        mounts,
        devices,
        under_test: under_test.iter().map(|folder| path(names, folder)).collect(),
        followed: followed.iter().map(|task| named(names, task)).collect(),
        limits: limit(names, limits),
        preflight: preflight.into_iter().map(|found| finding(names, found)).collect(),
    }
}

/// Options of ours that say how was recorded, without their values; of the recorded command nothing.
fn words(command: &[String]) -> Vec<String> {
    let own = command.iter().skip(1).take_while(|word| *word != "--");
    let option = |word: &String| word.split('=').next().unwrap_or_default().to_owned();
    let is_option = |word: &&String| word.starts_with("--") && word[2..].starts_with(|c: char| c.is_ascii_lowercase());
    let first =
        command.get(1).filter(|word| ["record", "run", "demo", "trial", "simulate", "sweep"].contains(&word.as_str()));
    let begin = std::iter::once("stallscope".to_owned()).chain(first.cloned());
    let end = command.iter().any(|word| word == "--").then(|| "--".to_owned());
    begin.chain(own.filter(is_option).map(option)).chain(end).collect()
}

fn machine(names: &mut Names, machine: Host) -> Host {
    #[rustfmt::skip]
    let Host {
        hostname, kernel_release, kernel_version, architecture, cpus, memory_bytes, page_size_bytes, clock_ticks_per_s,
            boot_id,
        kernel_command_line: _, sysctl, cgroup_version,
    } = machine;
    let hostname = if hostname.is_empty() { hostname } else { host(names, &hostname) };
    Host {
        hostname,
        kernel_release: names.keep(Kept::Kernel, &kernel_release),
        kernel_version: names.keep(Kept::Kernel, &kernel_version),
        architecture,
        cpus,
        memory_bytes,
        page_size_bytes,
        clock_ticks_per_s,
        boot_id: if boot_id.is_empty() { boot_id } else { names.id(&boot_id) },
        kernel_command_line: String::new(),
        sysctl,
        cgroup_version,
    }
}

fn mounted(names: &mut Names, mount: Mount) -> Mount {
    let Mount { point, source: from, fs_type, options: with, device } = mount;
    let from = source(names, &from, &fs_type);
    names.keep(Kept::FileSystem, &fs_type);
    Mount { point: path(names, &point), source: from, fs_type, options: options(names, &with), device }
}

fn disk(names: &mut Names, device: Device) -> Device {
    #[rustfmt::skip]
    let Device {
        number, name, identity: known_by, model, size_bytes, rotational, scheduler, queue_depth, strict_limit, mapper,
    } = device;
    names.keep(Kept::Device, &name);
    // Some drivers have the disk's name, or their own, for a serial number.
    let known_by = if known_by == name { known_by } else { identity(names, &known_by) };
    let model = model.map(|model| names.keep(Kept::Model, &model));
    let mapper = mapper.map(|Mapper { kind, name, below }| Mapper {
        kind,
        name: name.map(|name| file_name(names, &name)),
        below,
    });
    Device {
        number,
        name,
        identity: known_by,
        model,
        size_bytes,
        rotational,
        scheduler,
        queue_depth,
        strict_limit,
        mapper,
    }
}

fn as_run(names: &mut Names, recipe: RecipeAsRun) -> RecipeAsRun {
    let RecipeAsRun { name, text: _, variables, words, wholes, directories, warmup_ns } = recipe;
    let word = |(key, value): (String, String)| {
        let is_plain = value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_. ".contains(&byte));
        (key, if is_plain { value } else { path(names, &value) })
    };
    let words = words.into_iter().map(word).collect();
    let directories = directories.iter().map(|directory| path(names, directory)).collect();
    RecipeAsRun {
        name: names.keep(Kept::Load, &name),
        text: String::new(),
        variables,
        words,
        wholes,
        directories,
        warmup_ns,
    }
}

/// A label of the user is a name; what a sweep varies is not.
fn configured(names: &mut Names, configuration: Configuration) -> Configuration {
    let Configuration { name, settings, repetition, is_twin, varied } = configuration;
    let has_settings = !settings.is_empty();
    let name = if has_settings { sentence(names, &name) } else { file_name(names, &name) };
    let settings = settings.into_iter().map(|(key, value)| (key, sentence(names, &value))).collect();
    let varied = varied.into_iter().map(varying).collect();
    Configuration { name, settings, repetition, is_twin, varied }
}

/// Words of a sweep file's format.
fn varying(varied: Varied) -> Varied {
    let Varied { name, vary, key, followers } = varied;
    Varied { name, vary, key, followers }
}

/// What `--follow` names: a process by number, a cgroup, a program.
fn named(names: &mut Names, text: &str) -> String {
    if text.starts_with('/') { cgroup(names, text) } else { program(names, text) }
}

fn limit(names: &mut Names, limits: Limits) -> Limits {
    let Limits { memory_bytes, disk_bytes_per_s, disk_operations_per_s, cgroup_version, cgroup: group } = limits;
    let group = group.map(|group| cgroup(names, &group));
    Limits { memory_bytes, disk_bytes_per_s, disk_operations_per_s, cgroup_version, cgroup: group }
}

/// What the recorder found: sentences of its own.
pub(crate) fn finding(names: &mut Names, finding: Finding) -> Finding {
    let Finding { capability, available, purpose, why, remedy, unloaded_module } = finding;
    let why = why.map(|why| sentence(names, &why));
    let remedy = remedy.map(|remedy| sentence(names, &remedy));
    Finding { capability, available, purpose, why, remedy, unloaded_module }
}

#[cfg(test)]
mod tests {
    use model::run::{Device, Host, Mapper, Mount, RunDescription};
    use model::time::Moment;

    use super::description;
    use crate::names::{Comms, Names};

    fn private() -> RunDescription {
        let command = "/opt/acme/stallscope record --out /srv/acme --follow=acme -- acmed --password acme";
        RunDescription {
            command: command.split(' ').map(str::to_owned).collect(),
            host: Host {
                hostname: "acme1.acme.com".into(),
                boot_id: "653b9b36-9421-4152-925b-ffded6c627a2".into(),
                kernel_command_line: "root=LABEL=acme".into(),
                ..Host::default()
            },
            mounts: vec![Mount {
                point: "/srv/acme".into(),
                source: "/dev/mapper/vg-acme".into(),
                fs_type: "ext4".into(),
                options: "rw,data=ordered".into(),
                device: "253:0".into(),
            }],
            devices: vec![Device {
                number: "253:0".into(),
                name: "dm-0".into(),
                identity: "acme-serial".into(),
                mapper: Some(Mapper {
                    kind: Some("linear".into()),
                    name: Some("vg-acme".into()),
                    below: vec!["sda".into()],
                }),
                ..Device::default()
            }],
            under_test: vec!["/srv/acme/db".into()],
            followed: vec!["acmed".into(), "/acme".into(), "812".into()],
            ..RunDescription::new("acmed", Moment { monotonic_ns: 1, wall_ns: 2 })
        }
    }

    #[test]
    fn nothing_private_is_left_and_what_belongs_together_still_does() {
        let mut names = Names::new(Comms::Known, Vec::new());
        let after = description(&mut names, private());
        let text = serde_json::to_string(&after).unwrap();
        assert!(!text.contains("acme") && !text.contains("653b") && !text.contains("password"), "{text}");
        assert_eq!(after.command, ["stallscope", "record", "--out", "--follow", "--"]);
        let mapper = after.devices[0].mapper.as_ref().unwrap().name.clone().unwrap();
        assert_eq!(after.mounts[0].source, format!("/dev/mapper/{mapper}"));
        assert!(after.under_test[0].starts_with(&format!("{}/", after.mounts[0].point)));
        assert_eq!((after.followed[0].clone(), after.followed[2].as_str()), (after.workload.clone(), "812"));
    }
}
