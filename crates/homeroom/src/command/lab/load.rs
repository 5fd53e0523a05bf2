//! Arguments of lab commands about the target, the scenario and how to send.
#![expect(clippy::disallowed_methods, reason = "without a seed the clock gives one")]

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};
use homeroom_load::engine::{Options, Protocol, Target, Trust, trust};
use homeroom_load::host::{Watch, What};
use homeroom_load::run::Settings;
use homeroom_load::stage::Arrivals;
use homeroom_load::token::Key;
use homeroom_store::masked_text;

use crate::config::HumanDuration;
use crate::exit::Failure;

/// The environment variable for the secret, which keeps it out of process lists.
const SECRET_VARIABLE: &str = "HOMEROOM_LAB_SECRET";

/// The server to send to, and the scenario.
#[derive(Debug, Clone, Args)]
pub struct TargetArgs {
    /// Address of the server; for an Ed-Fi API, the address of its discovery document
    #[arg(long, value_name = "URL")]
    pub target: String,
    /// Scenario to send: a file, or the name of a built-in one
    #[arg(long, value_name = "FILE|NAME", default_value = "get")]
    pub scenario: String,
    /// Sets a variable of the scenario; may be repeated
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// Key with which to request a token from the target
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// Secret of the key; better set in the environment as `HOMEROOM_LAB_SECRET`
    #[arg(long, value_name = "SECRET", requires = "key")]
    secret: Option<String>,
    /// Accepts any certificate from the target
    #[arg(long, conflicts_with = "ca")]
    insecure: bool,
    /// Trusts only certificates signed by one in this file (PEM)
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
}

/// How requests are sent.
#[derive(Debug, Args)]
pub struct SendArgs {
    /// Spacing of requests at a rate
    #[arg(long, value_enum, default_value = "even")]
    arrivals: ArrivalsArg,
    /// Most connections for requests at a rate
    #[arg(long, value_name = "N", default_value = "1000",
        value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    connections: u32,
    /// Time after which a request has failed
    #[arg(long, value_name = "TIME", default_value = "30s")]
    timeout: HumanDuration,
    /// Sending threads, at most one per connection; default: half of the cores
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256))]
    threads: Option<u32>,
    /// Sends requests together that are due within this time of each other, to save processor time
    #[arg(long, value_name = "TIME", default_value = "0s")]
    slack: HumanDuration,
    /// Local addresses to connect from, in turn; each has room for some 28,000 connections
    #[arg(long, value_name = "ADDRESS", value_delimiter = ',')]
    from: Vec<std::net::IpAddr>,
    /// Uses HTTP/2
    #[arg(long)]
    http2: bool,
    /// Seed of random choices; default: a new one each time
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
}

/// What to watch during the run.
#[derive(Debug, Args)]
pub struct WatchArgs {
    /// Watches processes on this machine with their children, or a Prometheus exporter; may be
    /// repeated. `web` and `database` have their own columns in reports; `database=web` states that
    /// the database runs in the process called web
    #[arg(long, value_name = "NAME=PID|PROGRAM|URL")]
    watch: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ArrivalsArg {
    /// Evenly spaced
    Even,
    /// Independent of each other, like those of many people
    Poisson,
}

impl TargetArgs {
    /// Returns the target. The path of a plain GET belongs to the request instead.
    pub fn target(&self) -> Result<(Target, Option<String>), Failure> {
        let usage = |error: homeroom_load::engine::TargetError| Failure::Usage(error.to_string());
        if self.scenario != "get" {
            return Ok((Target::parse(&self.target).map_err(usage)?, None));
        }
        let url = self.target.split('#').next().unwrap_or_default();
        let origin_end = url.find("://").map_or(0, |at| at + 3);
        let path_at = url[origin_end..].find(['/', '?']).map(|at| at + origin_end);
        let (origin, path) = url.split_at(path_at.unwrap_or(url.len()));
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        Ok((Target::parse(origin).map_err(usage)?, Some(path)))
    }

    /// Returns the variables that were set.
    pub fn settings(&self) -> Result<Vec<(String, String)>, Failure> {
        let pair = |text: &String| match text.split_once('=') {
            Some((name, value)) => Ok((name.to_owned(), value.to_owned())),
            None => Err(Failure::Usage(format!("--set {text}: write --set NAME=VALUE"))),
        };
        self.set.iter().map(pair).collect()
    }

    /// Returns the key, if requests are sent with a token.
    pub fn key(&self) -> Result<Option<Key>, Failure> {
        key(self.key.as_deref(), self.secret.as_deref())
    }
}

impl SendArgs {
    /// Returns the seed of random choices.
    pub fn seed(&self) -> u64 {
        self.seed.unwrap_or_else(drawn_seed)
    }

    /// Returns whether the seed was given.
    pub fn has_seed(&self) -> bool {
        self.seed.is_some()
    }

    /// Returns the distribution of arrivals.
    pub fn arrivals(&self) -> Arrivals {
        match self.arrivals {
            ArrivalsArg::Even => Arrivals::Even,
            ArrivalsArg::Poisson => Arrivals::Poisson,
        }
    }

    /// Returns the engine's options for a target.
    pub fn options(&self, to: &TargetArgs, target: &Target) -> Result<Options, Failure> {
        let protocol = if self.http2 { Protocol::Http2 } else { Protocol::Http1 };
        let options = Sending {
            protocol,
            connections: self.connections,
            timeout: self.timeout.0,
            threads: self.threads,
            ca: to.ca.as_deref(),
            insecure: to.insecure,
        };
        let options = options.options(target)?;
        Ok(Options { slack: self.slack.0, from: self.from.clone(), ..options })
    }

