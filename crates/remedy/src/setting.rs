//! A setting that lives in a file: what to write, given what the file holds, and what to write to revert it.

use crate::error::RemedyError;
use crate::target::Target;

/// A setting in a file of sysfs, /proc/sys or a cgroup.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting {
    /// The file, with placeholders.
    pub path: String,
    /// What becomes of it.
    pub value: Value,
    /// How the file is read and written.
    pub format: Format,
}

/// The new value.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// This text; may hold placeholders.
    Set(String),
    /// The number that the file holds, times this.
    Multiply(f64),
}

/// How a file holds a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Format {
    /// The whole file is the value.
    Plain,
    /// All possible values, the current one in brackets: `none [mq-deadline] bfq`.
    Choice,
    /// Lines `MAJOR:MINOR VALUE`; a device without a line has no limit, and 0 removes it.
    PerDevice,
    /// Lines `MAJOR:MINOR key=value key=value`: this key of the device's line.
    Keyed(String),
}

impl Setting {
    /// Whether the file has a line for each disk.
    pub fn is_per_device(&self) -> bool {
        matches!(self.format, Format::PerDevice | Format::Keyed(_))
    }

    /// The text to write to the file, which holds `current`.
    pub fn apply(&self, current: &str, target: &Target) -> Result<String, RemedyError> {
        let old = self.read(current, target)?;
        let new = match &self.value {
            Value::Set(text) => target.fill(text)?,
            Value::Multiply(factor) => {
                // 0 stands for no limit, or for a setting that another one replaces.
                let number = old.parse().ok().filter(|number: &f64| *number > 0.0);
                format!("{:.0}", number.ok_or_else(|| unexpected(&old, "a positive number"))? * factor)
            }
        };
        self.written(&new, target)
    }

    /// The text to write to restore what the file held.
    pub fn revert(&self, before: &str, target: &Target) -> Result<String, RemedyError> {
        let old = self.read(before, target)?;
        self.written(&old, target)
    }

    /// The value within the file's text.
    fn read(&self, text: &str, target: &Target) -> Result<String, RemedyError> {
        match &self.format {
            Format::Plain => Ok(text.trim().to_owned()),
            Format::Choice => {
                let chosen = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
                // A file with a single possible value may have no brackets.
                chosen.map(|(value, _)| value.to_owned()).ok_or_else(|| unexpected(text.trim(), "a choice in brackets"))
            }
            Format::PerDevice => Ok(line_of(text, target)?.unwrap_or("0").to_owned()),
            Format::Keyed(key) => {
                let line = line_of(text, target)?.unwrap_or_default();
                let pairs = line.split_whitespace().filter_map(|pair| pair.split_once('='));
                let value = pairs.into_iter().find(|(name, _)| name == key).map(|(_, value)| value);
                Ok(value.unwrap_or("max").to_owned())
            }
        }
    }

    fn written(&self, value: &str, target: &Target) -> Result<String, RemedyError> {
        match &self.format {
            Format::Plain | Format::Choice => Ok(value.to_owned()),
            Format::PerDevice => target.fill(&format!("{{number}} {value}")),
            Format::Keyed(key) => target.fill(&format!("{{number}} {key}={value}")),
        }
    }
}

/// The rest of the line that begins with the device's number.
fn line_of<'a>(text: &'a str, target: &Target) -> Result<Option<&'a str>, RemedyError> {
    let number = target.fill("{number}")?;
    let mut lines = text.lines().filter_map(|line| line.trim().split_once(char::is_whitespace));
    Ok(lines.find(|(device, _)| *device == number).map(|(_, rest)| rest.trim()))
}

fn unexpected(found: &str, expected: &str) -> RemedyError {
    RemedyError::Unexpected { found: found.to_owned(), expected: expected.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::{Format, Setting, Value};
    use crate::target::Target;

    fn check(format: Format, value: Value, file: &str, applied: &str, reverted: &str) {
        let target = Target { number: Some("7:0".into()), ..Target::default() };
        let setting = Setting { path: String::new(), value, format };
        assert_eq!(setting.apply(file, &target).unwrap(), applied, "of {file}");
        assert_eq!(setting.revert(file, &target).unwrap(), reverted, "of {file}");
    }

    #[test]
    fn values_are_written_as_the_file_wants_them_and_restored() {
        let set = |text: &str| Value::Set(text.into());
        check(Format::Plain, set("10"), "100\n", "10", "100");
        check(Format::Plain, Value::Multiply(2.0), "256\n", "512", "256");
        check(Format::Choice, set("none"), "none [mq-deadline] bfq\n", "none", "mq-deadline");
        check(Format::PerDevice, Value::Multiply(4.0), "8:0 5\n7:0 2097152\n", "7:0 8388608", "7:0 2097152");
        check(Format::PerDevice, set("0"), "", "7:0 0", "7:0 0");
        let wbps = || Format::Keyed("wbps".into());
        let line = "7:0 rbps=max wbps=1000 riops=max wiops=max\n";
        check(wbps(), Value::Multiply(4.0), line, "7:0 wbps=4000", "7:0 wbps=1000");
        check(wbps(), set("max"), "", "7:0 wbps=max", "7:0 wbps=max");
    }

    #[test]
    fn what_is_no_number_is_not_multiplied() {
        let setting = Setting { path: String::new(), value: Value::Multiply(2.0), format: Format::Plain };
        for file in ["max", "0", ""] {
            let error = setting.apply(file, &Target::default()).unwrap_err();
            assert_eq!(error.to_string(), format!("'{file}' is not a positive number"));
        }
    }
}
