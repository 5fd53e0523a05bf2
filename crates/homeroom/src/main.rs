//! `homeroom`: one server for a school system's data, courses and APIs.

mod command;
mod exit;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Faster than the system's allocator on many small documents at once.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// One server for a school system's data, courses and APIs.
#[derive(Debug, Parser)]
#[command(name = "homeroom", version, about, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Make, check and show the model files that say what the API serves.
    #[command(subcommand)]
    Model(command::model::ModelCommand),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let done = match cli.command {
        Command::Model(command) => command::model::run(command),
    };
    exit::report(done)
}
