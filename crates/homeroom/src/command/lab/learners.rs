//! `homeroom lab learners`.

mod content;
mod first;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use clap::Args;
use homeroom_lab::learners::{
    Advice, Beside, BesideKind, Controller, LearnerSource, LearnersFile, LearnersPlan,
    LearnersResult, Progress, results,
};
use homeroom_lab::report::LearnersReport;
use homeroom_load::engine::{Engine, Options};
use homeroom_load::host::{Sampler, machine};
use homeroom_load::run::{Facts, Interval, RunFile, Settings};
use homeroom_load::stage::Arrivals;

use super::load::{WatchArgs, drawn_seed, shown_command};
use super::output::{PublishedArgs, PublishedTexts};
use super::ready::{engine_failure, now};
use super::server::ServerArgs;
use super::session;
use crate::command::terminal::{ProgressLine, grouped};
use crate::config::HumanDuration;
use crate::exit::{Exit, Failure};
use crate::version::version;
use content::ContentRun;
use first::Prepared;

/// A time-out that no request reaches: the published test has none.
const NO_TIMEOUT: Duration = Duration::from_hours(365 * 24);
/// How long the last answers are awaited.
const DRAIN: Duration = Duration::from_secs(10);

/// Runs the published test of course engines: more and more modelled learners who take a course, until
/// the server is too slow for people
#[derive(Debug, Args)]
#[command(
    after_help = "Each learner lists the courses, creates a registration, asks for a launch link, opens it, posts
results every 20 seconds, posts final results, and checks that the registration is completed and its
report has every answer that was posted; then another takes the place. Posts are those of the player:
what was set since the last one, and the trace of the calls; the report says their size. The 99th
percentile of each window of ten seconds has a level: Ideal below 1,200 ms, Acceptable below 2,000, Frustrating below 5,000, Unacceptable. The
ramp ends early if two windows in a row are unacceptable.

A session takes 20 minutes (60 posts): in a shorter test none ends, and the report says so.
--compress 20 makes sessions 20 times shorter and simulates a twentieth of the learners, with the
same posts and launches a second: then sessions end and are checked.

A learner needs no connection of its own: 50,000 fit on 10,000. With --connections 50000 each has
one; this process and the server need as many open files (ulimit -n), the server also
server.connections_max. Every 3,000 connections to 127.0.0.1 come from another address (127.0.1.1,
127.0.1.2 and so on), since a server leaves only a share of its connections to one address.

Exit codes: 0 done; 1 the first learner, who tries everything, is refused for another reason; 4 the
server does not accept the key; 5 it does not answer; 130 interrupted. The files are written in each
case, once the test has begun.

Examples:
  homeroom lab learners --target http://127.0.0.1:8080 --key K --secret S --html learners.html
  homeroom lab learners --target http://127.0.0.1:8080 --key K --secret S --learners 50000 \\
      --compress 20 --ramp 2m --stay 3m --watch web=homeroom --watch database=web \\
      --json learners.json
  homeroom lab learners --target http://127.0.0.1:8080 --key K --secret S --learners 50000 \\
      --connections 50000 --ramp 5m --stay 20m --hold 4h
  homeroom lab learners --target http://127.0.0.1:8080 --key K --secret S --posts 10 --compress 10 \\
      --beside reports=1/s,imports=1/m,registrations=5/s --content 200"
)]
pub struct LearnersArgs {
    #[command(flatten)]
    server: ServerArgs,
    /// Course that everybody takes; default: a small one of the lab's own, which is imported once
    #[arg(long, value_name = "ID")]
    course: Option<String>,
    /// The most learners at a time
    #[arg(long, value_name = "N", default_value = "1000",
        value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    learners: u32,
    /// The most connections
    #[arg(long, value_name = "N", default_value = "10000",
        value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    connections: u32,
    /// Learners begin one by one during this time
    #[arg(long, value_name = "TIME", default_value = "10m")]
    ramp: HumanDuration,
    /// How long all of them stay after the ramp
    #[arg(long, value_name = "TIME", default_value = "2m")]
    stay: HumanDuration,
    /// Then holds the most learners of the ideal level for this long
    #[arg(long, value_name = "TIME", default_value = "0s")]
    hold: HumanDuration,
    /// Posts of results in a session before the final ones; the published loop has 10
    #[arg(long, value_name = "N", default_value = "60",
        value_parser = clap::value_parser!(u32).range(1..=10_000))]
    posts: u32,
    /// Time between posts
    #[arg(long, value_name = "TIME", default_value = "20s")]
    every: HumanDuration,
    /// Makes sessions shorter by this factor, with fewer learners and the same posts a second
    #[arg(long, value_name = "FACTOR", default_value = "1",
        value_parser = clap::value_parser!(u32).range(1..=1_000))]
    compress: u32,
    /// Goes on to the end of the ramp even if the server is unacceptably slow
    #[arg(long)]
    through: bool,
    /// Time after which a request has failed; default: none, as published
    #[arg(long, value_name = "TIME")]
    timeout: Option<HumanDuration>,
    /// What goes on beside the learners: reports, imports, registrations, each with a rate
    #[arg(long, value_name = "KIND=RATE", value_delimiter = ',', value_parser = beside)]
    beside: Vec<(BesideKind, f64)>,
    /// Files of the course a second to get beside the learners: a text of 50 KiB, and parts of a film
    /// by Range
    #[arg(long, value_name = "RATE", conflicts_with = "course", value_parser = rate)]
    content: Option<f64>,
    /// Seed of the ids; default: a new one each time, so that no registration exists yet
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
    #[command(flatten)]
    watch: WatchArgs,
    #[command(flatten)]
    output: PublishedArgs,
}

