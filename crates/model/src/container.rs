//! Containers, by the paths of their cgroups. Each engine names the cgroup of a container by its id, 64 hexadecimal
//! digits: `/machine.slice/libpod-ID.scope/container`, `/system.slice/docker-ID.scope`,
//! `/kubepods.slice/kubepods-podUID.slice/cri-containerd-ID.scope`, `/docker/ID`.

use std::collections::BTreeMap;

/// Digits of an id.
const DIGITS: usize = 64;
/// Digits of an id that are shown where the name is unknown, as engines do.
const SHOWN: usize = 12;
/// What is within the cgroup of a container that has no others: its processes.
const PROCESSES: &str = "container";
/// In the names of the cgroups of monitors, which are not in the container.
const MONITOR: &str = "conmon";

/// The id of the innermost container that a cgroup is of, and what of the path is below its cgroup.
pub fn id(cgroup: &str) -> Option<(&str, &str)> {
    let mut end = cgroup.len();
    loop {
        let begin = cgroup[..end].rfind('/').map_or(0, |slash| slash + 1);
        if let Some(id) = id_in(&cgroup[begin..end]) {
            return Some((id, cgroup[end..].trim_start_matches('/')));
        }
        end = begin.checked_sub(1)?;
    }
}

fn id_in(name: &str) -> Option<&str> {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    let mut parts = name.split(|c: char| !c.is_ascii_alphanumeric());
    let id = parts.find(|part| part.len() == DIGITS && part.bytes().all(is_digit))?;
    (!name.contains(MONITOR)).then_some(id)
}

/// Names of containers, by id.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Containers(BTreeMap<String, String>);

impl Containers {
    /// Of the names that are known of cgroups.
    pub fn new<'a>(names: impl Iterator<Item = (&'a str, &'a str)>) -> Containers {
        let known = names.filter_map(|(cgroup, name)| Some((id(cgroup)?.0.to_owned(), name.to_owned())));
        Containers(known.collect())
    }

    /// By id.
    pub fn names(&self) -> &BTreeMap<String, String> {
        &self.0
    }

    /// A cgroup of a container in words: `container loader`, or `container 1463d1f94681`, and `web.service of container
    /// loader`. `None` for another cgroup.
    pub fn words(&self, cgroup: &str) -> Option<String> {
        let (id, below) = id(cgroup)?;
        let name = self.0.get(id).map_or(&id[..SHOWN], String::as_str);
        let inner = below.rsplit('/').next().filter(|name| !name.is_empty() && *name != PROCESSES);
        let of = inner.map_or_else(String::new, |inner| format!("{inner} of "));
        Some(format!("{of}container {name}"))
    }
}

#[cfg(test)]
mod tests {
    use super::{Containers, id};

    const ID: &str = "1463d1f9468191c000ca6fc892fa468d39ec3ec9d52fdf419227f6e0d51b23c3";

    #[test]
    fn a_container_is_known_by_its_id() {
        for (path, expected) in [
            ("/machine.slice/libpod-ID.scope/container", Some("container")),
            ("/user.slice/user-7.slice/user@7.service/user.slice/libpod-ID.scope", Some("")),
            ("/system.slice/docker-ID.scope", Some("")),
            (
                "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod1.slice/cri-containerd-ID.scope",
                Some(""),
            ),
            ("/docker/ID", Some("")),
            ("/kubepods/podx/ID/system.slice/web.service", Some("system.slice/web.service")),
            ("/machine.slice/libpod-conmon-ID.scope", None),
            ("/machine.slice/libpod-IDa.scope", None),
            ("/system.slice/app.service", None),
            ("/", None),
            ("", None),
        ] {
            let path = path.replace("ID", ID);
            assert_eq!(id(&path), expected.map(|below| (ID, below)), "{path}");
        }
    }

    #[test]
    fn it_is_shown_by_its_name_or_the_begin_of_its_id() {
        let path = format!("/machine.slice/libpod-{ID}.scope/container");
        let known = Containers::new([(path.as_str(), "loader"), ("/a", "b")].into_iter());
        assert_eq!(known.names().len(), 1);
        assert_eq!(known.words(&path).as_deref(), Some("container loader"));
        assert_eq!(Containers::default().words(&path).as_deref(), Some("container 1463d1f94681"));
        let service = format!("/docker/{ID}/init.scope");
        assert_eq!(known.words(&service).as_deref(), Some("init.scope of container loader"));
        assert_eq!(known.words("/system.slice/app.service"), None);
    }
}
