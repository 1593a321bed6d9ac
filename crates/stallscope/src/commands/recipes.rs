//! `recipes`: the built-in recipes.

use clap::{Args, Subcommand};

use crate::ui::failure::{Exit, Failure};
use crate::ui::screen::Screen;

/// Options of `recipes`.
#[derive(Debug, Args)]
pub struct RecipesArgs {
    /// Action [default: list].
    #[command(subcommand)]
    pub action: Option<RecipesAction>,
}

/// Actions on recipes.
#[derive(Debug, Subcommand)]
pub enum RecipesAction {
    /// Print a built-in recipe, as a starting point for your own.
    Show {
        /// Name of the recipe.
        name: String,
    },
}

/// Lists the built-in recipes, or prints one.
pub fn recipes(args: &RecipesArgs, screen: &Screen) -> Result<Exit, Failure> {
    match &args.action {
        None => {
            for recipe in load::catalogue::catalogue() {
                screen.result(&format!("{:<16} {}\n", recipe.name, recipe.about));
            }
            Ok(Exit::Done)
        }
        Some(RecipesAction::Show { name }) => {
            let recipes = load::catalogue::catalogue();
            let Some(recipe) = recipes.iter().find(|recipe| recipe.name == *name) else {
                let names: Vec<&str> = recipes.iter().map(|recipe| recipe.name.as_str()).collect();
                return Err(Failure::usage(format_args!("no recipe '{name}'; recipes: {}", names.join(", "))));
            };
            screen.result(recipe.text());
            Ok(Exit::Done)
        }
    }
}
