//! Names of containers, as their engines leave them on the machine. No engine is asked: its monitor has the name among
//! its arguments, or a file of its state has it. What is read is of bounded size, and no link is followed.

use std::fs::OpenOptions;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use model::container;
use serde_json::Value;

use super::bounded_cache::BoundedCache;
use super::threads::parent_of;

/// Containers that are remembered.
const KEPT: usize = 4096;
/// Bytes of a file that are read: a list has all containers of an engine.
const LARGEST: u64 = 4 << 20;
/// Bytes of a name that are kept.
const LONGEST: usize = 128;
/// Parents that are asked for a monitor: the container's first process is its child.
const PARENTS: usize = 16;
/// Folders of engines with a file for each container, and where the name is in it.
const OF_EACH: [(&str, &str, &[&str]); 4] = [
    ("var/lib/docker/containers", "config.v2.json", &["/Name"]),
    ("run/containerd/io.containerd.runtime.v2.task/k8s.io", "config.json", KUBERNETES),
    ("run/containerd/io.containerd.runtime.v2.task/default", "config.json", KUBERNETES),
    ("run/containerd/io.containerd.runtime.v2.task/moby", "config.json", KUBERNETES),
];
const KUBERNETES: &[&str] =
    &["/annotations/io.kubernetes.cri.sandbox-name", "/annotations/io.kubernetes.cri.container-name"];
/// Lists of containers, of storage drivers: `[{"id": ..., "names": [...]}]`.
const LISTS: [&str; 2] = ["containers.json", "volatile-containers.json"];
const STORAGES: [&str; 2] = ["var/lib/containers/storage", "run/containers/storage"];
const DRIVERS: [&str; 3] = ["overlay-containers", "vfs-containers", "btrfs-containers"];

/// The names of containers, by id. One whose name is not found is not looked for again.
pub(super) struct Containers {
    proc: PathBuf,
    /// `/`.
    root: PathBuf,
    known: BoundedCache<String, Option<String>>,
}

impl Containers {
    pub(super) fn new(proc: PathBuf) -> Containers {
        Containers::below(proc, PathBuf::from("/"))
    }

    fn below(proc: PathBuf, root: PathBuf) -> Containers {
        Containers { proc, root, known: BoundedCache::new(KEPT) }
    }

    /// The name of the container that a cgroup of a task is of.
    pub(super) fn name(&mut self, cgroup: &str, tid: u32) -> Option<String> {
        let (id, _) = container::id(cgroup)?;
        if let Some(known) = self.known.get(id) {
            return known.clone();
        }
        let found = self.of_monitor(id, tid).or_else(|| self.of_file(id)).or_else(|| self.of_list(id));
        let found = found.map(|name| cut(name.trim_start_matches('/'))).filter(|name| !name.is_empty());
        self.known.insert(id.to_owned(), found.clone());
        found
    }

    /// A process above the container that was started with its id and a name: `conmon -c ID -n loader`.
    fn of_monitor(&self, id: &str, tid: u32) -> Option<String> {
        let mut pid = tid;
        for _ in 0..PARENTS {
            pid = parent_of(&self.proc, pid).filter(|pid| *pid > 1)?;
            let Some(text) = read(&self.proc.join(format!("{pid}/cmdline"))) else { continue };
            let text = String::from_utf8_lossy(&text);
            let arguments: Vec<&str> = text.split('\0').collect();
            let named = arguments.windows(2).find(|pair| matches!(pair[0], "-n" | "--name"));
            if let Some(named) = named.filter(|_| arguments.contains(&id)) {
                return Some(named[1].to_owned());
            }
        }
        None
    }

    fn of_file(&self, id: &str) -> Option<String> {
        OF_EACH.iter().find_map(|(folder, file, places)| {
            let config = json(&self.root.join(folder).join(id).join(file))?;
            let names: Vec<&str> = places.iter().filter_map(|place| config.pointer(place)?.as_str()).collect();
            Some(names.join("/")).filter(|name| !name.is_empty())
        })
    }

    fn of_list(&self, id: &str) -> Option<String> {
        let folders = STORAGES.iter().flat_map(|storage| DRIVERS.map(|driver| self.root.join(storage).join(driver)));
        let mut lists = folders.flat_map(|folder| LISTS.map(|list| folder.join(list)));
        lists.find_map(|list| {
            let list = json(&list)?;
            let of_it = list.as_array()?.iter().find(|entry| entry["id"] == id)?;
            Some(of_it["names"][0].as_str()?.to_owned())
        })
    }
}

