//! A recipe says what it is, and the program ships it.

use super::finding::Finding;
use super::tree::Tree;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let catalogue = |name: &str| {
        let quoted = format!("{name}\"");
        let sources = tree.files().iter().filter(|file| file.has_extension("rs"));
        sources
            .filter(|file| file.text.contains("include_str!"))
            .any(|file| file.text.lines().any(|line| line.contains("recipes/") && line.contains(&quoted)))
    };
    let mut findings = Vec::new();
    for file in tree.files().iter().filter(|file| file.path.starts_with("recipes") && file.has_extension("toml")) {
        if !file.text.starts_with('#') {
            let what = "a recipe begins with a comment: what it reproduces and where that comes from; write one";
            findings.push(Finding::new(&file.path, 1, what));
        }
        let name = file.path.file_name().unwrap_or_default().to_string_lossy();
        if !catalogue(&name) {
            let what = "no include_str! ships this recipe; add it to the catalogue in crates/load";
            findings.push(Finding::new(&file.path, 1, what));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::findings;

    #[test]
    fn a_recipe_needs_a_header_and_a_catalogue_entry() {
        let catalogue = "const A: &str = include_str!(\"../../../recipes/good.toml\");";
        let found = findings(
            check,
            &[
                ("crates/load/src/catalogue.rs", catalogue),
                ("recipes/good.toml", "# What it is\n"),
                ("recipes/bad.toml", "name = 'bad'\n"),
            ],
        );
        assert_eq!(found.len(), 2);
        assert!(found.iter().all(|finding| finding.starts_with("recipes/bad.toml:1: ")));
    }
}
