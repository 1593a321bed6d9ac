//! Zone appends: submitted at the begin of a zone, completed where the device put the data.

use model::block::{Action, BlockEvent, DeviceNumber, Kind, Operation};

/// Appends in flight that are remembered.
const MOST: usize = 4096;

/// Appends at the driver, the oldest first.
#[derive(Debug, Default)]
pub(super) struct ZoneAppends {
    issued: Vec<(DeviceNumber, u64, u32)>,
}

/// The kernel writes appends as `ZA`; a write is never ahead.
#[inline]
pub(super) fn is_append(kind: Kind) -> bool {
    kind.operation() == Operation::Write && kind.has(Kind::AHEAD)
}

impl ZoneAppends {
    /// The event, at the sector at which the append was submitted.
    pub(super) fn placed(&mut self, event: &BlockEvent) -> BlockEvent {
        match event.action {
            Action::Issue => {
                if self.issued.len() == MOST {
                    self.issued.remove(0);
                }
                self.issued.push((event.device, event.sector, event.bytes));
                *event
            }
            Action::Complete => {
                // Zones follow each other: it is in the one that begins last before it.
                let fits = |(device, sector, bytes): &(DeviceNumber, u64, u32)| {
                    (*device, *bytes) == (event.device, event.bytes) && *sector <= event.sector
                };
                let begin = self.issued.iter().filter(|append| fits(append)).map(|append| append.1).max();
                let at = self.issued.iter().position(|append| fits(append) && Some(append.1) == begin);
                at.map_or(*event, |at| BlockEvent { sector: self.issued.remove(at).1, ..*event })
            }
            _ => *event,
        }
    }
}
