//! The lifecycle of bios and requests, from block-layer events: phase times, and who overtook whom.
//!
//! ```
//! use lifecycle::{Lifecycle, Settings};
//! use model::block::{Action, BlockEvent, DeviceNumber};
//!
//! let mut lifecycle = Lifecycle::new(Settings::default());
//! lifecycle.feed(&BlockEvent { bytes: 4096, ..BlockEvent::new(100, Action::Queue, DeviceNumber::new(8, 0)) });
//! let (report, _) = lifecycle.finish();
//! assert_eq!(report.anomalies.unmatched_queue, 1);
//! ```
//!
//! Events arrive in order of time, from a trace or a live tracer. A bio is keyed by device, direction and sector range.
//! State is bounded for any input: see [`Settings`].
//!
//! **Certainty.** A bio's times count only if they cannot be wrong. Where the reader marks lost events, bios in flight
//! are excluded, unless a single event was lost: one loss cannot pair two events wrongly without leaving a second
//! candidate, and the lifecycle checks for one. Bios that span a clock jump are excluded as well. `docs/BLOCK.md` has
//! the argument.
#![forbid(unsafe_code)]

mod arrivals;
mod bio;
mod certainty;
mod class;
mod clock;
mod device;
mod histogram;
mod index;
mod machine;
mod overtake_block;
mod overtake_index;
mod phase;
mod report;
mod settings;
mod slow;
mod tables;
mod tally;
mod timeline;
mod zone_appends;

pub use certainty::Certainty;
pub use clock::{ClockReport, Jump};
pub use histogram::Histogram;
pub use machine::{FinishedBio, Lifecycle, Observer};
pub use phase::{PerPhase, Phase, PhaseTimes};
pub use report::{Anomalies, BlockReport, DeviceReport, OTHER_PROCESSES, SubmitterTimes};
pub use settings::Settings;
pub use slow::{Others, SlowBio, SlowReport};
pub use tables::{CountedOut, DeviceTables, KindTimes, Plugs, Seeks};
pub use timeline::{BINS, Bin, HEAT_ROWS, Timeline, heat_row_range_ns};
