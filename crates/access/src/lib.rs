//! Files and directories beneath an open directory, reached by no link, and whose they may be.
//!
//! A path is resolved by the kernel at each call: a user who owns a directory on the way can put a link, or another
//! directory, there in between. A [`Directory`] is resolved once. What is opened, made, renamed or removed beneath it
//! goes by its descriptor and follows no link: of no user, also not of one who has made the names beneath.
//!
//! That is not enough where another user may write *into* the directory, who may put a pipe or a second name of a file
//! there: hence [`owner`].
#![forbid(unsafe_code)]

mod directory;
pub mod owner;
pub mod path;
mod sharing;
mod walk;

pub use directory::Directory;
pub use sharing::{Sharing, create, create_new, make_directories_in, make_directory_in, open_or_create};
pub use walk::open_within;
