//! The system calls of Linux: names, numbers, which argument names their file, and what they do. The only list of them:
//! the tables of the BPF programs and all that `explain` asks of a call follow from it.

mod description;
mod table;
pub mod traits;

use std::collections::HashMap;
use std::sync::LazyLock;

pub use description::{FileArgument, NameArguments, SystemCall, Traits};

/// Numbers from here on are in no table.
pub const NUMBERS: usize = 512;

/// All of this architecture.
pub fn all() -> impl Iterator<Item = &'static SystemCall> {
    table::COMMON.iter().chain(table::OLD)
}

/// The call of a number.
pub fn numbered(number: i32) -> Option<&'static SystemCall> {
    static BY_NUMBER: LazyLock<Vec<Option<&'static SystemCall>>> = LazyLock::new(|| {
        let mut by_number = vec![None; NUMBERS];
        for call in all() {
            by_number[usize::try_from(call.number).expect("a number is positive")] = Some(call);
        }
        by_number
    });
    *BY_NUMBER.get(usize::try_from(number).ok()?)?
}

/// The call of a name.
pub fn named(name: &str) -> Option<&'static SystemCall> {
    static BY_NAME: LazyLock<HashMap<&'static str, &'static SystemCall>> =
        LazyLock::new(|| all().map(|call| (call.name, call)).collect());
    BY_NAME.get(name).copied()
}

/// What the call of a name does; nothing is known of another name.
pub fn traits_of(name: &str) -> Traits {
    named(name).map_or(Traits::NONE, |call| call.traits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_call_has_one_name_and_one_number() {
        let calls: Vec<&SystemCall> = all().collect();
        assert!(calls.iter().all(|call| named(call.name) == Some(call)));
        assert!(calls.iter().all(|call| numbered(call.number as i32) == Some(call)));
        assert_eq!([numbered(-1), numbered(NUMBERS as i32 - 1), named("no_call")], [None; 3]);
    }

    #[test]
    fn traits_hold_together() {
        for call in all() {
            let has = |any| call.traits.has(any);
            assert!(!(has(traits::FOLLOWED) && has(traits::SELDOM)), "{}", call.name);
            assert!(!call.is_on_descriptor() || call.is_operation(), "{}", call.name);
            assert!(!has(traits::BYTES) || call.is_on_descriptor(), "{}", call.name);
            assert!(!has(traits::POLLS | traits::SLEEPS) || has(traits::IDLES), "{}", call.name);
            // A task that waits for messages, or for a child, may idle.
            assert!(!has(traits::WAITS | traits::WAITS_FOR_CHILD) || has(traits::IDLES), "{}", call.name);
        }
    }
}
