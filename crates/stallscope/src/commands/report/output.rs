//! The file that `report` writes.

use std::io::Write as _;

use model::quantity::Bytes;

use super::options::ReportArgs;
use crate::reading::integrity::Integrity;
use crate::recording::own_path::create;
use crate::ui::failure::{Exit, Failure};
use crate::ui::screen::Screen;

pub(super) fn write(args: &ReportArgs, html: &str, integrity: &Integrity, screen: &Screen) -> Result<Exit, Failure> {
    create(&args.output)?
        .write_all(html.as_bytes())
        .map_err(|error| Failure::path(&error, format_args!("{}: cannot write: {error}", args.output.display())))?;
    let banner = integrity.banner(screen.style());
    screen.result(&format!("{banner}{}: {}\n", args.output.display(), Bytes(html.len() as u64)));
    Ok(integrity.exit())
}
