//! `homeroom lab gateway`.

mod args;
mod pool;
mod run;

use std::path::Path;
use std::sync::atomic::Ordering;

use homeroom_lab::gateway::{
    Baseline, CellPlan, FORMAT, GatewayFile, GatewayScenario, GatewaySettings, PAYLOAD_BYTES_MIN,
    cells,
};
use homeroom_lab::report::GatewayReport;
use homeroom_load::host::machine;

use super::load::shown_command;
use super::output::PublishedTexts;
use super::ready::now;
use super::session;
use crate::config::HumanDuration;
use crate::exit::{Exit, Failure};
use crate::version::version;
pub use args::GatewayArgs;
use args::ScenarioArg;
use run::Bench;

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

fn settings(args: &GatewayArgs, bench: &Bench<'_>) -> GatewaySettings {
    GatewaySettings {
        timing: args.timing(),
        published: args.published,
        tls: bench.target.secure,
        protocol: "HTTP/1.1".into(),
        tokens: 0,
        threads: bench.threads(),
        fresh: args.spawn.is_some(),
        own_back_end: args.back_end.is_some(),
    }
}
