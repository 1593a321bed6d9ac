//! Columns that questions group by, and conditions on them.

use clap::ValueEnum;

use crate::error::FleetError;
use crate::template::quoted;

/// What stalls are grouped by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum By {
    /// Stalls with one fingerprint.
    Issue,
    /// The cause that most of the time was lost to.
    Cause,
    /// Kernel release.
    Kernel,
    /// Machine.
    Host,
    /// Model of the disk.
    DeviceModel,
    /// Kernel name of the disk.
    Device,
    /// Type of the file system.
    FileSystem,
    /// Cgroup of the task.
    Cgroup,
    /// Name of the task.
    Task,
    /// Class of the load, or system call.
    Operation,
    /// Class of the lock.
    Lock,
    /// Name of the root blocker.
    Blocker,
    /// Cgroup of the root blocker.
    BlockerCgroup,
    /// Day in UTC.
    Date,
}

impl By {
    /// The column of `stalls`.
    pub(crate) fn column(self) -> &'static str {
        match self {
            By::Issue => "fingerprint",
            By::Cause => "main_cause",
            By::Kernel => "kernel",
            By::Host => "host",
            By::DeviceModel => "device_model",
            By::Device => "device",
            By::FileSystem => "file_system",
            By::Cgroup => "cgroup",
            By::Task => "task",
            By::Operation => "operation",
            By::Lock => "lock",
            By::Blocker => "blocker_task",
            By::BlockerCgroup => "blocker_cgroup",
            By::Date => "date",
        }
    }

    /// Its name on the command line.
    pub(crate) fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }
}

/// Conditions on stalls, and what of them holds for a host's days.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Conditions {
    /// On `stalls`.
    pub(crate) stalls: String,
    /// On `runs`: which hosts could have had such stalls.
    pub(crate) runs: String,
}

impl Conditions {
    /// Reads `kernel=6.12*,device_model=X`; a date is one day, or `FROM..TO`.
    pub(crate) fn parse(flag: &'static str, text: &str) -> Result<Conditions, FleetError> {
        let wrong = |problem: String| FleetError::value(flag, text, problem);
        let mut both = Conditions { stalls: String::new(), runs: String::new() };
        for part in text.split(',') {
            let (name, value) =
                part.split_once('=').ok_or_else(|| wrong("write COLUMN=VALUE[,COLUMN=VALUE...]".into()))?;
            let by = By::from_str(name.trim(), false)
                .map_err(|_| wrong(format!("no column '{name}'; one of {}", names())))?;
            let value = value.trim();
            if value.is_empty() {
                return Err(wrong(format!("{name} has no value")));
            }
            let stalls = match by {
                By::Date => days(value)
                    .ok_or_else(|| wrong(format!("{value} is no day; write 2026-11-23 or 2026-11-01..2026-11-23")))?,
                _ => matches(by.column(), value),
            };
            let runs = match by {
                By::Date | By::Kernel | By::Host => Some(stalls.clone()),
                // A model's hosts are those that have such a disk, with stalls or without.
                By::DeviceModel if !value.contains('*') => {
                    Some(format!("array_contains(device_models, {})", quoted(value)))
                }
                _ => None,
            };
            add(&mut both.stalls, &stalls);
            runs.iter().for_each(|runs| add(&mut both.runs, runs));
        }
        if both.runs.is_empty() {
            both.runs = "1 = 1".into();
        }
        Ok(both)
    }
}

fn add(conditions: &mut String, condition: &str) {
    if !conditions.is_empty() {
        conditions.push_str(" and ");
    }
    conditions.push_str(condition);
}

fn matches(column: &str, value: &str) -> String {
    if value.contains('*') {
        // `_` is any letter for LIKE, which finds too much only where names differ in that letter alone.
        return format!("{column} like {}", quoted(&value.replace('*', "%")));
    }
    format!("{column} = {}", quoted(value))
}

fn days(value: &str) -> Option<String> {
    let (from, to) = value.split_once("..").unwrap_or((value, value));
    let of = |day: &str| crate::days::Day::parse(day);
    Some(format!("date between cast('{}' as date) and cast('{}' as date)", of(from)?, of(to)?))
}

fn names() -> String {
    By::value_variants().iter().map(|by| by.name()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::Conditions;

    #[test]
    fn conditions_on_stalls_say_which_hosts_count() {
        let check = |text: &str, stalls: &str, runs: &str| {
            let found = Conditions::parse("--where", text).unwrap();
            assert_eq!((found.stalls.as_str(), found.runs.as_str()), (stalls, runs), "{text}");
        };
        check("kernel=6.12*", "kernel like '6.12%'", "kernel like '6.12%'");
        check(
            "device_model=A b,cause=lock",
            "device_model = 'A b' and main_cause = 'lock'",
            "array_contains(device_models, 'A b')",
        );
        check("cgroup=/a", "cgroup = '/a'", "1 = 1");
        check("host=it's", "host = 'it''s'", "host = 'it''s'");
        let day = "date between cast('2026-11-01' as date) and cast('2026-11-02' as date)";
        check("date=2026-11-01..2026-11-02", day, day);
    }

    #[test]
    fn bad_conditions_are_errors_that_name_the_remedy() {
        for (text, expected) in [
            ("kernel", "--where kernel: write COLUMN=VALUE[,COLUMN=VALUE...]"),
            ("kernel=", "--where kernel=: kernel has no value"),
            ("date=x", "--where date=x: x is no day; write 2026-11-23 or 2026-11-01..2026-11-23"),
        ] {
            assert_eq!(Conditions::parse("--where", text).unwrap_err().to_string(), expected);
        }
        let unknown = Conditions::parse("--where", "x=1").unwrap_err().to_string();
        assert!(unknown.contains("no column 'x'; one of issue, cause, kernel"), "{unknown}");
    }
}
