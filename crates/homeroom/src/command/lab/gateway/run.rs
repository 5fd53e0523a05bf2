//! Runs the cells one after the other.
#![expect(
    clippy::disallowed_methods,
    reason = "a gateway is awaited, and sampling begins with a cell"
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use homeroom_lab::gateway::{
    Calls, CellPlan, CellResult, GatewayScenario, GatewaySource, Timing, payload,
};
use homeroom_load::client::{Caller, Reply, words};
use homeroom_load::echo::{Echo, EchoOptions};
use homeroom_load::engine::{Engine, Options, Target};
use homeroom_load::host::{self, Enforced, Readings, Sampler, Spawned, Watch, What};
use homeroom_load::stage::{Arrivals, Stage};

use super::args::{GatewayArgs, TIMEOUT};
use super::pool::TokenPool;

use crate::command::lab::ready::engine_failure;
use crate::command::lab::server;
use crate::command::lab::session;
use crate::command::terminal::{ProgressLine, grouped};
use crate::exit::Failure;

/// How long a gateway may take until it answers after its start.
const READY_WITHIN: Duration = Duration::from_mins(2);
/// The time between looks at a gateway that starts.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// The most bytes of a refusal that are shown.
const REFUSAL_CHARS_MAX: usize = 300;
/// The name under which the gateway is watched.
const GATEWAY: &str = "gateway";

/// Everything that cells need.
pub struct Bench<'a> {
    args: &'a GatewayArgs,
    /// The gateway.
    pub target: Target,
    options: Options,
    timing: Timing,
    pool: TokenPool,
    back_end: Option<(Echo, u64)>,
    stop: Arc<AtomicBool>,
    is_homeroom: Option<bool>,
}

impl<'a> Bench<'a> {
    /// Reads what the arguments name.
    pub fn new(args: &'a GatewayArgs, stop: Arc<AtomicBool>) -> Result<Self, Failure> {
        let target = args.server.target()?;
        let most = args.users.iter().copied().max().unwrap_or(1);
        let options = args.server.options(&target, most, TIMEOUT)?;
        let pool = match (&args.tokens, args.server.key()?) {
            (Some(path), _) => TokenPool::read(path)?,
            (None, None) => TokenPool::none(),
            (None, Some(key)) => {
                let endpoint = match &args.token_url {
                    None => (session::caller(&options), None),
                    Some(url) => {
                        let mut target = server::target(url)?;
                        let path = std::mem::take(&mut target.prefix);
                        let options = args.server.options(&target, 1, TIMEOUT)?;
                        (session::caller(&options), Some(path))
                    }
                };
                TokenPool::from_endpoint(endpoint.0, endpoint.1, key, args.token_count)
            }
        };
        let timing = args.timing();
        let (back_end, is_homeroom) = (None, None);
        Ok(Self { args, target, options, timing, pool, back_end, stop, is_homeroom })
    }

    /// Returns the number of sending threads.
    pub fn threads(&self) -> u32 {
        u32::try_from(self.options.threads).unwrap_or(u32::MAX)
    }

    /// Returns the number of tokens.
    pub fn tokens(&self) -> u64 {
        self.pool.tokens().len() as u64
    }

