//! Days, as `2026-11-23`. Their text sorts as they do.

use std::fmt;

/// A day in UTC.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Day(String);

impl Day {
    /// The first that a lake can hold.
    pub(crate) const FIRST: &str = "1970-01-01";
    /// The last that a lake can hold.
    pub(crate) const LAST: &str = "2262-04-11";

    /// Reads `2026-11-23`; nothing if there is no such day.
    pub(crate) fn parse(text: &str) -> Option<Day> {
        let text = text.trim();
        let mut parts = text.split('-');
        let mut part = |digits: usize| -> Option<u32> {
            let part = parts.next()?;
            (part.len() == digits && part.bytes().all(|byte| byte.is_ascii_digit())).then(|| part.parse().ok())?
        };
        let (year, month, day) = (part(4)?, part(2)?, part(2)?);
        let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let last = match month {
            4 | 6 | 9 | 11 => 30,
            2 => 28 + u32::from(is_leap),
            1..=12 => 31,
            _ => return None,
        };
        (parts.next().is_none() && (1..=last).contains(&day)).then(|| Day(text.to_owned()))
    }

    /// The day before.
    pub(crate) fn previous(&self) -> Day {
        let number = |at: std::ops::Range<usize>| self.0[at].parse().unwrap_or(1);
        let (year, month, day): (u32, u32, u32) = (number(0..4), number(5..7), number(8..10));
        let of = |year: u32, month: u32, day: u32| format!("{year:04}-{month:02}-{day:02}");
        if day > 1 {
            return Day(of(year, month, day - 1));
        }
        let (year, month) = if month > 1 { (year, month - 1) } else { (year.saturating_sub(1), 12) };
        let last = (28..=31).rev().map(|day| of(year, month, day)).find_map(|text| Day::parse(&text));
        last.unwrap_or_else(|| self.clone())
    }

    /// A constant of this module.
    pub(crate) fn constant(text: &str) -> Day {
        Day(text.to_owned())
    }
}

impl fmt::Display for Day {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

/// Days from the first to the last, both included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Days {
    /// First day.
    pub(crate) from: Day,
    /// Last day.
    pub(crate) to: Day,
}

impl Days {
    /// Reads `FROM..TO`; nothing if it is no such period.
    pub(crate) fn parse(text: &str) -> Option<Days> {
        let (from, to) = text.split_once("..")?;
        let days = Days { from: Day::parse(from)?, to: Day::parse(to)? };
        (days.from <= days.to).then_some(days)
    }

    /// Whether a day is one of them.
    pub(crate) fn contains(&self, day: &str) -> bool {
        self.from.0.as_str() <= day && day <= self.to.0.as_str()
    }
}

#[cfg(test)]
mod tests {
    use super::{Day, Days};

    #[test]
    fn the_day_before_may_be_of_another_month_or_year() {
        for (day, before) in [
            ("2026-11-23", "2026-11-22"),
            ("2026-11-01", "2026-10-31"),
            ("2024-03-01", "2024-02-29"),
            ("2026-01-01", "2025-12-31"),
        ] {
            assert_eq!(Day::parse(day).map(|day| day.previous().to_string()).as_deref(), Some(before));
        }
    }

    #[test]
    fn only_days_of_the_calendar_are_days() {
        for good in ["2026-11-23", "2024-02-29", "2000-02-29", " 1970-01-01 "] {
            assert!(Day::parse(good).is_some(), "{good}");
        }
        for bad in [
            "",
            "2026-11-31",
            "2026-02-29",
            "1900-02-29",
            "26-11-23",
            "2026-1-2",
            "2026-11-23-1",
            "2026-13-01",
            "'; --",
        ] {
            assert!(Day::parse(bad).is_none(), "{bad}");
        }
        assert!(Days::parse("2026-11-02..2026-11-01").is_none());
        assert!(Days::parse("2026-11-01..2026-11-03").is_some_and(|days| days.contains("2026-11-03")));
    }
}
