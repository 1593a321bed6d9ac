//! What processes say in their titles that they do: `postgres: bob shop [local] UPDATE waiting`. The words are those of
//! PostgreSQL's `set_ps_display`; other servers that show their clients in titles use the same.

/// What a process with a title does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activity {
    /// It waits for a lock of its server.
    WaitsForLock,
    /// Its client has begun a transaction, and asks for nothing.
    IdleInTransaction,
    /// Its client asks for nothing.
    Idle,
    /// It executes a statement, by the last word: `SELECT`.
    Executes,
}

const LOCK: &str = " waiting";
const TRANSACTION: &str = "idle in transaction";
const IDLE: &str = " idle";

impl Activity {
    /// That of a title, if it says one.
    pub fn of_title(title: &str) -> Option<Activity> {
        let is_statement = |word: &str| word.len() > 2 && word.bytes().all(|byte| byte.is_ascii_uppercase());
        match title {
            _ if title.ends_with(LOCK) => Some(Activity::WaitsForLock),
            _ if title.contains(TRANSACTION) => Some(Activity::IdleInTransaction),
            _ if title.contains(IDLE) => Some(Activity::Idle),
            _ if title.rsplit(' ').next().is_some_and(is_statement) => Some(Activity::Executes),
            _ => None,
        }
    }

    /// The name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Activity::WaitsForLock => "waits_for_lock",
            Activity::IdleInTransaction => "idle_in_transaction",
            Activity::Idle => "idle",
            Activity::Executes => "executes",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Activity;

    #[test]
    fn titles_say_what_a_session_does() {
        for (title, expected) in [
            ("postgres: bob shop [local] UPDATE waiting", Some("waits_for_lock")),
            ("postgres: bob shop [local] idle in transaction", Some("idle_in_transaction")),
            ("postgres: bob shop [local] idle in transaction (aborted)", Some("idle_in_transaction")),
            ("postgres: bob shop 10.0.0.7(41122) idle", Some("idle")),
            ("postgres: bob shop [local] SELECT", Some("executes")),
            ("postgres: checkpointer", None),
            ("", None),
        ] {
            assert_eq!(Activity::of_title(title).map(Activity::name), expected, "{title}");
        }
    }
}
