//! The upstreams of an API: which of them is asked next, and which are left alone.
#![expect(
    clippy::disallowed_methods,
    reason = "a probe is sent every so often, a call as a whole has a time limit, an outage is timed"
)]

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use homeroom_access::Call;
use homeroom_client::{
    Client, Connections, Error, Origin, Phase, Pool, Request, Settings, Times, Trust, Url, UrlError,
};
use homeroom_gateway::{ConnectionFigures, UpstreamFigures};
use tokio::task::AbortHandle;

use crate::balance::{HashBy, hash, weight};
use crate::breaker::{Breaker, Ended, Rules, Standing, Trial};
use crate::counts::{Counts, Outcome};
use crate::definition::{Api, Balance, Peer, Timeouts};
use crate::path::split_origin;
use crate::peer::Unfit;
use crate::units::Time;

/// The most calls at a time by one client, and to one upstream: the front door limits them. Calls wait in queues
/// that have a name, and in none of a client.
const CALLS_MAX: usize = usize::MAX;
/// The shortest time between two lines of the log about an upstream that does not answer.
const TELLING_MS: u64 = 10_000;
/// The most clients that are kept for further APIs.
const CLIENTS_MAX: usize = 64;
/// The most idle connections that are kept to one upstream.
const IDLE_MAX: usize = 512;
/// The longest time for connecting to an upstream, unless the API says otherwise.
pub(crate) const CONNECT_TIME_MAX: Duration = Duration::from_secs(5);

/// The upstreams of an API.
#[derive(Debug)]
pub(crate) struct Upstreams {
    members: Vec<Arc<Upstream>>,
    balance: Balance,
    hash_by: HashBy,
    /// The most upstreams that failures of calls may keep away at a time.
    failing_max: usize,
    next: AtomicUsize,
    probes: Vec<AbortHandle>,
    begun: Instant,
}

/// An upstream.
#[derive(Debug)]
pub(crate) struct Upstream {
    pub(crate) url: Url,
    /// The URL without a slash at its end.
    base: Arc<str>,
    /// The URL that is sent, which may name another host.
    sent: Url,
    /// Its text without a slash at its end, and where its path begins there.
    sent_text: (String, usize),
    client: Client,
    hash: u64,
    is_healthy: AtomicBool,
    breaker: Breaker,
    open: AtomicUsize,
    begun: Instant,
    /// From when on the log may tell of it again, in milliseconds; calls that were not answered since it has.
    telling: AtomicU64,
    untold: AtomicU64,
    pub(crate) counts: Counts,
}

/// The clients by which upstreams are asked, which APIs with the same time limits share: a client has its pool
/// of connections, and one of https has read the certificates that the system trusts.
#[derive(Debug, Default)]
pub(crate) struct Clients {
    all: Mutex<HashMap<(Time, Timeouts, bool), Client>>,
    connections: Connections,
    /// The upstreams of each API.
    upstreams: Mutex<Vec<Known>>,
}

/// An upstream of an API, as metrics find it.
#[derive(Debug)]
struct Known {
    api: String,
    upstream: Weak<Upstream>,
    /// The moment from which its breaker counts.
    begun: Instant,
}

impl Clients {
    /// Returns the figures of all upstreams.
    pub(crate) fn figures(&self) -> Vec<UpstreamFigures> {
        let known = self.upstreams.lock().unwrap_or_else(PoisonError::into_inner);
        let figures = |known: &Known| {
            let upstream = known.upstream.upgrade()?;
            let counts = &upstream.counts;
            let standing = upstream.breaker.standing(ms_since(known.begun));
            let (times, seconds) = counts.times();
            Some(UpstreamFigures {
                api: known.api.clone(),
                upstream: upstream.base.to_string(),
                healthy: u64::from(upstream.is_healthy.load(Ordering::Relaxed)),
                left_alone: u64::from(standing != Standing::Closed),
                opened: upstream.breaker.opened(),
                open: upstream.open.load(Ordering::Relaxed) as u64,
                calls: counts.calls(),
                repeats: counts.repeats(),
                times,
                seconds,
            })
        };
        known.iter().filter_map(figures).collect()
    }

    /// Returns the figures of all connections.
    pub(crate) fn connections(&self) -> Vec<ConnectionFigures> {
        let figures = |(origin, open, opened): (Origin, u64, u64)| {
            let scheme = if origin.is_secure { "https" } else { "http" };
            let host = origin.host;
            let host = if host.contains(':') { format!("[{host}]") } else { host };
            let upstream = format!("{scheme}://{host}:{}", origin.port);
            ConnectionFigures { upstream, open, opened }
        };
        self.connections.figures().into_iter().map(figures).collect()
    }

