//! Kernel functions by name.

use super::error::FunclatError;
use crate::bytes::read_text;
use crate::roots::Roots;

/// How many similar names are offered.
const OFFERED: usize = 3;

/// The functions that this kernel names.
pub(super) struct Functions(Vec<String>);

impl Functions {
    /// Reads /proc/kallsyms. The list is empty if that cannot be read, and then every name is accepted.
    pub(super) fn read(roots: &Roots) -> Functions {
        Functions::parse(&read_text(roots.proc.join("kallsyms")).unwrap_or_default())
    }

    /// One function a line: address, type, name, and the module in brackets.
    fn parse(text: &str) -> Functions {
        let functions = text.lines().filter_map(|line| {
            let mut fields = line.split_ascii_whitespace();
            let (_, kind, name) = (fields.next()?, fields.next()?, fields.next()?);
            matches!(kind, "t" | "T" | "w" | "W").then(|| name.to_owned())
        });
        Functions(functions.collect())
    }

    /// Rejects a name that the kernel does not know.
    pub(super) fn check(&self, name: &str) -> Result<(), FunclatError> {
        if self.0.is_empty() || self.0.iter().any(|known| known == name) {
            return Ok(());
        }
        // A function that the compiler has split or changed has a suffix.
        let split = self.0.iter().filter(|known| known.strip_prefix(name).is_some_and(|rest| rest.starts_with('.')));
        let mut similar_names: Vec<String> = split.take(OFFERED).cloned().collect();
        if similar_names.is_empty() {
            similar_names = similar(name, self.0.iter().cloned());
        }
        Err(FunclatError::UnknownFunction { name: name.to_owned(), similar: similar_names })
    }
}

/// The names most like the wanted one, if any is.
pub(super) fn similar(wanted: &str, names: impl Iterator<Item = String>) -> Vec<String> {
    let likeness = |name: String| (strsim::jaro_winkler(wanted, &name), name);
    let mut alike: Vec<(f64, String)> = names.map(likeness).filter(|(likeness, _)| *likeness > 0.9).collect();
    alike.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    alike.dedup();
    alike.into_iter().take(OFFERED).map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::Functions;

    const SYMBOLS: &str = "0000000000000000 T vfs_fsync_range\n0000000000000000 t shrink_slab.constprop.0\n\
        0000000000000000 D vfs_data\n0000000000000000 t xfs_file_fsync\t[xfs]\n";

    fn check(name: &str) -> Result<(), String> {
        Functions::parse(SYMBOLS).check(name).map_err(|error| error.to_string())
    }

    #[test]
    fn data_and_nonsense_are_no_functions() {
        assert_eq!(check("vfs_fsync_range"), Ok(()));
        assert_eq!(check("xfs_file_fsync"), Ok(()));
        assert_eq!(check("vfs_data"), Err("the kernel has no function 'vfs_data'".to_owned()));
        let error = check("vfs_fsync_rang").unwrap_err();
        assert!(error.ends_with("did you mean vfs_fsync_range?"), "{error}");
        let error = check("shrink_slab").unwrap_err();
        assert!(error.ends_with("did you mean shrink_slab.constprop.0?"), "{error}");
    }

    #[test]
    fn without_a_list_any_name_may_be_one() {
        assert!(Functions::parse("").check("anything").is_ok());
    }
}
