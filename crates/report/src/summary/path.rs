//! Paths of operations.

use explain::summary::Summary;

/// A path relative to the directory under test, if there is exactly one.
pub(super) fn below<'a>(path: &'a str, summary: &Summary) -> &'a str {
    let [directory] = &summary.directories[..] else { return path };
    path.strip_prefix(directory.as_str()).map_or(path, |rest| rest.trim_start_matches('/'))
}
