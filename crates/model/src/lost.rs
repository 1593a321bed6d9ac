//! What a recording lost before it was written.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::event::RunEvent;
use crate::loss_kind::SKIPPED_EVENTS;

/// Something that the recording lost before it was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lost {
    /// What: `slow system calls (the kernel's ring was full)`, `table stalls`, ...
    pub what: String,
    /// How many; `None`: everything from `at_ns` on.
    pub count: Option<u64>,
    /// When it was noticed last, on the monotonic clock; `None`: unknown.
    pub at_ns: Option<u64>,
    /// Why, where known.
    pub why: Option<String>,
}

/// What a recorder that was killed did not write.
const END: &str = "the end of the run";

impl Lost {
    /// Of a run whose recorder died: everything after its last flush.
    #[must_use]
    pub fn end(last_flush_ns: u64) -> Lost {
        let why = "it was cut off, and whatever happened after its last flush is not in it".to_owned();
        Lost { what: END.to_owned(), count: None, at_ns: Some(last_flush_ns), why: Some(why) }
    }

    /// What a run lost by its events. Losses of one kind are one.
    pub fn of(events: &[RunEvent]) -> Vec<Lost> {
        let mut all: Vec<Lost> = Vec::new();
        for event in events {
            match event {
                RunEvent::Loss { what, .. } if what == SKIPPED_EVENTS.name => {}
                RunEvent::Loss { what, count, at_ns } => {
                    let known = all.iter_mut().find(|lost| lost.what == *what && lost.count.is_some());
                    match known {
                        Some(lost) => {
                            lost.count = lost.count.map(|before| before.saturating_add(*count));
                            lost.at_ns = Some(*at_ns);
                        }
                        None => {
                            all.push(Lost { what: what.clone(), count: Some(*count), at_ns: Some(*at_ns), why: None });
                        }
                    }
                }
                RunEvent::TableDropped { table, why, at_ns } => {
                    let what = format!("table {table}");
                    all.push(Lost { what, count: None, at_ns: Some(*at_ns), why: Some(why.clone()) });
                }
                _ => {}
            }
        }
        all
    }
}

/// `rows of stalls`, or of one `row of stalls`. The plural is the last word before `of`, `with`, `in` or a parenthesis.
pub fn noun(count: u64, what: &str) -> String {
    let end = [" of ", " with ", " in ", " ("].iter().filter_map(|rest| what.find(rest)).min().unwrap_or(what.len());
    match what[..end].strip_suffix('s') {
        Some(singular) if count == 1 => format!("{singular}{}", &what[end..]),
        _ => what.to_owned(),
    }
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.count {
            Some(count) => write!(f, "{count} {} lost", noun(count, &self.what))?,
            None if self.what == END => write!(f, "{END} is missing")?,
            None => write!(f, "{} abandoned", self.what)?,
        }
        self.why.as_ref().map_or(Ok(()), |why| write!(f, ": {why}"))
    }
}

#[cfg(test)]
mod tests {
    use super::Lost;
    use crate::event::RunEvent;
    use crate::loss_kind::SKIPPED_EVENTS;

    #[test]
    fn losses_of_one_kind_are_one_and_skipped_events_are_none() {
        let loss = |what: &str, count, at_ns| RunEvent::Loss { what: what.into(), count, at_ns };
        let dropped = RunEvent::TableDropped { table: "stalls".into(), why: "disk full".into(), at_ns: 9 };
        let events = [loss("spans", 2, 5), loss(SKIPPED_EVENTS.name, 7, 6), loss("spans", 3, 7), dropped];
        let lost = Lost::of(&events);
        let said: Vec<String> = lost.iter().map(ToString::to_string).collect();
        assert_eq!(said, ["5 spans lost", "table stalls abandoned: disk full"]);
        assert_eq!((lost[0].at_ns, lost[1].count), (Some(7), None));
    }

    #[test]
    fn one_loss_is_singular() {
        let said =
            |count, what: &str| Lost { what: what.into(), count: Some(count), at_ns: None, why: None }.to_string();
        assert_eq!(said(1, "rows with impossible timestamps"), "1 row with impossible timestamps lost");
        assert_eq!(said(2, "rows with impossible timestamps"), "2 rows with impossible timestamps lost");
        assert_eq!(said(1, "spans (the kernel's ring was full)"), "1 span (the kernel's ring was full) lost");
        assert_eq!(said(1, "sums of short sleeps"), "1 sum of short sleeps lost");
        assert_eq!(said(1, "damage"), "1 damage lost");
    }
}
