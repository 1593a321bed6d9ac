use proptest::prelude::*;

use super::Recipe;

/// A valid recipe, for tests that put one mistake into it.
const RIGHT: &str = r#"name = "right"
about = "one line"

[variables.workers]
kind = "count"
default = "cpus"
short = "t"
help = "threads"

[[phase]]
name = "fill"
kind = "fill"

[[phase]]
name = "run"
kind = "run"
duration = "10s"

[files.set]
count = 4
size = "1m"

[[actor]]
name = "worker"
count = "workers"

[[actor.step]]
do = "read"
from = "set"
"#;

/// The error after replacing one piece of the valid recipe.
fn error(piece: &str, replacement: &str) -> String {
    assert!(RIGHT.contains(piece), "{piece}");
    Recipe::parse("recipes/x.toml", &RIGHT.replacen(piece, replacement, 1)).expect_err(replacement).to_string()
}

#[test]
fn a_right_recipe_is_read() {
    let recipe = Recipe::parse("x.toml", RIGHT).unwrap();
    assert_eq!(recipe.name, "right");
    assert_eq!(recipe.variables[0].flag, "workers");
    assert_eq!(recipe.variables[0].short, Some('t'));
    assert_eq!(recipe.actors[0].steps[0].class.as_deref(), Some("read"));
}

#[test]
fn variables_follow_others_unless_they_are_set() {
    let text = RIGHT.replacen(
        "[[phase]]",
        "[variables.share]\nkind = \"size\"\ndefault = \"memory / workers\"\nhelp = \"\"\n\
         [variables.half]\nkind = \"size\"\ndefault = \"share / 2\"\nhelp = \"\"\n\
         [variables.room]\nkind = \"size\"\ndefault = \"10% * free_space\"\nhelp = \"\"\n\n[[phase]]",
        1,
    );
    let recipe = Recipe::parse("x.toml", &text).unwrap();
    let dependents = |root: &str, set: &[(&str, &str)]| {
        let set = set.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        recipe.dependents(&[root], &set)
    };
    assert_eq!(dependents("workers", &[]), ["share", "half"]);
    assert_eq!(dependents("cpus", &[]), ["workers", "share", "half"]);
    assert_eq!(dependents("workers", &[("share", "64m")]), [""; 0]);
    assert_eq!(dependents("free_space", &[("half", "room / 2")]), ["room", "half"]);
    assert_eq!(dependents("workers", &[("half", "no formula (")]), ["share"]);
}

#[test]
fn mistakes_point_into_the_file_and_suggest() {
    let mistakes = [
        error("count = \"workers\"", "threads = \"workers\""),
        error("from = \"set\"", "form = \"set\""),
        error("from = \"set\"", "from = \"sett\""),
        error("from = \"set\"", "from = \"set\"\nduration = \"1s\""),
        error("\nfrom = \"set\"", ""),
        error("do = \"read\"", "do = \"raed\""),
        error("kind = \"count\"", "kind = \"counts\""),
        error("\"workers\"\n\n[[actor.step]]", "\"worker * 2\"\n\n[[actor.step]]"),
        error("\"workers\"\n\n[[actor.step]]", "\"2 * (workers\"\n\n[[actor.step]]"),
        error("\"workers\"\n\n[[actor.step]]", "true\n\n[[actor.step]]"),
        error("size = \"1m\"", "size = \"1q\""),
        error("duration = \"10s\"", "duration = \"10s"),
        error("kind = \"run\"", "kind = \"warmup\""),
        error("kind = \"run\"", "kind = \"fill\""),
        error("[[phase]]\nname = \"fill\"\nkind = \"fill\"\n", ""),
        error("do = \"read\"\nfrom = \"set\"", "do = \"touch\""),
        error("do = \"read\"\nfrom = \"set\"", "do = \"fsync\""),
        error("short = \"t\"", "short = \"th\""),
        error("short = \"t\"", "plain = \"m\""),
        error("name = \"right\"", "name = \"../right\""),
        error("[variables.workers]", "[variables.cpus]"),
        error("help = \"threads\"", ""),
        error("[[actor.step]]", "[actor.step]"),
        error("[[actor.step]]\ndo = \"read\"\nfrom = \"set\"\n", ""),
        error("name = \"worker\"", "name = \"worker\"\nphases = [\"rnu\"]"),
        error("name = \"worker\"", "name = \"worker\"\npacing = \"poisson\""),
        error("[[phase]]", "[report]\ninterval = \"workers\"\n\n[[phase]]"),
        error("[[phase]]", "[variables.other]\nkind = \"count\"\ndefault = 1\nshort = \"t\"\nhelp = \"\"\n\n[[phase]]"),
    ];
    insta::assert_snapshot!(mistakes.join("\n\n"));
}

proptest! {
    #[test]
    fn a_damaged_recipe_is_read_or_refused_without_panic(at in 0..RIGHT.len(), length in 0..40usize, put in ".{0,8}") {
        let end = (at + length).min(RIGHT.len());
        let _ = Recipe::parse("x.toml", &format!("{}{put}{}", &RIGHT[..at], &RIGHT[end..]));
    }
}
