//! Function, source file and line of addresses.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;

use addr2line::{Context, demangle_auto};
use gimli::{EndianArcSlice, RunTimeEndian};
use object::{CompressionFormat, Object, ObjectSection, ObjectSymbol, SymbolKind};

use crate::binary::{Binary, endian};
use crate::budget::Budget;

/// Larger debug information is not read: it takes seconds and gigabytes.
const MOST_DEBUG_BYTES: u64 = 256 << 20;
/// What is read of a file: its debug information and its symbols.
const MOST_BYTES: u64 = 2 * MOST_DEBUG_BYTES;

type Bytes = EndianArcSlice<RunTimeEndian>;

/// A function, and where in its source.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SourceLocation {
    /// Its name as in the source, if known.
    pub function: Option<String>,
    /// Source file.
    pub file: Option<String>,
    /// Line.
    pub line: Option<u32>,
}

/// An address whose names are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Question {
    /// Offset in the file.
    pub offset: u64,
    /// It is where a call returns to: the call itself is before.
    pub is_after_call: bool,
}

impl Binary {
    /// The functions at each of these addresses, of inlined ones the innermost first; none where they are unknown.
    /// Debug information may be in a file of its own.
    pub fn locations(
        &self,
        file: &File,
        questions: &[Question],
        debug: Option<File>,
    ) -> io::Result<Vec<Vec<SourceLocation>>> {
        let budget = Budget::new(file.try_clone()?, MOST_BYTES);
        let object = object::File::parse(&budget).map_err(io::Error::other)?;
        let debug_budget = debug.map(|file| Budget::new(file, MOST_BYTES));
        let debug = debug_budget.as_ref().and_then(|budget| object::File::parse(budget).ok());
        let lines = lines(&object).or_else(|| lines(debug.as_ref()?));
        let mut functions = functions(&object);
        if let Some(debug) = &debug {
            functions.append(&mut self::functions(debug));
        }
        let location = |question: &Question| {
            let address = self.address(question.offset)?.checked_sub(u64::from(question.is_after_call))?;
            let found = lines.as_ref().map(|lines| locations(lines, address)).filter(|found| !found.is_empty());
            let mut found = found.unwrap_or_else(|| vec![SourceLocation::default()]);
            // The outermost of them is the one that the symbol is of.
            if let Some(last) = found.last_mut().filter(|last| last.function.is_none()) {
                last.function = function(&functions, address);
            }
            Some(found.into_iter().filter(|location| *location != SourceLocation::default()).collect())
        };
        Ok(questions.iter().map(|question| location(question).unwrap_or_default()).collect())
    }
}

fn locations(lines: &Context<Bytes>, address: u64) -> Vec<SourceLocation> {
    let mut locations = Vec::new();
    let Ok(mut frames) = lines.find_frames(address).skip_all_loads() else { return locations };
    while let Ok(Some(frame)) = frames.next() {
        let name = frame.function.as_ref().and_then(|function| Some(function.demangle().ok()?.into_owned()));
        let location = frame.location.as_ref();
        let file = location.and_then(|location| location.file).map(str::to_owned);
        let line = location.and_then(|location| location.line).filter(|line| *line > 0);
        locations.push(SourceLocation { function: name, file, line });
    }
    locations
}

/// Debug information, if the file has any.
fn lines<'data>(object: &impl Object<'data>) -> Option<Context<Bytes>> {
    let endian = endian(object);
    object.section_by_name(".debug_info")?;
    let bytes =
        object.sections().filter(is_debug).map(|section| uncompressed_bytes(&section)).fold(0, u64::saturating_add);
    if bytes > MOST_DEBUG_BYTES {
        return None;
    }
    let section = |id: gimli::SectionId| -> Result<Bytes, gimli::Error> {
        let bytes = object.section_by_name(id.name()).and_then(|section| contents(&section));
        Ok(EndianArcSlice::new(bytes.unwrap_or_else(|| Arc::from([])), endian))
    };
    Context::from_dwarf(gimli::Dwarf::load(section).ok()?).ok()
}

fn is_debug<'data>(section: &impl ObjectSection<'data>) -> bool {
    // The second is how older linkers call compressed ones.
    section.name().is_ok_and(|name| name.starts_with(".debug_") || name.starts_with(".zdebug_"))
}

fn uncompressed_bytes<'data>(section: &impl ObjectSection<'data>) -> u64 {
    section.compressed_file_range().map_or(u64::MAX, |range| range.uncompressed_size.max(section.size()))
}

/// A section's bytes, as they were before a linker compressed them.
fn contents<'data>(section: &impl ObjectSection<'data>) -> Option<Arc<[u8]>> {
    let stored = section.compressed_data().ok()?;
    match stored.format {
        CompressionFormat::None => Some(stored.data.into()),
        CompressionFormat::Zlib if stored.uncompressed_size <= MOST_DEBUG_BYTES => {
            let mut bytes = Vec::with_capacity(stored.uncompressed_size as usize);
            let decoder = flate2::read::ZlibDecoder::new(stored.data);
            decoder.take(MOST_DEBUG_BYTES).read_to_end(&mut bytes).ok()?;
            Some(bytes.into())
        }
        _ => None,
    }
}

/// Names by first address, with the end of each.
type Functions = BTreeMap<u64, (u64, String)>;

fn functions<'data>(object: &impl Object<'data>) -> Functions {
    let symbols = object.symbols().chain(object.dynamic_symbols());
    let code = symbols.filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.is_definition());
    code.filter_map(|symbol| named(&symbol)).collect()
}

fn named<'data>(symbol: &impl ObjectSymbol<'data>) -> Option<(u64, (u64, String))> {
    let name = symbol.name().ok().filter(|name| !name.is_empty())?;
    // `fsync@@GLIBC_2.2.5` in a table of symbols.
    let name = name.split_once('@').map_or(name, |(name, _)| name);
    let name = demangle_auto(Cow::Borrowed(name), None).into_owned();
    Some((symbol.address(), (symbol.address().checked_add(symbol.size())?, name)))
}

fn function(functions: &Functions, address: u64) -> Option<String> {
    let (_, (end, name)) = functions.range(..=address).next_back()?;
    (address < *end).then(|| name.clone())
}
