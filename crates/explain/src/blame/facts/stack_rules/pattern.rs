//! Patterns of function names.

/// Whether any of the functions matches any of the patterns.
pub(crate) fn any_fits(patterns: &[&str], frames: &[&str]) -> bool {
    frames.iter().any(|frame| patterns.iter().any(|pattern| fits(pattern, frame)))
}

fn fits(pattern: &str, frame: &str) -> bool {
    // Every function of a stack is compared with every pattern, and most patterns have no star.
    let is_star = |byte: Option<&u8>| byte == Some(&b'*');
    match (is_star(pattern.as_bytes().first()), is_star(pattern.as_bytes().last())) {
        (false, false) => frame == pattern,
        (true, false) => frame.ends_with(&pattern[1..]),
        (false, true) => frame.starts_with(&pattern[..pattern.len() - 1]),
        (true, true) => frame.contains(pattern.trim_matches('*')),
    }
}
