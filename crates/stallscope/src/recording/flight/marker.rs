//! The marker of a flight recorder's directory.

use std::path::Path;

/// The file; it holds the recorder's pid.
pub const MARKER: &str = "flight-recorder";

/// Whether a directory is a flight recorder's.
pub fn is_flight_directory(directory: &Path) -> bool {
    directory.join(MARKER).symlink_metadata().is_ok_and(|metadata| metadata.is_file())
}
