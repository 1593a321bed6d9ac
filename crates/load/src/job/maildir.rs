//! `maildir`: writes a maildir, or reads it cold repeatedly, like a mail reader after its start.

use std::io::{self, BufRead, BufReader};
use std::path::Path;

use access::Directory;
use model::operation::Fault;
use rustix::fs::{FileType, OFlags};
use serde::{Deserialize, Serialize};

use super::cold::ColdMethod;
use super::home::HomeDirectory;
use super::sizes::size_of;
use super::values::JobValues;
use crate::block;
use crate::board::{FinishedOperation, OperationLevel};
use crate::clock;
use crate::data::{FileId, FilePlace, FileSet};
use crate::error::LoadError;
use crate::io_failure::IoFailure;
use crate::sys;
use crate::work::Worker;

/// As in the original.
const USUAL_BATCH: u64 = 1000;
/// A line of a mail: 72 characters and a newline.
const LINE_BYTES: usize = 73;
/// MaildirJob are written piece by piece.
const PIECE_BYTES: u64 = 64 << 10;
/// Separates the sizes of mails from those of other files with the same seed.
const MAILS: u64 = 0x6d61_696c;

/// The job, resolved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MaildirJob {
    set: usize,
    /// MaildirJob in each directory.
    mails: u64,
    mean_bytes: u64,
    /// MaildirJob that are timed together.
    batch: u64,
    cold: ColdMethod,
    task: MaildirAction,
}

/// The action, with the classes of its operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum MaildirAction {
    Write { write: usize, sync: usize },
    Read { find: usize, drop: usize, mail: usize, batch: usize },
}

impl MaildirJob {
    pub(super) fn resolve(values: &mut JobValues<'_, '_>) -> Result<MaildirJob, LoadError> {
        let set = values.set("set").unwrap_or(0);
        let task = match values.word("action")?.as_deref() {
            Some("write") => MaildirAction::Write { write: values.class("write")?, sync: values.class("sync")? },
            _ => MaildirAction::Read {
                find: values.class("find")?,
                drop: values.class("drop")?,
                mail: values.class("mail")?,
                batch: values.class("batch_of_mails")?,
            },
        };
        let (mails, mean_bytes) = (values.sets()[set].files, values.sets()[set].size_bytes);
        let batch = values.whole_or("batch", USUAL_BATCH, 1)?.min(mails);
        let cold = if let MaildirAction::Write { .. } = task { ColdMethod::None } else { ColdMethod::resolve(values)? };
        Ok(MaildirJob { set, mails, mean_bytes, batch, cold, task })
    }

    /// The class whose operations consist of others.
    pub(super) fn whole(&self) -> Option<usize> {
        if let MaildirAction::Read { batch, .. } = self.task { Some(batch) } else { None }
    }

    pub(super) fn remark(&self) -> Option<&'static str> {
        self.cold.remark()
    }

    pub(super) fn memory_bytes(&self) -> u64 {
        match self.task {
            MaildirAction::Write { .. } => 2 * PIECE_BYTES,
            MaildirAction::Read { .. } => self.mails * 8,
        }
    }

    pub(super) fn perform(&self, worker: &mut Worker<'_>) {
        match self.task {
            MaildirAction::Write { .. } => self.write_all(worker),
            MaildirAction::Read { .. } => self.read_on(worker),
        }
    }

    fn size_bytes(&self, worker: &Worker<'_>, mail: u64) -> u64 {
        size_of(worker.load.seed ^ MAILS, mail, self.mean_bytes)
    }

    /// Writes this thread's share of the mails.
    fn write_all(&self, worker: &mut Worker<'_>) {
        let MaildirAction::Write { write, sync } = self.task else { return };
        let home = HomeDirectory::of(worker);
        let lines = lines(worker);
        for mail in home.share(self.mails) {
            if worker.is_over() {
                return;
            }
            let id = FileId::new(home.directory, self.set, mail);
            let (place, size) = (worker.place(id), self.size_bytes(worker, mail));
            match worker.time(write, Some(id), || write_mail(&place?, &lines, mail, size)) {
                Ok(_) => worker.done(1),
                Err(_) => worker.back_off(),
            }
        }
        let directory = home.directory(worker);
        let _ = worker.time(sync, None, || Ok(self.cold.write_back(directory).map(|()| 0)?));
    }

    /// Finds all mails, then reads them cold, pass after pass.
    fn read_on(&self, worker: &mut Worker<'_>) {
        let MaildirAction::Read { find, drop, .. } = self.task else { return };
        let home = HomeDirectory::of(worker);
        let set = &worker.load.file_sets[self.set];
        let mut found = Vec::new();
        while found.is_empty() && !worker.is_over() {
            let root = home.directory(worker).directory(Path::new(&set.name));
            let _ = worker.time(find, None, || Ok(self.find(&root?, set, &mut found).map(|()| 0)?));
            if found.is_empty() {
                worker.back_off();
            }
        }
        let mut line = Vec::with_capacity(LINE_BYTES);
        while !worker.is_over() {
            let _ = worker.time(drop, None, || Ok(self.cold.drop_caches().map(|()| 0)?));
            let batches = found.chunks(self.batch as usize);
            let _ = batches.map_while(|some| self.read_batch(worker, home, some, &mut line)).count();
        }
    }

    /// Collects the mails in listing order, which is the order of reads.
    fn find(&self, directory: &Directory, set: &FileSet, found: &mut Vec<u64>) -> io::Result<()> {
        for (name, kind) in directory.entries()? {
            if kind == FileType::Directory {
                self.find(&directory.directory(Path::new(&name))?, set, found)?;
            } else if let Some(mail) = number(directory.path(), &name, set) {
                found.extend(Some(mail).filter(|mail| *mail < self.mails));
            }
        }
        Ok(())
    }

    /// Reads mails and counts them as a batch if there are enough. `None`: the job is over.
    fn read_batch(
        &self,
        worker: &mut Worker<'_>,
        home: HomeDirectory,
        mails: &[u64],
        line: &mut Vec<u8>,
    ) -> Option<()> {
        let MaildirAction::Read { mail: class, batch, .. } = self.task else { return None };
        let start_ns = clock::now_ns();
        worker.recorder.begin(OperationLevel::Round, batch, start_ns);
        for &mail in mails {
            if worker.is_over() {
                worker.recorder.abandon(OperationLevel::Round);
                return None;
            }
            let id = FileId::new(home.directory, self.set, mail);
            let (place, size) = (worker.place(id), self.size_bytes(worker, mail));
            match worker.time(class, Some(id), || read_mail(&place?, size, self.cold, line)) {
                Ok(_) => worker.done(1),
                Err(_) => worker.back_off(),
            }
        }
        if (mails.len() as u64) < self.batch {
            worker.recorder.abandon(OperationLevel::Round);
            return Some(());
        }
        let end_ns = clock::now_ns();
        let done = FinishedOperation { class: batch, start_ns, end_ns, bytes: 0, file: None, failure: None };
        worker.recorder.finish(OperationLevel::Round, done);
        Some(())
    }
}

