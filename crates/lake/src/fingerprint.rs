//! What makes stalls of different machines the same issue.

use model::cause::{Cause, traits};

/// One step of a chain of waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// What for.
    pub cause: Cause,
    /// Innermost functions of the kernel stack, without offsets.
    pub functions: Vec<String>,
}

/// The fingerprint of a stall, as 16 hexadecimal digits: FNV-1a (64 bits) of its cause, of cause and functions of each
/// step of its chain, the class of the lock, the type of the file system and the model of the disk. Nothing in it
/// differs between machines of one kind: no address, id, name of a task, time or size.
///
/// A task may be preempted, or throttled, anywhere: functions of such a step do not count.
pub fn fingerprint(
    cause: Cause,
    chain: &[Step],
    lock: Option<&str>,
    file_system: Option<&str>,
    device: Option<&str>,
) -> String {
    let mut hash = Fnv::default();
    hash.part(cause.name());
    for step in chain {
        hash.part(step.cause.name());
        if step.cause != Cause::Running && !step.cause.has(traits::FOR_CPU) {
            step.functions.iter().for_each(|function| hash.part(function));
        }
        hash.end();
    }
    hash.end();
    for part in [lock, file_system, device] {
        part.into_iter().for_each(|part| hash.part(part));
        hash.end();
    }
    hash.digits()
}

/// FNV-1a: stable between versions of compilers and of this program, and written in a line in any language.
#[derive(Debug)]
pub(crate) struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Fnv {
        Fnv(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    /// Text, and a byte that no UTF-8 text holds.
    pub(crate) fn part(&mut self, text: &str) {
        text.bytes().chain([0xff]).for_each(|byte| self.byte(byte));
    }

    /// The end of a list.
    fn end(&mut self) {
        self.byte(0xfe);
    }

    fn byte(&mut self, byte: u8) {
        self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }

    pub(crate) fn digits(&self) -> String {
        format!("{:016x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use model::cause::Cause;

    use super::{Fnv, Step, fingerprint};

    fn step(cause: Cause, functions: &[&str]) -> Step {
        Step { cause, functions: functions.iter().map(|name| (*name).to_owned()).collect() }
    }

    #[test]
    fn the_hash_is_fnv_1a() {
        let mut hash = Fnv::default();
        "foobar".bytes().for_each(|byte| hash.byte(byte));
        assert_eq!(hash.digits(), "85944171f73967e8");
    }

    /// Those in lakes must stay what they are.
    #[test]
    fn a_known_stall_has_its_known_fingerprint() {
        let chain =
            [step(Cause::Lock, &["rwsem_down_write_slowpath", "xfs_ilock"]), step(Cause::Device, &["io_schedule"])];
        let found =
            fingerprint(Cause::Lock, &chain, Some("inode lock of a file"), Some("xfs"), Some("Samsung SSD 980"));
        assert_eq!(found, "941e67b8117a440e");
    }

    #[test]
    fn each_part_counts_and_where_a_task_was_preempted_does_not() {
        let chain = [step(Cause::Lock, &["a", "b"]), step(Cause::CpuWait, &["c"])];
        let of = |chain: &[Step], lock, file_system, device| fingerprint(Cause::Lock, chain, lock, file_system, device);
        let known = of(&chain, Some("l"), Some("xfs"), Some("d"));
        let elsewhere = [chain[0].clone(), step(Cause::CpuWait, &["x", "y"])];
        assert_eq!(of(&elsewhere, Some("l"), Some("xfs"), Some("d")), known);
        let others = [
            of(&chain[..1], Some("l"), Some("xfs"), Some("d")),
            of(&[step(Cause::Lock, &["a"]), chain[1].clone()], Some("l"), Some("xfs"), Some("d")),
            of(&[step(Cause::Lock, &["ab"]), chain[1].clone()], Some("l"), Some("xfs"), Some("d")),
            of(&chain, None, Some("xfs"), Some("d")),
            of(&chain, Some("l"), None, Some("d")),
            of(&chain, Some("l"), Some("xfs"), None),
            of(&chain, Some("l"), None, Some("xfs")),
            fingerprint(Cause::Device, &chain, Some("l"), Some("xfs"), Some("d")),
        ];
        assert!(others.iter().all(|other| *other != known));
    }
}
