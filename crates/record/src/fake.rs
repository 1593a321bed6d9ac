//! A kernel made of files, for tests.

use std::collections::BTreeMap;
use std::fs;

use model::metric::{MetricDescriptor, MetricId};

use crate::{Roots, Sample, SamplerOptions, SamplerSet};

/// A folder with `proc` and `sys` in it.
pub(crate) struct Kernel {
    folder: tempfile::TempDir,
}

impl Kernel {
    pub(crate) fn new() -> Kernel {
        Kernel { folder: tempfile::tempdir().expect("a temporary folder") }
    }

    pub(crate) fn roots(&self) -> Roots {
        Roots::below(self.folder.path())
    }

    /// Writes files, given as path and content.
    pub(crate) fn with(self, files: &[(&str, &str)]) -> Kernel {
        files.iter().for_each(|(path, text)| self.write(path, text));
        self
    }

    pub(crate) fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.folder.path().join(path);
        fs::create_dir_all(path.parent().expect("below the root")).expect("folder");
        fs::write(path, text).expect("file");
    }

    /// Empties a file and removes it, so that descriptors that are still open read nothing.
    pub(crate) fn remove(&self, path: &str) {
        self.write(path, "");
        fs::remove_file(self.folder.path().join(path)).expect("file");
    }

    pub(crate) fn remove_folder(&self, path: &str) {
        fs::remove_dir_all(self.folder.path().join(path)).expect("folder");
    }

    /// A recording of this kernel.
    pub(crate) fn record(&self, options: &SamplerOptions) -> Recording {
        let (set, findings) = SamplerSet::discover(&self.roots(), options);
        let missing = findings.into_iter().map(|finding| finding.capability).collect();
        Recording { set, missing, out: Sample::default(), next: 0, descriptors: Vec::new(), values: BTreeMap::new() }
    }
}

/// A recording as a reader sees it: each metric's value after the latest sample.
pub(crate) struct Recording {
    pub(crate) set: SamplerSet,
    pub(crate) missing: Vec<String>,
    pub(crate) out: Sample,
    next: u32,
    pub(crate) descriptors: Vec<MetricDescriptor>,
    values: BTreeMap<MetricId, Option<i64>>,
}

impl Recording {
    /// Takes a sample; returns the changed metrics as `name[instance]=value`, sorted, without those of the recorder.
    pub(crate) fn sample(&mut self) -> Vec<String> {
        self.set.sample(self.next, &mut self.out);
        self.descriptors.extend(self.out.new_descriptors.iter().cloned());
        for change in &self.out.changes {
            assert_eq!(change.sample, self.next);
            let before = self.values.insert(change.metric, change.value);
            assert_ne!(before.flatten(), change.value, "a change that changes nothing");
        }
        self.next += 1;
        let mut changed: Vec<_> =
            self.out.changes.iter().map(|change| self.shown(change.metric, change.value)).collect();
        changed.retain(|text| !text.starts_with("recorder."));
        changed.sort();
        changed
    }

    /// The value of `name` of `instance` now.
    pub(crate) fn value(&self, name: &str, instance: &str) -> Option<i64> {
        let descriptor = self.descriptors.iter().find(|d| d.name == name && d.instance == instance)?;
        self.values.get(&descriptor.id).copied().flatten()
    }

    fn shown(&self, id: MetricId, value: Option<i64>) -> String {
        let descriptor = &self.descriptors[id.0 as usize];
        assert_eq!(descriptor.id, id, "metrics are numbered in order of appearance");
        let value = value.map_or("absent".to_owned(), |value| value.to_string());
        match &*descriptor.instance {
            "" => format!("{}={value}", descriptor.name),
            instance => format!("{}[{instance}]={value}", descriptor.name),
        }
    }
}
