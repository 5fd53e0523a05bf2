//! `homeroom lab`.

mod echo;
mod load;
mod output;
mod run;
mod scenario;
mod session;

use clap::Subcommand;

use crate::exit::{Exit, Failure};

/// The commands of the lab.
#[derive(Debug, Subcommand)]
pub enum LabCommand {
    Run(run::RunArgs),
    Echo(echo::EchoArgs),
}

/// Runs a command of the lab.
pub fn run(command: LabCommand) -> Result<Exit, Failure> {
    match command {
        LabCommand::Run(args) => run::run(args),
        LabCommand::Echo(args) => echo::run(args),
    }
}
