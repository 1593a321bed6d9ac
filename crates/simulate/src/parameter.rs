//! A model's parameters: names, kernel defaults, and the values that are set.

use model::quantity::{QuantityError, parse_duration, parse_size};

/// How a parameter's value is written.
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
    /// One of a list of words.
    Word(&'static [&'static str]),
}

/// A parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameter {
    /// Its name on the command line, in snake case.
    pub name: &'static str,
    /// The kind of its value.
    pub kind: Kind,
    /// Default value, as it is written.
    pub default: &'static str,
    /// What it is, in one line.
    pub about: &'static str,
    /// Where the default comes from: kernel source, the document, a measurement, or our choice.
    pub source: &'static str,
}

/// The values of a model's parameters, in table order.
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

/// An invalid parameter, value or policy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingError {
    /// The model has no such parameter.
    #[error("unknown parameter '{name}'; parameters: {known}")]
    Unknown {
        /// The name that was given.
        name: String,
        /// The parameters of the model.
        known: String,
    },
    /// Not a size or duration.
    #[error("{name}: {why}")]
    Quantity {
        /// The parameter.
        name: String,
        /// What is wrong with it.
        why: QuantityError,
    },
    /// Not a value of the parameter's kind.
    #[error("{name} = '{value}': write {write}")]
    Malformed {
        /// The parameter.
        name: String,
        /// The value that was given.
        value: String,
        /// What to write instead.
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
    /// All parameters at their defaults.
    ///
    /// # Panics
    /// If a default in the table is not a value of its kind, which is a bug in the table.
    pub fn new(parameters: &'static [Parameter]) -> Settings {
        let value = |parameter: &Parameter| read(parameter, parameter.default).expect("a default is a valid value");
        Settings { parameters, values: parameters.iter().map(value).collect() }
    }

    /// Sets one parameter.
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
    /// If the table has no parameter of this name and kind, which is a bug in the model. The same holds for the methods
    /// below.
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

    /// All parameters, each with its value in base units, or with its word.
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
