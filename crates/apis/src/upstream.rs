//! The upstreams of an API: which of them is asked next, and which are left alone.
#![expect(
    clippy::disallowed_methods,
    reason = "a probe is sent every so often, a call as a whole has a time limit, an outage is timed"
)]

use std::cmp::Reverse;
use std::collections::HashMap;
use std::future::Future;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use homeroom_access::Call;
use homeroom_client::{Client, Error, Phase, Pool, Request, Settings, Times, Trust, Url};
use tokio::task::AbortHandle;

use crate::balance::{HashBy, hash, weight};
use crate::breaker::{Breaker, Ended, Rules, Standing};
use crate::definition::{Api, Balance, Timeouts};
use crate::units::Time;

/// The most calls at a time to one upstream.
const CALLS_MAX: usize = 4_096;
/// The most calls at a time by one client.
const ALL_CALLS_MAX: usize = 1 << 20;
/// The most clients that are kept for further APIs.
const CLIENTS_MAX: usize = 64;
/// The most idle connections that are kept to one upstream.
const IDLE_MAX: usize = 512;
/// The longest time for connecting to an upstream, unless the API says otherwise.
const CONNECT_TIME_MAX: Duration = Duration::from_secs(5);

/// The upstreams of an API.
#[derive(Debug)]
pub(crate) struct Upstreams {
    members: Vec<Arc<Upstream>>,
    balance: Balance,
    hash_by: HashBy,
    /// The most upstreams that failures of calls may keep away at a time.
    failing_max: usize,
    next: AtomicUsize,
    client: Client,
    probes: Vec<AbortHandle>,
    whole: Option<Duration>,
    begun: Instant,
}

/// An upstream.
#[derive(Debug)]
pub(crate) struct Upstream {
    pub(crate) url: Url,
    /// The URL without a slash at its end.
    base: String,
    hash: u64,
    is_healthy: AtomicBool,
    breaker: Breaker,
    open: AtomicUsize,
}

/// The clients by which upstreams are asked, which APIs with the same time limits share: a client has its pool
/// of connections, and one of https has read the certificates that the system trusts.
#[derive(Debug, Default)]
pub(crate) struct Clients(Mutex<HashMap<(Time, Timeouts, bool), Client>>);

impl Clients {
    fn of(&self, api: &Api, urls: &[String]) -> Result<Client, Error> {
        let is_secure = urls.iter().any(|url| url.starts_with("https:"));
        let key = (api.timeout, api.timeouts, is_secure);
        let mut clients = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = clients.get(&key) {
            return Ok(client.clone());
        }
        let time = api.timeout.0;
        let settings = if is_secure {
            Settings::for_operator(time)
        } else {
            Settings { trust: Trust::Nobody, ..Settings::for_operator(time) }
        };
        let stated = &api.timeouts;
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
            // The front door has a limit for all calls.
            requests: ALL_CALLS_MAX,
            idle_per_origin: IDLE_MAX,
            ..Pool::default()
        };
        let client = Client::new(Settings { times, pool, ..settings })?;
        if clients.len() >= CLIENTS_MAX {
            // Those that are used stay with their APIs.
            clients.clear();
        }
        clients.insert(key, client.clone());
        Ok(client)
    }
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
        Url::parse(&format!("{}{path_and_query}", self.base))
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
    /// If the trusted certificates cannot be read.
    pub(crate) fn new(api: &Api, urls: &[String], clients: &Clients) -> Result<Self, Error> {
        let client = clients.of(api, urls)?;
        let members: Vec<Arc<Upstream>> = urls
            .iter()
            .filter_map(|text| Url::parse(text).ok())
            .map(|url| {
                let whole = url.as_uri().to_string();
                let base = whole.trim_end_matches('/').to_owned();
                Arc::new(Upstream {
                    hash: hash(base.as_bytes()),
                    base,
                    url,
                    is_healthy: AtomicBool::new(true),
                    breaker: Breaker::new(Rules::from(&api.breaker)),
                    open: AtomicUsize::new(0),
                })
            })
            .collect();
        let begun = Instant::now();
        let probes = match &api.health {
            Some(health) => {
                let targets = members.iter().filter_map(|member| {
                    Some((Arc::clone(member), member.target(&health.path).ok()?))
                });
                let interval = health.interval.0;
                let time = api.timeout.0.min(interval.max(Duration::from_secs(1)));
                targets
                    .map(|(member, url)| {
                        let probing = probe(client.clone(), member, url, (interval, time), begun);
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
        Ok(Self {
            members,
            balance: api.balance,
            hash_by: api.hash.as_deref().and_then(HashBy::read).unwrap_or(HashBy::Address),
            failing_max,
            next: AtomicUsize::new(0),
            client,
            probes,
            whole: api.timeouts.whole.map(|time| time.0),
            begun,
        })
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// Returns the upstreams to ask, one after the other. It is empty if none is healthy. `may_repeat` says
    /// whether the call may be sent to the next one after it has failed at one, so that it can try one
    /// that may be well again.
    pub(crate) fn candidates(&self, call: &Call, may_repeat: bool) -> Vec<Arc<Upstream>> {
        let now = ms_since(self.begun);
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
        let (mut awake, mut last) = (vec![], vec![]);
        for member in order {
            match member.breaker.standing(now) {
                Standing::Closed => awake.push(Arc::clone(member)),
                // Where there are probes, they try.
                Standing::HalfOpen if !self.probes.is_empty() => awake.push(Arc::clone(member)),
                Standing::HalfOpen if may_repeat && member.breaker.try_one(now) => {
                    let at = if self.balance == Balance::ConsistentHash { awake.len() } else { 0 };
                    awake.insert(at, Arc::clone(member));
                }
                Standing::HalfOpen | Standing::LastResort => last.push(member),
                Standing::Open => {}
            }
        }
        if awake.is_empty() {
            let tries = |member: &&Arc<Upstream>| {
                let standing = member.breaker.standing(now);
                standing == Standing::LastResort || member.breaker.try_one(now)
            };
            return last.into_iter().filter(tries).cloned().collect();
        }
        awake
    }

    /// Records how a call of an upstream ended, by the error or the status of its answer.
    pub(crate) fn record(&self, upstream: &Upstream, ended: Result<u16, &Error>) {
        let now = ms_since(self.begun);
        let ended = match ended {
            Ok(502..=504) => Ended::Badly,
            Ok(_) => Ended::Well,
            Err(error) if is_unreachable(error) => {
                Ended::Unreachable { is_slow: matches!(error, Error::TimedOut { .. }) }
            }
            Err(
                Error::TimedOut { phase: Phase::Answer | Phase::Body | Phase::Total, .. }
                | Error::Failed { .. },
            ) => Ended::Badly,
            // The caller's own doing, or that of too many callers.
            Err(_) => return,
        };
        let is_kept_away =
            |member: &&Arc<Upstream>| member.breaker.standing(now) != Standing::Closed;
        let may_open = ended == Ended::Badly
            && self.members.iter().filter(is_kept_away).count() < self.failing_max;
        upstream.breaker.record(ended, may_open, now);
    }

    /// Completes a call within the time for a whole call; [`None`] if it takes longer.
    pub(crate) async fn within<T>(&self, call: impl Future<Output = T>) -> Option<T> {
        match self.whole {
            Some(time) => tokio::time::timeout(time, call).await.ok(),
            None => Some(call.await),
        }
    }
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
    client: Client,
    upstream: Arc<Upstream>,
    url: Url,
    (interval, time): (Duration, Duration),
    begun: Instant,
) {
    loop {
        let asked = client.send(Request::get(url.clone()));
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