fn rate(text: &str) -> Result<f64, String> {
    let (number, unit) = match text.split_once('/') {
        None => (text, 1.0),
        Some((number, "s")) => (number, 1.0),
        Some((number, "m")) => (number, 60.0),
        Some((number, "h")) => (number, 3_600.0),
        Some(_) => return Err("write a rate like 5, 5/s, 1/m or 1/h".into()),
    };
    let rate = number.trim().parse::<f64>().ok().filter(|rate| (0.001..=1e6).contains(rate));
    rate.map(|rate| rate / unit).ok_or_else(|| "write a rate like 5, 5/s, 1/m or 1/h".into())
}

fn beside(text: &str) -> Result<(BesideKind, f64), String> {
    const FORM: &str = "write reports=1/s, imports=1/m or registrations=5/s";
    let (name, per) = text.split_once('=').ok_or(FORM)?;
    let kind = BesideKind::ALL.into_iter().find(|kind| kind.name() == name).ok_or(FORM)?;
    Ok((kind, rate(per)?))
}

/// Runs the command.
pub fn run(args: &LearnersArgs) -> Result<Exit, Failure> {
    args.output.check()?;
    let watches = args.watch.watches()?;
    let stop = session::stop_when_told()?;
    let seed = args.seed.unwrap_or_else(drawn_seed);
    let plan = plan(args);
    let target = args.server.target()?;
    let timeout = args.timeout.map_or(NO_TIMEOUT, |timeout| timeout.0);
    // Simulated learners stand for several: each of those would have a connection.
    let connections = args.connections.min(plan.learners.saturating_add(64));
    let options = args.server.options(&target, connections, timeout)?;
    let options = Options { spread: true, drain: DRAIN.min(timeout), ..options };
    let Some(key) = args.server.key()? else {
        return Err(Failure::Usage(
            "--key is needed: homeroom keys create --scope learning".into(),
        ));
    };
    let caller = session::caller(&options);
    session::reach(&caller)?;
    let prepared = first::prepare(&caller, &key, args.course.as_deref(), &plan, seed)?;
    if plan.session() >= plan.length() + plan.hold {
        eprintln!(
            "no session will come to its end: one takes {} and the test {}; --compress {} lets sessions end",
            HumanDuration(plan.session()),
            HumanDuration(plan.length() + plan.hold),
            plan.compress_to_end(),
        );
    }
    let facts = facts(args, &options, &target.url(), seed);
    let progress = Arc::new(Progress::new());
    let others = args.beside.iter().map(|(kind, per_s)| Beside::new(*kind, *per_s)).collect();
    let threads = options.threads;
    let sources = LearnerSource::shared(plan, prepared.script.clone(), others, &progress, threads);
    // The controller ends the run by the engine's own flag; that of the signals means interruption.
    let over = Arc::new(AtomicBool::new(false));
    let mut engine = Engine::new(options.clone(), sources, over.clone())
        .map_err(|error| engine_failure(&error))?;
    let content = content_run(args, &options, &prepared, &over)?;
    let sampler = Sampler::start(&watches, begun())
        .map_err(|error| Failure::because("watching this machine", error))?;
    let mut controller = Controller::new(plan, args.through);
    let mut line = ProgressLine::new();
    let mut each = |second: &Interval| {
        if stop.load(Ordering::Relaxed) {
            over.store(true, Ordering::Relaxed);
        }
        let active = progress.active();
        let advice =
            controller.second(second.at_s + 1.0, active, |number| progress.window(number).p99_ms());
        match advice {
            Advice::GoOn => {}
            Advice::Allow(seats) => progress.allow(seats),
            Advice::End => over.store(true, Ordering::Relaxed),
        }
        line.show(|| shown(second, plan.modelled(active), &progress));
    };
    let observed = engine.run(&plan.engine_stages(), Arrivals::Even, seed, &mut each);
    line.end();
    over.store(true, Ordering::Relaxed);
    let content = content.map(ContentRun::end);
    let meanwhile = sampler.stop();
    let observed = observed.map_err(|error| engine_failure(&error))?;
    let steps = LearnerSource::all_steps();
    let mut file = RunFile::new(facts, &plan.stages(), &steps, &observed);
    meanwhile.put_into(&mut file);
    let was_interrupted = stop.load(Ordering::Relaxed);
    if !was_interrupted {
        file.interrupted_s = None;
    }
    file.steps.retain(|step| step.requests.total > 0);
    file.steps.extend(content.into_iter().flatten());
    let learners: LearnersResult = results(plan, &controller, &progress);
    let file = LearnersFile { run: file, learners };
    let report = LearnersReport(&file);
    let texts = PublishedTexts {
        html: report.html(),
        markdown: report.markdown(),
        csv: report.published().csv(),
        summary: report.summary(),
    };
    args.output.write(&texts, &file)?;
    if was_interrupted {
        return Err(Failure::Interrupted(
            "interrupted: the figures cover the part until then".into(),
        ));
    }
    Ok(Exit::Done)
}