fn json(path: &Path) -> Option<Value> {
    serde_json::from_slice(&read(path)?).ok()
}

/// A file that is no link, and not larger than is read.
fn read(path: &Path) -> Option<Vec<u8>> {
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path).ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut text = Vec::new();
    file.take(LARGEST + 1).read_to_end(&mut text).ok()?;
    (text.len() as u64 <= LARGEST).then_some(text)
}

fn cut(name: &str) -> String {
    let end = (0..=name.len().min(LONGEST)).rev().find(|at| name.is_char_boundary(*at)).unwrap_or_default();
    name[..end].to_owned()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Containers, LONGEST};

    const ID: &str = "1463d1f9468191c000ca6fc892fa468d39ec3ec9d52fdf419227f6e0d51b23c3";

    fn put(root: &Path, file: &str, text: &str) {
        let path = root.join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// The name of a container of which these files say something.
    fn name(files: &[(&str, &str)]) -> Option<String> {
        let folder = tempfile::tempdir().unwrap();
        files.iter().for_each(|(file, text)| put(folder.path(), &file.replace("ID", ID), &text.replace("ID", ID)));
        let root = folder.path();
        let mut containers = Containers::below(root.join("proc"), root.to_owned());
        let cgroup = format!("/machine.slice/libpod-{ID}.scope/container");
        let first = containers.name(&cgroup, 9);
        std::fs::remove_dir_all(root.join("var")).ok();
        assert_eq!(containers.name(&cgroup, 9), first, "it is remembered");
        assert_eq!(containers.name("/system.slice/app.service", 9), None);
        first
    }

    #[test]
    fn a_container_has_the_name_that_its_engine_left() {
        let monitor = [
            ("proc/9/status", "Name:\td) d\nPPid:\t8\n"),
            ("proc/8/status", "Name:\tsh\nPPid:\t7\n"),
            ("proc/8/cmdline", "sh\0-c\0dd\0"),
            ("proc/7/status", "Name:\tmonitor\nPPid:\t1\n"),
            ("proc/7/cmdline", "/usr/bin/monitor\0-c\0ID\0-n\0loader\0--exit-dir\0/run\0"),
        ];
        let list = r#"[{"id":"1","names":["other"]},{"id":"ID","names":["listed"]}]"#;
        let storage = "var/lib/containers/storage/overlay-containers/containers.json";
        let docker = ("var/lib/docker/containers/ID/config.v2.json", r#"{"ID":"ID","Name":"/web"}"#);
        let pod =
            r#"{"annotations":{"io.kubernetes.cri.container-name":"app","io.kubernetes.cri.sandbox-name":"shop-1"}}"#;
        let pod = ("run/containerd/io.containerd.runtime.v2.task/k8s.io/ID/config.json", pod);
        for (files, expected) in [
            (&monitor[..], Some("loader")),
            (&[(storage, list)], Some("listed")),
            (&[("run/containers/storage/overlay-containers/volatile-containers.json", list)], Some("listed")),
            (&[docker], Some("web")),
            (&[pod], Some("shop-1/app")),
            (&[(storage, "[{]")], None),
            (&[(storage, r#"[{"id":"ID","names":null}]"#)], None),
            (&[], None),
        ] {
            assert_eq!(name(files).as_deref(), expected, "{files:?}");
        }
    }

    #[test]
    fn what_others_write_is_bounded() {
        let config = |name: &str| name_of_docker(&format!(r#"{{"Name":"/{name}"}}"#)).map(|name| name.len());
        assert_eq!(config(&"ä".repeat(400)), Some(LONGEST));
        assert_eq!(config(&"x".repeat(5 << 20)), None, "the file is too large");
        // A link leads elsewhere.
        let folder = tempfile::tempdir().unwrap();
        let place = format!("var/lib/docker/containers/{ID}");
        put(folder.path(), "elsewhere", r#"{"Name":"/web"}"#);
        std::fs::create_dir_all(folder.path().join(&place)).unwrap();
        std::os::unix::fs::symlink(folder.path().join("elsewhere"), folder.path().join(&place).join("config.v2.json"))
            .unwrap();
        let mut containers = Containers::below(folder.path().join("proc"), folder.path().to_owned());
        assert_eq!(containers.name(&format!("/docker/{ID}"), 9), None);
    }

    fn name_of_docker(text: &str) -> Option<String> {
        name(&[("var/lib/docker/containers/ID/config.v2.json", text)])
    }
}
