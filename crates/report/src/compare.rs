//! A comparison as text, in the formats of other tools, and as a chart.

mod benchstat;
mod csv;
mod machines;
mod mail;
mod many;
mod markdown;
mod mmtests;
mod names;
mod plane;
mod scaling;
mod svg;
mod text;
mod value;

pub use benchstat::benchstat;
pub use csv::csv;
pub use many::many;
pub use markdown::markdown;
pub use mmtests::mmtests;
pub use plane::{plane_csv, plane_json, plane_markdown, plane_svg, plane_text};
pub use scaling::scaling;
pub use svg::svg;
pub(crate) use text::push;
pub use text::text;
pub(crate) use value::{change, interval, probability, value};

use compare::Verdict;

/// A verdict in words.
pub(crate) fn words(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Worse => "worse",
        Verdict::Better => "better",
        Verdict::Different => "different",
        Verdict::Unfinished => "unfinished",
        Verdict::Censored => "no verdict: lower bounds only",
        Verdict::NotEnoughData => "not enough data",
        Verdict::Equivalent => "equivalent",
    }
}

#[cfg(test)]
mod tests;
