//! Lines in which the kernel says who holds a lock.

use crate::dump::Holder;
use crate::header::name_and_tid;

/// `INFO: task A:1 is blocked on a mutex likely owned by task B:2.`, and the same of a semaphore (`likely last held
/// by`) and an rw-semaphore (`<reader> blocked on an rw-semaphore likely owned by task B:2 <writer>`).
pub(crate) fn holder(message: &str) -> Option<Holder> {
    let (_, rest) = message.split_once("INFO: task ")?;
    let (waiter, rest) = rest.split_once(" blocked on a")?;
    let waiter = waiter.trim_end_matches(" is").split(" <").next()?;
    let (what, holder) = rest.split_once(" by task ")?;
    let holder = holder.trim().trim_end_matches('.').split(" <").next()?;
    let (name, tid) = name_and_tid(holder)?;
    let lock = what.trim_start_matches('n').split_whitespace().next()?;
    Some(Holder {
        waiter: name_and_tid(waiter)?.1,
        holder: tid,
        name: name.to_owned(),
        lock: lock.to_owned(),
        is_last: what.contains("last held"),
    })
}

/// One line of lockdep's list `Showing all locks held in the system`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Held {
    /// `2 locks held by NAME/TID:`
    By { name: String, tid: u32 },
    /// ` #0: ffff88 (&type->i_mutex_dir_key){+.+.}-{3:3}, at: path_openat+0x2d/0x50`: the instance, and its class.
    Lock { instance: String, class: String },
}

pub(crate) fn held(message: &str) -> Option<Held> {
    let text = message.trim();
    if let Some((_, who)) =
        text.split_once(" held by ").filter(|(before, _)| before.ends_with("lock") || before.ends_with("locks"))
    {
        let (name, tid) = who.trim_end_matches(['.', ':']).rsplit_once('/')?;
        return Some(Held::By { name: name.to_owned(), tid: tid.parse().ok()? });
    }
    let (number, rest) = text.strip_prefix('#')?.split_once(':')?;
    number.parse::<u8>().ok()?;
    let (instance, rest) = rest.split_once('(')?;
    let (class, _) = rest.rsplit_once("){")?;
    let instance = instance.trim().trim_matches([':', '{', '.', '+', '-', '}']).to_owned();
    (!instance.is_empty() && rest.contains("at:"))
        .then(|| Held::Lock { instance, class: class.trim_matches('(').to_owned() })
}

#[cfg(test)]
mod tests {
    use super::{Held, held, holder};

    #[test]
    fn owners() {
        let check = |line: &str, waiter: u32, tid: u32, lock: &str, is_last: bool| {
            let found = holder(line).unwrap_or_else(|| panic!("{line}"));
            assert_eq!((found.waiter, found.holder, found.lock.as_str(), found.is_last), (waiter, tid, lock, is_last));
        };
        let mutex = "INFO: task NetworkManager:1374 is blocked on a mutex likely owned by task kworker/u98:0:7811.";
        check(mutex, 1374, 7811, "mutex", false);
        check("INFO: task a:1 blocked on a semaphore likely last held by task b:2", 1, 2, "semaphore", true);
        let rwsem = "INFO: task cat:86 <reader> blocked on an rw-semaphore likely owned by task sh:84 <writer>";
        check(rwsem, 86, 84, "rw-semaphore", false);
        assert_eq!(holder("INFO: task a:1 is blocked on a mutex, but the owner is not found."), None);
    }

    #[test]
    fn locks_of_lockdep() {
        assert_eq!(held("2 locks held by kworker/0:1/123:"), Some(Held::By { name: "kworker/0:1".into(), tid: 123 }));
        let lock = " #0: ffff888103c5a0e0 (&type->i_mutex_dir_key#2){++++}-{3:3}, at: path_openat+0x2d/0x50";
        let expected = Held::Lock { instance: "ffff888103c5a0e0".into(), class: "&type->i_mutex_dir_key#2".into() };
        assert_eq!(held(lock), Some(expected));
        assert_eq!(held("no locks held by a/1."), Some(Held::By { name: "a".into(), tid: 1 }));
        assert_eq!(held("#1 [ffff88042fc03e50] schedule at ffffffff8168c889"), None);
    }
}
