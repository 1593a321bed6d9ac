//! Any text as a condition, a shard or a file of remedies.
#![no_main]

use condition::Condition;
use libfuzzer_sys::fuzz_target;
use remedy::Remedies;

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    if let Ok(condition) = text.parse::<Condition>() {
        assert!(!condition.to_string().is_empty() && !condition.word().is_empty());
    }
    let _ = sweep::Shard::parse(&text);
    let _ = Remedies::shipped().add("fuzz.toml", &text);
});
