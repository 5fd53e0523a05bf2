//! `homeroom claim-sets list | show | put | remove | import`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use homeroom_access::Manage;

use crate::config::ConfigArgs;
use crate::control;
use crate::control::Request;
use crate::exit::{Exit, Failure};

/// Lists and defines claim sets, whether or not a server is running.
#[derive(Debug, Args)]
pub struct ClaimSetsArgs {
    #[command(flatten)]
    config: ConfigArgs,
    #[command(subcommand)]
    command: ClaimSetsCommand,
}

#[derive(Debug, Subcommand)]
enum ClaimSetsCommand {
    /// Lists the shipped claim sets and your own
    #[command(after_help = "Example:\n  homeroom claim-sets list --json")]
    List {
        /// Prints JSON
        #[arg(long)]
        json: bool,
    },
    /// Shows a claim set in the form that `put` accepts, and where it comes from
    #[command(after_help = "Example:\n  homeroom claim-sets show SISVendor --json > own.json")]
    Show {
        /// Name of the claim set
        name: String,
        /// Prints JSON
        #[arg(long)]
        json: bool,
    },
    /// Removes a claim set of your own; a shipped one of the same name takes effect again
    #[command(after_help = "Example:\n  homeroom claim-sets remove Nightly")]
    Remove {
        /// Name of the claim set
        name: String,
    },
    /// Creates or replaces a claim set, with immediate effect for its keys. Under the name of a
    /// shipped set it replaces that set until it is removed
    #[command(after_help = "Example:
  homeroom claim-sets put Nightly --file nightly.json

The file holds {\"name\": …, \"resourceClaims\": [{\"claim\": URI, \"actions\":
[{\"name\": \"Read\", \"authorizationStrategies\": [\"NoFurtherAuthorizationRequired\"]}]}]};
without strategies the defaults apply.")]
    Put {
        /// Name of the claim set
        name: String,
        /// JSON file with its definition
        #[arg(long, value_name = "FILE")]
        file: PathBuf,
    },
    /// Creates the shipped claims file from the published hierarchy
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
