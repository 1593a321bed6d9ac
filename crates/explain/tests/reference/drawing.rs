//! Draws a world: a line for each task, a column for each tick.

use std::fmt;

use crate::world::{What, World};

impl World {
    fn letter(&self, task: usize, at: u64) -> char {
        let Some(wait) = self.wait(task, at) else { return '=' };
        let since = at - wait.start;
        match wait.what {
            What::Cpu => 'p',
            _ if at >= wait.woken => 'w',
            What::Lock { resource, .. } if self.resources[resource].is_kernel_lock() => 'K',
            What::Lock { .. } => 'U',
            What::Answer { .. } => 'A',
            What::Disk { before, throttled, .. } if since < before => {
                if throttled {
                    't'
                } else {
                    'r'
                }
            }
            What::Disk { before, queue, .. } if since < before + queue => 'q',
            What::Disk { .. } => 'd',
            What::Log { journal } => {
                if journal {
                    'j'
                } else {
                    'x'
                }
            }
            What::Commit { .. } => 'C',
            What::Message => '.',
        }
    }
}

impl fmt::Display for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:?} {:?}", self.subject, self.resources)?;
        for (task, life) in self.lives.iter().enumerate() {
            let line: String = (0..self.end).map(|at| self.letter(task, at)).collect();
            let acts: Vec<String> = life.acts.iter().map(|act| format!("{}..{}", act.start, act.end)).collect();
            writeln!(f, "{task:2} |{line}| {}", acts.join(" "))?;
        }
        write!(f, "   |{}|", (0..self.end).map(|at| (b'0' + (at % 10) as u8) as char).collect::<String>())
    }
}
