//! The owner of a resource: a running program, distinguished from earlier processes with the same id.

use serde::{Deserialize, Serialize};

use crate::{RigError, Roots};

/// Identity of a process: its id is reused, its id together with its start time and the boot is not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// Process id.
    pub pid: u32,
    /// Field 22 of `/proc/PID/stat`, clock ticks since boot.
    pub start_ticks: u64,
    /// `/proc/sys/kernel/random/boot_id`.
    pub boot_id: String,
}

impl Owner {
    /// This process.
    pub fn current(roots: &Roots) -> Result<Owner, RigError> {
        let pid = std::process::id();
        let stat = roots.text("/proc/self/stat")?;
        let start_ticks = start_ticks(&stat).ok_or_else(|| RigError::Io {
            action: "find the start time in".into(),
            path: roots.path("/proc/self/stat"),
            source: std::io::ErrorKind::InvalidData.into(),
        })?;
        Ok(Owner { pid, start_ticks, boot_id: boot_id(roots)? })
    }

    /// Whether the process still runs. If it cannot be looked up, it counts as alive only if it is from this boot and
    /// its `/proc` entry exists. A zombie is dead.
    pub fn is_alive(&self, roots: &Roots) -> bool {
        if boot_id(roots).is_ok_and(|now| now != self.boot_id) {
            return false;
        }
        let Ok(stat) = roots.text(&format!("/proc/{}/stat", self.pid)) else { return false };
        start_ticks(&stat) == Some(self.start_ticks) && state(&stat) != Some('Z')
    }

    /// Name of the owner's file in the register. A program may open the register more than once.
    pub(crate) fn file_name(&self, ordinal: u32) -> String {
        let boot: String = self.boot_id.chars().take(8).collect();
        format!("{}-{}-{boot}-{ordinal}.json", self.pid, self.start_ticks)
    }
}

/// The id of the current boot.
pub(crate) fn boot_id(roots: &Roots) -> Result<String, RigError> {
    Ok(roots.text("/proc/sys/kernel/random/boot_id")?.trim().to_owned())
}

/// The command name stands in parentheses and may hold anything, so fields are counted from the last one.
fn fields_after_name(stat: &str) -> Option<std::str::SplitWhitespace<'_>> {
    Some(stat.rsplit_once(')')?.1.split_whitespace())
}

fn state(stat: &str) -> Option<char> {
    fields_after_name(stat)?.next()?.chars().next()
}

fn start_ticks(stat: &str) -> Option<u64> {
    fields_after_name(stat)?.nth(19)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{Owner, start_ticks, state};
    use crate::Roots;

    #[test]
    fn a_command_name_with_parentheses_does_not_shift_the_fields() {
        let stat = "42 (a) b (c) S 1 42 42 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 98765 1 1\n";
        assert_eq!(start_ticks(stat), Some(98765));
        assert_eq!(state(stat), Some('S'));
    }

    #[test]
    fn this_process_is_alive_and_one_with_its_id_from_another_time_is_not() {
        let roots = Roots::default();
        let me = Owner::current(&roots).unwrap();
        assert!(me.is_alive(&roots));
        assert!(!Owner { start_ticks: me.start_ticks + 1, ..me.clone() }.is_alive(&roots));
        assert!(!Owner { boot_id: "another".into(), ..me }.is_alive(&roots));
    }
}
