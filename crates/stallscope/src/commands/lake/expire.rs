//! `lake expire`: old days leave a lake.

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::Args;
use lake::{Lake, date_of};
use model::quantity::Bytes;
use model::quantity::counted;

use super::opened::{failed, refuse_foreign};
use crate::ui::failure::{Exit, Failure};
use crate::ui::screen::Screen;

const DAY_NS: i64 = 86_400_000_000_000;
/// Longer than any lake has existed, and short enough for a date of the clock's.
const MOST_DAYS: u32 = 36_500;

/// Options of `lake expire`.
#[derive(Debug, Args)]
pub struct ExpireArgs {
    /// Directory of the lake.
    #[arg(value_name = "LAKE")]
    pub lake: PathBuf,
    /// Keep the last days (UTC), such as 90d or 12w.
    #[arg(long, value_name = "DAYS", value_parser = days)]
    pub keep: u32,
    /// Remove nothing; print what would be removed.
    #[arg(long)]
    pub dry_run: bool,
    /// Suppress notes.
    #[arg(long, short = 'q')]
    pub quiet: bool,
}

/// Removes days.
pub fn expire(args: &ExpireArgs, screen: &Screen) -> Result<Exit, Failure> {
    refuse_foreign(&args.lake)?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_err(Failure::machine)?;
    let now_ns = i64::try_from(now.as_nanos()).map_err(Failure::machine)?;
    let first = date_of(now_ns - i64::from(args.keep) * DAY_NS);
    let lake = Lake::open(&args.lake).map_err(failed)?;
    let done = lake.expire(&first, args.dry_run).map_err(failed)?;
    let name = args.lake.display();
    let (days, files) = (counted(done.days.len() as u64, "day"), counted(done.files, "file"));
    let bytes = Bytes(done.bytes);
    screen.remark(&match (done.days.first(), done.days.last()) {
        (Some(from), Some(to)) => {
            let verb = if args.dry_run { "would remove" } else { "removed" };
            format!("{name}: {verb} {days}, {from} to {to} ({files}, {bytes})")
        }
        _ => format!("{name}: nothing is older than {first}"),
    });
    Ok(Exit::Done)
}

fn days(text: &str) -> Result<u32, String> {
    let (number, unit) = text.split_at(text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len()));
    let days = match unit {
        "d" => 1,
        "w" => 7,
        _ => return Err("give days or weeks, such as 90d or 12w".to_owned()),
    };
    let number: Option<u32> = number.parse().ok();
    let kept = number.and_then(|number| number.checked_mul(days)).filter(|kept| (1..=MOST_DAYS).contains(kept));
    kept.ok_or_else(|| format!("give 1 to {MOST_DAYS} days"))
}

#[cfg(test)]
mod tests {
    use super::days;

    #[test]
    fn days_and_weeks_are_read_and_others_refused() {
        for (text, expected) in [
            ("90d", Some(90)),
            ("12w", Some(84)),
            ("0d", None),
            ("90", None),
            ("d", None),
            ("1.5d", None),
            ("90h", None),
            ("99999999999d", None),
            ("36501d", None),
        ] {
            assert_eq!(days(text).ok(), expected, "{text}");
        }
    }
}
