//! `homeroom lab gateway`.

mod pool;
mod run;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Duration;

use clap::{Args, ValueEnum};
use homeroom_lab::gateway::{
    Baseline, CellPlan, FORMAT, GatewayFile, GatewayScenario, GatewaySettings, PAYLOAD_BYTES_MIN,
    Timing, cells,
};
use homeroom_lab::report::GatewayReport;
use homeroom_load::host::{What, machine};

use super::load::shown_command;
use super::output::{PublishedArgs, PublishedTexts};
use super::ready::now;
use super::server::ServerArgs;
use super::session;
use super::size::{memory, share, size};
use crate::config::HumanDuration;
use crate::exit::{Exit, Failure};
use crate::version::version;
use run::Bench;

/// The time-out of a request, as published.
const TIMEOUT: Duration = Duration::from_mins(10);

/// Runs the published test of API gateways and writes its table: users × message sizes × back-end
/// delays, passed through and transformed
#[derive(Debug, Args)]
#[command(
    after_help = "Each cell is a closed loop: every user posts its message over a connection of its own and waits for
the answer. The target is a gateway with two secured APIs before an echo: one passes a message
through, one changes its two top-level members `size` and `payload`. By default a cell takes 20
seconds; --published takes 15 minutes for each, of which 5 are discarded. --spawn starts the gateway
afresh before each cell, as published, within the limit of --memory.

Exit codes: 0 done; 1 the gateway refuses the calls; 5 it does not answer; 6 a cell is worse than in
the baseline; 130 interrupted. The files are written in each case, once a cell was measured.

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
    server: ServerArgs,
    /// Address of the token endpoint for --key; default: that of the target
    #[arg(long, value_name = "URL", requires = "key")]
    token_url: Option<String>,
    /// Number of tokens to ask for with --key; calls draw them in turn
    #[arg(long, value_name = "N", default_value = "100",
        value_parser = clap::value_parser!(u32).range(1..=100_000))]
    token_count: u32,
    /// Takes the tokens from a file instead, one a line
    #[arg(long, value_name = "FILE", conflicts_with = "key")]
    tokens: Option<PathBuf>,
    /// Path of the API that passes messages through
    #[arg(long, value_name = "URL-PATH", default_value = "/apis/echo/1.0.0")]
    passthrough: String,
    /// Path of the API that transforms messages
    #[arg(long, value_name = "URL-PATH", default_value = "/apis/mediation/1.0.0")]
    transformation: String,
    /// Scenarios
    #[arg(long, value_enum, value_delimiter = ',', default_value = "passthrough,transformation")]
    scenarios: Vec<ScenarioArg>,
    /// Numbers of users
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "100,200,500,1000",
        value_parser = clap::value_parser!(u32).range(1..=100_000))]
    users: Vec<u32>,
    /// Message sizes
    #[arg(long, value_name = "SIZE", value_delimiter = ',', default_value = "50B,1KiB,10KiB,100KiB",
        value_parser = size)]
    sizes: Vec<usize>,
    /// Delays of the back end; other than 0s they need --back-end, or a back end that has this delay
    #[arg(long, value_name = "TIME", value_delimiter = ',', default_value = "0s")]
    delays: Vec<HumanDuration>,
    /// Runs the back end here, at this address, with the delay of each cell; the gateway's APIs must
    /// lead to it
    #[arg(long, value_name = "ADDRESS:PORT")]
    back_end: Option<SocketAddr>,
    /// Takes the published durations: 15 minutes a cell, the first 5 of them discarded
    #[arg(long, conflicts_with_all = ["warm_up", "duration"])]
    published: bool,
    /// Warm-up of each cell, which is discarded
    #[arg(long, value_name = "TIME", default_value = "5s")]
    warm_up: HumanDuration,
    /// Measured time of each cell
    #[arg(long, value_name = "TIME", default_value = "15s")]
    duration: HumanDuration,
    /// Time without load before the gateway's memory is read
    #[arg(long, value_name = "TIME", default_value = "10s")]
    idle: HumanDuration,
    /// Starts the gateway with this command before each cell, and ends it afterwards
    #[arg(long, value_name = "COMMAND")]
    spawn: Option<String>,
    /// Limit on the memory of the gateway that --spawn starts
    #[arg(long, value_name = "SIZE", requires = "spawn", value_parser = memory)]
    memory: Option<u64>,
    /// Process or program of a gateway that runs on this machine, to read its memory and processor
    /// time
    #[arg(long, value_name = "PID|PROGRAM", conflicts_with = "spawn")]
    process: Option<String>,
    /// Compares with the figures of an earlier run
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// Loss of throughput from which a cell counts as worse than in the baseline
    #[arg(long, value_name = "SHARE", default_value = "10%", requires = "baseline",
        value_parser = share)]
    tolerance: f64,
    #[command(flatten)]
    output: PublishedArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ScenarioArg {
    /// Messages go through as they are
    Passthrough,
    /// The gateway changes messages
    Transformation,
}

