//! The rows of a run for an export: damaged batches are skipped, Ctrl-C is checked, progress is shown.

use std::io;
use std::time::{Duration, Instant};

use archive::{ArchiveError, Run};
use model::quantity::counted;

use super::destination::Destination;
use crate::ui::failure::Failure;
use crate::ui::interrupt::Interrupt;
use crate::ui::screen::Screen;

/// Progress is shown after this time.
const PATIENCE: Duration = Duration::from_secs(2);

/// A run being read.
pub struct RunRows<'a> {
    /// The run.
    pub run: &'a Run,
    /// Where to report.
    pub screen: &'a Screen,
    interrupt: &'a Interrupt,
    began: Instant,
    rows: u64,
}

impl<'a> RunRows<'a> {
    /// A run of which nothing has been read.
    pub fn new(run: &'a Run, screen: &'a Screen, interrupt: &'a Interrupt) -> RunRows<'a> {
        RunRows { run, screen, interrupt, began: Instant::now(), rows: 0 }
    }

    /// Passes each batch to `take`. Returns the number of rows; `count` counts the rows of a batch.
    pub fn each<Batch>(
        &mut self,
        destination: &Destination,
        batches: impl Iterator<Item = Result<Batch, ArchiveError>>,
        count: impl Fn(&Batch) -> usize,
        mut take: impl FnMut(Batch) -> io::Result<()>,
    ) -> Result<u64, Failure> {
        let before = self.rows;
        for batch in batches {
            if self.interrupt.requests() > 0 {
                return Err(Failure::machine("interrupted"));
            }
            // A run notes its own damage.
            if let Ok(batch) = batch {
                self.rows += count(&batch) as u64;
                take(batch).map_err(|error| destination.failed(error))?;
            }
            if self.began.elapsed() > PATIENCE {
                self.screen.doing(counted(self.rows, "row"));
            }
        }
        Ok(self.rows - before)
    }
}
