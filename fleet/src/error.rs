//! Errors, with remedies, and their exit codes.

use std::io;
use std::path::{Path, PathBuf};

use datafusion::error::DataFusionError;

/// A question that cannot be answered.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FleetError {
    /// No lake.
    #[error("{path}: is not a lake; make one with 'stallscope lake add RUN... --to {path}'")]
    NoLake {
        /// The directory.
        path: PathBuf,
    },
    /// Something else is there.
    #[error("{path}: is neither empty nor a lake; choose another prefix with --to")]
    Foreign {
        /// Where.
        path: PathBuf,
    },
    /// No credentials for a bucket.
    #[error("{url}: the environment names no credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")]
    NoCredentials {
        /// The lake.
        url: String,
    },
    /// No bucket.
    #[error("{object}: the bucket is missing; make it first")]
    NoBucket {
        /// What was to be used.
        object: String,
    },
    /// A store refused.
    #[error("{object}: cannot {what}: {}", one_line_of(&source.to_string()))]
    Store {
        /// Which object.
        object: String,
        /// Be what.
        what: &'static str,
        /// Why.
        source: object_store::Error,
    },
    /// Files were missing each time.
    #[error("{path}: files go while they are read (lake compact, lake expire); ask again")]
    Changing {
        /// The lake.
        path: PathBuf,
    },
    /// A lake of another version.
    #[error(
        "{path}: its marker has schema version {found}, and this program knows version {known}; use the program that \
         fits it"
    )]
    Version {
        /// The directory.
        path: PathBuf,
        /// What the marker holds.
        found: String,
        /// What this program knows.
        known: u32,
    },
    /// A table without a file.
    #[error("{path}: has no {table}; add runs with 'stallscope lake add RUN... --to {path}'")]
    Empty {
        /// The directory.
        path: PathBuf,
        /// The table's name.
        table: &'static str,
    },
    /// A value of the command line.
    #[error("{flag} {value}: {problem}")]
    Value {
        /// The flag.
        flag: &'static str,
        /// Its value.
        value: String,
        /// What is wrong, and the remedy.
        problem: String,
    },
    /// The engine refused a statement.
    #[error("{}", one_line(source))]
    Sql {
        /// Why.
        #[from]
        source: DataFusionError,
    },
    /// The system refused.
    #[error("{path}: cannot {what}: {source}")]
    Io {
        /// Which file or directory.
        path: PathBuf,
        /// Do what.
        what: &'static str,
        /// Why.
        source: io::Error,
    },
}

impl FleetError {
    /// A wrong value of a flag.
    pub(crate) fn value(flag: &'static str, value: &str, problem: impl Into<String>) -> FleetError {
        FleetError::Value { flag, value: value.to_owned(), problem: problem.into() }
    }

    /// For `map_err`.
    pub(crate) fn io(path: &Path, what: &'static str) -> impl FnOnce(io::Error) -> FleetError {
        let path = path.to_owned();
        move |source| FleetError::Io { path, what, source }
    }

    /// For `map_err`.
    pub(crate) fn store(object: &str, what: &'static str) -> impl FnOnce(object_store::Error) -> FleetError {
        let object = object.to_owned();
        // The client has no kind of error for it.
        move |source| match source.to_string().contains("<Code>NoSuchBucket</Code>") {
            true => FleetError::NoBucket { object },
            false => FleetError::Store { object, what, source },
        }
    }

    /// 2: the command line, or what it names, is wrong; 3: the machine cannot do it.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            FleetError::Io { source, .. } if source.kind() != io::ErrorKind::NotFound => 3,
            FleetError::Store { source: object_store::Error::NotFound { .. }, .. } => 2,
            FleetError::Store { .. } | FleetError::Changing { .. } => 3,
            FleetError::Sql { source } => match source.find_root() {
                DataFusionError::IoError(_) | DataFusionError::ResourcesExhausted(_) => 3,
                _ => 2,
            },
            _ => 2,
        }
    }
}

/// The engine adds hints and back traces in lines of their own. What a person can do about memory is added here.
fn one_line(error: &DataFusionError) -> String {
    let text = error.strip_backtrace();
    let line = one_line_of(&text);
    match error.find_root() {
        DataFusionError::ResourcesExhausted(_) => format!("{line}; raise --memory, or ask about fewer days"),
        _ => line,
    }
}

fn one_line_of(text: &str) -> String {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use datafusion::error::DataFusionError;

    use super::FleetError;

    #[test]
    fn an_error_of_the_engine_is_one_line_with_a_remedy_and_the_machines_code() {
        let error = FleetError::from(DataFusionError::ResourcesExhausted("no memory\n\nfor this".into()));
        let text = error.to_string();
        assert!(!text.contains('\n') && text.contains("for this; raise --memory"), "{text}");
        assert_eq!(error.exit_code(), 3);
        assert_eq!(FleetError::from(DataFusionError::Plan("no column x".into())).exit_code(), 2);
    }
}
