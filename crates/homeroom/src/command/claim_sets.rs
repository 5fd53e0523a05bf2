//! `homeroom claim-sets list | show | put | remove | import`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use homeroom_access::Manage;

use crate::config::ConfigArgs;
use crate::control;
use crate::control::Request;
use crate::exit::{Exit, Failure};

/// Lists and defines claim sets; works whether or not a server runs.
#[derive(Debug, Args)]
pub struct ClaimSetsArgs {
    #[command(flatten)]
    config: ConfigArgs,
    #[command(subcommand)]
    command: ClaimSetsCommand,
}

#[derive(Debug, Subcommand)]
enum ClaimSetsCommand {
    /// Lists the claim sets: those that are shipped and those of your own
    #[command(after_help = "Example:\n  homeroom claim-sets list --json")]
    List {
        /// Prints JSON
        #[arg(long)]
        json: bool,
    },
    /// Shows a claim set in the form that `put` takes, and where it comes from
    #[command(after_help = "Example:\n  homeroom claim-sets show SISVendor --json > own.json")]
    Show {
        /// Its name
        name: String,
        /// Prints JSON
        #[arg(long)]
        json: bool,
    },
    /// Removes a claim set of your own; a shipped one of its name is back, for its keys too
    #[command(after_help = "Example:\n  homeroom claim-sets remove Nightly")]
    Remove {
        /// Its name
        name: String,
    },
    /// Creates or replaces a claim set; keys that have it follow at once. Under the name of a shipped
    /// set it takes its place until it is removed
    #[command(after_help = "Example:
  homeroom claim-sets put Nightly --file nightly.json

The file holds {\"name\": …, \"resourceClaims\": [{\"claim\": URI, \"actions\":
[{\"name\": \"Read\", \"authorizationStrategies\": [\"NoFurtherAuthorizationRequired\"]}]}]};
without strategies the defaults hold.")]
    Put {
        /// Its name
        name: String,
        /// JSON file with its definition
        #[arg(long, value_name = "FILE")]
        file: PathBuf,
    },
    /// Makes the shipped claims file from the published hierarchy
    Import(super::claims::ImportClaims),
}

/// Runs the command.
pub fn run(args: ClaimSetsArgs) -> Result<Exit, Failure> {
    let config = super::prepare_quietly(&args.config)?;
    let (manage, json) = match args.command {
        ClaimSetsCommand::List { json } => (Manage::ListClaimSets {}, json),
        ClaimSetsCommand::Show { name, json } => (Manage::ShowClaimSet { name }, json),
        ClaimSetsCommand::Remove { name } => (Manage::RemoveClaimSet { name }, false),
        ClaimSetsCommand::Put { name, file } => {
            let definition = super::read_json(&file)?;
            (Manage::PutClaimSet { name, definition }, false)
        }
        ClaimSetsCommand::Import(import) => return super::claims::run(&import),
    };
    let answer = control::request(&config, Request::Manage(manage), &mut |_| {})?;
    if json {
        super::print_json(&answer);
    } else {
        super::keys::print_plainly(&answer, 0);
    }
    Ok(Exit::Done)
}
