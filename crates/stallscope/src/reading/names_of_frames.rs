//! Names of places in programs that the recording did not find: from the same programs on this machine.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use model::user_stack::UserFrameRecord;
use symbols::{Binary, Question, SourceLocation, debug_file};

/// The places that have names here. Says which programs are others than those that ran.
pub fn found_here(frames: &[UserFrameRecord], warn: impl Fn(&str)) -> Vec<UserFrameRecord> {
    let known = frames.iter().filter(|frame| !frame.functions.is_empty());
    let known: HashSet<u32> = known.map(|frame| frame.frame).collect();
    let mut missing: BTreeMap<(&str, &str), Vec<&UserFrameRecord>> = BTreeMap::new();
    for frame in frames.iter().filter(|frame| !known.contains(&frame.frame)) {
        if let (Some(module), Some(build_id)) = (&frame.module, &frame.build_id) {
            missing.entry((module, build_id)).or_default().push(frame);
        }
    }
    let mut named = Vec::new();
    for ((module, build_id), frames) in missing {
        let opened = symbols::open(Path::new(module)).ok().and_then(|file| Some((Binary::open(&file).ok()?, file)));
        let Some((binary, file)) = opened else { continue };
        if binary.build_id() != Some(build_id) {
            warn(&format!("user stacks: {module} is not the build that ran ({build_id}): its functions stay unknown"));
            continue;
        }
        let debug = debug_file(Path::new("/"), build_id).and_then(|path| symbols::open(&path).ok());
        let question = |frame: &&UserFrameRecord| Question { offset: frame.offset, is_after_call: !frame.is_innermost };
        let questions: Vec<Question> = frames.iter().map(question).collect();
        let locations = binary.locations(&file, &questions, debug).unwrap_or_default();
        let found = frames.into_iter().zip(locations).filter(|(_, locations)| !locations.is_empty());
        named.extend(found.map(|(frame, locations)| with_names(frame, locations)));
    }
    named
}

fn with_names(frame: &UserFrameRecord, locations: Vec<SourceLocation>) -> UserFrameRecord {
    let mut named = frame.clone();
    for location in locations {
        named.functions.push(location.function.unwrap_or_default());
        named.files.push(location.file.unwrap_or_default());
        named.lines.push(location.line.unwrap_or(0));
    }
    named
}
