//! The environment of programs that a user names as hooks: what a hook does must not depend on who started the
//! recorder, and secrets in the recorder's variables are none of its business.

use std::process::Command;

/// What a hook keeps, beside the program's own variables.
const KEPT: [&str; 2] = ["PATH", "LANG"];

/// Removes all variables but `PATH`, `LANG` and those that begin with `STALLSCOPE_`; variables given to the command
/// before are removed as well.
pub fn clean_environment(command: &mut Command) -> &mut Command {
    let is_kept = |name: &str| KEPT.contains(&name) || name.starts_with("STALLSCOPE_");
    let kept = std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(is_kept));
    command.env_clear().envs(kept)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::clean_environment;

    #[test]
    fn a_hook_has_path_and_language_and_no_more() {
        let mut command = Command::new("env");
        clean_environment(command.env("SECRET", "x")).env("STALLSCOPE_RUN", "/r");
        let output = String::from_utf8(command.output().unwrap().stdout).unwrap();
        let names: Vec<&str> = output.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
        assert!(names.contains(&"PATH") && names.contains(&"STALLSCOPE_RUN"), "{output}");
        let is_kept = |name: &&str| ["PATH", "LANG"].contains(name) || name.starts_with("STALLSCOPE_");
        assert!(names.iter().all(is_kept), "{output}");
    }
}
