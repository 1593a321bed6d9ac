//! The sentence that comes first where a source was missing that the answer would rest on.

use model::preflight::Subject;
use serde_json::Value;

use super::sentence::{Kind, Sentence, Writer};
use crate::damage::untraced_words;

/// `Block requests were not traced: what happened at the disk is unknown, and 7.90 s are unexplained for it.`
pub(super) fn sentence(document: &Value) -> Option<Sentence> {
    let list = document["untraced"].as_array()?;
    let subject = Subject::from_name(list.first()?["subject"].as_str()?)?;
    let mut writer = Writer::new(document);
    writer.say(untraced_words(subject));
    if !list[0]["unexplained_ns"].is_null() {
        writer.say(", and ");
        writer.value("/untraced/0/unexplained_ns", Kind::Duration)?;
        writer.say(" are unexplained for it");
    }
    Some(writer.end())
}