    /// Returns the same options in the form of the run's file.
    pub fn recorded(&self, options: &Options) -> Settings {
        let whole = |number: u128| u64::try_from(number).unwrap_or(u64::MAX);
        Settings {
            arrivals: self.arrivals(),
            connections: options.connections,
            timeout_ms: whole(options.timeout.as_millis()),
            slack_us: whole(options.slack.as_micros()),
            threads: u32::try_from(options.threads).unwrap_or(u32::MAX),
            protocol: if self.http2 { "HTTP/2" } else { "HTTP/1.1" }.into(),
        }
    }
}

/// How an engine sends, as command lines say it.
pub struct Sending<'a> {
    /// The version of HTTP.
    pub protocol: Protocol,
    /// The most connections.
    pub connections: u32,
    /// The time-out of a request, and how long the last answers are awaited.
    pub timeout: Duration,
    /// The number of sending threads; `None` for half of the cores.
    pub threads: Option<u32>,
    /// The PEM file with the only certificates that are trusted.
    pub ca: Option<&'a Path>,
    /// Whether every certificate is accepted.
    pub insecure: bool,
}

impl Sending<'_> {
    /// Returns the engine's options for a target.
    pub fn options(&self, target: &Target) -> Result<Options, Failure> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = self.threads.map_or((cores / 2).clamp(1, 8), |threads| threads as usize);
        let pem = match self.ca {
            None => None,
            Some(path) => {
                let name = path.display();
                let read = std::fs::read(path);
                Some(read.map_err(|error| Failure::Usage(format!("--ca {name}: {error}")))?)
            }
        };
        let trusted = match &pem {
            Some(pem) => Trust::Only(pem),
            None if self.insecure => Trust::Anybody,
            None => Trust::System,
        };
        let failed = |error| Failure::Usage(format!("TLS: {error}"));
        let tls = target.secure.then(|| trust(trusted, self.protocol)).transpose();
        Ok(Options {
            target: target.clone(),
            protocol: self.protocol,
            connections: self.connections,
            timeout: self.timeout,
            drain: self.timeout,
            slack: Duration::ZERO,
            spread: false,
            threads: threads.min(self.connections as usize),
            from: vec![],
            bins: false,
            tls: tls.map_err(failed)?,
        })
    }
}

/// Returns a key with its secret, which may be in the environment.
pub fn key(id: Option<&str>, secret: Option<&str>) -> Result<Option<Key>, Failure> {
    let Some(id) = id else { return Ok(None) };
    let secret = secret.map(str::to_owned).or_else(|| std::env::var(SECRET_VARIABLE).ok());
    let missing = || Failure::Usage(format!("--key needs --secret or {SECRET_VARIABLE}"));
    Ok(Some(Key { id: id.to_owned(), secret: secret.ok_or_else(missing)? }))
}

/// Returns a seed that is small enough for any program to read it exactly.
pub fn drawn_seed() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(1, |now| u64::from(now.subsec_nanos()) ^ now.as_secs()) % 1_000_000_000
}

impl WatchArgs {
    /// Returns what to watch.
    pub fn watches(&self) -> Result<Vec<Watch>, Failure> {
        let read = |text: &String| {
            Watch::parse(text).map_err(|why| Failure::Usage(format!("--watch {text}: {why}")))
        };
        let watches: Vec<Watch> = self.watch.iter().map(read).collect::<Result<_, _>>()?;
        for (at, watch) in watches.iter().enumerate() {
            if watches[..at].iter().any(|other| other.name == watch.name) {
                return Err(Failure::Usage(format!("--watch: two are called {}", watch.name)));
            }
        }
        let without = watches.iter().find(|watch| match &watch.what {
            What::Within(other) => !watches.iter().any(|watch| watch.name == *other),
            _ => false,
        });
        match without {
            None => Ok(watches),
            Some(watch) => Err(Failure::Usage(format!(
                "--watch {}=web: nothing called web is watched; add --watch web=…",
                watch.name
            ))),
        }
    }
}

/// Returns this command line without secrets.
pub fn shown_command(words: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut shown = vec![];
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        if word == "--secret" {
            words.next();
        } else if !word.starts_with("--secret=") {
            shown.push(masked_text(&word));
        }
    }
    // The program's folder describes the machine, not the run.
    if let Some(program) = shown.first_mut() {
        *program = "homeroom".into();
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_is_shown_without_secrets() {
        let words = ["/opt/homeroom", "lab", "--secret", "a", "--key", "k", "--secret=b", "--rate"];

        let shown = shown_command(words.map(str::to_owned));

        assert_eq!(shown, ["homeroom", "lab", "--key", "k", "--rate"]);
    }

    #[test]
    fn a_command_line_is_shown_without_what_its_words_hide() {
        let words = [
            "homeroom",
            "--target=http://me:hunter2@h/a",
            "http://h/a?limit=5&api%4Bey=hunter2",
            "password=hunter2",
            "ids=1..9",
        ];

        let shown = shown_command(words.map(str::to_owned));

        assert_eq!(
            shown,
            [
                "homeroom",
                "--target=http://***@h/a",
                "http://h/a?limit=5&api%4Bey=***",
                "password=***",
                "ids=1..9"
            ]
        );
    }
}
