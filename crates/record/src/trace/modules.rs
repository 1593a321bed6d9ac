//! The kernel's modules that are loaded now.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Names of modules, with underscores.
pub(super) type Modules = BTreeSet<String>;

/// Reads /proc/modules, which a kernel without support for modules lacks. A module that is still loading has no types
/// and tracepoints yet.
pub(super) fn loaded(proc: &Path) -> Modules {
    let text = std::fs::read(proc.join("modules")).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let live = |line: &str| {
        let mut fields = line.split(' ');
        fields.next().filter(|_| fields.nth(3) == Some("Live")).map(str::to_owned)
    };
    text.lines().filter_map(live).collect()
}

/// Notices that modules were loaded or unloaded: their functions have addresses, their types and tracepoints are there,
/// from then on.
pub(super) struct ModuleWatch {
    proc: PathBuf,
    known: Modules,
}

impl ModuleWatch {
    pub(super) fn new(proc: PathBuf) -> ModuleWatch {
        let known = loaded(&proc);
        ModuleWatch { proc, known }
    }

    /// Whether there are others since the last call.
    pub(super) fn changed(&mut self) -> bool {
        let now = loaded(&self.proc);
        let is_new = now != self.known;
        self.known = now;
        is_new
    }
}

#[cfg(test)]
mod tests {
    use super::{ModuleWatch, loaded};
    use crate::fake::Kernel;

    #[test]
    fn a_use_of_a_module_is_no_change_and_a_load_is_one() {
        let kernel = Kernel::new();
        let proc = kernel.roots().proc;
        assert!(loaded(&proc).is_empty());
        let mut watch = ModuleWatch::new(proc.clone());
        assert!(!watch.changed());
        kernel.write("proc/modules", "xfs 2121728 1 - Loading 0x0000000000000000\n");
        assert!(!watch.changed());
        kernel.write("proc/modules", "xfs 2121728 1 - Live 0x0000000000000000\n");
        assert!(watch.changed() && loaded(&proc).contains("xfs"));
        kernel.write("proc/modules", "xfs 2121728 2 - Live 0x0000000000000000\n");
        assert!(!watch.changed());
    }
}