fn plan(args: &LearnersArgs) -> LearnersPlan {
    LearnersPlan {
        learners: args.learners,
        ramp: args.ramp.0,
        stay: args.stay.0,
        hold: args.hold.0,
        posts: args.posts,
        every: args.every.0,
        compress: args.compress,
    }
}

fn facts(args: &LearnersArgs, options: &Options, target: &str, seed: u64) -> Facts {
    let mut command = shown_command(std::env::args());
    if args.seed.is_none() {
        command.extend(["--seed".into(), seed.to_string()]);
    }
    let ms = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    Facts {
        generator_version: version(),
        scenario: "learners".into(),
        target: target.into(),
        command,
        started: now(),
        seed,
        settings: Settings {
            arrivals: Arrivals::Even,
            connections: options.connections,
            timeout_ms: args.timeout.map_or(0, |timeout| ms(timeout.0)),
            slack_us: 0,
            threads: u32::try_from(options.threads).unwrap_or(u32::MAX),
            protocol: "HTTP/1.1".into(),
        },
        machine: machine(),
    }
}

fn content_run(
    args: &LearnersArgs,
    options: &Options,
    prepared: &Prepared,
    over: &Arc<AtomicBool>,
) -> Result<Option<ContentRun>, Failure> {
    let Some(per_s) = args.content else { return Ok(None) };
    let Some(url) = &prepared.content else {
        return Err(Failure::Failed(
            "--content: the server does not say where the course's files are".into(),
        ));
    };
    let plan = plan(args);
    let all = plan.ramp + plan.stay + plan.hold;
    ContentRun::start(url, per_s, all, options, &args.server, over.clone()).map(Some)
}

#[expect(clippy::disallowed_methods, reason = "sampling begins with the run")]
fn begun() -> Instant {
    Instant::now()
}

fn shown(second: &Interval, users: u32, progress: &Progress) -> String {
    let sessions = progress.sessions();
    format!(
        "{:.0} s: {} learners, {}/s right of {}/s, p99 {:.1} ms, {} launched, {} completed",
        second.at_s + 1.0,
        grouped(users.into()),
        grouped(second.ok),
        grouped(second.answered),
        second.p99_ms,
        grouped(sessions.launched),
        grouped(sessions.completed),
    )
}
