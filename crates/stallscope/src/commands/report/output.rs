//! The file that `report` writes.

use model::quantity::Bytes;

use super::options::ReportArgs;
use crate::reading::integrity::Integrity;
use crate::recording::output_file;
use crate::ui::failure::{Exit, Failure};
use crate::ui::screen::Screen;

pub(super) fn write(args: &ReportArgs, html: &str, integrity: &Integrity, screen: &Screen) -> Result<Exit, Failure> {
    output_file::write(&args.output, html.as_bytes(), &args.runs)?;
    let banner = integrity.banner(screen.style());
    screen.result(&format!("{banner}{}: {}\n", args.output.display(), Bytes(html.len() as u64)));
    Ok(integrity.exit())
}
