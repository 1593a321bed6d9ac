//! How many more periods a verdict needs.

use model::quantity::counted;

/// Beyond this a trial with periods of 10 s lasts longer than half a day.
const MOST_PERIODS: u64 = 4_000;

/// `20 more periods`; a number that no trial reaches is said to be none.
pub(super) fn needed(periods: u64) -> String {
    let more = counted(periods, "more period");
    if periods > MOST_PERIODS { format!("{more}, which is not practical") } else { more }
}
