//! The fio options that correspond to the run, where there are any.

use model::run::RunDescription;
use serde_json::{Map, Value};

use super::direction::Direction;

/// The options by which readers of fio's files sort runs.
pub(super) struct FioOptions {
    name: String,
    /// fio's word for the mix.
    rw: &'static str,
    block_size: Option<u64>,
    depth: u64,
    threads: u64,
    engine: Option<&'static str>,
    direct: Option<u64>,
    /// The model of a simulated run.
    made_by: Option<String>,
}

impl FioOptions {
    /// From the recipe's variables and the operations done: directions and mean size.
    pub(super) fn of<'a>(
        description: &RunDescription,
        directions: impl IntoIterator<Item = &'a Direction>,
    ) -> FioOptions {
        let mut moved = [(0_u64, 0_u64); 2];
        // Reads and writes come first, in each job.
        for (at, direction) in directions.into_iter().enumerate().map(|(at, direction)| (at % 4, direction)) {
            if let Some((count, bytes)) = moved.get_mut(at) {
                *count += direction.count - direction.errors.min(direction.count);
                *bytes += direction.bytes;
            }
        }
        let number = |wanted: &str| {
            let variables = description.recipe.iter().flat_map(|recipe| &recipe.variables);
            variables.filter(|(name, _)| name == wanted).map(|(_, value)| *value as u64).next()
        };
        FioOptions {
            name: description.workload.clone(),
            rw: mix(description, moved[0].0 > 0, moved[1].0 > 0),
            block_size: (moved[0].1 + moved[1].1).checked_div(moved[0].0 + moved[1].0),
            depth: number("depth").unwrap_or(1),
            threads: number("threads").unwrap_or(1),
            engine: engine(description),
            direct: number("direct"),
            made_by: description.origin().map(|origin| {
                format!("SIMULATED by the model '{}', policy '{}': measured on no machine", origin.model, origin.policy)
            }),
        }
    }

    /// As in fio's JSON: each value is text.
    pub(super) fn json(&self) -> Value {
        let mut options = Map::new();
        let mut option = |name: &str, value: String| drop(options.insert(name.to_owned(), value.into()));
        option("name", self.name.clone());
        option("rw", self.rw.to_owned());
        option("iodepth", self.depth.to_string());
        option("numjobs", self.threads.to_string());
        if let Some(bytes) = self.block_size {
            option("bs", if bytes % 1024 == 0 { format!("{}k", bytes / 1024) } else { bytes.to_string() });
        }
        if let Some(engine) = self.engine {
            option("ioengine", engine.to_owned());
        }
        if let Some(direct) = self.direct {
            option("direct", direct.to_string());
        }
        if let Some(made_by) = &self.made_by {
            option("description", made_by.clone());
        }
        Value::Object(options)
    }

    /// The name that fio-plot's runner gives its files.
    pub(super) fn file_stem(&self) -> String {
        format!("{}-iodepth-{}-numjobs-{}", self.rw, self.depth, self.threads)
    }
}

/// fio's word for the mix of reads and writes.
fn mix(description: &RunDescription, reads: bool, writes: bool) -> &'static str {
    let is_random = description.recipe.as_ref().is_some_and(|recipe| recipe.name == "randrw");
    match (reads, writes, is_random) {
        (true, false, true) => "randread",
        (false, true, true) => "randwrite",
        (_, _, true) => "randrw",
        (true, false, false) => "read",
        (false, true, false) => "write",
        (_, _, false) => "rw",
    }
}

fn engine(description: &RunDescription) -> Option<&'static str> {
    let words = description.recipe.iter().flat_map(|recipe| &recipe.words);
    words.filter(|(name, _)| name == "engine").find_map(|(_, word)| match word.as_str() {
        "sync" => Some("psync"),
        "io_uring" => Some("io_uring"),
        "null" => Some("null"),
        _ => None,
    })
}
