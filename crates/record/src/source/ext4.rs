//! ext4 statistics of each mount, one number to a file in `sys/fs/ext4/DEVICE`.

use std::path::PathBuf;

use model::metric::{Semantics, Unit};

use crate::instances::{Instance, Instances};
use crate::last_values::SampleWriter;
use crate::source::single::SingleTable;
use crate::source::{MetricSource, TableFile};
use crate::source_error::SourceError;

/// Documentation/ABI/testing/sysfs-fs-ext4. `lifetime_write_kbytes` is `session_write_kbytes` and a constant.
const ATTRIBUTES: [(&str, Unit, Semantics); 5] = [
    ("delayed_allocation_blocks", Unit::Count, Semantics::Gauge),
    ("session_write_kbytes", Unit::Kibibytes, Semantics::Counter),
    ("errors_count", Unit::Count, Semantics::Counter),
    ("warning_count", Unit::Count, Semantics::Counter),
    ("sra_exceeded_retry_limit", Unit::Count, Semantics::Counter),
];

struct Ext4Mount(Vec<TableFile<SingleTable>>);

impl Instance for Ext4Mount {
    fn sample(&mut self, writer: &mut SampleWriter<'_>) -> Result<(), SourceError> {
        self.0.iter_mut().try_for_each(|file| file.update(writer))
    }

    fn vanish(&mut self, writer: &mut SampleWriter<'_>) {
        self.0.iter_mut().for_each(|file| file.vanish(writer));
    }
}

pub(crate) struct Ext4 {
    folder: PathBuf,
    instances: Instances<Ext4Mount>,
}

impl Ext4 {
    pub(crate) fn new(folder: PathBuf) -> Ext4 {
        Ext4 { instances: Instances::new(folder.clone()), folder }
    }
}

impl MetricSource for Ext4 {
    fn sample(&mut self, writer: &mut SampleWriter<'_>) -> Result<(), SourceError> {
        let folder = &self.folder;
        self.instances.sample(writer, |device, writer| {
            let folder = folder.join(device);
            let instance = writer.devices.identity_of(device);
            let open = |(name, unit, semantics): (&str, Unit, Semantics)| {
                let table = SingleTable { name: format!("ext4.{name}"), instance: instance.clone(), unit, semantics };
                TableFile::new(folder.join(name), table)
            };
            // Beside the mounts there is the folder `features`, and older kernels lack some attributes.
            let there = ATTRIBUTES.into_iter().filter(|(name, ..)| folder.join(name).is_file());
            let files: Vec<_> = there.map(open).collect();
            (!files.is_empty()).then_some(Ext4Mount(files))
        })
    }
}
