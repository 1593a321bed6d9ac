//! What holds of the text of all answers.

use explain::blame::{Cause, Holds, Sleep, Sleeps};
use explain::whatif::Advice;
use proptest::prelude::*;

use super::built::{S, culprit, link, of_command, sleep, slow, time};
use crate::answer::{Answer, Line, lines, text};
use crate::style::Style;

/// All lines of an answer.
fn all(answer: &Answer) -> Vec<&Line> {
    let own = [&answer.who, &answer.why, &answer.blocker, &answer.fix.lines, &answer.sure].into_iter().flatten();
    let machine = answer.machine.iter().flat_map(|machine| all(machine));
    [&answer.headline].into_iter().chain(own).chain(machine).collect()
}

fn any_answer() -> impl Strategy<Value = Answer> {
    let cause = proptest::sample::select(&Cause::ALL[..]);
    // No words begin like it.
    let name = "ZQ[a-zé/\u{1b} .-]{0,60}[a-z]";
    (cause.clone(), cause, 1..10_u64.pow(13), 1..10_u64.pow(13), name, any::<[bool; 3]>()).prop_map(
        |(one, other, first_ns, second_ns, name, [is_command, unfinished, hangs])| {
            let times = [time(one, first_ns), time(other, second_ns)];
            let times = if one == other { &times[..1] } else { &times[..] };
            let mut blocker = culprit(one, &name, 4_194_303, first_ns);
            blocker.cgroup = Some(format!("/system.slice/{name}"));
            let chain = vec![link(&name, 7, one, None), link(&name, 9, other, Some(Holds::Exactly))];
            let mut explanation = slow("fdatasync", times, vec![blocker], chain);
            explanation.stalls[0].finished = !unfinished;
            explanation.processes[0].name = Some(name.clone());
            if hangs {
                let longest = vec![Sleep { stack: Some(name), ..sleep("poll") }];
                explanation.sleeps = Sleeps { count: 3, total_ns: 9 * S, longest, ..Sleeps::default() };
            }
            let explanation = if is_command { of_command(explanation) } else { explanation };
            Answer::of(&explanation, &Advice::default())
        },
    )
}

proptest! {
    /// Each number of a line is one of its values, and thus in the JSON.
    #[test]
    fn every_number_is_a_value(answer in any_answer()) {
        let document = answer.json().to_string();
        for line in all(&answer) {
            let mut rest = line.text();
            for fact in line.facts() {
                let value = fact.text();
                let (before, after) = rest.split_once(&value).expect("values are in order");
                prop_assert!(!before.contains(|c: char| c.is_ascii_digit()), "{before}");
                rest = after.to_owned();
            }
            prop_assert!(!rest.contains(|c: char| c.is_ascii_digit()), "{rest}");
            let text = serde_json::json!(line.text()).to_string();
            prop_assert!(document.contains(&text), "{text}");
        }
    }

    /// Whatever the names are.
    #[test]
    fn no_line_is_wider_than_the_screen(answer in any_answer(), width in 60_usize..=100, most in 1_usize..30) {
        let printed = text(&answer, Some("runs/a"), Style { width, ..Style::PLAIN });
        prop_assert!(printed.lines().all(|line| line.chars().count() <= width), "{printed}");
        let escape = printed.find('\u{1b}');
        prop_assert_eq!(escape, None);
        let shown = lines(&answer, Style { width, ..Style::PLAIN }, most);
        prop_assert!(shown.len() <= most && shown.iter().all(|line| line.chars().count() <= width), "{shown:?}");
    }

    /// A relative clause has a noun before it.
    #[test]
    fn words_are_those_of_the_field(answer in any_answer()) {
        for line in all(&answer) {
            let (text, mut words) = (line.text(), String::new());
            let mut rest = text.as_str();
            // A name of a letter is found within words.
            if line.facts().iter().any(|fact| text.matches(&fact.text()).count() != 1) {
                continue;
            }
            for fact in line.facts() {
                let (before, after) = rest.split_once(&fact.text()).expect("values are in order");
                words.extend([before, "X"]);
                rest = after;
            }
            words.push_str(rest);
            for bad in ["at most", "who ", "that one", "the one", "  ", " ,", ": ,", "processs", "of of", "for for"] {
                prop_assert!(!words.contains(bad), "{bad}: {words}");
            }
        }
    }
}

#[test]
fn a_screen_with_little_room_shows_the_first_line_of_each_label() {
    let blocker = culprit(Cause::Device, "tar", 93, 7 * S);
    let chain = vec![link("postgres", 7, Cause::Device, None)];
    let times = [time(Cause::Device, 7 * S), time(Cause::CpuWait, 3 * S)];
    let answer = Answer::of(&slow("read", &times, vec![blocker], chain), &Advice::default());
    insta::assert_snapshot!(lines(&answer, Style { width: 80, ..Style::PLAIN }, 6).join("\n"));
}
