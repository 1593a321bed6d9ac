//! The job's values, resolved from a recipe's keys.

use serde::{Deserialize, Serialize};

use crate::data::FileNames;
use crate::error::LoadError;
use crate::job::values::JobValues;

/// What a rank does with each of its items, and the classes of its operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Action {
    MakeTree { mkdir: usize },
    RemoveTree { rmdir: usize },
    MakeDirectory { mkdir: usize },
    StatDirectory { stat: usize },
    RemoveDirectory { rmdir: usize },
    Create(FileClasses),
    Stat { stat: usize },
    Read(FileClasses),
    Remove { unlink: usize },
}

/// The classes of opening, writing or reading, and closing a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileClasses {
    pub(super) open: usize,
    pub(super) transfer: Option<usize>,
    pub(super) fsync: Option<usize>,
    pub(super) close: usize,
}

impl Action {
    /// Whether the items are files.
    pub(super) fn is_of_file(self) -> bool {
        matches!(self, Action::Create(_) | Action::Stat { .. } | Action::Read(_) | Action::Remove { .. })
    }

    /// The class of its first operation.
    pub(super) fn class(self) -> usize {
        match self {
            Action::MakeTree { mkdir: class } | Action::MakeDirectory { mkdir: class } => class,
            Action::RemoveTree { rmdir: class } | Action::RemoveDirectory { rmdir: class } => class,
            Action::StatDirectory { stat: class } | Action::Stat { stat: class } => class,
            Action::Create(classes) | Action::Read(classes) => classes.open,
            Action::Remove { unlink } => unlink,
        }
    }
}

/// The job, resolved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ItemsJob {
    pub(super) set: usize,
    pub(super) action: Action,
    /// Each rank takes the items of the rank with a number this much higher.
    pub(super) shift: u64,
    /// Whether items are visited in random order.
    pub(super) random: bool,
    /// Bytes that are written to a file, or read.
    pub(super) bytes: u64,
    /// Items of a rank.
    pub(super) items: u64,
}

impl ItemsJob {
    pub(crate) fn resolve(values: &mut JobValues<'_, '_>) -> Result<ItemsJob, LoadError> {
        let set = values.set("set").unwrap_or(0);
        let FileNames::Items(tree) = values.sets()[set].names else {
            return Err(values.refuse("set", "'items' needs a set with 'names = \"mdtest\"'"));
        };
        let (random, bytes) = (values.flag("random")?, values.whole("bytes")?.unwrap_or(0));
        if random && tree.items() > u64::from(u32::MAX) {
            return Err(values.refuse("random", "too many items for a random order"));
        }
        let action = action(values, bytes)?;
        Ok(ItemsJob { set, action, shift: values.whole("shift")?.unwrap_or(0), random, bytes, items: tree.items() })
    }
}

fn action(values: &mut JobValues<'_, '_>, bytes: u64) -> Result<Action, LoadError> {
    let word = values.word("action")?.unwrap_or_default();
    Ok(match word.as_str() {
        "make-tree" => Action::MakeTree { mkdir: values.class("mkdir")? },
        "remove-tree" => Action::RemoveTree { rmdir: values.class("rmdir")? },
        "mkdir" => Action::MakeDirectory { mkdir: values.class("mkdir")? },
        "stat-directory" => Action::StatDirectory { stat: values.class("stat")? },
        "rmdir" => Action::RemoveDirectory { rmdir: values.class("rmdir")? },
        "stat" => Action::Stat { stat: values.class("stat")? },
        "unlink" => Action::Remove { unlink: values.class("unlink")? },
        "read" => Action::Read(classes(values, "open", (bytes > 0).then_some("read"))?),
        _ => Action::Create(classes(values, "create", (bytes > 0).then_some("write"))?),
    })
}

fn classes(values: &mut JobValues<'_, '_>, open: &str, transfer: Option<&str>) -> Result<FileClasses, LoadError> {
    Ok(FileClasses {
        open: values.class(open)?,
        transfer: transfer.map(|class| values.class(class)).transpose()?,
        fsync: if values.flag("fsync")? { Some(values.class("fsync")?) } else { None },
        close: values.class("close")?,
    })
}