    /// Runs a cell; `None` if it was interrupted.
    pub fn cell(
        &mut self,
        plan: CellPlan,
        (number, of): (usize, usize),
    ) -> Result<Option<CellResult>, Failure> {
        let mut line = ProgressLine::new();
        let what = format!("cell {number} of {of}: {}", plan.shown());
        eprintln!("{what}");
        self.start_back_end(plan.delay_ms)?;
        let mut spawned = self.spawn()?;
        self.wait_until_ready(spawned.as_mut())?;
        self.pool.renew(self.timing.warm_up + self.timing.measured, spawned.is_some())?;
        let body = payload(plan.size_bytes as usize);
        let path = match plan.scenario {
            GatewayScenario::Passthrough => &self.args.passthrough,
            GatewayScenario::Transformation => &self.args.transformation,
        };
        let Some(first) = self.first_answer(path, &body)? else { return Ok(None) };
        let answer_bytes = first.body.len() as u64;
        let calls = Calls::new(path.clone(), body.clone(), self.pool.tokens(), answer_bytes);
        let calls = Arc::new(calls);
        let sources = (0..self.options.threads).map(|_| GatewaySource::new(calls.clone()));
        let options = Options { connections: plan.users, ..self.options.clone() };
        let mut engine = Engine::new(options, sources.collect(), self.stop.clone())
            .map_err(|error| engine_failure(&error))?;
        let warm_up = self.timing.warm_up(plan.users);
        if !warm_up.is_empty() {
            send(&mut engine, &warm_up, &mut line, "warming up")?;
        }
        let spin = host::spin();
        let watches = self.watches(spawned.as_ref());
        let sampler = Sampler::start(&watches, Instant::now())
            .map_err(|error| Failure::because("watching this machine", error))?;
        let stage = self.timing.measured(plan.users);
        let observed = send(&mut engine, &[stage], &mut line, "measuring");
        let meanwhile = sampler.stop();
        line.end();
        let observed = observed?;
        if self.stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let mut cell = CellResult::new(plan, self.timing.measured, &observed);
        cell.load_average = host::load_average();
        cell.spin = spin;
        cell.steal_share = meanwhile.steal_share;
        cell.cpu_us_per_request = cpu_us(&meanwhile, self.timing.measured, cell.requests.total);
        drop(engine);
        self.describe(&mut cell, &first, &body, spawned.as_mut());
        if let Some(watch) = watches.first() {
            self.rest();
            cell.footprint_mb = host::resident_mb(&watch.what);
        }
        Ok(Some(cell))
    }

    fn start_back_end(&mut self, delay_ms: u64) -> Result<(), Failure> {
        let Some(listen) = self.args.back_end else { return Ok(()) };
        if self.back_end.as_ref().is_some_and(|(_, delay)| *delay == delay_ms) {
            return Ok(());
        }
        self.back_end = None;
        let delay = Duration::from_millis(delay_ms);
        let options = || EchoOptions { listen, delay, ..EchoOptions::plain() };
        // The address of the one before may take a moment to become free.
        let begun = Instant::now();
        let echo = loop {
            match Echo::start(options()) {
                Err(_) if begun.elapsed() < LOOK_EVERY * 10 => sleep(LOOK_EVERY),
                done => break done,
            }
        };
        let echo =
            echo.map_err(|error| Failure::because(&format!("--back-end {listen}"), error))?;
        self.back_end = Some((echo, delay_ms));
        Ok(())
    }

    fn spawn(&self) -> Result<Option<Spawned>, Failure> {
        let Some(command) = &self.args.spawn else { return Ok(None) };
        let spawned = Spawned::start(command, self.args.memory);
        Ok(Some(spawned.map_err(|error| Failure::because("--spawn", error))?))
    }

    fn wait_until_ready(&self, mut spawned: Option<&mut Spawned>) -> Result<(), Failure> {
        let caller = session::caller(&self.options);
        let begun = Instant::now();
        loop {
            let reached = session::reach(&caller);
            let Some(spawned) = &mut spawned else { return reached };
            if reached.is_ok() {
                return Ok(());
            }
            if let Some(ended) = spawned.ended() {
                return Err(Failure::Failed(format!("--spawn: the gateway ended: {ended}")));
            }
            if begun.elapsed() > READY_WITHIN || self.stop.load(Ordering::Relaxed) {
                return reached;
            }
            sleep(LOOK_EVERY);
        }
    }

    /// Returns the first right answer to a message; `None` if it was interrupted. An API of a gateway
    /// that was just started may take a moment to be published.
    fn first_answer(&mut self, path: &str, body: &[u8]) -> Result<Option<Reply>, Failure> {
        let caller = session::caller(&self.options);
        self.is_homeroom.get_or_insert_with(|| is_homeroom(&caller));
        let bearer = self.pool.tokens().first().map(|token| format!("Bearer {token}"));
        let mut headers = vec![("Content-Type", "application/json")];
        headers.extend(bearer.iter().map(|bearer| ("Authorization", bearer.as_str())));
        let path = format!("{}{path}", self.target.prefix);
        let patience = if self.args.spawn.is_some() { READY_WITHIN } else { Duration::ZERO };
        let begun = Instant::now();
        loop {
            let sent = caller.send("POST", &path, &headers, body);
            let refused = match sent {
                Ok(reply) if (200..300).contains(&reply.status) => return Ok(Some(reply)),
                Ok(reply) => Failure::Failed(refusal(&self.target, &path, &reply)),
                Err(error) => Failure::Unreachable(format!(
                    "{} gave no answer to a first call: {}",
                    self.target.url(),
                    words(&error)
                )),
            };
            if self.stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            if begun.elapsed() >= patience {
                return Err(refused);
            }
            sleep(LOOK_EVERY);
        }
    }

