//! From a function to its caller: by the file's tables, else by the frame pointer.

use gimli::{CfaRule, Register, RegisterRule, UnwindContext, UnwindSection};

use crate::binary::{Binary, UnwindTables};
use crate::registers::Registers;

/// Bytes of what the tables say of one function, all of which is executed.
const LONGEST_ENTRY: usize = 256 << 10;

/// Numbers of registers in the tables.
#[cfg(target_arch = "x86_64")]
mod number {
    pub(super) const STACK: u16 = 7;
    pub(super) const FRAME: u16 = 6;
    pub(super) const RETURN: u16 = 16;
}
#[cfg(not(target_arch = "x86_64"))]
mod number {
    pub(super) const STACK: u16 = 31;
    pub(super) const FRAME: u16 = 29;
    pub(super) const RETURN: u16 = 30;
}

/// What the tables know of a function's caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Caller {
    /// It goes on there.
    At(Registers),
    /// It has none: it is the thread's first function.
    None,
    /// The tables do not say, or the stack cannot be read there.
    Unknown,
}

/// The values that a function's frame saved.
struct Rules {
    base: (u16, i64),
    frame: Option<i64>,
    return_address: Option<i64>,
    is_outermost: bool,
}

impl Binary {
    /// The caller of the function that `address` of the file lies in. `read` reads a word of the stack.
    pub fn caller(&self, address: u64, registers: Registers, read: impl Fn(u64) -> Option<u64>) -> Caller {
        let Some(rules) = self.unwind.as_ref().and_then(|tables| rules(tables, address)) else {
            return Caller::Unknown;
        };
        if rules.is_outermost {
            return Caller::None;
        }
        caller(&rules, registers, read).map_or(Caller::Unknown, Caller::At)
    }
}

fn caller(rules: &Rules, registers: Registers, read: impl Fn(u64) -> Option<u64>) -> Option<Registers> {
    let base = match rules.base.0 {
        number::STACK => registers.stack,
        number::FRAME => registers.frame,
        _ => return None,
    };
    let base = base.checked_add_signed(rules.base.1)?;
    let instruction = read(base.checked_add_signed(rules.return_address?)?)?;
    let frame = match rules.frame {
        Some(offset) => read(base.checked_add_signed(offset)?)?,
        None => registers.frame,
    };
    // A stack grows downwards: a caller's frame is above.
    (base > registers.stack).then_some(Registers { instruction, stack: base, frame })
}

fn rules(tables: &UnwindTables, address: u64) -> Option<Rules> {
    let mut context = UnwindContext::new();
    let (frames, bases) = (&tables.frames, &tables.bases);
    let entry = match tables.index.as_ref().and_then(|index| index.table()) {
        Some(table) => table.fde_for_address(frames, bases, address, UnwindSection::cie_from_offset),
        None => frames.fde_for_address(bases, address, UnwindSection::cie_from_offset),
    };
    let entry = entry.ok().filter(|entry| entry.entry_len().max(entry.cie().entry_len()) <= LONGEST_ENTRY)?;
    let row = entry.unwind_info_for_address(frames, bases, &mut context, address).ok()?;
    let CfaRule::RegisterAndOffset { register, offset } = row.cfa() else { return None };
    let saved = |number| match row.register(Register(number)) {
        Some(RegisterRule::Offset(offset)) => Some(offset),
        _ => None,
    };
    let is_outermost = matches!(row.register(Register(number::RETURN)), Some(RegisterRule::Undefined));
    let (frame, return_address) = (saved(number::FRAME), saved(number::RETURN));
    Some(Rules { base: (register.0, *offset), frame, return_address, is_outermost })
}

/// The caller by the frame pointer, where there are no tables.
pub fn by_frame_pointer(registers: Registers, read: impl Fn(u64) -> Option<u64>) -> Option<Registers> {
    let frame = registers.frame;
    if frame < registers.stack || !frame.is_multiple_of(8) {
        return None;
    }
    let (above, instruction) = (read(frame)?, read(frame.checked_add(8)?)?);
    let stack = frame.checked_add(16)?;
    (instruction != 0).then_some(Registers { instruction, stack, frame: above })
}
