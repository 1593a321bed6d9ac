//! blktrace
