//! Paths of cgroups, part by part.

use crate::file_name::file_name;
use crate::known::{CONTAINER_PREFIXES, GROUPS, KINDS, UNITS, has};
use crate::names::{Kept, Names};

/// Fewest hexadecimal digits of an id.
const FEWEST: usize = 12;

/// The replacement of a cgroup's path below its hierarchy's root.
pub(crate) fn cgroup(names: &mut Names, path: &str) -> String {
    let after: Vec<String> = path.split('/').map(|part| group(names, part)).collect();
    names.change(path, after.join("/"))
}

/// That of one of its parts.
pub(crate) fn group(names: &mut Names, name: &str) -> String {
    if name.is_empty() || has(GROUPS, name) {
        return names.keep(Kept::Cgroup, name);
    }
    let kind = KINDS.iter().find_map(|kind| Some((name.strip_suffix(kind)?, *kind)));
    let (stem, kind) = kind.unwrap_or((name, ""));
    if is_of_system(stem, kind) {
        return names.keep(Kept::Cgroup, name);
    }
    let after = match container(names, stem) {
        Some(container) => container + kind,
        None if kind.is_empty() => return file_name(names, name),
        None => unit(names, stem) + kind,
    };
    names.change(name, after)
}

/// A unit, or the instance of one.
fn unit(names: &mut Names, stem: &str) -> String {
    let Some((template, instance)) = stem.split_once('@') else { return file_name(names, stem) };
    let template = if has(UNITS, template) { template.to_owned() } else { file_name(names, template) };
    format!("{template}@{}", file_name(names, instance))
}

/// Units that systemd or a package has, users by number, sessions, and units without a name of their own (`run-u12`).
fn is_of_system(stem: &str, kind: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let numbered = |begin: &str| stem.strip_prefix(begin).is_some_and(is_number);
    let of_user = ["user-", "user@", "user-runtime-dir@", "session-", "session-c", "run-u", "run-p"];
    let instance = stem.split_once('@');
    let is_terminal = |name: &str| {
        name.trim_end_matches(|c: char| c.is_ascii_digit()).strip_prefix("tty").is_some_and(|rest| rest.len() < 4)
    };
    !kind.is_empty()
        && (has(UNITS, stem)
            || stem.starts_with("systemd-")
            || of_user.iter().any(|begin| numbered(begin))
            || instance.is_some_and(|(template, instance)| {
                (template.ends_with("getty") && is_terminal(instance)) || (has(UNITS, template) && is_version(instance))
            }))
}

/// `15-main` of PostgreSQL.
fn is_version(instance: &str) -> bool {
    instance.strip_suffix("-main").is_some_and(|version| version.bytes().all(|byte| byte.is_ascii_digit()))
}

/// What an engine names by the id of a container or a pod.
fn container(names: &mut Names, stem: &str) -> Option<String> {
    let is_id = |id: &str| {
        let count = id.bytes().filter(u8::is_ascii_hexdigit).count();
        count >= FEWEST && id.bytes().all(|byte| byte.is_ascii_hexdigit() || b"-_".contains(&byte))
    };
    let (prefix, id) = CONTAINER_PREFIXES
        .iter()
        .find_map(|prefix| Some((prefix, stem.strip_prefix(prefix)?)).filter(|(_, id)| is_id(id)))?;
    // A pod's id has hyphens in one place and underscores in the other.
    let plain = id.replace('_', "-");
    let after = names.id(&plain);
    Some(format!("{prefix}{}", if plain == id { after } else { after.replace('-', "_") }))
}

#[cfg(test)]
mod tests {
    use super::cgroup;
    use crate::names::{Comms, Names};

    #[test]
    fn parts_of_the_system_stay_and_each_other_one_is_replaced() {
        let mut names = Names::new(Comms::Known, Vec::new());
        let id = "1463d1f9468191c000ca6fc892fa468d39ec3ec9d52fdf419227f6e0d51b23c3";
        let new = format!("000000000001{}", "0".repeat(52));
        for (path, expected) in [
            ("/", "/"),
            ("/system.slice/ssh.service", "/system.slice/ssh.service"),
            ("/system.slice/acme.service", "/system.slice/n1.service"),
            ("/acme.slice/acme-db.service", "/n1.slice/n2.service"),
            ("/acme.slice/acme@eu.service", "/n1.slice/n1@n3.service"),
            ("/system.slice/system-getty.slice/getty@tty1.service", "/system.slice/n4.slice/getty@tty1.service"),
            ("/system.slice/postgresql@15-main.service", "/system.slice/postgresql@15-main.service"),
            ("/system.slice/postgresql@15-shop.service", "/system.slice/postgresql@n5.service"),
            ("/user.slice/user-1000.slice/session-2.scope", "/user.slice/user-1000.slice/session-2.scope"),
            ("/../acme", "/../n1"),
            (&format!("/docker/{id}"), &format!("/docker/{new}")),
            (
                &format!("/machine.slice/libpod-{id}.scope/container"),
                &format!("/machine.slice/libpod-{new}.scope/container"),
            ),
            (
                "/kubepods.slice/kubepods-pod0b0a1365_aa5e_7ec9_c076_669c5d4c9b5e.slice",
                "/kubepods.slice/kubepods-pod00000000_0002_0000_0000_000000000000.slice",
            ),
        ] {
            assert_eq!(cgroup(&mut names, path), expected, "{path}");
        }
    }
}
