//! `random`: reads and writes of blocks at random offsets, one file per thread.

mod access;
mod blocking;
mod choice;
mod queued;

pub(super) use access::RandomJob;
use choice::OperationChooser;

use crate::engine::{self, EngineKind, NullEngine, OpenError, SyncEngine};
use crate::work::Worker;
use crate::write_ledger::FileLedger;

impl RandomJob {
    pub(super) fn perform(&self, worker: &mut Worker<'_>) {
        let directories = worker.group.directories.max(1) as u64;
        let account = worker.load.ledger.as_ref().filter(|_| self.verify);
        let account: Option<FileLedger<'_>> = account.map(|ledger| ledger.file_ledger(worker.thread.ordinal));
        let chooser = OperationChooser::new(self, directories, worker.thread.ordinal, account);
        if let Some(account) = &account {
            account.set_in_use(true);
        }
        self.with_engine(worker, chooser);
        if let Some(account) = &account {
            account.set_in_use(false);
        }
    }

    fn with_engine(&self, worker: &mut Worker<'_>, chooser: OperationChooser<'_>) {
        if self.engine == EngineKind::Null {
            return blocking::run(self, worker, chooser, &NullEngine);
        }
        let id = chooser.file;
        let direct = self.direct.then_some(self.block_bytes);
        let opened = worker.place(id).map_err(OpenError::Failed);
        match opened.and_then(|place| engine::open(&place, direct, self.sync)) {
            Err(OpenError::Unfit(message)) => worker.give_up(&message),
            Err(OpenError::Failed(error)) => {
                let class = self.read_class.or(self.write_class).unwrap_or(0);
                let _ = worker.time(class, Some(id), || Err(error.into()));
            }
            Ok(file) if self.engine == EngineKind::IoUring => queued::run(self, worker, chooser, &file),
            Ok(file) => blocking::run(self, worker, chooser, &SyncEngine(file)),
        }
    }
}
