//! Paths in JSON, also those that are not UTF-8: text, or a list of bytes. For `#[serde(with = "access::path")]`.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Written {
    Text(String),
    Bytes(Vec<u8>),
}

impl From<&Path> for Written {
    fn from(path: &Path) -> Written {
        let bytes = path.as_os_str().as_bytes();
        path.to_str().map_or_else(|| Written::Bytes(bytes.to_vec()), |text| Written::Text(text.to_owned()))
    }
}

impl From<Written> for PathBuf {
    fn from(written: Written) -> PathBuf {
        match written {
            Written::Text(text) => text.into(),
            Written::Bytes(bytes) => OsString::from_vec(bytes).into(),
        }
    }
}

/// Writes a path.
pub fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    Written::from(path).serialize(serializer)
}

/// Reads a path.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
    Written::deserialize(deserializer).map(PathBuf::from)
}

/// Several.
pub mod each {
    use super::{Deserialize, Deserializer, PathBuf, Serialize, Serializer, Written};

    /// Writes the paths.
    pub fn serialize<S: Serializer>(paths: &[PathBuf], serializer: S) -> Result<S::Ok, S::Error> {
        let written: Vec<Written> = paths.iter().map(|path| Written::from(path.as_path())).collect();
        written.serialize(serializer)
    }

    /// Reads the paths.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<PathBuf>, D::Error> {
        let written = Vec::<Written>::deserialize(deserializer)?;
        Ok(written.into_iter().map(PathBuf::from).collect())
    }
}

/// One that may be missing.
pub mod optional {
    use super::{Deserialize, Deserializer, PathBuf, Serialize, Serializer, Written};

    /// Writes the path.
    pub fn serialize<S: Serializer>(path: &Option<PathBuf>, serializer: S) -> Result<S::Ok, S::Error> {
        path.as_deref().map(Written::from).serialize(serializer)
    }

    /// Reads the path.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<PathBuf>, D::Error> {
        Ok(Option::<Written>::deserialize(deserializer)?.map(PathBuf::from))
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::path::PathBuf;

    use serde::{Deserialize, Serialize};

    #[derive(Serialize, Deserialize, PartialEq, Debug)]
    struct Paths {
        #[serde(with = "super")]
        one: PathBuf,
        #[serde(with = "super::each")]
        each: Vec<PathBuf>,
        #[serde(with = "super::optional")]
        optional: Option<PathBuf>,
    }

    #[test]
    fn every_path_reads_back_and_plain_ones_are_text() {
        let odd = PathBuf::from(OsStr::from_bytes(b"/mnt/\xff"));
        let paths = Paths { one: odd.clone(), each: vec!["/a".into(), odd.clone()], optional: Some(odd) };
        let text = serde_json::to_string(&paths).unwrap();
        assert_eq!(serde_json::from_str::<Paths>(&text).unwrap(), paths);
        let plain = Paths { one: "/é".into(), each: vec!["/a".into()], optional: None };
        assert_eq!(serde_json::to_string(&plain).unwrap(), r#"{"one":"/é","each":["/a"],"optional":null}"#);
    }
}
