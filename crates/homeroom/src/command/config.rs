//! `homeroom config show`.

use clap::{Args, Subcommand};

use crate::app::Configured;
use crate::config::ConfigArgs;
use crate::exit::{Exit, Failure};

/// Shows the settings in force and where each value came from.
#[derive(Debug, Args)]
pub struct ConfigCommandArgs {
    #[command(flatten)]
    config: ConfigArgs,
    #[command(subcommand)]
    command: ConfigCommand,
}

#[derive(Debug, Subcommand)]
enum ConfigCommand {
    /// Prints every setting, its value and its origin; in JSON, null is one that is not set
    #[command(after_help = "Example:\n  HOMEROOM_STORE__QUEUE=64 homeroom config show")]
    Show {
        /// Prints JSON
        #[arg(long)]
        json: bool,
    },
}

/// Runs the command.
pub fn run(args: ConfigCommandArgs) -> Result<Exit, Failure> {
    let ConfigCommand::Show { json } = args.command;
    let (config, layers) =
        args.config.read(&[]).map_err(|error| Failure::Usage(error.to_string()))?;
    // What a server would refuse as it reads its standard is refused here.
    Configured::read(&config)?;
    let settings = layers.explain(&config);
    if json {
        let all: Vec<_> = settings
            .iter()
            .map(|(name, value, origin)| {
                serde_json::json!({"name": name, "value": value, "origin": origin.to_string()})
            })
            .collect();
        super::print_json(&all.into());
    } else {
        let width = settings.iter().map(|(name, ..)| name.len()).max().unwrap_or(0);
        for (name, value, origin) in settings {
            match value {
                Some(value) => crate::exit::say!("{name:width$} = {value}  ({origin})"),
                None => crate::exit::say!("{name:width$} : not set"),
            }
        }
    }
    Ok(Exit::Done)
}
