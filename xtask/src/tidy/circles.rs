//! Files of a crate do not import each other in a circle: a reader can take them from the bottom up.

use std::collections::{BTreeMap, VecDeque};

use super::finding::Finding;
use super::imports::{self, Crate};
use super::tree::Tree;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let crates = imports::crates(tree);
    crates.iter().flat_map(|graph| circles(graph).into_iter().map(|circle| finding(graph, &circle))).collect()
}

fn finding(graph: &Crate, circle: &[usize]) -> Finding {
    let cycle = shortest_cycle(graph, circle);
    let line = graph.imports[&(cycle[0], cycle[1])];
    let what = format!(
        "{} files import each other in a circle: {}; move what they share into a file below",
        circle.len(),
        names(graph, &cycle)
    );
    Finding::new(&graph.files[cycle[0]].path, line, what)
}

/// The circles of all crates, as text.
pub(super) fn list(tree: &Tree) -> String {
    let mut text = String::new();
    let mut total = (0, 0);
    for graph in imports::crates(tree) {
        let circles = circles(&graph);
        let files: usize = circles.iter().map(Vec::len).sum();
        total = (total.0 + circles.len(), total.1 + files);
        text += &format!("{}: {} circles with {files} of {} files\n", graph.name, circles.len(), graph.files.len());
        for circle in circles {
            text += &format!("  {} files: {}\n", circle.len(), names(&graph, &shortest_cycle(&graph, &circle)));
        }
    }
    text + &format!("{} circles with {} files\n", total.0, total.1)
}

fn names(graph: &Crate, files: &[usize]) -> String {
    files.iter().map(|file| graph.files[*file].name()).collect::<Vec<_>>().join(" -> ")
}

/// Strongly connected components with more than one file: the files that reach each other.
fn circles(graph: &Crate) -> Vec<Vec<usize>> {
    let files = 0..graph.files.len();
    let reached: Vec<Vec<bool>> = files.clone().map(|file| reachable(graph, file)).collect();
    let mut circles: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for file in files.clone() {
        if let Some(lowest) = files.clone().find(|other| reached[file][*other] && reached[*other][file]) {
            circles.entry(lowest).or_default().push(file);
        }
    }
    circles.into_values().collect()
}

fn reachable(graph: &Crate, from: usize) -> Vec<bool> {
    let mut reached = vec![false; graph.files.len()];
    let mut next: Vec<usize> = graph.imported_by(from).collect();
    while let Some(file) = next.pop() {
        if !std::mem::replace(&mut reached[file], true) {
            next.extend(graph.imported_by(file));
        }
    }
    reached
}

/// The shortest way through imports from a file of the circle back to itself.
fn shortest_cycle(graph: &Crate, circle: &[usize]) -> Vec<usize> {
    let cycles = circle.iter().filter_map(|file| cycle_from(graph, *file));
    cycles.min_by_key(Vec::len).expect("files that reach each other lie on a cycle")
}

fn cycle_from(graph: &Crate, start: usize) -> Option<Vec<usize>> {
    let mut before: BTreeMap<usize, usize> = BTreeMap::new();
    let mut queue = VecDeque::from([start]);
    while let Some(file) = queue.pop_front() {
        for to in graph.imported_by(file) {
            if to == start {
                let mut cycle = vec![start, file];
                while let Some(earlier) = before.get(&cycle[cycle.len() - 1]) {
                    cycle.push(*earlier);
                }
                cycle.reverse();
                return Some(cycle);
            }
            before.entry(to).or_insert_with(|| {
                queue.push_back(to);
                file
            });
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{check, list};
    use crate::tidy::findings;
    use crate::tidy::tree::Tree;

    const CIRCLE: [(&str, &str); 4] = [
        ("crates/x/src/lib.rs", "mod a;\nmod b;\nmod c;\npub use c::C;\n"),
        ("crates/x/src/a.rs", "use crate::b::B;\n"),
        ("crates/x/src/b.rs", "use crate::C;\npub struct B;\n"),
        ("crates/x/src/c.rs", "\nuse super::a;\npub struct C(a::A);\n"),
    ];

    #[test]
    fn a_circle_is_found_with_its_shortest_cycle() {
        let found = "crates/x/src/a.rs:1: 3 files import each other in a circle: a -> b -> c -> a; \
                     move what they share into a file below";
        assert_eq!(findings(check, &CIRCLE), [found]);
        let listed = "x: 1 circles with 3 of 4 files\n  3 files: a -> b -> c -> a\n1 circles with 3 files\n";
        assert_eq!(list(&Tree::of(&CIRCLE)), listed);
    }

    #[test]
    fn a_shorter_cycle_within_a_larger_circle_is_the_one_shown() {
        let mut files = CIRCLE;
        files[3].1 = "\nuse super::{a, b::B};\npub struct C(a::A, B);\n";
        assert!(findings(check, &files)[0].contains("3 files import each other in a circle: b -> c -> b;"));
    }

    #[test]
    fn layers_have_no_circle() {
        assert_eq!(findings(check, &CIRCLE[..3]), [""; 0]);
    }
}
