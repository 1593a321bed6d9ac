//! A model's parameters: what they are called, what the kernel has, and what a person sets.

use model::quantity::{QuantityError, parse_duration, parse_size};

/// What a parameter's value is written as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A whole number.
    Count,
    /// Bytes: `32m`.
    Size,
    /// Nanoseconds: `250ms`.
    Duration,
    /// A share, from 0 to 1.
    Share,
    /// One of some words.
    Word(&'static [&'static str]),
}

/// A parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameter {
    /// Its name on the command line, in snake case.
    pub name: &'static str,
    /// What its value is.
    pub kind: Kind,
    /// Value where nobody sets it, as people write it.
    pub default: &'static str,
    /// What it is, in a line.
    pub about: &'static str,
    /// Where the default comes from: a kernel's source, the document, a measurement, or that it is our choice.
    pub source: &'static str,
}

/// The values of a model's parameters, in the order of its table.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    parameters: &'static [Parameter],
    values: Vec<Value>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Value {
    Whole(u64),
    Share(f64),
    Word(&'static str),
}

/// A value that cannot be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingError {
    /// The model has no such parameter.
    #[error("there is no parameter '{name}' here; there are: {known}")]
    Unknown {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// Not a size or duration.
    #[error("{name}: {why}")]
    Quantity {
        /// The parameter.
        name: String,
        /// Why not.
        why: QuantityError,
    },
    /// Not a value of that kind.
    #[error("{name} = '{value}': write {write}")]
    Malformed {
        /// The parameter.
        name: String,
        /// What was given.
        value: String,
        /// What to write.
        write: String,
    },
    /// The model has no such policy.
    #[error("{model} has no policy '{policy}'")]
    UnknownPolicy {
        /// The model.
        model: &'static str,
        /// The policy that was given.
        policy: String,
    },
    /// Values that contradict one another.
    #[error("{0}")]
    Contradiction(String),
}

impl SettingError {
    pub(crate) fn unknown_policy(model: &'static str, policy: &str) -> SettingError {
        SettingError::UnknownPolicy { model, policy: policy.to_owned() }
    }
}

impl Settings {
    /// Everything at its default.
    ///
    /// # Panics
    /// Where a default in the table is not a value of its kind, which is our bug.
    pub fn new(parameters: &'static [Parameter]) -> Settings {
        let value = |parameter: &Parameter| read(parameter, parameter.default).expect("a default is a value");
        Settings { parameters, values: parameters.iter().map(value).collect() }
    }

    /// Sets one.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), SettingError> {
        let Some(index) = self.parameters.iter().position(|parameter| parameter.name == name) else {
            let known: Vec<&str> = self.parameters.iter().map(|parameter| parameter.name).collect();
            return Err(SettingError::Unknown { name: name.to_owned(), known: known.join(", ") });
        };
        self.values[index] = read(&self.parameters[index], value)?;
        Ok(())
    }

    /// A count, a size in bytes, or a duration in ns.
    ///
    /// # Panics
    /// Where the model's table has none of that name and kind, which is our bug; so below.
    pub fn whole(&self, name: &str) -> u64 {
        match self.value(name) {
            Value::Whole(value) => value,
            other => panic!("{name} is {other:?}"),
        }
    }

    /// A share, from 0 to 1.
    pub fn share(&self, name: &str) -> f64 {
        match self.value(name) {
            Value::Share(value) => value,
            other => panic!("{name} is {other:?}"),
        }
    }

    /// A word.
    pub fn word(&self, name: &str) -> &'static str {
        match self.value(name) {
            Value::Word(word) => word,
            other => panic!("{name} is {other:?}"),
        }
    }

    /// All of them: the parameter, and its value in base units, or the word.
    pub fn all(&self) -> impl Iterator<Item = (&'static Parameter, Result<f64, &'static str>)> {
        self.parameters.iter().zip(&self.values).map(|(parameter, value)| {
            let shown = match value {
                Value::Whole(value) => Ok(*value as f64),
                Value::Share(value) => Ok(*value),
                Value::Word(word) => Err(*word),
            };
            (parameter, shown)
        })
    }

    fn value(&self, name: &str) -> Value {
        let index = self.parameters.iter().position(|parameter| parameter.name == name);
        self.values[index.unwrap_or_else(|| panic!("no parameter {name}"))]
    }
}

fn read(parameter: &Parameter, text: &str) -> Result<Value, SettingError> {
    let malformed =
        |write: String| SettingError::Malformed { name: parameter.name.to_owned(), value: text.to_owned(), write };
    let quantity = |why| SettingError::Quantity { name: parameter.name.to_owned(), why };
    match parameter.kind {
        Kind::Count => text.parse().map(Value::Whole).map_err(|_| malformed("a whole number".to_owned())),
        Kind::Size => parse_size(text).map(Value::Whole).map_err(quantity),
        Kind::Duration => parse_duration(text).map(Value::Whole).map_err(quantity),
        Kind::Share => match text.parse::<f64>() {
            Ok(share) if (0.0..=1.0).contains(&share) => Ok(Value::Share(share)),
            _ => Err(malformed("a number from 0 to 1".to_owned())),
        },
        Kind::Word(words) => match words.iter().find(|word| **word == text) {
            Some(word) => Ok(Value::Word(word)),
            None => Err(malformed(format!("one of {}", words.join(", ")))),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::{Kind, Parameter, Settings};

    const TABLE: &[Parameter] = &[
        Parameter { name: "writers", kind: Kind::Count, default: "8", about: "", source: "" },
        Parameter { name: "dirty_limit", kind: Kind::Size, default: "32m", about: "", source: "" },
        Parameter { name: "age", kind: Kind::Duration, default: "5s", about: "", source: "" },
        Parameter { name: "clean", kind: Kind::Share, default: "0.5", about: "", source: "" },
        Parameter { name: "layout", kind: Kind::Word(&["shared", "each"]), default: "each", about: "", source: "" },
    ];

    #[test]
    fn defaults_and_what_is_set() {
        let mut settings = Settings::new(TABLE);
        assert_eq!(
            (settings.whole("writers"), settings.whole("dirty_limit"), settings.whole("age")),
            (8, 32 << 20, 5_000_000_000)
        );
        settings.set("clean", "0.25").unwrap();
        settings.set("layout", "shared").unwrap();
        assert_eq!((settings.share("clean"), settings.word("layout")), (0.25, "shared"));
    }

    #[test]
    fn nonsense_is_named() {
        let mut settings = Settings::new(TABLE);
        let mut error = |name: &str, value: &str| settings.set(name, value).unwrap_err().to_string();
        assert!(error("writer", "8").contains("writers, dirty_limit"));
        assert!(error("writers", "-1").contains("a whole number"));
        assert!(error("dirty_limit", "much").contains("is not a size"));
        assert!(error("clean", "2").contains("from 0 to 1"));
        assert!(error("layout", "both").contains("shared, each"));
    }
}
