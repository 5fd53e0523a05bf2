//! The upstreams of an API: which of them is asked next, and which rest.
#![expect(
    clippy::disallowed_methods,
    reason = "a probe is sent every so often, an outage is timed"
)]

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use homeroom_client::{Client, Error, Pool, Request, Settings, Times, Trust, Url};
use tokio::task::AbortHandle;

use crate::definition::{Api, Balance};

/// How long an upstream rests after a call could not reach it, while there are others.
const REST: Duration = Duration::from_secs(1);
/// The most calls at a time to one upstream.
const CALLS_MAX: usize = 4_096;
/// The most calls at a time by one client.
const ALL_CALLS_MAX: usize = 1 << 20;
/// The most clients that are kept for further APIs.
const CLIENTS_MAX: usize = 64;
/// The most idle connections that are kept to one upstream.
const IDLE_MAX: usize = 512;
/// The longest time for connecting to an upstream.
const CONNECT_TIME_MAX: Duration = Duration::from_secs(5);

/// The upstreams of an API.
#[derive(Debug)]
pub(crate) struct Upstreams {
    members: Vec<Arc<Upstream>>,
    balance: Balance,
    next: AtomicUsize,
    client: Client,
    probes: Vec<AbortHandle>,
    begun: Instant,
}

/// An upstream.
#[derive(Debug)]
pub(crate) struct Upstream {
    pub(crate) url: Url,
    /// The URL without a slash at its end.
    base: String,
    is_healthy: AtomicBool,
    /// Until when it rests, in milliseconds since the group was made.
    rests_until: AtomicU64,
    open: AtomicUsize,
}

/// The clients by which upstreams are asked, which APIs with the same time limit share: a client has its pool
/// of connections, and one of https has read the certificates that the system trusts.
#[derive(Debug, Default)]
pub(crate) struct Clients(Mutex<HashMap<(Duration, bool), Client>>);

impl Clients {
    fn of(&self, time: Duration, is_secure: bool) -> Result<Client, Error> {
        let mut clients = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = clients.get(&(time, is_secure)) {
            return Ok(client.clone());
        }
        let connect = time.min(CONNECT_TIME_MAX);
        let settings = if is_secure {
            Settings::for_operator(time)
        } else {
            Settings { trust: Trust::Nobody, ..Settings::for_operator(time) }
        };
        let times = Times {
            resolve: connect,
            connect,
            tls: connect,
            // An answer may take as long as it has something to say.
            total: None,
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
        clients.insert((time, is_secure), client.clone());
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
    /// Makes the group, and begins to probe where the API says how.
    ///
    /// # Errors
    ///
    /// If the trusted certificates cannot be read.
    pub(crate) fn new(api: &Api, clients: &Clients) -> Result<Self, Error> {
        let is_secure = api.upstream.iter().any(|url| url.starts_with("https:"));
        let time = api.timeout.0;
        let client = clients.of(time, is_secure)?;
        let members: Vec<Arc<Upstream>> = api
            .upstream
            .iter()
            .filter_map(|text| Url::parse(text).ok())
            .map(|url| {
                let whole = url.as_uri().to_string();
                Arc::new(Upstream {
                    base: whole.trim_end_matches('/').to_owned(),
                    url,
                    is_healthy: AtomicBool::new(true),
                    rests_until: AtomicU64::new(0),
                    open: AtomicUsize::new(0),
                })
            })
            .collect();
        let probes = match &api.health {
            Some(health) => {
                let targets = members.iter().filter_map(|member| {
                    Some((Arc::clone(member), member.target(&health.path).ok()?))
                });
                let interval = health.interval.0;
                let time = time.min(interval.max(Duration::from_secs(1)));
                targets
                    .map(|(member, url)| {
                        let probing = probe(client.clone(), member, url, interval, time);
                        tokio::spawn(probing).abort_handle()
                    })
                    .collect()
            }
            None => vec![],
        };
        let (next, begun) = (AtomicUsize::new(0), Instant::now());
        Ok(Self { members, balance: api.balance, next, client, probes, begun })
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// Returns the upstreams to ask, one after the other: healthy ones, and last those that rest. It is
    /// empty if none is healthy.
    pub(crate) fn candidates(&self) -> Vec<Arc<Upstream>> {
        let now = self.now_ms();
        let first = self.next.fetch_add(1, Ordering::Relaxed);
        let turn = (0..self.members.len())
            .map(|number| &self.members[(first + number) % self.members.len()])
            .filter(|member| member.is_healthy.load(Ordering::Relaxed));
        let (mut awake, resting): (Vec<_>, Vec<_>) =
            turn.cloned().partition(|member| member.rests_until.load(Ordering::Relaxed) <= now);
        if self.balance == Balance::LeastRequests {
            awake.sort_by_key(|member| member.open.load(Ordering::Relaxed));
        }
        awake.extend(resting);
        awake
    }

    /// Records that an upstream could not be reached.
    pub(crate) fn rest(&self, upstream: &Upstream) {
        let until = self.now_ms() + u64::try_from(REST.as_millis()).unwrap_or(0);
        upstream.rests_until.store(until, Ordering::Relaxed);
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
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
    interval: Duration,
    time: Duration,
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
            upstream.rests_until.store(0, Ordering::Relaxed);
        }
        tokio::time::sleep(interval).await;
    }
}
