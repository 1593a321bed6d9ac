//! The run directory: what was written is read back, whatever happened to the writer, its disk and its files since. One
//! binary, since these are optimized, and each would compile the archive's generics again.

mod crafted;
mod damage;
mod full_disk;
mod killed;
mod merge;
mod mutated;
mod parts;
mod python;
mod request_size;
mod scenario;
mod write_and_read;
