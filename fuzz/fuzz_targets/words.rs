//! Any text as a condition, a shard or a file of remedies.
#![no_main]

use condition::Condition;
use libfuzzer_sys::fuzz_target;
use remedy::Remedies;

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    if let Ok(condition) = text.parse::<Condition>() {
        assert_eq!(condition.to_string().parse::<Condition>().as_ref(), Ok(&condition));
    }
    let _ = sweep::Shard::parse(&text);
    let _ = Remedies::shipped().add("fuzz.toml", &text);
});
