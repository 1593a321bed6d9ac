//! What the readers need of the program's screen and exit codes.

#[path = "../../src/ui/failure.rs"]
pub mod failure;
#[path = "../../src/ui/screen.rs"]
pub mod screen;
#[path = "../../src/ui/spinner.rs"]
mod spinner;
