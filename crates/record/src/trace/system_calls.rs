//! What the programs know of system calls, by number.

use model::system_call::{FileArgument, NUMBERS, NameArguments, SystemCall, all, traits};

/// `IF_WAITED` of the programs.
const IF_WAITED: u8 = 16;
/// `DIRTIES_NOTHING` of the programs.
const DIRTIES_NOTHING: u8 = 32;

/// One byte for each number: 0, or how the call names its file (`enum names_file` of the programs), whether it counts
/// only if it waited for storage, and whether it makes no page dirty.
pub(super) fn operations() -> [u8; NUMBERS] {
    by_number(|call| {
        let flag = |any, flag| if call.traits.has(any) { flag } else { 0 };
        let flags = flag(traits::SELDOM, IF_WAITED) | flag(traits::CLEAN, DIRTIES_NOTHING);
        if call.is_operation() { call.file as u8 | flags } else { 0 }
    })
}

/// What each call does with another task: `enum with_others` of the programs.
pub(super) fn with_others() -> [u16; NUMBERS] {
    by_number(|call| u16::try_from(call.traits.of(traits::WITH_OTHERS)).expect("it has 11 bits"))
}

/// `enum with_names` of the programs: the argument that is the name which a call creates, and flags.
const FREES_AT: u8 = 3;
const IF_EXCLUSIVE: u8 = 64;
const TAKES_FOLDER: u8 = 128;

/// What each call does with names: `enum with_names` of the programs.
pub(super) fn with_names() -> [u8; NUMBERS] {
    by_number(|call| {
        let NameArguments { created, removed, if_exclusive, of_folder } = call.names;
        let flag = |is_set, flag| if is_set { flag } else { 0 };
        created | removed << FREES_AT | flag(if_exclusive, IF_EXCLUSIVE) | flag(of_folder, TAKES_FOLDER)
    })
}

fn by_number<T: Copy + Default>(of: impl Fn(&SystemCall) -> T) -> [T; NUMBERS] {
    let mut table = [T::default(); NUMBERS];
    for call in all() {
        if let Some(place) = usize::try_from(call.number).ok().and_then(|number| table.get_mut(number)) {
            *place = of(call);
        }
    }
    table
}

/// Whether the first argument of a call or its result is the descriptor of its file.
pub(super) fn is_by_descriptor(call: &SystemCall) -> bool {
    matches!(call.file, FileArgument::Descriptor | FileArgument::Result)
}
