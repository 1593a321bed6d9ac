//! Finds the foreign readers.

use std::path::PathBuf;
use std::process::Command;

/// A Python with these modules; prints what is skipped where there is none.
pub fn python(modules: &str, what: &str) -> Option<Command> {
    let python = PathBuf::from(std::env::var_os("STALLSCOPE_PYTHON").unwrap_or_else(|| "python3".into()));
    let has = |module: &str| {
        let output = Command::new(&python).args(["-c", &format!("import {module}")]).output();
        output.is_ok_and(|output| output.status.success())
    };
    let missing: Vec<&str> = modules.split(' ').filter(|module| !has(module)).collect();
    if missing.is_empty() {
        return Some(Command::new(python));
    }
    println!("skipped: {what} needs Python with {}; name one in STALLSCOPE_PYTHON", missing.join(", "));
    None
}
