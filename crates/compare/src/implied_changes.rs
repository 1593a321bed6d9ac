//! Changes implied by a swept axis: an axis over `disk-bps` changes the limit in force, an axis over file systems the
//! mount options. docs/COMPARE.md lists the rules.

use model::run::Varied;

/// Pairs of sysctls that share one state: writing one sets the other to 0.
const TWINS: [(&str, &str); 2] =
    [("vm.dirty_bytes", "vm.dirty_ratio"), ("vm.dirty_background_bytes", "vm.dirty_background_ratio")];

/// Whether the condition is what the setting sets.
pub(super) fn is_set_by(varied: &Varied, what: &str) -> bool {
    match varied.vary.as_str() {
        "variable" => what.strip_prefix("variable ") == Some(&varied.key),
        "parameter" => what.strip_prefix("parameter ") == Some(&varied.key),
        "policy" => what == "policy",
        "sysctl" => what == varied.key,
        "scheduler" => what == "I/O scheduler",
        _ => false,
    }
}

/// Whether a change of the setting implies a change of the condition.
pub(super) fn is_implied_by(varied: &Varied, what: &str) -> bool {
    let key = varied.key.as_str();
    let by_setting = match varied.vary.as_str() {
        "variable" => of_variable(key, what),
        "option" => of_option(key, what),
        "file_system" => is_named(&["file system", "mount options", "device size"], what),
        "mkfs" | "mount" => is_named(&["mount options"], what),
        // Each scheduler has its own queue depth.
        "scheduler" => is_named(&["I/O scheduler", "queue depth"], what),
        "queue" if key == "scheduler" => is_named(&["I/O scheduler", "queue depth"], what),
        "queue" if key == "nr_requests" => is_named(&["queue depth"], what),
        "sysctl" => TWINS.iter().any(|twins| [*twins, (twins.1, twins.0)].contains(&(key, what))),
        // A condition that a command can set, and that is equal in all runs of each side, was set by the command: the
        // order of runs is random.
        "command" => is_named(&["I/O scheduler", "queue depth", "mount options"], what) || is_setting(what),
        _ => false,
    };
    by_setting || is_set_by(varied, what) || varied.followers.iter().any(|variable| of_variable(variable, what))
}

fn of_variable(variable: &str, what: &str) -> bool {
    match what {
        "measured time" => variable == "runtime",
        "report interval" => variable == "report_interval",
        _ => what.strip_prefix("variable ") == Some(variable),
    }
}

fn of_option(option: &str, what: &str) -> bool {
    let limits: &[&str] = match option {
        "memory" => &["memory cgroup", "cgroup version"],
        "disk-bps" => &["disk limit, bytes/s", "cgroup version"],
        "disk-iops" => &["disk limit, operations/s", "cgroup version"],
        "interval" => &["sample interval"],
        "slower-than" => &["operations are slow from"],
        "no-trace" | "requests" => &["tracing"],
        _ => &[],
    };
    limits.contains(&what)
}

/// Conditions of a directory end with its number where there are several.
fn is_named(names: &[&str], what: &str) -> bool {
    names
        .iter()
        .any(|name| what.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(" of directory ")))
}

/// Settings below /proc/sys and /sys have their names there.
fn is_setting(what: &str) -> bool {
    !what.contains(' ') && what.contains(['.', '/'])
}

#[cfg(test)]
mod tests {
    use model::run::Varied;

    use super::is_implied_by;

    fn varied(vary: &str, key: &str, followers: &[&str]) -> Varied {
        let followers = followers.iter().map(|name| (*name).to_owned()).collect();
        Varied { name: "x".into(), vary: vary.into(), key: key.into(), followers }
    }

    #[test]
    fn each_kind_implies_exactly_what_it_changes() {
        let conditions = [
            "kernel",
            "machine",
            "variable threads",
            "variable file_size",
            "memory cgroup",
            "disk limit, bytes/s",
            "disk limit, operations/s",
            "cgroup version",
            "file system",
            "mount options",
            "mount options of directory 2",
            "device",
            "device size",
            "I/O scheduler",
            "queue depth of directory 1",
            "vm.dirty_bytes",
            "vm.dirty_ratio",
            "vm.swappiness",
            "kernel/mm/lru_gen/enabled",
            "tracing",
            "report interval",
            "measured time",
            "stallscope",
        ];
        let explained = |vary: &str, key: &str, followers: &[&str]| -> Vec<&str> {
            let varied = varied(vary, key, followers);
            conditions.into_iter().filter(|what| is_implied_by(&varied, what)).collect()
        };
        assert_eq!(explained("variable", "threads", &["file_size"]), ["variable threads", "variable file_size"]);
        assert_eq!(explained("variable", "runtime", &["report_interval"]), ["report interval", "measured time"]);
        assert_eq!(explained("option", "disk-bps", &[]), ["disk limit, bytes/s", "cgroup version"]);
        assert_eq!(
            explained("option", "memory", &["file_size"]),
            ["variable file_size", "memory cgroup", "cgroup version"]
        );
        assert_eq!(explained("option", "seed", &[]), [""; 0]);
        let mounts = ["mount options", "mount options of directory 2"];
        assert_eq!(explained("mount", "mount", &[]), mounts);
        assert_eq!(explained("mkfs", "mkfs", &[]), mounts);
        assert_eq!(explained("file_system", "fs", &[]), [&["file system"], &mounts[..], &["device size"]].concat());
        assert_eq!(explained("scheduler", "scheduler", &[]), ["I/O scheduler", "queue depth of directory 1"]);
        assert_eq!(explained("queue", "read_ahead_kb", &[]), [""; 0]);
        assert_eq!(explained("sysctl", "vm.dirty_bytes", &[]), ["vm.dirty_bytes", "vm.dirty_ratio"]);
        assert_eq!(explained("bdi", "max_ratio", &[]), [""; 0]);
        let of_command = explained("command", "x", &[]);
        assert!(of_command.contains(&"vm.swappiness") && of_command.contains(&"kernel/mm/lru_gen/enabled"));
        assert!(!of_command.contains(&"machine") && !of_command.contains(&"stallscope"));
        assert_eq!(explained("of a newer version", "threads", &[]), [""; 0]);
    }
}
