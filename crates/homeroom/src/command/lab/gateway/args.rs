//! The arguments of `homeroom lab gateway`, and what they mean.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use homeroom_lab::gateway::Timing;
use homeroom_load::host::What;

use crate::command::lab::output::PublishedArgs;
use crate::command::lab::server::ServerArgs;
use crate::command::lab::size::{memory, share, size};
use crate::config::HumanDuration;

/// The time-out of a request, as published.
pub const TIMEOUT: Duration = Duration::from_mins(10);

/// Runs the published test of API gateways and writes its table: users × message sizes × back-end
/// delays, passed through and transformed
#[derive(Debug, Args)]
#[command(
    after_help = "Each cell is a closed loop: every user posts its message over a connection of its own and waits for
the answer. The target is a gateway with two secured APIs before an echo: one passes a message
through, one changes its two top-level members `size` and `payload`. By default a cell takes 20
seconds; --published takes 15 minutes for each, of which 5 are discarded. --spawn starts the gateway
afresh before each cell, as published, within the limit of --memory.

Exit codes: 0 done; 1 the gateway refuses the calls; 4 it does not accept the key; 5 it does not
answer; 6 a cell is worse than in the baseline; 130 interrupted. The files are written in each case,
once a cell was measured.

Examples:
  homeroom lab gateway --target https://127.0.0.1:8443 --insecure --key K --secret S \\
      --back-end 127.0.0.1:9000 --process homeroom --json now.json --html now.html
  homeroom lab gateway --target https://gateway:8243 --tokens tokens.txt --published \\
      --passthrough /echo/1.0.0 --transformation /mediation/1.0.0 --csv summary.csv
  homeroom lab gateway --target https://127.0.0.1:8443 --ca ca.pem --key K --secret S \\
      --users 100 --sizes 50B,10KiB --back-end 127.0.0.1:9000 --baseline last.json \\
      --spawn \"homeroom serve --config gateway.toml\" --memory 2G"
)]
pub struct GatewayArgs {
    #[command(flatten)]
    pub server: ServerArgs,
    /// Address of the token endpoint for --key; default: that of the target
    #[arg(long, value_name = "URL", requires = "key")]
    pub token_url: Option<String>,
    /// Number of tokens to ask for with --key; calls draw them in turn
    #[arg(long, value_name = "N", default_value = "100",
        value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub token_count: u32,
    /// Takes the tokens from a file instead, one a line
    #[arg(long, value_name = "FILE", conflicts_with = "key")]
    pub tokens: Option<PathBuf>,
    /// Path of the API that passes messages through
    #[arg(long, value_name = "URL-PATH", default_value = "/apis/echo/1.0.0")]
    pub passthrough: String,
    /// Path of the API that transforms messages
    #[arg(long, value_name = "URL-PATH", default_value = "/apis/mediation/1.0.0")]
    pub transformation: String,
    /// Scenarios
    #[arg(long, value_enum, value_delimiter = ',', default_value = "passthrough,transformation")]
    pub scenarios: Vec<ScenarioArg>,
    /// Numbers of users
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "100,200,500,1000",
        value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub users: Vec<u32>,
    /// Message sizes
    #[arg(long, value_name = "SIZE", value_delimiter = ',', default_value = "50B,1KiB,10KiB,100KiB",
        value_parser = size)]
    pub sizes: Vec<usize>,
    /// Delays of the back end; other than 0s they need --back-end, or a back end that has this delay
    #[arg(long, value_name = "TIME", value_delimiter = ',', default_value = "0s")]
    pub delays: Vec<HumanDuration>,
    /// Runs the back end here, at this address, with the delay of each cell; the gateway's APIs must
    /// lead to it
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub back_end: Option<SocketAddr>,
    /// Takes the published durations: 15 minutes a cell, the first 5 of them discarded
    #[arg(long, conflicts_with_all = ["warm_up", "duration"])]
    pub published: bool,
    /// Warm-up of each cell, which is discarded
    #[arg(long, value_name = "TIME", default_value = "5s")]
    pub warm_up: HumanDuration,
    /// Measured time of each cell
    #[arg(long, value_name = "TIME", default_value = "15s")]
    pub duration: HumanDuration,
    /// Time without load before the gateway's memory is read
    #[arg(long, value_name = "TIME", default_value = "10s")]
    pub idle: HumanDuration,
    /// Starts the gateway with this command before each cell, and ends it afterwards
    #[arg(long, value_name = "COMMAND")]
    pub spawn: Option<String>,
    /// Limit on the memory of the gateway that --spawn starts
    #[arg(long, value_name = "SIZE", requires = "spawn", value_parser = memory)]
    pub memory: Option<u64>,
    /// Process or program of a gateway that runs on this machine, to read its memory and processor
    /// time
    #[arg(long, value_name = "PID|PROGRAM", conflicts_with = "spawn")]
    pub process: Option<String>,
    /// Compares with the figures of an earlier run
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<PathBuf>,
    /// Loss from which a cell counts as worse than in the baseline: of requests for the same processor
    /// time of the gateway, or where that is not known of throughput, by the machine's speed
    #[arg(long, value_name = "SHARE", default_value = "10%", requires = "baseline",
        value_parser = share)]
    pub tolerance: f64,
    #[command(flatten)]
    pub output: PublishedArgs,
}

/// A scenario, as the command line names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ScenarioArg {
    /// Messages go through as they are
    Passthrough,
    /// The gateway changes messages
    Transformation,
}

impl GatewayArgs {
    /// Returns how long the parts of a cell take.
    pub fn timing(&self) -> Timing {
        if self.published {
            return Timing { idle: self.idle.0, ..Timing::PUBLISHED };
        }
        Timing {
            ramp: Timing::SHORT.ramp.min(self.warm_up.0),
            warm_up: self.warm_up.0,
            measured: self.duration.0,
            idle: self.idle.0,
        }
    }

    /// Returns the process of a gateway that runs on this machine, if one was named.
    pub fn watched(&self) -> Option<What> {
        let text = self.process.as_ref()?;
        Some(text.parse().map_or_else(|_| What::Named(text.clone()), What::Process))
    }
}
