//! Sources of snapshots: a live recording, or a run.

use explain::snapshot::{Snapshot, Window};
use model::run::RunDescription;
use model::time::Moment;
use top::Extent;

use crate::reading::integrity::Integrity;
use crate::ui::failure::Failure;

/// A source of snapshots.
pub(super) trait SnapshotSource {
    /// Its title.
    fn title(&self) -> String;
    /// What was recorded, and where.
    fn description(&self) -> &RunDescription;
    /// Its start, on both clocks.
    fn started(&self) -> Moment {
        self.description().started
    }
    /// Reads new data, and returns the available time.
    fn refresh(&mut self) -> Result<Extent, Failure>;
    /// What happened in a window.
    fn snapshot(&mut self, window: Window) -> Snapshot;
    /// What of it is damaged.
    fn integrity(&self) -> Integrity {
        Integrity::default()
    }
    /// A remark for the user.
    fn remark(&self) -> Option<String>;
}
