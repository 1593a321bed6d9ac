//! Where to look for the cause of a wait.

/// Where the cause of a wait is to be looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    /// The device, its driver or its transport: a request that has not completed.
    Device,
    /// A server of a network file system, or of a distributed one.
    Server,
    /// The program behind a FUSE file system, or a listener that decides on accesses.
    Program,
    /// Memory.
    Memory,
    /// A frozen file system, cgroup or queue.
    Halted,
    /// A limit of its own: dirty pages, a cgroup's I/O.
    Throttled,
    /// A log, a transaction or writeback, which another task of the file system ends.
    FileSystem,
    /// A lock.
    Lock,
    /// Something else that its stack names.
    Other,
    /// Its stack has no function that the rules know.
    Unknown,
}

impl Class {
    /// All classes.
    pub const ALL: [Class; 10] = [
        Class::Device,
        Class::Server,
        Class::Program,
        Class::Memory,
        Class::Halted,
        Class::Throttled,
        Class::FileSystem,
        Class::Lock,
        Class::Other,
        Class::Unknown,
    ];

    /// Name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Class::Device => "device",
            Class::Server => "server",
            Class::Program => "program",
            Class::Memory => "memory",
            Class::Halted => "halted",
            Class::Throttled => "throttled",
            Class::FileSystem => "file_system",
            Class::Lock => "lock",
            Class::Other => "other",
            Class::Unknown => "unknown",
        }
    }

    /// Whether the cause is outside the tasks of the dump, so that a chain of waits may end here.
    pub const fn is_root(self) -> bool {
        matches!(
            self,
            Class::Device | Class::Server | Class::Program | Class::Memory | Class::Halted | Class::Throttled
        )
    }
}
