//! Names of places, looked up by a thread of its own: reading debug information may take long.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use model::user_stack::UserFrameRecord;
use symbols::{Binary, Question, SourceLocation, debug_file};

use super::modules::ModuleFile;

/// Places of one file.
struct Batch {
    file: Arc<ModuleFile>,
    records: Vec<UserFrameRecord>,
}

/// Places on their way to their names.
pub(super) struct Naming {
    asked: HashMap<String, Batch>,
    batches: Option<Sender<Batch>>,
    named: Receiver<Vec<UserFrameRecord>>,
    sender: Sender<Vec<UserFrameRecord>>,
    under_way: usize,
}

impl Naming {
    pub(super) fn new() -> Naming {
        let (sender, named) = channel();
        Naming { asked: HashMap::new(), batches: None, named, sender, under_way: 0 }
    }

    /// Has the names of a place looked up.
    pub(super) fn ask(&mut self, file: &Arc<ModuleFile>, record: &UserFrameRecord) {
        let key = format!("{} {}", file.path, record.build_id.as_deref().unwrap_or_default());
        let batch = self.asked.entry(key).or_insert_with(|| Batch { file: file.clone(), records: Vec::new() });
        batch.records.push(record.clone());
    }

    /// Hands on what was asked for. The files are opened here, while the processes live.
    pub(super) fn start(&mut self) {
        // One after the other: a file is read once for all that was asked for meanwhile.
        if self.asked.is_empty() || self.under_way > 0 {
            return;
        }
        if self.batches.is_none() {
            let (batches, received) = channel();
            let named = self.sender.clone();
            let thread = std::thread::Builder::new().name("symbols".to_owned());
            if thread.spawn(move || look_up_all(&received, &named)).is_ok() {
                self.batches = Some(batches);
            }
        }
        let Some(batches) = &self.batches else { return };
        for (_, batch) in self.asked.drain() {
            self.under_way += usize::from(batches.send(batch).is_ok());
        }
    }

    /// The names that were found, or are found within a time. Places without names are not among them.
    pub(super) fn take(&mut self, wait: Duration) -> Vec<UserFrameRecord> {
        let until = Instant::now() + wait;
        let mut all = Vec::new();
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.named.recv_timeout(if self.under_way > 0 { left } else { Duration::ZERO }) {
                Ok(named) => {
                    self.under_way = self.under_way.saturating_sub(1);
                    all.extend(named);
                    self.start();
                }
                Err(_) => return all,
            }
        }
    }
}

fn look_up_all(batches: &Receiver<Batch>, named: &Sender<Vec<UserFrameRecord>>) {
    while let Ok(batch) = batches.recv() {
        let records = look_up(&batch).unwrap_or_default();
        if named.send(records).is_err() {
            return;
        }
    }
}

fn look_up(batch: &Batch) -> Option<Vec<UserFrameRecord>> {
    let opened = batch.file.places.iter().find_map(|place| {
        let file = symbols::open(place).ok()?;
        let binary = Binary::open(&file).ok()?;
        let same = batch.file.binary.as_ref().is_some_and(|known| known.build_id() == binary.build_id());
        same.then_some((file, binary))
    });
    let (file, binary) = opened?;
    let debug =
        binary.build_id().and_then(|id| debug_file(Path::new("/"), id)).and_then(|path| symbols::open(&path).ok());
    let question = |record: &UserFrameRecord| Question { offset: record.offset, is_after_call: !record.is_innermost };
    let questions: Vec<Question> = batch.records.iter().map(question).collect();
    let locations = binary.locations(&file, &questions, debug).ok()?;
    let named = batch.records.iter().zip(locations).filter(|(_, locations)| !locations.is_empty());
    Some(named.map(|(record, locations)| with_names(record, locations)).collect())
}

/// The place with the names of its functions.
pub(super) fn with_names(record: &UserFrameRecord, locations: Vec<SourceLocation>) -> UserFrameRecord {
    let (mut functions, mut files, mut lines) = (Vec::new(), Vec::new(), Vec::new());
    for location in locations {
        functions.push(location.function.unwrap_or_default());
        files.push(location.file.unwrap_or_default());
        lines.push(location.line.unwrap_or(0));
    }
    UserFrameRecord { functions, files, lines, ..record.clone() }
}
