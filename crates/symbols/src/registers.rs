//! The registers that unwinding needs.

/// Where a function is, and where its frame lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Registers {
    /// The next instruction.
    pub instruction: u64,
    /// The stack pointer.
    pub stack: u64,
    /// The frame pointer, as far as the program uses it as one.
    pub frame: u64,
}
