//! `recipes`: what ships with the program.

use crate::cli::{RecipesAction, RecipesArgs};
use crate::failure::Failure;
use crate::screen::Screen;

/// Lists the shipped recipes, or prints one.
pub fn recipes(args: &RecipesArgs, screen: &Screen) -> Result<(), Failure> {
    match &args.action {
        None => {
            for recipe in load::catalogue::catalogue() {
                screen.result(&format!("{:<16} {}\n", recipe.name, recipe.about));
            }
            Ok(())
        }
        Some(RecipesAction::Show { name }) => {
            let recipes = load::catalogue::catalogue();
            let Some(recipe) = recipes.iter().find(|recipe| recipe.name == *name) else {
                let names: Vec<&str> = recipes.iter().map(|recipe| recipe.name.as_str()).collect();
                return Err(Failure::usage(format_args!(
                    "there is no recipe '{name}'; there are {}",
                    names.join(", ")
                )));
            };
            screen.result(recipe.text());
            Ok(())
        }
    }
}
