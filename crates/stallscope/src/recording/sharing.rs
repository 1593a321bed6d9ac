//! Who may read a run: the owner alone, unless the options say otherwise.

use std::fs;
use std::path::Path;
use std::process::Command;

use access::Sharing;
use clap::Args;

use crate::recording::own_path::refuse_replaceable;
use crate::ui::failure::Failure;

const OF_GROUP: u32 = 0o750;
/// Read permission of the group.
const GROUP_READS: u32 = 0o040;
/// Write permission of others than the owner.
const OTHERS_WRITE: u32 = 0o022;

/// Options that share a run.
#[derive(Debug, Args, Clone, Default, PartialEq, Eq)]
pub struct SharingArgs {
    /// Let the members of a group read the run, which holds paths and command lines of all users [default: the owner
    /// alone].
    #[arg(long, value_name = "NAME", value_parser = group, help_heading = "Recording")]
    pub group: Option<Group>,
    /// Permissions of the run directory, in octal; its files get the same without the execute bits [default: 700, with
    /// --group 750].
    #[arg(long, value_name = "MODE", value_parser = mode, help_heading = "Recording")]
    pub mode: Option<u32>,
}

/// A group by name or number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    name: String,
    id: u32,
}

impl SharingArgs {
    /// Whether any of them is given.
    pub fn is_given(&self) -> bool {
        *self != SharingArgs::default()
    }

    /// The access to what is made.
    pub fn sharing(&self) -> Result<Sharing, Failure> {
        let usual = if self.group.is_some() { OF_GROUP } else { Sharing::PRIVATE.mode };
        let mode = self.mode.unwrap_or(usual);
        if let Some(group) = self.group.as_ref().filter(|_| mode & GROUP_READS == 0) {
            return Err(Failure::usage(format_args!(
                "--mode {mode:o} lets no group read the run, so --group {} has no effect; use --mode 750",
                group.name
            )));
        }
        Ok(Sharing { mode, group: self.group.as_ref().map(|group| group.id) })
    }

    /// The same options for a program that is started to record.
    pub fn words(&self) -> Vec<String> {
        let group = self.group.iter().map(|group| format!("--group={}", group.name));
        group.chain(self.mode.iter().map(|mode| format!("--mode={mode:o}"))).collect()
    }
}

/// Makes a directory for what is recorded, with those on the way. What was not there when the path was checked, another
/// user may have made since, in a directory like /tmp: it is checked again. Returns whether it is new.
pub fn make_directory(path: &Path, sharing: Sharing) -> Result<bool, Failure> {
    refuse_replaceable(path)?;
    let made = sharing.make_directory(path);
    let is_new =
        made.map_err(|error| Failure::path(&error, format_args!("{}: cannot create: {error}", path.display())))?;
    refuse_replaceable(path)?;
    Ok(is_new)
}

/// The same of a directory that holds something already, which keeps its access. Returns whether it is new.
pub fn take_directory(path: &Path, sharing: Sharing) -> Result<bool, Failure> {
    if fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_some()) {
        return refuse_replaceable(path).map(|()| false);
    }
    make_directory(path, sharing)
}

fn mode(text: &str) -> Result<u32, String> {
    let mode = u32::from_str_radix(text, 8).ok().filter(|mode| *mode <= 0o777);
    match mode.ok_or_else(|| format!("{text}: expected permissions in octal, such as 750"))? {
        mode if mode & 0o700 != 0o700 => Err(format!("{text}: the owner needs all permissions, as in 750")),
        mode if mode & OTHERS_WRITE != 0 => Err(format!(
            "{text}: a user who can write to a run can replace it; leave write permission to the owner, as in 750"
        )),
        mode => Ok(mode),
    }
}

fn group(text: &str) -> Result<Group, String> {
    let found = |id| Group { name: text.to_owned(), id };
    if let Ok(id) = text.parse() {
        return Ok(found(id));
    }
    let of_line = |line: &str| {
        let mut fields = line.split(':');
        (fields.next()? == text).then(|| fields.nth(1)?.parse::<u32>().ok())?
    };
    let id_in = |bytes: &[u8]| String::from_utf8_lossy(bytes).lines().find_map(of_line);
    let local = fs::read("/etc/group").ok().and_then(|bytes| id_in(&bytes));
    // Groups of a directory service.
    let known =
        || Command::new("getent").args(["group", "--", text]).output().ok().and_then(|output| id_in(&output.stdout));
    local.or_else(known).map(found).ok_or_else(|| format!("{text}: no such group"))
}

#[cfg(test)]
mod tests {
    use super::{SharingArgs, group, mode};

    #[test]
    fn permissions_that_let_others_write_or_lock_the_owner_out_are_refused() {
        assert_eq!([mode("700"), mode("0755"), mode("750")], [Ok(0o700), Ok(0o755), Ok(0o750)]);
        for wrong in ["770", "702", "077", "640", "1755", "8", "rwx", ""] {
            assert!(mode(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_group_that_may_read_nothing_is_an_error() {
        let args = |mode| SharingArgs { group: group("0").ok(), mode };
        assert_eq!(args(None).sharing().unwrap().mode, 0o750);
        assert_eq!(args(Some(0o755)).sharing().unwrap().group, Some(0));
        assert!(args(Some(0o701)).sharing().is_err());
        assert!(group("no-such-group-of-stallscope").is_err());
        assert_eq!(group("root").unwrap().id, 0);
        assert_eq!(args(Some(0o755)).words(), ["--group=0", "--mode=755"]);
    }
}
