//! Sources of moments: a live recording, or a run.

use explain::glance::{Glance, Window};
use model::time::Moment;
use top::Extent;

use crate::ui::failure::Failure;

/// A source of moments.
pub(super) trait MomentSource {
    /// Its title.
    fn title(&self) -> String;
    /// Its start, on both clocks.
    fn started(&self) -> Moment;
    /// Reads new data, and returns the available time.
    fn refresh(&mut self) -> Result<Extent, Failure>;
    /// What happened in a window.
    fn glance(&mut self, window: Window) -> Glance;
    /// A remark for the user.
    fn remark(&self) -> Option<String>;
}
