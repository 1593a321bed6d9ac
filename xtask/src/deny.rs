//! Runs cargo-deny, with or without network. A check that could not run is reported, never silently passed.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Runs the checks; `Ok(false)` if one has findings.
pub(crate) fn run(root: &Path) -> Result<bool, String> {
    if !Command::new("cargo").args(["deny", "--version"]).output().is_ok_and(|output| output.status.success()) {
        return Err("cargo-deny is not installed, so licences and advisories were not checked; \
                    install it: cargo install --locked cargo-deny"
            .into());
    }
    list_dependencies(root)?;
    let mut passed = check(root, &["licenses", "bans", "sources"])?;
    match advisory_database(root) {
        Ok(age) => {
            passed &= check(root, &["advisories"])?;
            println!("deny: advisories were checked against {age}");
        }
        Err(why) => println!("deny: NOT CHECKED: advisories ({why})"),
    }
    Ok(passed)
}

/// cargo-deny needs every dependency's manifest, of each feature; cargo fetches those that are not cached.
fn list_dependencies(root: &Path) -> Result<(), String> {
    let cargo = |offline: &[&str]| {
        let mut command = Command::new("cargo");
        command
            .current_dir(root)
            .args(["metadata", "--format-version", "1", "--locked", "--all-features"])
            .args(offline);
        command.output().map_err(|error| format!("cargo cannot be run: {error}"))
    };
    if cargo(&["--offline"])?.status.success() {
        return Ok(());
    }
    let fetched = cargo(&[])?;
    if fetched.status.success() {
        return Ok(());
    }
    Err(format!("the dependencies cannot be listed, so nothing was checked: {}", last_line(&fetched)))
}

fn check(root: &Path, what: &[&str]) -> Result<bool, String> {
    let mut command = Command::new("cargo");
    command.current_dir(root).args(["deny", "--locked", "--offline"]);
    command.args(["check", "--hide-inclusion-graph"]).args(what);
    let status = command.status().map_err(|error| format!("cargo deny cannot be run: {error}"))?;
    let verdict = if status.success() { "passed" } else { "FAILED" };
    println!("deny: {} {verdict}", what.join(", "));
    Ok(status.success())
}

/// Fetches the database, or falls back to a cached one. `Err`: there is none.
fn advisory_database(root: &Path) -> Result<&'static str, String> {
    let mut command = Command::new("cargo");
    command.current_dir(root).args(["deny", "fetch", "db"]).env("GIT_TERMINAL_PROMPT", "0");
    // A network that drops packets must not stall the check.
    command.env("GIT_HTTP_LOW_SPEED_LIMIT", "1000").env("GIT_HTTP_LOW_SPEED_TIME", "20");
    let fetched = command.output().map_err(|error| error.to_string())?;
    match (fetched.status.success(), has_database(&cargo_home())) {
        (true, _) => Ok("the current advisory database"),
        (false, true) => Ok("a cached advisory database; the current one cannot be fetched"),
        (false, false) => Err(format!("the database cannot be fetched: {}", last_line(&fetched))),
    }
}

fn cargo_home() -> PathBuf {
    let home = || std::env::var_os("HOME").map(|home| Path::new(&home).join(".cargo"));
    std::env::var_os("CARGO_HOME").map(PathBuf::from).or_else(home).unwrap_or_default()
}

/// A fetch that failed leaves an empty folder or half a clone.
fn has_database(cargo_home: &Path) -> bool {
    let databases = std::fs::read_dir(cargo_home.join("advisory-dbs"));
    databases.into_iter().flatten().flatten().any(|entry| entry.path().join("crates").is_dir())
}

fn last_line(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("no reason given").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::has_database;

    #[test]
    fn half_a_clone_is_no_database() {
        let folder = std::env::temp_dir().join(format!("xtask-deny-{}", std::process::id()));
        let database = folder.join("advisory-dbs/advisory-db-1");
        std::fs::create_dir_all(database.join(".git")).unwrap();
        assert!(!has_database(&folder));
        std::fs::create_dir_all(database.join("crates")).unwrap();
        assert!(has_database(&folder));
        std::fs::remove_dir_all(folder).unwrap();
    }
}
