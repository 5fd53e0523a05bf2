//! `homeroom model import | check | show`.

use clap::Subcommand;

use crate::exit::{Exit, Failure};

/// What to do with a model.
#[derive(Debug, Subcommand)]
pub enum ModelCommand {
    /// Shows one resource as the model file states it.
    Show {
        /// Endpoint or name, `sections` or `Section`.
        resource: String,
    },
}

/// Runs the command.
pub fn run(command: ModelCommand) -> Result<Exit, Failure> {
    match command {
        ModelCommand::Show { resource } => {
            Err(Failure::Failed(format!("no model to show {resource} from")))
        }
    }
}
