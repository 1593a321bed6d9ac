//! The life of bios and requests, from the events of the block layer: what each one's time went to, and who passed
//! whom.
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
//! Events come in the order in which they happened, from a trace or from a live tracer. A bio is keyed by device,
//! direction and sector range. State is bounded whatever comes: see [`Settings`].
//!
//! **What is certain.** A bio's times are counted only if they cannot be wrong. Where the reader marks lost events, a
//! bio that was in flight is counted out, unless one event alone was lost meanwhile: no single loss can make two events
//! pair wrongly without leaving a second candidate in sight, which is looked for. The same holds for a clock that
//! jumps: what spans the jump is counted out. `docs/BLOCK.md` has the argument.
#![forbid(unsafe_code)]

mod arrivals;
mod bio;
mod class;
mod clock;
mod device;
mod histogram;
mod index;
mod machine;
mod phase;
mod report;
mod settings;
mod slow;
mod tables;
mod timeline;
mod watch;
mod watch_block;

pub use clock::{ClockReport, Jump};
pub use histogram::Histogram;
pub use machine::{Certainty, FinishedBio, Lifecycle, Observer};
pub use phase::{PerPhase, Phase, PhaseTimes};
pub use report::{Anomalies, BlockReport, DeviceReport, OTHER_PROCESSES, WhoTimes};
pub use settings::Settings;
pub use slow::{Others, SlowBio, SlowReport};
pub use tables::{CountedOut, DeviceTables, KindTimes, Plugs, Seeks};
pub use timeline::{BINS, Bin, HEAT_ROWS, Timeline, heat_row_range_ns};
