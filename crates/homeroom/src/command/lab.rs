//! `homeroom lab`.

mod bulk;
mod capacity;
mod compare;
mod echo;
mod gate;
mod gateway;
mod learners;
mod load;
mod output;
mod quick;
mod ready;
mod run;
mod scenario;
mod server;
mod session;
mod size;

use clap::Subcommand;

use crate::exit::{Exit, Failure};

/// The commands of the lab.
#[derive(Debug, Subcommand)]
pub enum LabCommand {
    Quick(quick::QuickArgs),
    Run(run::RunArgs),
    Capacity(capacity::CapacityArgs),
    Compare(compare::CompareArgs),
    Gate(gate::GateArgs),
    Gateway(Box<gateway::GatewayArgs>),
    Learners(Box<learners::LearnersArgs>),
    Echo(echo::EchoArgs),
    Bulk(bulk::BulkArgs),
}

/// Runs a command of the lab.
pub fn run(command: LabCommand) -> Result<Exit, Failure> {
    match command {
        LabCommand::Quick(args) => quick::run(args),
        LabCommand::Run(args) => run::run(args),
        LabCommand::Capacity(args) => capacity::run(args),
        LabCommand::Compare(args) => compare::run(args),
        LabCommand::Gate(args) => gate::run(args),
        LabCommand::Gateway(args) => gateway::run(&args),
        LabCommand::Learners(args) => learners::run(&args),
        LabCommand::Echo(args) => echo::run(args),
        LabCommand::Bulk(args) => bulk::run(args),
    }
}