    fn remember(&self, api: &Api, members: &[Arc<Upstream>], begun: Instant) {
        let mut known = self.upstreams.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|known| known.upstream.strong_count() > 0);
        known.extend(members.iter().map(|member| Known {
            api: api.name.clone(),
            upstream: Arc::downgrade(member),
            begun,
        }));
    }

    /// Returns a client for each upstream of an API.
    fn of(&self, api: &Api, urls: &[Url]) -> Result<Vec<Member>, NoClient> {
        if api.peer == Peer::default() {
            let client = self.shared(api, urls)?;
            let member =
                |url: &Url| Member { url: url.clone(), sent: url.clone(), client: client.clone() };
            return Ok(urls.iter().map(member).collect());
        }
        let is_secure = urls.iter().any(|url| url.origin().is_secure);
        let trust = if is_secure { api.peer.trust()? } else { Trust::Nobody };
        let connections = &self.connections;
        let member = |url: &Url| {
            let (sent, reaches) = api.peer.sent(url)?;
            let (trust, connections) = (trust.clone(), connections.clone());
            let client = Client::new(Settings { trust, reaches, connections, ..settings(api) })?;
            Ok(Member { url: url.clone(), sent, client })
        };
        urls.iter().map(member).collect()
    }

    fn shared(&self, api: &Api, urls: &[Url]) -> Result<Client, Error> {
        let is_secure = urls.iter().any(|url| url.origin().is_secure);
        let key = (api.timeout, api.timeouts, is_secure);
        let mut clients = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = clients.get(&key) {
            return Ok(client.clone());
        }
        let settings = if is_secure {
            settings(api)
        } else {
            Settings { trust: Trust::Nobody, ..settings(api) }
        };
        let client = Client::new(Settings { connections: self.connections.clone(), ..settings })?;
        if clients.len() >= CLIENTS_MAX {
            // Those that are used stay with their APIs.
            clients.clear();
        }
        clients.insert(key, client.clone());
        Ok(client)
    }
}

/// An upstream with the URL that is sent to it and the client that sends.
struct Member {
    url: Url,
    sent: Url,
    client: Client,
}

