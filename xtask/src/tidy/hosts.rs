//! No absolute path of a developer's machine and no registry host name: neither works on another machine.

use super::finding::Finding;
use super::tree::Tree;

/// Written in two halves so that this file passes its own rule.
const FOLDERS: [&str; 3] = [concat!("/wo", "rk/"), concat!("/ho", "me/"), concat!("/ro", "ot/")];
const HOSTS: [&str; 10] = [
    concat!("crates", ".io"),
    concat!("://docs", ".rs"),
    concat!("pypi", ".org"),
    concat!("files.python", "hosted.org"),
    concat!("npm", "js.com"),
    concat!("npm", "js.org"),
    concat!("deb", "ian.org"),
    concat!("rubygems", ".org"),
    concat!("docker", ".io"),
    concat!("proxy.golang", ".org"),
];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files().iter().filter(|file| !file.path.ends_with("Cargo.lock")) {
        for (at, line) in file.text.lines().enumerate() {
            if let Some(folder) = FOLDERS.iter().find(|folder| begins_a_path(line, folder)) {
                let what = format!("a path below {folder} exists on one machine only; write a relative one");
                findings.push(Finding::new(&file.path, at + 1, what));
            }
            if let Some(host) = HOSTS.iter().find(|host| line.contains(**host)) {
                let host = host.trim_start_matches("://");
                let what = format!(
                    "names the registry {host}; name the package and leave the host to the user's configuration"
                );
                findings.push(Finding::new(&file.path, at + 1, what));
            }
        }
    }
    findings
}

/// `target/work/x` is not a path from the root.
fn begins_a_path(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || "._-/}>)~$*".contains(c))
    })
}

#[cfg(test)]
mod tests {
    use super::{FOLDERS, HOSTS, check};
    use crate::tidy::findings;

    #[test]
    fn paths_of_a_machine_and_hosts_are_found() {
        for bad in FOLDERS.iter().chain(&HOSTS) {
            assert_eq!(findings(check, &[("a.md", &format!("x\nsee '{bad}y'\n"))]).len(), 1, "{bad}");
        }
    }

    #[test]
    fn a_longer_path_and_the_lock_file_are_left_alone() {
        let text = format!("target{0}x ./a{0} crates/a/src/docs.rs", FOLDERS[0]);
        assert_eq!(findings(check, &[("a.md", &text), ("Cargo.lock", HOSTS[0])]), [""; 0]);
    }
}
