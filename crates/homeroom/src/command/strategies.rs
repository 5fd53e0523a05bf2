//! `homeroom strategies list | show | put | remove`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use homeroom_access::Manage;

use crate::config::ConfigArgs;
use crate::control;
use crate::control::Request;
use crate::exit::{Exit, Failure};

/// Lists and defines authorization strategies, whether or not a server is running.
#[derive(Debug, Args)]
pub struct StrategiesArgs {
    #[command(flatten)]
    config: ConfigArgs,
    #[command(subcommand)]
    command: StrategiesCommand,
}

#[derive(Debug, Subcommand)]
enum StrategiesCommand {
    /// Lists the strategies: the published ones and those of your own
    #[command(after_help = "Example:\n  homeroom strategies list --json")]
    List {
        /// Prints JSON
        #[arg(long)]
        json: bool,
    },
    /// Shows a strategy of your own and the resources that can use it
    #[command(after_help = "Example:\n  homeroom strategies show StudentWithTitleI")]
    Show {
        /// Name of the strategy
        name: String,
        /// Prints JSON
        #[arg(long)]
        json: bool,
    },
    /// Creates or replaces a strategy: a view of the documents of a resource, named
    /// {Resource}With{Text}
    #[command(after_help = "Example:
  homeroom strategies put StudentWithTitleI --file title-i.json

The file holds {\"where\": RULE}. A RULE is one of
  {\"exists\": RESOURCE}, optionally with \"where\": RULE and \"by\": REFERENCE
  {\"member\": PATH, \"in\": [VALUE, …]}
  {\"member\": PATH, \"present\": true}, or false
  {\"all\": [RULE, …]}
  {\"any\": [RULE, …]}")]
    Put {
        /// Name of the strategy
        name: String,
        /// JSON file with its definition
        #[arg(long, value_name = "FILE")]
        file: PathBuf,
    },
    /// Removes a strategy of your own that no claim set names
    #[command(after_help = "Example:\n  homeroom strategies remove StudentWithTitleI")]
    Remove {
        /// Name of the strategy
        name: String,
    },
}

/// Runs the command.
pub fn run(args: StrategiesArgs) -> Result<Exit, Failure> {
    let config = super::prepare_quietly(&args.config)?;
    let (manage, json) = match args.command {
        StrategiesCommand::List { json } => (Manage::ListStrategies {}, json),
        StrategiesCommand::Show { name, json } => (Manage::ShowStrategy { name }, json),
        StrategiesCommand::Put { name, file } => {
            let definition = super::read_json(&file)?;
            (Manage::PutStrategy { name, definition }, false)
        }
        StrategiesCommand::Remove { name } => (Manage::RemoveStrategy { name }, false),
    };
    let answer = control::request(&config, Request::Manage(manage), &mut |_| {})?;
    if json {
        super::print_json(&answer);
    } else {
        super::keys::print_plainly(&answer, 0);
    }
    Ok(Exit::Done)
}