/// Why the upstreams of an API cannot be asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoClient {
    #[error(transparent)]
    Peer(#[from] Unfit),
    #[error(transparent)]
    Client(#[from] Error),
    #[error(transparent)]
    Url(#[from] UrlError),
}

/// Returns the settings of a client for the upstreams of an API.
fn settings(api: &Api) -> Settings {
    let (time, stated) = (api.timeout.0, &api.timeouts);
    let connect = stated.connect.map_or(time.min(CONNECT_TIME_MAX), |time| time.0);
    let idle = stated.idle.map_or(time, |time| time.0);
    let times = Times {
        resolve: connect,
        connect,
        tls: connect,
        answer: stated.first_byte.map_or(time, |time| time.0),
        send: idle,
        body: idle,
        // Without a limit, an answer may take as long as it has something to say.
        total: stated.whole.map(|time| time.0),
        ..Times::all(time)
    };
    let pool = Pool {
        requests_per_origin: CALLS_MAX,
        requests: CALLS_MAX,
        idle_per_origin: IDLE_MAX,
        ..Pool::default()
    };
    Settings { times, pool, ..Settings::for_operator(time) }
}

/// Counts a call as open until it is dropped.
#[derive(Debug)]
pub(crate) struct OpenCall(Arc<Upstream>);

impl Drop for OpenCall {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Upstream {
    /// Returns the URL of a path and query below it.
    pub(crate) fn target(&self, path_and_query: &str) -> Result<Url, homeroom_client::UrlError> {
        self.sent.below(path_and_query)
    }

    /// Returns what it is called: the URL without a slash at its end.
    pub(crate) fn name(&self) -> &Arc<str> {
        &self.base
    }

    /// Returns scheme, host and port that are sent to it, and its path without a slash at its end.
    pub(crate) fn sent(&self) -> (&str, &str) {
        let (text, path) = &self.sent_text;
        text.split_at(*path)
    }

    /// Notes that it has not answered a call. Returns how many calls that were, if the log is to tell of it: at once,
    /// and then every so often.
    pub(crate) fn tells(&self) -> Option<u64> {
        let now = ms_since(self.begun);
        self.untold.fetch_add(1, Ordering::Relaxed);
        let due = self.telling.load(Ordering::Relaxed);
        let next = now + TELLING_MS;
        let may = now >= due
            && self
                .telling
                .compare_exchange(due, next, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok();
        may.then(|| self.untold.swap(0, Ordering::Relaxed))
    }

    /// Returns the client by which it is asked.
    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    pub(crate) fn call(self: &Arc<Self>) -> OpenCall {
        self.open.fetch_add(1, Ordering::Relaxed);
        OpenCall(Arc::clone(self))
    }
}

impl Upstreams {
    /// Makes a group of these URLs, and begins to probe where the API says how.
    ///
    /// # Errors
    ///
    /// If the certificates of the API, or those that the system trusts, cannot be read.
    pub(crate) fn new(api: &Api, urls: &[String], clients: &Clients) -> Result<Self, NoClient> {
        let urls: Vec<Url> = urls.iter().filter_map(|text| Url::parse(text).ok()).collect();
        let without_slash = |url: &Url| {
            let whole = url.as_uri().to_string();
            whole.trim_end_matches('/').to_owned()
        };
        let begun = Instant::now();
        let members = clients.of(api, &urls)?.into_iter().map(|Member { url, sent, client }| {
            let base: Arc<str> = without_slash(&url).into();
            Arc::new(Upstream {
                hash: hash(base.as_bytes()),
                base,
                sent_text: {
                    let text = without_slash(&sent);
                    let path = split_origin(&text).0.len();
                    (text, path)
                },
                sent,
                client,
                url,
                is_healthy: AtomicBool::new(true),
                breaker: Breaker::new(Rules::from(&api.breaker)),
                open: AtomicUsize::new(0),
                begun,
                telling: AtomicU64::new(0),
                untold: AtomicU64::new(0),
                counts: Counts::default(),
            })
        });
        let members: Vec<Arc<Upstream>> = members.collect();
        clients.remember(api, &members, begun);
        let probes = match &api.health {
            Some(health) => {
                let targets = members.iter().filter_map(|member| {
                    Some((Arc::clone(member), member.target(&health.path).ok()?))
                });
                let interval = health.interval.0;
                let time = api.timeout.0.min(interval.max(Duration::from_secs(1)));
                targets
                    .map(|(member, url)| {
                        let probing = probe(member, url, (interval, time), begun);
                        tokio::spawn(probing).abort_handle()
                    })
                    .collect()
            }
            None => vec![],
        };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it is in range"
        )]
        let failing_max = (members.len() as f64 * api.breaker.share).floor() as usize;
        let failing_max = failing_max.min(members.len().saturating_sub(1));
        Ok(Self {
            members,
            balance: api.balance,
            hash_by: api.hash.as_deref().and_then(HashBy::read).unwrap_or(HashBy::Address),
            failing_max,
            next: AtomicUsize::new(0),
            probes,
            begun,
        })
    }

    /// Adds the upstreams to ask, in this order: those that are well, and as a last resort those that may be
    /// well again. `trials` says of which calls it is the turn, and whether they can be sent to another
    /// upstream afterwards: they come first to one that has rested.
    pub(crate) fn choose<'a>(&'a self, call: &Call, trials: Trials, chosen: &mut Chosen<'a>) {
        let first = self.next.fetch_add(1, Ordering::Relaxed);
        let mut order: Vec<&Arc<Upstream>> = (0..self.members.len())
            .map(|number| &self.members[(first + number) % self.members.len()])
            .filter(|member| member.is_healthy.load(Ordering::Relaxed))
            .collect();
        match self.balance {
            Balance::RoundRobin => {}
            Balance::LeastRequests => {
                order.sort_by_key(|member| member.open.load(Ordering::Relaxed));
            }
            Balance::ConsistentHash => {
                let of_call = self.hash_by.of(call);
                order.sort_by_key(|member| Reverse(weight(member.hash, of_call)));
            }
        }
        let begin = chosen.well.len();
        for upstream in order {
            let one = |kind| Candidate { group: self, upstream, kind };
            if upstream.breaker.is_calm() {
                chosen.well.push(one(Kind::Well));
                continue;
            }
            let now = self.now();
            match upstream.breaker.standing(now) {
                Standing::Closed => chosen.well.push(one(Kind::Well)),
                // Where there are probes, they try.
                Standing::HalfOpen if !self.probes.is_empty() => chosen.well.push(one(Kind::Well)),
                Standing::HalfOpen
                    if trials == Trials::Repeatable
                        || (trials == Trials::Late && upstream.breaker.waits_for_a_trial(now)) =>
                {
                    let is_hash = self.balance == Balance::ConsistentHash;
                    let at = if is_hash { chosen.well.len() } else { begin };
                    chosen.well.insert(at, one(Kind::Trial));
                }
                Standing::HalfOpen => chosen.last.push(one(Kind::Trial)),
                Standing::LastResort => chosen.last.push(one(Kind::LastResort)),
                Standing::Open => {}
            }
        }
    }

    /// Returns in how many milliseconds an upstream may be asked again; [`None`] if that is not known.
    pub(crate) fn rests_for(&self) -> Option<u64> {
        let now = self.now();
        let healthy =
            self.members.iter().filter(|member| member.is_healthy.load(Ordering::Relaxed));
        healthy.map(|member| member.breaker.rests_for(now)).min()
    }

    /// Records how a call of an upstream ended.
    pub(crate) fn record(&self, upstream: &Upstream, ended: Ended) {
        if ended == Ended::Well && upstream.breaker.is_calm() {
            upstream.counts.ended(Outcome::Answered);
            return;
        }
        let now = self.now();
        let is_kept_away =
            |member: &&Arc<Upstream>| member.breaker.standing(now) != Standing::Closed;
        let may_open = ended == Ended::Badly
            && self.members.iter().filter(is_kept_away).count() < self.failing_max;
        upstream.counts.ended(match ended {
            Ended::Well => Outcome::Answered,
            Ended::Badly => Outcome::Failed,
            Ended::Unanswered => Outcome::Unanswered,
            Ended::Unreachable { .. } => Outcome::Unreachable,
        });
        let before = upstream.breaker.standing(now);
        upstream.breaker.record(ended, may_open, now);
        let after = upstream.breaker.standing(now);
        match (before == Standing::Closed, after == Standing::Closed) {
            (true, false) => {
                tracing::warn!(upstream = %upstream.base, "an upstream that fails is left alone");
            }
            (false, true) => tracing::info!(upstream = %upstream.base, "an upstream is well again"),
            _ => {}
        }
    }

    fn now(&self) -> u64 {
        ms_since(self.begun)
    }
}

/// Which upstreams a call may be sent to.
#[derive(Debug, Default)]
pub(crate) struct Chosen<'a> {
    /// Upstreams that are well, or have rested and are ready for a trial.
    pub(crate) well: Vec<Candidate<'a>>,
    /// Upstreams that are asked only if no other one is left.
    pub(crate) last: Vec<Candidate<'a>>,
}

