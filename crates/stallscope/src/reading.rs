//! What several commands read from a run or a block trace.

pub mod answer;
pub mod archived_run;
pub mod args;
pub mod block_trace;
pub mod document;
pub mod explained_rows;
pub mod explained_set;
pub mod explanation;
pub mod foreign_recording;
pub mod form;
pub mod integrity;
pub mod names_of_frames;
pub mod request_events;
pub mod request_index;
pub mod run_set;
pub mod scope;
pub mod summary;
pub mod text_file;
