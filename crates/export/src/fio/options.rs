//! The options with which fio would do what the run did, as far as there are such.

use model::run::RunDescription;
use serde_json::{Map, Value};

use super::direction::Direction;

/// What readers of fio's files sort runs by.
pub(super) struct Options {
    name: String,
    /// fio's word for the mix.
    rw: &'static str,
    block_size: Option<u64>,
    depth: u64,
    threads: u64,
    engine: Option<&'static str>,
    direct: Option<u64>,
    /// What made the run, where no machine did.
    made_by: Option<String>,
}

impl Options {
    /// Of the recipe's variables, and of what was done: which directions, and how many bytes at a time.
    pub(super) fn of<'a>(description: &RunDescription, directions: impl IntoIterator<Item = &'a Direction>) -> Options {
        let mut moved = [(0_u64, 0_u64); 2];
        // Reads and writes come first, in each job.
        for (at, direction) in directions.into_iter().enumerate().map(|(at, direction)| (at % 4, direction)) {
            if let Some((count, bytes)) = moved.get_mut(at) {
                *count += direction.count - direction.errors.min(direction.count);
                *bytes += direction.bytes;
            }
        }
        let is_random = description.recipe.as_ref().is_some_and(|recipe| recipe.name == "randrw");
        let rw = match (moved[0].0 > 0, moved[1].0 > 0, is_random) {
            (true, false, true) => "randread",
            (false, true, true) => "randwrite",
            (_, _, true) => "randrw",
            (true, false, false) => "read",
            (false, true, false) => "write",
            (_, _, false) => "rw",
        };
        let number = |wanted: &str| {
            let variables = description.recipe.iter().flat_map(|recipe| &recipe.variables);
            variables.filter(|(name, _)| name == wanted).map(|(_, value)| *value as u64).next()
        };
        let words = description.recipe.iter().flat_map(|recipe| &recipe.words);
        let engine = words.filter(|(name, _)| name == "engine").find_map(|(_, word)| match word.as_str() {
            "sync" => Some("psync"),
            "io_uring" => Some("io_uring"),
            "null" => Some("null"),
            _ => None,
        });
        Options {
            name: description.workload.clone(),
            rw,
            block_size: (moved[0].1 + moved[1].1).checked_div(moved[0].0 + moved[1].0),
            depth: number("depth").unwrap_or(1),
            threads: number("threads").unwrap_or(1),
            engine,
            direct: number("direct"),
            made_by: description.origin().map(|origin| {
                format!("SIMULATED by the model '{}', policy '{}': measured on no machine", origin.model, origin.policy)
            }),
        }
    }

    /// As fio tells them: each value a text.
    pub(super) fn json(&self) -> Value {
        let mut options = Map::new();
        let mut tell = |name: &str, value: String| drop(options.insert(name.to_owned(), value.into()));
        tell("name", self.name.clone());
        tell("rw", self.rw.to_owned());
        tell("iodepth", self.depth.to_string());
        tell("numjobs", self.threads.to_string());
        if let Some(bytes) = self.block_size {
            tell("bs", if bytes % 1024 == 0 { format!("{}k", bytes / 1024) } else { bytes.to_string() });
        }
        if let Some(engine) = self.engine {
            tell("ioengine", engine.to_owned());
        }
        if let Some(direct) = self.direct {
            tell("direct", direct.to_string());
        }
        if let Some(made_by) = &self.made_by {
            tell("description", made_by.clone());
        }
        Value::Object(options)
    }

    /// As fio-plot's own runner of fio calls its files.
    pub(super) fn file_stem(&self) -> String {
        format!("{}-iodepth-{}-numjobs-{}", self.rw, self.depth, self.threads)
    }
}
