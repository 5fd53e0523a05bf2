//! `homeroom`: one server for a school system's data.

mod app;
mod bucket_metrics;
mod command;
mod config;
mod control;
mod exit;
mod exposition;
mod health;
mod job_metrics;
mod load_metrics;
mod logging;
mod output;
mod probes;
mod process;
mod request_log;
mod runtime_metrics;
mod serve;
mod signals;
mod standard;
mod version;

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand};

/// Returns to the system what is free, also what SQLite has freed, by a thread of its own:
/// docs/decisions/0086-what-is-free-goes-back-to-the-system.md.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// One server for a school system's data.
#[derive(Debug, Parser)]
#[command(name = "homeroom", version, about, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Demo(command::demo::DemoArgs),
    Serve(command::serve::ServeArgs),
    Keys(command::keys::KeysArgs),
    ClaimSets(command::claim_sets::ClaimSetsArgs),
    Strategies(command::strategies::StrategiesArgs),
    Load(command::load::LoadArgs),
    Upload(command::upload::UploadArgs),
    Jobs(command::jobs::JobsArgs),
    Gateway(command::gateway::GatewayArgs),
    Course(command::course::CourseArgs),
    Generate(command::generate::GenerateArgs),
    Counts(command::counts::CountsArgs),
    Export(command::export::ExportArgs),
    Views(command::views::ViewsArgs),
    /// Create, check and show the model files that define what the API serves
    #[command(subcommand)]
    Model(command::model::ModelCommand),
    /// Put load on a server and measure how much it can handle
    #[command(subcommand)]
    Lab(command::lab::LabCommand),
    Backup(command::operations::BackupArgs),
    Restore(command::restore::RestoreArgs),
    Doctor(command::operations::DoctorArgs),
    Config(command::config::ConfigCommandArgs),
    Completion(command::shell::CompletionArgs),
    Man(command::shell::ManArgs),
}

fn main() -> ExitCode {
    let command = match Cli::try_parse() {
        Ok(cli) => cli.command,
        Err(error) => return exit::usage(&error),
    };
    let done = match command {
        Command::Demo(args) => command::demo::run(args),
        Command::Serve(args) => command::serve::run(args),
        Command::Keys(args) => command::keys::run(args),
        Command::ClaimSets(args) => command::claim_sets::run(args),
        Command::Strategies(args) => command::strategies::run(args),
        Command::Load(args) => command::load::run(args),
        Command::Upload(args) => command::upload::run(&args),
        Command::Jobs(args) => command::jobs::run(args),
        Command::Gateway(args) => command::gateway::run(args),
        Command::Course(args) => command::course::run(args),
        Command::Generate(args) => command::generate::run(args),
        Command::Counts(args) => command::counts::run(args),
        Command::Export(args) => command::export::run(args),
        Command::Views(args) => command::views::run(args),
        Command::Model(command) => command::model::run(command),
        Command::Lab(command) => command::lab::run(command),
        Command::Backup(args) => command::operations::backup(args),
        Command::Restore(args) => command::restore::run(args),
        Command::Doctor(args) => command::operations::doctor(args),
        Command::Config(args) => command::config::run(args),
        Command::Completion(args) => Ok(command::shell::completion(&args, Cli::command())),
        Command::Man(args) => command::shell::man(&args, Cli::command()),
    };
    exit::report(done)
}
