//! Strings and details, each stored once.

use std::num::NonZeroU32;
use std::sync::Arc;

use model::detail::Detail;
use model::system_call::{SystemCall, Traits, named};

use crate::hashing::FastMap;

/// A string that is stored once: its number from 1, so that millions of rows hold none at no cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Name(NonZeroU32);

/// A detail that is stored once: its number from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct DetailId(NonZeroU32);

/// All strings, and all details.
#[derive(Debug, Default)]
pub(crate) struct Names {
    by_text: FastMap<Arc<str>, Name>,
    texts: Vec<Arc<str>>,
    /// The system call of that name.
    calls: Vec<Option<&'static SystemCall>>,
    by_detail: FastMap<Arc<Detail>, DetailId>,
    details: Vec<Arc<Detail>>,
}

impl Names {
    pub(crate) fn insert(&mut self, text: &str) -> Name {
        if let Some(name) = self.by_text.get(text) {
            return *name;
        }
        let text: Arc<str> = text.into();
        self.calls.push(named(&text));
        self.texts.push(text.clone());
        let name = Name(number(self.texts.len()));
        self.by_text.insert(text, name);
        name
    }

    /// The name of a text that was inserted.
    pub(crate) fn find(&self, text: &str) -> Option<Name> {
        self.by_text.get(text).copied()
    }

    pub(crate) fn get(&self, name: Name) -> &str {
        &self.texts[name.0.get() as usize - 1]
    }

    /// The system call of that name.
    pub(crate) fn call(&self, name: Name) -> Option<&'static SystemCall> {
        self.calls[name.0.get() as usize - 1]
    }

    /// What that call does; nothing is known of another name.
    pub(crate) fn traits(&self, name: Name) -> Traits {
        self.call(name).map_or(Traits::NONE, |call| call.traits)
    }

    /// A detail, with the cgroup that it is about as a name of its own.
    pub(crate) fn insert_detail(&mut self, detail: &Detail) -> DetailId {
        if let Some(known) = self.by_detail.get(detail) {
            return *known;
        }
        detail.cgroup().map(|cgroup| self.insert(cgroup));
        let detail = Arc::new(detail.clone());
        self.details.push(detail.clone());
        let id = DetailId(number(self.details.len()));
        self.by_detail.insert(detail, id);
        id
    }

    pub(crate) fn detail(&self, id: DetailId) -> &Detail {
        &self.details[id.0.get() as usize - 1]
    }

    pub(crate) fn insert_some(&mut self, text: Option<&String>) -> Option<Name> {
        text.map(|text| self.insert(text))
    }
}

fn number(length: usize) -> NonZeroU32 {
    let number = u32::try_from(length).ok().and_then(NonZeroU32::new);
    number.expect("memory runs out long before 2^32 are stored")
}
