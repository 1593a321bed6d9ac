//! The program's own readers, compiled into the campaigns: a process for each of hundreds of thousands of points would
//! take hours.

#[path = "../../src/reading/answer.rs"]
pub mod answer;
#[path = "../../src/reading/archived_run.rs"]
pub mod archived_run;
#[path = "../../src/reading/explanation.rs"]
pub mod explanation;
#[path = "../../src/reading/integrity.rs"]
pub mod integrity;
#[path = "../../src/reading/names_of_frames.rs"]
pub mod names_of_frames;
#[path = "../../src/reading/summary.rs"]
pub mod summary;
