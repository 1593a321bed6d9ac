//! `recipes`: what ships with the program.

use clap::{Args, Subcommand};

use crate::ui::failure::{Exit, Failure};
use crate::ui::screen::Screen;

/// Options of `recipes`.
#[derive(Debug, Args)]
pub struct RecipesArgs {
    /// What to do with them [default: list].
    #[command(subcommand)]
    pub action: Option<RecipesAction>,
}

/// What to do with recipes.
#[derive(Debug, Subcommand)]
pub enum RecipesAction {
    /// Print a shipped recipe, to read or to start one's own from.
    Show {
        /// Its name.
        name: String,
    },
}

/// Lists the shipped recipes, or prints one.
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
                return Err(Failure::usage(format_args!(
                    "there is no recipe '{name}'; there are {}",
                    names.join(", ")
                )));
            };
            screen.result(recipe.text());
            Ok(Exit::Done)
        }
    }
}