/// An upstream that a call may be sent to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Candidate<'a> {
    pub(crate) group: &'a Upstreams,
    pub(crate) upstream: &'a Arc<Upstream>,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Well,
    Trial,
    LastResort,
}

/// Leave to ask an upstream, which may be a trial.
#[derive(Debug, Default)]
pub(crate) struct Leave<'a>(
    #[expect(dead_code, reason = "it ends when it is dropped")] Option<Trial<'a>>,
);

/// Which calls try an upstream that has rested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trials {
    /// This call does, because it can be sent to another upstream afterwards.
    Repeatable,
    /// This call does, because no other one has for a while.
    Late,
    /// This call does not.
    None,
}

impl<'a> Candidate<'a> {
    /// Returns leave to send the call there now: one call at a time tries.
    pub(crate) fn leave(&self) -> Option<Leave<'a>> {
        if self.kind == Kind::Trial {
            return self.upstream.breaker.try_one(self.group.now()).map(|trial| Leave(Some(trial)));
        }
        Some(Leave::default())
    }
}

/// Returns whether an error took all the time that connecting may take.
pub(crate) fn is_slow(error: &Error) -> bool {
    matches!(error, Error::TimedOut { .. })
}

/// Returns whether an error says that no connection could be opened.
pub(crate) fn is_unreachable(error: &Error) -> bool {
    matches!(
        error,
        Error::Failed { phase: Phase::Resolve | Phase::Connect | Phase::Tls, .. }
            | Error::TimedOut { phase: Phase::Resolve | Phase::Connect | Phase::Tls, .. }
    )
}

impl Drop for Upstreams {
    fn drop(&mut self) {
        self.probes.iter().for_each(AbortHandle::abort);
    }
}

/// Asks an upstream now and then whether it is well: any answer below 400 says so.
async fn probe(
    upstream: Arc<Upstream>,
    url: Url,
    (interval, time): (Duration, Duration),
    begun: Instant,
) {
    loop {
        let asked = upstream.client.send(Request::get(url.clone()));
        let is_well = match tokio::time::timeout(time, asked).await {
            Ok(Ok(answer)) => answer.status().as_u16() < 400,
            _ => false,
        };
        if upstream.is_healthy.swap(is_well, Ordering::Relaxed) != is_well {
            tracing::info!(upstream = %upstream.url, is_well, "the health of an upstream changed");
        }
        if is_well {
            upstream.breaker.is_reached(ms_since(begun));
        }
        tokio::time::sleep(interval).await;
    }
}

fn ms_since(begun: Instant) -> u64 {
    u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX)
}
