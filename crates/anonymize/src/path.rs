//! Paths, part by part.

use crate::cgroup::{cgroup, group};
use crate::file_name::file_name;
use crate::known::{FOLDERS, WHOLE, is_device};
use crate::names::{Kept, Names};

const CGROUPS: &str = "/sys/fs/cgroup";
/// In /proc/PID: what leads back to files.
const BACK: [&str; 3] = ["root", "cwd", "map_files"];

/// The replacement of a path: from the root, below an unknown folder (`.../a`), or of what is no file (`pipe:[1]`,
/// `[vdso]`).
pub(crate) fn path(names: &mut Names, path: &str) -> String {
    let after = match path {
        "" | "/" => return path.to_owned(),
        _ if is_no_file(path) => return names.keep(Kept::Path, path),
        _ if path.starts_with(CGROUPS) => of_cgroup(names, path),
        _ if path.starts_with("/proc/") || path.starts_with("/sys/") => of_kernel(names, path),
        _ if path.starts_with('/') => from_root(names, path),
        _ => below(names, path),
    };
    names.change(path, after)
}

fn is_no_file(path: &str) -> bool {
    let is_plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-: ,".contains(&byte));
    let of_kind = ["pipe:", "socket:", "anon_inode:", "the root of ", "net:", "mnt:"]
        .iter()
        .find_map(|kind| path.strip_prefix(kind));
    of_kind.is_some_and(|rest| is_plain(rest.trim_matches(['[', ']'])))
        || (path.starts_with('[') && is_plain(path.trim_matches(['[', ']'])))
}

/// Names below a folder that is not known.
fn below(names: &mut Names, path: &str) -> String {
    let parts: Vec<String> = path.split('/').map(|part| file_name(names, part)).collect();
    parts.join("/")
}

/// What the kernel shows: its own names, and those of cgroups and of file systems' labels.
fn of_kernel(names: &mut Names, text: &str) -> String {
    if let Some(at) = BACK.iter().find_map(|back| Some(text.find(&format!("/{back}/"))? + back.len() + 1)) {
        return text[..at].to_owned() + &path(names, &text[at..]);
    }
    let is_own = |part: &str| {
        part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.:+@".contains(&byte)) && part.len() < 36
    };
    let parts: Vec<String> =
        text.split('/').map(|part| if is_own(part) { part.to_owned() } else { file_name(names, part) }).collect();
    names.keep(Kept::Path, &parts.join("/"))
}

fn of_cgroup(names: &mut Names, text: &str) -> String {
    let below = text.strip_prefix(CGROUPS).unwrap_or_default();
    // The file of a setting: `memory.max`, `cgroup.procs`.
    let (folder, file) = below.rsplit_once('/').unwrap_or((below, ""));
    let is_setting = ["memory.", "io.", "cpu.", "cgroup.", "blkio.", "cpuacct.", "cpuset.", "freezer.", "pids."];
    if is_setting.iter().any(|begin| file.starts_with(begin)) {
        return format!("{CGROUPS}{}/{file}", cgroup(names, folder));
    }
    match below.is_empty() {
        true => CGROUPS.to_owned(),
        false => format!("{CGROUPS}{}/{}", cgroup(names, folder), group(names, file)),
    }
}

fn from_root(names: &mut Names, path: &str) -> String {
    let path = &path[1..];
    let is_in =
        |folder: &&&str| path.strip_prefix(**folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    if WHOLE.iter().any(|folder| is_in(&folder)) || path.strip_prefix("dev/").is_some_and(is_device) {
        return names.keep(Kept::Path, &format!("/{path}"));
    }
    let folder = FOLDERS.iter().filter(is_in).max_by_key(|folder| folder.len());
    let Some(folder) = folder else { return format!("/{}", below(names, path)) };
    let kept = names.keep(Kept::Path, &format!("/{folder}"));
    match path[folder.len()..].strip_prefix('/') {
        // The folder of a user, by number.
        Some(rest) if *folder == "run/user" => {
            let (user, rest) = rest.split_once('/').map_or((rest, None), |(user, rest)| (user, Some(rest)));
            rest.map_or_else(|| format!("{kept}/{user}"), |rest| format!("{kept}/{user}/{}", below(names, rest)))
        }
        Some(rest) => format!("{kept}/{}", below(names, rest)),
        None => kept,
    }
}

#[cfg(test)]
mod tests {
    use super::path;
    use crate::names::{Comms, Names};

    #[test]
    fn folders_of_the_system_stay_and_what_is_in_them_is_replaced() {
        let mut names = Names::new(Comms::Known, Vec::new());
        for (before, after) in [
            ("/", "/"),
            ("/usr/bin/postgres", "/usr/bin/postgres"),
            ("/usr/local/bin/shopd", "/usr/local/bin/n1"),
            ("/srv/alice/shop.db", "/srv/n2/n3.db"),
            ("/srv/alice/shop.db-wal", "/srv/n2/n3.db-wal"),
            ("/home", "/home"),
            ("/homes/alice", "/n4/n2"),
            ("/var/lib/postgresql/15/main/base/16384", "/var/lib/postgresql/15/n5/base/n6"),
            ("/dev/sda1", "/dev/sda1"),
            ("/dev/vg0/home", "/dev/n7-0/n8"),
            ("/dev/mapper/vg0-home", "/dev/mapper/n9"),
            ("/dev/shm/alice", "/dev/shm/n2"),
            ("/proc/sys/vm/dirty_bytes", "/proc/sys/vm/dirty_bytes"),
            ("/proc/12/root/srv/alice", "/proc/12/root/srv/n2"),
            ("/sys/fs/cgroup/acme/memory.max", "/sys/fs/cgroup/n10/memory.max"),
            ("/sys/block/sda/queue/scheduler", "/sys/block/sda/queue/scheduler"),
            ("/run/user/1000/alice", "/run/user/1000/n2"),
            (".../alice/x.log", ".../n2/n11.log"),
            ("the root of 7:1", "the root of 7:1"),
            ("socket:[123]", "socket:[123]"),
            ("[vdso]", "[vdso]"),
            ("alice/shop.db", "n2/n3.db"),
        ] {
            assert_eq!(path(&mut names, before), after, "{before}");
        }
    }
}
