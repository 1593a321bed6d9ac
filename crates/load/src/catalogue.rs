//! The shipped recipes.

use crate::error::LoadError;
use crate::recipe::Recipe;

/// File name and text of each shipped recipe.
const SHIPPED: [(&str, &str); 15] = [
    ("recipes/simoop.toml", include_str!("../../../recipes/simoop.toml")),
    ("recipes/fsync-storm.toml", include_str!("../../../recipes/fsync-storm.toml")),
    ("recipes/cold-reader.toml", include_str!("../../../recipes/cold-reader.toml")),
    ("recipes/bonnie.toml", include_str!("../../../recipes/bonnie.toml")),
    ("recipes/fsmark.toml", include_str!("../../../recipes/fsmark.toml")),
    ("recipes/ior.toml", include_str!("../../../recipes/ior.toml")),
    ("recipes/mdtest.toml", include_str!("../../../recipes/mdtest.toml")),
    ("recipes/multi-source.toml", include_str!("../../../recipes/multi-source.toml")),
    ("recipes/paced-writer.toml", include_str!("../../../recipes/paced-writer.toml")),
    ("recipes/read-latency.toml", include_str!("../../../recipes/read-latency.toml")),
    ("recipes/rewrite.toml", include_str!("../../../recipes/rewrite.toml")),
    ("recipes/sequential-write.toml", include_str!("../../../recipes/sequential-write.toml")),
    ("recipes/sync-latency.toml", include_str!("../../../recipes/sync-latency.toml")),
    ("recipes/write-latency.toml", include_str!("../../../recipes/write-latency.toml")),
    ("recipes/randrw.toml", include_str!("../../../recipes/randrw.toml")),
];

/// All shipped recipes.
pub fn catalogue() -> Vec<Recipe> {
    let read = |(file, text): &(&str, &str)| Recipe::parse(file, text).expect("shipped recipes are tested");
    SHIPPED.iter().map(read).collect()
}

/// The shipped recipe of that name, or else the recipe file at that path.
pub fn find(name_or_path: &str) -> Result<Recipe, LoadError> {
    match catalogue().into_iter().find(|recipe| recipe.name == name_or_path) {
        Some(recipe) => Ok(recipe),
        None => Recipe::load(name_or_path.as_ref()),
    }
}

#[cfg(test)]
mod tests {
    use super::{SHIPPED, catalogue};
    use crate::recipe::Recipe;

    #[test]
    fn shipped_recipes_are_right_and_say_where_they_come_from() {
        for (recipe, (file, text)) in catalogue().iter().zip(SHIPPED) {
            assert_eq!(file, format!("recipes/{}.toml", recipe.name));
            assert!(!recipe.origin.is_empty() && text.starts_with(&format!("# {}:", recipe.name)), "{file}");
        }
    }

    #[test]
    fn the_example_in_the_description_of_the_language_is_a_recipe() {
        let description = include_str!("../../../recipes/README.md");
        let example: Vec<&str> = description.lines().filter_map(|line| line.strip_prefix("    ")).collect();
        let example = format!(
            "{}\n[variables.report_interval]\nkind = \"duration\"\ndefault = \"1s\"\nhelp = \"\"",
            example.join("\n")
        );
        assert_eq!(Recipe::parse("README.md", &example).unwrap().name, "mine");
    }
}
