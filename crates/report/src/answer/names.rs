//! Names as short as they tell something: of programs as people call them, of cgroups by their unit, container or last
//! component.

use explain::blame::{Culprit, TaskId};
use model::container::Containers;

/// Programs that people call by another name than their process.
const PROGRAMS: [(&str, &str); 10] = [
    ("apache2", "Apache"),
    ("clickhouse-serv", "ClickHouse"),
    ("httpd", "Apache"),
    ("mariadbd", "MariaDB"),
    ("memcached", "memcached"),
    ("mongod", "MongoDB"),
    ("mysqld", "MySQL"),
    ("nginx", "nginx"),
    ("postgres", "PostgreSQL"),
    ("redis-server", "Redis"),
];

/// Kinds of units of systemd that programs run in.
const UNITS: [&str; 2] = [".service", ".scope"];

/// What people call a program.
pub(super) fn program(comm: &str) -> &str {
    PROGRAMS.iter().find(|(known, _)| *known == comm).map_or(comm, |(_, name)| name)
}

/// The program of a task.
pub(super) fn program_of(task: &TaskId) -> String {
    task.name.as_deref().map_or_else(|| task.to_string(), |name| program(name).to_owned())
}

/// A cgroup in a word or two.
pub fn short_cgroup(cgroup: &str, containers: &Containers) -> String {
    if let Some(words) = containers.words(cgroup) {
        return words;
    }
    let mut parts = cgroup.split('/').filter(|part| !part.is_empty()).rev();
    let is_unit = |part: &&str| UNITS.iter().any(|unit| part.ends_with(unit));
    let unit = parts.clone().find(is_unit);
    unit.or_else(|| parts.next()).map_or_else(|| "the root cgroup".to_owned(), str::to_owned)
}

/// The last component of a path: `.../data`.
pub(super) fn short_path(path: &str) -> String {
    match path.trim_end_matches('/').rsplit_once('/') {
        Some((above, name)) if !above.is_empty() && !name.is_empty() => format!(".../{name}"),
        _ => path.to_owned(),
    }
}

/// Where a root blocker is: its container or cgroup; `None` for the root, or where it is unknown.
pub(super) fn place_of(culprit: &Culprit) -> Option<String> {
    let cgroup = culprit.cgroup.as_deref().filter(|cgroup| *cgroup != "/")?;
    Some(culprit.container.clone().unwrap_or_else(|| short_cgroup(cgroup, &Containers::default())))
}

/// The name of a root blocker's disk, or its number.
pub(super) fn disk_of(culprit: &Culprit) -> Option<String> {
    culprit.device_name.clone().or_else(|| Some(culprit.device?.to_string()))
}

#[cfg(test)]
mod tests {
    use model::container::Containers;

    use super::short_cgroup;

    #[test]
    fn a_cgroup_is_named_by_what_tells() {
        let id = "1463d1f9468191c000ca6fc892fa468d39ec3ec9d52fdf419227f6e0d51b23c3";
        let container = format!("/machine.slice/libpod-{id}.scope/container");
        for (cgroup, expected) in [
            ("/", "the root cgroup"),
            ("/box", "box"),
            ("/a/b/box", "box"),
            ("/system.slice/postgresql@15-main.service", "postgresql@15-main.service"),
            ("/system.slice/app.service/payload", "app.service"),
            ("/user.slice/user-7.slice/user@7.service/app.slice/tar.scope", "tar.scope"),
            (&container, "container 1463d1f94681"),
        ] {
            assert_eq!(short_cgroup(cgroup, &Containers::default()), expected);
        }
    }
}
