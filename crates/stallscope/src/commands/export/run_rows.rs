//! The rows of a run on their way into a format: what is damaged is told and passed over, Ctrl-C is heard, and a person who
//! waits is told how far it is.

use std::fmt::Display;
use std::io;
use std::time::{Duration, Instant};

use archive::{ArchiveError, Run};
use report::number::grouped;

use super::destination::Destination;
use crate::ui::failure::Failure;
use crate::ui::interrupt::Interrupt;
use crate::ui::screen::Screen;

/// Nobody asks how far it is before.
const PATIENCE: Duration = Duration::from_secs(2);

/// A run being read.
pub struct RunRows<'a> {
    /// The run.
    pub run: &'a Run,
    /// The person.
    pub screen: &'a Screen,
    interrupt: &'a Interrupt,
    began: Instant,
    rows: u64,
    damaged: Vec<String>,
}

impl<'a> RunRows<'a> {
    /// A run of which nothing was read.
    pub fn new(run: &'a Run, screen: &'a Screen, interrupt: &'a Interrupt) -> RunRows<'a> {
        RunRows { run, screen, interrupt, began: Instant::now(), rows: 0, damaged: Vec::new() }
    }

    /// Hands each batch on, and tells how many rows there were. `count` says how many rows a batch has.
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
            match batch {
                Ok(batch) => {
                    self.rows += count(&batch) as u64;
                    take(batch).map_err(|error| destination.failed(error))?;
                }
                Err(error) => self.pass_over(&error),
            }
            if self.began.elapsed() > PATIENCE {
                self.screen.doing(format!("{} rows", grouped(self.rows)));
            }
        }
        Ok(self.rows - before)
    }

    /// Tells what cannot be read, once: a format may read a run several times.
    pub fn pass_over(&mut self, error: &impl Display) {
        let error = error.to_string();
        if !self.damaged.contains(&error) {
            self.screen.warning(&format!("{error}; the export does without"));
            self.damaged.push(error);
        }
    }

    /// How many batches could not be read.
    pub fn damaged(&self) -> usize {
        self.damaged.len()
    }
}
