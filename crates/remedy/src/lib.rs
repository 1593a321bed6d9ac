//! What can be changed against stalls, as data: which causes call for it, how it is applied and reverted, its risk and
//! the source of the claim. Pure: texts go in, texts come out; who applies a remedy reads and writes the files.
#![forbid(unsafe_code)]

mod error;
mod remedy;
mod setting;
mod table;
mod target;

pub use error::RemedyError;
pub use remedy::{Facts, Remedy, RemedyAction, Requires};
pub use setting::{Format, Setting, Value};
pub use table::Remedies;
pub use target::Target;
