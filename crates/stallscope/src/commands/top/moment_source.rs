//! Where moments come from.

use explain::glance::{Glance, Window};
use model::time::Moment;
use top::Extent;

use crate::ui::failure::Failure;

/// Where moments come from.
pub(super) trait MomentSource {
    /// What it is called.
    fn title(&self) -> String;
    /// When it began, on both clocks.
    fn started(&self) -> Moment;
    /// Takes what is new, and says what there is to see.
    fn refresh(&mut self) -> Result<Extent, Failure>;
    /// What was seen in a time.
    fn glance(&mut self, window: Window) -> Glance;
    /// Something that the person should know.
    fn remark(&self) -> Option<String>;
}
