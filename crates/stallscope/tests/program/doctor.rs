//! `doctor`: its JSON holds everything in its text.

use crate::stage::run;

#[test]
fn the_document_holds_everything_in_the_text() {
    let text = run("doctor").expect_code(0).stdout;
    let document = run("doctor --json").expect_code(0).document();
    let findings = document["findings"].as_array().unwrap();
    assert!(findings.len() > 10, "{document:#}");
    let mut missing = 0;
    for finding in findings {
        let said = |key: &str| finding[key].as_str().map(str::to_owned);
        assert!(text.contains(&said("capability").unwrap()) && text.contains(&said("purpose").unwrap()), "{finding}");
        let is_there = finding["available"].as_bool().unwrap();
        missing += u64::from(!is_there && finding["unloaded_module"].is_null());
        // A missing feature has a reason and a remedy, and the text has both.
        assert_eq!(said("why").is_none(), is_there, "{finding}");
        for words in [said("why"), said("remedy")].into_iter().flatten() {
            assert!(text.contains(&words), "{words}");
        }
    }
    assert_eq!(document["missing"].as_u64(), Some(missing));
    let answers = document["answers"].as_array().unwrap();
    assert_eq!(answers.len(), 4, "{document:#}");
    assert!(text.contains("Answers on this machine rest on all that they need: which operations are slow: "), "{text}");
    assert!(text.contains(document["kernel"]["release"].as_str().unwrap()));
    let facts = document["kernel"]["facts"].as_array().unwrap();
    for fact in facts {
        let value = fact["value"].as_str().unwrap_or("unknown");
        let line = text.lines().find(|line| line.split_whitespace().next() == fact["name"].as_str());
        assert!(line.is_some_and(|line| line.contains(value)), "{fact}");
    }
    assert!(facts.iter().any(|fact| fact["name"] == "CONFIG_BPF_SYSCALL"), "{document:#}");
    assert!(document["machine"]["cpus"].as_u64() > Some(0));
}