    fn watches(&self, spawned: Option<&Spawned>) -> Vec<Watch> {
        let what = spawned.map(|spawned| What::Process(spawned.id()));
        let what = what.or_else(|| self.args.watched());
        what.into_iter().map(|what| Watch { name: GATEWAY.into(), what }).collect()
    }

    /// Adds what is known of the gateway and of its first answer.
    fn describe(
        &self,
        cell: &mut CellResult,
        first: &Reply,
        sent: &[u8],
        spawned: Option<&mut Spawned>,
    ) {
        let limit = self.args.memory.map(|bytes| match bytes {
            whole if whole % (1 << 30) == 0 => format!("{}G", whole >> 30),
            other => format!("{}M", other >> 20),
        });
        let enforced = spawned.as_ref().map(|spawned| spawned.enforced());
        cell.memory_limit = match (limit, enforced) {
            (Some(limit), Some(Enforced::Group)) => limit,
            (Some(limit), Some(Enforced::Data)) => format!("{limit} of private memory a process"),
            _ => "not limited".into(),
        };
        let none = self.is_homeroom == Some(true);
        cell.gc = if none { "none" } else { "not measured" }.into();
        if cell.plan.scenario == GatewayScenario::Transformation && first.body == sent {
            cell.note("the answer is the message unchanged: nothing was transformed");
        }
        if self.pool.tokens().is_empty() {
            cell.note("sent without tokens");
        }
        if let Some(ended) = spawned.and_then(Spawned::ended) {
            cell.note(&format!("the gateway ended: {ended}"));
        }
    }

    /// Waits without load, unless it is interrupted.
    fn rest(&self) {
        let begun = Instant::now();
        while begun.elapsed() < self.timing.idle && !self.stop.load(Ordering::Relaxed) {
            sleep(LOOK_EVERY.min(self.timing.idle));
        }
    }
}

fn send(
    engine: &mut Engine<GatewaySource>,
    stages: &[Stage],
    line: &mut ProgressLine,
    doing: &str,
) -> Result<homeroom_load::engine::Observed, Failure> {
    let all: Duration = stages.iter().map(|stage| stage.duration).sum();
    let done = engine.run(stages, Arrivals::Even, 1, &mut |second| {
        line.show(|| {
            format!(
                "{doing}, {:.0} of {:.0} s: {}/s, {}/s right, p99 {:.1} ms",
                second.at_s + 1.0,
                all.as_secs_f64(),
                grouped(second.answered),
                grouped(second.ok),
                second.p99_ms,
            )
        });
    });
    done.map_err(|error| engine_failure(&error))
}

/// Returns the gateway's processor time for each request, in microseconds.
fn cpu_us(meanwhile: &Readings, measured: Duration, requests: u64) -> Option<f64> {
    let gateway = meanwhile.watched.iter().find(|watched| watched.name == GATEWAY)?;
    let cpu = gateway.series.iter().find(|series| series.name == "cpu_percent")?;
    let sum: f64 = cpu.points.iter().map(|(_, percent)| percent).sum();
    let mean = sum / cpu.points.len().max(1) as f64;
    let used_us = mean / 100.0 * measured.as_secs_f64() * 1e6;
    (requests > 0).then(|| used_us / requests as f64)
}

/// Returns whether the server says that it is Homeroom, which has no garbage collection.
fn is_homeroom(caller: &Caller) -> bool {
    let told = caller.send("GET", "/version", &[], b"").ok().filter(|reply| reply.status == 200);
    let told = told.and_then(|reply| serde_json::from_slice::<serde_json::Value>(&reply.body).ok());
    told.is_some_and(|told| told["name"] == "homeroom")
}

fn refusal(target: &Target, path: &str, reply: &Reply) -> String {
    let text = String::from_utf8_lossy(&reply.body);
    let shown: String = text.chars().filter(|c| !c.is_control()).take(REFUSAL_CHARS_MAX).collect();
    let origin = target.url();
    let origin = origin.trim_end_matches(target.prefix.as_str());
    format!(
        "{origin}{path} answers {} to a first call, so there is nothing to measure; check the path \
         and the key's rights: {shown}",
        reply.status
    )
}