/// The number of a listed mail.
fn number(directory: &Path, name: &std::ffi::OsStr, set: &FileSet) -> Option<u64> {
    let subdirectory = directory.file_name()?;
    set.names.file_called(subdirectory.as_encoded_bytes(), name.as_encoded_bytes())
}

/// The text of mails.
fn lines(worker: &Worker<'_>) -> Vec<u8> {
    let mut text = vec![0; PIECE_BYTES as usize + LINE_BYTES];
    let mut random = worker.random.clone();
    random.fill(&mut text);
    text.iter_mut().for_each(|byte| *byte = b' ' + *byte % 95);
    text.iter_mut().skip(LINE_BYTES - 1).step_by(LINE_BYTES).for_each(|byte| *byte = b'\n');
    text
}

/// Writes a mail: header lines, an empty line, text.
fn write_mail(place: &FilePlace<'_>, lines: &[u8], mail: u64, size_bytes: u64) -> Result<u64, IoFailure> {
    let file = place.create(OFlags::WRONLY | OFlags::TRUNC)?;
    let header =
        format!("Return-Path: <a@example.org>\nFrom: A <a@example.org>\nSubject: mail {mail}\nDate: {mail}\n\n");
    let header = &header.as_bytes()[..header.len().min(size_bytes as usize)];
    block::write(&file, header, 0)?;
    let mut done = header.len() as u64;
    let skipped = mail as usize % LINE_BYTES;
    while done < size_bytes {
        let length = PIECE_BYTES.min(size_bytes - done) as usize;
        block::write(&file, &lines[skipped..skipped + length], done)?;
        done += length as u64;
    }
    sys::close(file.into())?;
    Ok(size_bytes)
}

/// Opens a mail, gets its size, reads it line by line, and parses the header as a mail reader does.
fn read_mail(place: &FilePlace<'_>, size_bytes: u64, cold: ColdMethod, line: &mut Vec<u8>) -> Result<u64, IoFailure> {
    let file = place.read()?;
    let there = file.metadata()?.len();
    let mut reader = BufReader::with_capacity(8 << 10, file);
    let (mut done, mut in_header, mut fields) = (0, true, 0);
    loop {
        line.clear();
        let length = reader
            .read_until(b'\n', line)
            .map_err(|error| IoFailure { offset_bytes: Some(done), ..IoFailure::from(error) })?;
        if length == 0 {
            break;
        }
        done += length as u64;
        in_header &= line[..] != *b"\n";
        let known = [&b"From:"[..], b"Date:", b"Subject:"];
        fields += usize::from(in_header && known.iter().any(|field| line.starts_with(field)));
    }
    std::hint::black_box(fields);
    cold.drop_pages(reader.get_ref());
    std::hint::black_box(there);
    match done >= size_bytes {
        true => Ok(done),
        false => Err(IoFailure { fault: Some(Fault::ShortRead), offset_bytes: Some(done), ..IoFailure::default() }),
    }
}
