//! The text files of the repository: those that git tracks or would track.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::rust::RustFile;

/// One text file.
#[derive(Debug)]
pub(super) struct File {
    /// Relative to the repository.
    pub(super) path: PathBuf,
    pub(super) text: String,
    /// For a Rust source, what the rules need; `Err` if it does not parse.
    pub(super) rust: Option<Result<RustFile, String>>,
}

/// All text files, sorted by path.
#[derive(Debug)]
pub(super) struct Tree {
    files: Vec<File>,
    /// Binary files such as pictures: no rule reads them, but links may point to them.
    others: Vec<PathBuf>,
}

impl File {
    fn new(path: PathBuf, text: String) -> File {
        let rust = path.extension().is_some_and(|extension| extension == "rs").then(|| RustFile::parse(&text));
        File { path, text, rust }
    }

    /// A file of tests only.
    pub(super) fn is_test(&self) -> bool {
        self.path.iter().any(|part| part == "tests" || part == "tests.rs" || part == "benches")
    }

    /// The crate of a file in `crates/`.
    pub(super) fn crate_name(&self) -> Option<&str> {
        let mut parts = self.path.iter();
        (parts.next()? == "crates").then_some(())?;
        parts.next()?.to_str()
    }

    pub(super) fn has_extension(&self, wanted: &str) -> bool {
        self.path.extension().is_some_and(|extension| extension == wanted)
    }
}

impl Tree {
    pub(super) fn read(root: &Path) -> Result<Tree, String> {
        let mut git = Command::new("git");
        git.current_dir(root).args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
        let output = git.output().map_err(|error| format!("git cannot be run: {error}"))?;
        if !output.status.success() {
            return Err(format!("git ls-files failed: {}", String::from_utf8_lossy(&output.stderr).trim()));
        }
        let mut paths: Vec<PathBuf> =
            String::from_utf8_lossy(&output.stdout).split_terminator('\0').map(PathBuf::from).collect();
        paths.sort();
        paths.dedup();
        let mut tree = Tree { files: Vec::new(), others: Vec::new() };
        for path in paths {
            match std::fs::read_to_string(root.join(&path)) {
                Ok(text) => tree.files.push(File::new(path, text)),
                Err(error) if error.kind() == std::io::ErrorKind::InvalidData => tree.others.push(path),
                // Deleted, but still tracked.
                Err(_) => {}
            }
        }
        Ok(tree)
    }

    pub(super) fn files(&self) -> &[File] {
        &self.files
    }

    /// Sources that could be parsed.
    pub(super) fn rust_files(&self) -> impl Iterator<Item = (&File, &RustFile)> {
        self.files.iter().filter_map(|file| Some((file, file.rust.as_ref()?.as_ref().ok()?)))
    }

    pub(super) fn file(&self, path: impl AsRef<Path>) -> Option<&File> {
        self.files.iter().find(|file| file.path == path.as_ref())
    }

    /// Whether it is a file, or a folder with files.
    pub(super) fn has(&self, path: &Path) -> bool {
        self.files.iter().map(|file| &file.path).chain(&self.others).any(|there| there.starts_with(path))
    }

    #[cfg(test)]
    pub(super) fn of(files: &[(&str, &str)]) -> Tree {
        let files = files.iter().map(|(path, text)| File::new(path.into(), (*text).to_owned())).collect();
        Tree { files, others: Vec::new() }
    }
}
