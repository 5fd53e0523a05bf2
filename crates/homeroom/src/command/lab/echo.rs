//! `homeroom lab echo`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use homeroom_load::echo::{Echo, EchoOptions, PlantedCapacity, tls};

use crate::config::HumanDuration;
use crate::exit::{Exit, Failure};
use crate::signals::told_to_stop;

use super::size::{share, size};

/// Runs a test server that answers with what was posted; faults can be planted in it
#[derive(Debug, Args)]
#[command(
    after_help = "GET /_lab/counts answers with the number of requests, by second and by how they ended.

Examples:
  homeroom lab echo --listen 127.0.0.1:9000
  homeroom lab echo --listen 127.0.0.1:9000 --body 1KiB --delay 5ms
  homeroom lab echo --listen 127.0.0.1:9000 --capacity 400 --workers 2 --spread 0.5 --queue 2s
  homeroom lab echo --listen 127.0.0.1:9000 --freeze-at 4s --freeze-for 2s --error-share 1%"
)]
pub struct EchoArgs {
    /// Address to listen on
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:9000")]
    listen: SocketAddr,
    /// Delay of each answer
    #[arg(long, value_name = "TIME", default_value = "0s")]
    delay: HumanDuration,
    /// Size of the body of each answer: 1KiB, 100B, 1MiB
    #[arg(long, value_name = "SIZE", value_parser = size)]
    body: Option<usize>,
    /// Answers with the body that was posted; this is the default without --body
    #[arg(long, conflicts_with = "body")]
    echo: bool,
    /// Serves at most this many requests per second
    #[arg(long, value_name = "RATE", value_parser = rate)]
    capacity: Option<f64>,
    /// Number of requests served at a time, with --capacity
    #[arg(long, value_name = "N", default_value = "2", requires = "capacity",
        value_parser = clap::value_parser!(u32).range(1..=100_000))]
    workers: u32,
    /// Spread of service times, with --capacity: the standard deviation of their logarithm
    #[arg(long, value_name = "SIGMA", default_value = "0", requires = "capacity", value_parser = spread)]
    spread: f64,
    /// Longest wait, with --capacity: a request that would wait longer gets 503 and Retry-After
    #[arg(long, value_name = "TIME", default_value = "2s", requires = "capacity")]
    queue: HumanDuration,
    /// When the freeze begins, counted from the first request; nothing is read or written during it
    #[arg(long, value_name = "TIME", default_value = "0s", requires = "freeze_for")]
    freeze_at: HumanDuration,
    /// Length of the freeze
    #[arg(long, value_name = "TIME")]
    freeze_for: Option<HumanDuration>,
    /// Share of requests that get an error: 1% or 0.01
    #[arg(long, value_name = "SHARE", value_parser = share)]
    error_share: Option<f64>,
    /// Status of these errors
    #[arg(long, value_name = "STATUS", default_value = "503", requires = "error_share",
        value_parser = clap::value_parser!(u16).range(200..=599))]
    status: u16,
    /// Seed of random service times
    #[arg(long, value_name = "NUMBER", default_value = "1")]
    seed: u64,
    /// Also counts arrivals by millisecond, for the first ten minutes
    #[arg(long)]
    by_millisecond: bool,
    /// Certificate for TLS (PEM); HTTP/2 is offered as well
    #[arg(long, value_name = "FILE", requires = "private_key")]
    certificate: Option<PathBuf>,
    /// Private key of the certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "certificate")]
    private_key: Option<PathBuf>,
}

/// Runs the command until it is told to stop.
pub fn run(args: EchoArgs) -> Result<Exit, Failure> {
    let tls = match (&args.certificate, &args.private_key) {
        (Some(certificate), Some(key)) => Some(tls(certificate, key).map_err(Failure::Usage)?),
        _ => None,
    };
    let capacity = args.capacity.map(|rate| PlantedCapacity {
        rate,
        workers: args.workers,
        spread: args.spread,
        queue: args.queue.0,
        seed: args.seed,
    });
    let options = EchoOptions {
        listen: args.listen,
        delay: args.delay.0,
        body_bytes: args.body,
        capacity,
        freeze: args.freeze_for.map(|time| (args.freeze_at.0, time.0)),
        errors: args.error_share.map(|share| (share, args.status)),
        tls,
        by_millisecond: args.by_millisecond,
    };
    let failed = |error| Failure::because(&format!("listening on {}", args.listen), error);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(failed)?;
    let told = {
        let _entered = runtime.enter();
        told_to_stop()
    };
    let echo = Echo::start(options).map_err(failed)?;
    crate::exit::say!("listening on {}", echo.url());
    runtime.block_on(told);
    let counts = echo.counts();
    eprintln!("{} requests arrived", counts["arrived"]);
    Ok(Exit::Done)
}

fn rate(text: &str) -> Result<f64, String> {
    let rate = text.parse::<f64>().ok().filter(|rate| (0.001..=1e7).contains(rate));
    rate.ok_or_else(|| "it is not a rate from 0.001 to 10000000 per second".into())
}

fn spread(text: &str) -> Result<f64, String> {
    let spread = text.parse::<f64>().ok().filter(|spread| (0.0..=3.0).contains(spread));
    spread.ok_or_else(|| "it is not a number from 0 to 3".into())
}
