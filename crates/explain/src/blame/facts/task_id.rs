//! Threads as they are named.

/// A thread.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TaskId {
    /// Kernel thread id.
    pub tid: u32,
    /// Its name, where the run recorded it.
    pub name: Option<String>,
}

/// `fio/1234`; `thread 1234` where the name is unknown.
impl std::fmt::Display for TaskId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.name {
            Some(name) => write!(f, "{name}/{}", self.tid),
            None => write!(f, "thread {}", self.tid),
        }
    }
}
