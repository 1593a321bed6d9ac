//! Mathematics of measurements: distributions, rates, rank tests, ratios with confidence intervals, trends.
#![forbid(unsafe_code)]

mod beta;
mod correction;
mod counts;
mod distribution;
mod random;
mod rank;
mod rates;
mod shift;
mod signed_rank;
mod steady;
mod strata;
mod stratified;

pub use correction::q_values;
pub use counts::{Count, RateRatio};
pub use distribution::Distribution;
pub use random::SplitMix64;
pub use rank::RankTests;
pub use rates::{IntervalAmount, RateSummary, TimedAmount, together};
pub use shift::{LogRatios, Ratio};
pub use signed_rank::BlockRatios;
pub use steady::{Steadiness, steadiness};
pub use strata::{Strata, Stratum, all_strata_p, few_strata_p};
pub use stratified::StratifiedRatios;
