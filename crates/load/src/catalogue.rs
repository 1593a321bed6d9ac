//! The recipes that come with the program.

use crate::error::LoadError;
use crate::recipe::Recipe;

/// File name and text of each shipped recipe.
const SHIPPED: [(&str, &str); 4] = [
    ("recipes/simoop.toml", include_str!("../../../recipes/simoop.toml")),
    ("recipes/fsync-storm.toml", include_str!("../../../recipes/fsync-storm.toml")),
    ("recipes/cold-reader.toml", include_str!("../../../recipes/cold-reader.toml")),
    ("recipes/paced-writer.toml", include_str!("../../../recipes/paced-writer.toml")),
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