/// Runs the command.
pub fn run(args: &GatewayArgs) -> Result<Exit, Failure> {
    args.output.check()?;
    let earlier = args.baseline.as_deref().map(read).transpose()?;
    let plans = plans(args)?;
    let stop = session::stop_when_told()?;
    let mut bench = Bench::new(args, stop.clone())?;
    let mut file = GatewayFile {
        format: FORMAT,
        generator_version: version(),
        target: bench.target.url(),
        command: shown_command(std::env::args()),
        started: now(),
        settings: settings(args, &bench),
        machine: machine(),
        interrupted: false,
        cells: vec![],
        baseline: None,
    };
    let mut failed = None;
    for (at, plan) in plans.iter().enumerate() {
        match bench.cell(*plan, (at + 1, plans.len())) {
            Ok(Some(cell)) => file.cells.push(cell),
            Ok(None) => break,
            Err(failure) => {
                failed = Some(failure);
                break;
            }
        }
    }
    file.settings.tokens = bench.tokens();
    drop(bench);
    file.interrupted = stop.load(Ordering::Relaxed);
    if file.cells.is_empty()
        && let Some(failure) = failed
    {
        return Err(failure);
    }
    if let Some(earlier) = &earlier {
        file.compare(earlier, args.tolerance);
    }
    let report = GatewayReport(&file);
    let texts = PublishedTexts {
        html: report.html(),
        markdown: report.markdown(),
        csv: report.published().csv(),
        summary: report.summary(),
    };
    args.output.write(&texts, &file)?;
    if file.interrupted {
        return Err(Failure::Interrupted("interrupted: later cells are missing".into()));
    }
    if let Some(failure) = failed {
        return Err(failure);
    }
    let is_worse = file.baseline.as_ref().is_some_and(Baseline::is_worse);
    Ok(if is_worse { Exit::Differences } else { Exit::Done })
}

fn read(path: &Path) -> Result<GatewayFile, Failure> {
    let wrong = |why: String| Failure::Usage(format!("--baseline {}: {why}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
    serde_json::from_str(&text)
        .map_err(|error| wrong(format!("it is not a file of `homeroom lab gateway`: {error}")))
}

fn plans(args: &GatewayArgs) -> Result<Vec<CellPlan>, Failure> {
    for path in [&args.passthrough, &args.transformation] {
        let is_path = path.starts_with('/') && path.bytes().all(|byte| byte.is_ascii_graphic());
        if !is_path {
            return Err(Failure::Usage(format!("`{path}` is not a path: write /echo/1.0.0")));
        }
    }
    if args.sizes.iter().any(|size| *size < PAYLOAD_BYTES_MIN) {
        let why = format!("--sizes: a message has at least {PAYLOAD_BYTES_MIN} bytes");
        return Err(Failure::Usage(why));
    }
    let scenarios = args.scenarios.iter().map(|scenario| match scenario {
        ScenarioArg::Passthrough => GatewayScenario::Passthrough,
        ScenarioArg::Transformation => GatewayScenario::Transformation,
    });
    let scenarios: Vec<GatewayScenario> = scenarios.collect();
    let whole = |size: &usize| u32::try_from(*size).unwrap_or(u32::MAX);
    let sizes: Vec<u32> = args.sizes.iter().map(whole).collect();
    let ms = |delay: &HumanDuration| u64::try_from(delay.0.as_millis()).unwrap_or(u64::MAX);
    let delays: Vec<u64> = args.delays.iter().map(ms).collect();
    if delays.len() > 1 && args.back_end.is_none() {
        let why = "--delays: several need --back-end, which changes the delay between cells";
        return Err(Failure::Usage(why.into()));
    }
    Ok(cells(&scenarios, &args.users, &sizes, &delays))
}

fn timing(args: &GatewayArgs) -> Timing {
    if args.published {
        return Timing { idle: args.idle.0, ..Timing::PUBLISHED };
    }
    Timing {
        ramp: Timing::SHORT.ramp.min(args.warm_up.0),
        warm_up: args.warm_up.0,
        measured: args.duration.0,
        idle: args.idle.0,
    }
}

fn settings(args: &GatewayArgs, bench: &Bench<'_>) -> GatewaySettings {
    GatewaySettings {
        timing: timing(args),
        published: args.published,
        tls: bench.target.secure,
        protocol: "HTTP/1.1".into(),
        tokens: 0,
        threads: bench.threads(),
        fresh: args.spawn.is_some(),
        own_back_end: args.back_end.is_some(),
    }
}

/// Returns the process that was named.
fn process(text: &str) -> What {
    text.parse().map_or_else(|_| What::Named(text.into()), What::Process)
}
