//! From a function to its callers: by the tables of the files, else by frame pointers.

use symbols::{Caller, Registers, by_frame_pointer};

use super::event::UserStackEvent;
use super::modules::{Modules, Spot, mapping, spot};

/// Functions of a stack at most.
const DEEPEST: usize = 64;

/// The places of a stack.
pub(super) struct Walked {
    /// The innermost first.
    pub(super) spots: Vec<Spot>,
    /// The last is the thread's first function.
    pub(super) whole: bool,
}

/// Follows a stack.
pub(super) fn walk(event: &UserStackEvent, modules: &mut Modules) -> Walked {
    let mut registers = event.registers;
    let mut addresses: Vec<u64> = Vec::new();
    let mut whole = false;
    while addresses.len() < DEEPEST {
        addresses.push(registers.instruction);
        match caller(event, modules, registers, addresses.len() == 1) {
            Caller::At(next) => registers = next,
            Caller::None => {
                whole = true;
                break;
            }
            Caller::Unknown => break,
        }
    }
    if !whole {
        add_frames(&mut addresses, &event.frames);
    }
    let spots = addresses.iter().map(|&address| spot(modules.map(event.pid, event.memory, address).as_ref(), address));
    Walked { spots: spots.collect(), whole }
}

fn caller(event: &UserStackEvent, modules: &mut Modules, registers: Registers, is_innermost: bool) -> Caller {
    let read = |address| event.word(address);
    // A call may be the last instruction of its function.
    let address = registers.instruction - u64::from(!is_innermost && registers.instruction > 0);
    let Some(map) = modules.map(event.pid, event.memory, address) else { return Caller::Unknown };
    if let Some((mapping, Some(file))) = mapping(&map, address)
        && let Some(binary) = &modules.file_of(*file).binary
        && let Some(in_file) = binary.address(address - mapping.start + mapping.offset)
    {
        match binary.caller(in_file, registers, read) {
            Caller::Unknown => {}
            known => return known,
        }
    }
    let next = by_frame_pointer(registers, read);
    // What is no frame pointer leads anywhere.
    let next = next.filter(|next| mapping(&map, next.instruction).is_some());
    next.map_or(Caller::Unknown, Caller::At)
}

/// Adds what the kernel found by frame pointers beyond the part of the stack that was read.
fn add_frames(addresses: &mut Vec<u64>, frames: &[u64]) {
    let at = addresses.iter().rev().find_map(|address| frames.iter().position(|frame| frame == address));
    let Some(at) = at else { return };
    // Without a frame of its own, the innermost function hides its caller.
    if let Some(known) = addresses.iter().position(|address| *address == frames[at]) {
        let is_last = known + 1 == addresses.len();
        if is_last {
            addresses.extend(frames[at + 1..].iter().take(DEEPEST.saturating_sub(addresses.len())));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::add_frames;

    #[test]
    fn frame_pointers_go_on_where_the_stack_ends() {
        let with = |known: &[u64]| {
            let mut addresses = known.to_vec();
            add_frames(&mut addresses, &[1, 3, 4, 5]);
            addresses
        };
        assert_eq!(with(&[1, 2, 3]), [1, 2, 3, 4, 5]);
        assert_eq!(with(&[1]), [1, 3, 4, 5]);
        // Nothing says how these belong together.
        assert_eq!(with(&[1, 2]), [1, 2]);
        assert_eq!(with(&[7, 8]), [7, 8]);
    }
}
