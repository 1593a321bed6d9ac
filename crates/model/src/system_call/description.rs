//! What is known of a system call.

use libc::c_long;

use super::traits;

/// How a system call names its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum FileArgument {
    /// It has none.
    Nothing = 1,
    /// The first argument is its descriptor.
    Descriptor = 2,
    /// The first argument is its path.
    First = 3,
    /// The second argument is its path.
    Second = 4,
    /// The second argument is its path, the result its descriptor.
    Result = 5,
    /// The first argument is the descriptor of an fsopen(2).
    Context = 6,
    /// It executes another program: by its first argument, or, on success, by the program's file.
    Program = 7,
    /// The second argument is its path, relative to the folder that is the first.
    At = 8,
    /// The first argument is the descriptor, which it closes.
    Closed = 9,
    /// The first argument is the descriptor of a socket, or of a file that the call does not work on.
    Other = 10,
}

/// What a system call does: a set of [`traits`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Traits(pub(super) u32);

impl Traits {
    /// None.
    pub const NONE: Traits = Traits(0);

    /// Whether one of them is in the set.
    pub const fn has(self, any: u32) -> bool {
        self.0 & any != 0
    }

    /// Those of them that are in the set.
    pub const fn of(self, all: u32) -> u32 {
        self.0 & all
    }
}

/// What a system call does with names as only one task can: which of its arguments they are, from 1; 0: none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NameArguments {
    /// The name that it creates. It fails where that exists.
    pub created: u8,
    /// The name that it removes.
    pub removed: u8,
    /// It fails where the name exists only with `O_CREAT | O_EXCL` in the argument after it.
    pub if_exclusive: bool,
    /// It makes a folder: programs also call it to be sure that there is one.
    pub of_folder: bool,
}

/// A system call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SystemCall {
    /// Name, as in `strace`.
    pub name: &'static str,
    /// Number on this architecture.
    pub number: c_long,
    /// How it names its file.
    pub file: FileArgument,
    /// What it does.
    pub traits: Traits,
    /// What it does with names.
    pub names: NameArguments,
}

impl SystemCall {
    pub(super) const fn creates(self, created: u8) -> SystemCall {
        SystemCall { names: NameArguments { created, ..self.names }, ..self }
    }

    pub(super) const fn removes(self, removed: u8) -> SystemCall {
        SystemCall { names: NameArguments { removed, ..self.names }, ..self }
    }

    pub(super) const fn if_exclusive(self) -> SystemCall {
        SystemCall { names: NameArguments { if_exclusive: true, ..self.names }, ..self }
    }

    pub(super) const fn of_folder(self) -> SystemCall {
        SystemCall { names: NameArguments { of_folder: true, ..self.names }, ..self }
    }

    /// Whether its first argument is the descriptor of the file that it works on.
    pub const fn is_on_descriptor(&self) -> bool {
        matches!(self.file, FileArgument::Descriptor)
    }

    /// Whether it may be a slow operation.
    pub const fn is_operation(&self) -> bool {
        self.traits.has(traits::FOLLOWED | traits::SELDOM)
    }
}
