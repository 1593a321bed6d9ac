//! A plan as text.

use std::fmt;

use model::quantity::{Bytes, Nanoseconds};

use super::definition::Plan;

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let totals = &self.totals;
        let actors: Vec<String> = self.actors.iter().map(|actor| format!("{} {}", actor.threads, actor.name)).collect();
        writeln!(
            f,
            "threads         {} ({}), at most {} at once",
            totals.threads,
            actors.join(", "),
            totals.peak_threads
        )?;
        writeln!(f, "memory          {} of {}", Bytes(totals.memory_bytes), Bytes(totals.memory_available_bytes))?;
        for set in &self.file_sets {
            let (files, size) = (set.files, Bytes(set.size_bytes));
            match self.directories.len() {
                1 => writeln!(f, "files           {files} x {size} ('{}')", set.name)?,
                count => {
                    writeln!(f, "files           {files} x {size} ('{}') in each of {count} directories", set.name)?
                }
            }
        }
        writeln!(f, "bytes to write  {} of {}", Bytes(totals.bytes_to_write), Bytes(totals.data_bytes))?;
        for space in &totals.file_systems {
            let paths: Vec<String> = space.directories.iter().map(|path| path.display().to_string()).collect();
            let (left, free) = (Bytes(space.left_bytes), Bytes(space.free_bytes));
            writeln!(f, "free space      {left} left of {free} on {}", paths.join(", "))?;
        }
        for phase in &self.phases {
            match phase.duration_ns {
                Some(duration) => writeln!(f, "phase           {} for {}", phase.name, Nanoseconds(duration))?,
                None => writeln!(f, "phase           {} until complete", phase.name)?,
            }
        }
        for remark in self.remarks() {
            writeln!(f, "note            {remark}")?;
        }
        for refusal in &self.refusals {
            writeln!(f, "refused         {}; {}", refusal.what, refusal.remedy)?;
        }
        Ok(())
    }
}
