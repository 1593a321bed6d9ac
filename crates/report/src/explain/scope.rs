//! The scope of an explanation in words.

use std::fmt::Write as _;

use explain::blame::Explanation;
use model::quantity::Nanoseconds;
use model::quantity::counted;

use crate::style::{Style, printable};

/// The scope, and what is outside of it.
pub(crate) fn scope(text: &mut String, explanation: &Explanation, style: Style) {
    if let Some(words) = scope_words(explanation) {
        let _ = writeln!(text, "{}", style.remark(&printable(&words)));
    }
}

/// The same as one line; `None` where the whole run is explained.
pub fn scope_words(explanation: &Explanation) -> Option<String> {
    let scoped = explanation.scoped.as_ref()?;
    let outside = match scoped.outside {
        0 => "no slow operation is outside of it".to_owned(),
        count => format!(
            "outside of it: {} of {} together",
            counted(count, "slow operation"),
            Nanoseconds(scoped.outside_ns)
        ),
    };
    Some(format!("scope: {}; {outside}", scoped.scope.words()))
}

/// What could have been in scope, where nothing is.
pub(super) fn present(text: &mut String, explanation: &Explanation) {
    for (kind, names) in explanation.scoped.iter().flat_map(|scoped| &scoped.present) {
        let names: Vec<String> = names.iter().map(|name| printable(name)).collect();
        let names = if names.is_empty() { "nothing known".to_owned() } else { names.join(", ") };
        let _ = writeln!(text, " By --{kind}, the slow operations are of: {names}");
    }
}
