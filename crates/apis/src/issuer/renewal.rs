//! The keys of an issuer as they are at its address: read when they are needed, and again when they are old
//! or a token names one that is not among them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use arc_swap::ArcSwap;
use homeroom_client::{Client, Request, Settings, Trust, Url};
use homeroom_gateway::{Rate, RateLimit};
use homeroom_http::Timestamp;

use super::keys::{Key, read_set};
use super::token::Header;

/// Most bytes of a set of keys.
const SET_BYTES_MAX: usize = 256 << 10;
/// Longest time for reading a set of keys.
const READ_TIME: Duration = Duration::from_secs(5);
/// How long keys are used before they are read again.
const FRESH_SECONDS: i64 = 600;
/// How long keys are used while they cannot be read again.
const KEPT_SECONDS: i64 = 86_400;
/// How often a set is read at most, whatever tokens ask for.
const READS: Rate = Rate { per_second: 0.1, burst: 4 };

/// The sets of keys of all APIs, by address. APIs with one issuer share it.
#[derive(Default)]
pub(crate) struct KeySets(Mutex<HashMap<String, Weak<KeySet>>>);

/// The keys at one address.
pub(super) struct KeySet {
    url: Url,
    client: Client,
    state: ArcSwap<State>,
    /// Held while they are read.
    reading: tokio::sync::Mutex<()>,
    reads: RateLimit,
}

#[derive(Default)]
struct State {
    keys: Vec<Arc<Key>>,
    /// Incremented whenever the keys have changed.
    number: u64,
    /// When they were read; [`None`] before the first time.
    read_at: Option<i64>,
}

/// Why there is no key for a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoKey {
    /// The issuer has none that fits.
    Unknown,
    /// The issuer cannot be asked.
    Unavailable,
}

/// Keys that may have signed a token.
pub(super) struct Found {
    pub(super) keys: Vec<Arc<Key>>,
    /// The state in which they are.
    pub(super) state: u64,
}

impl KeySets {
    /// Returns the keys at an address.
    ///
    /// # Errors
    ///
    /// If it is no address, or the trusted certificates cannot be read.
    pub(super) fn of(&self, address: &str) -> Result<Arc<KeySet>, String> {
        let mut sets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(set) = sets.get(address).and_then(Weak::upgrade) {
            return Ok(set);
        }
        let url = Url::parse(address).map_err(|error| error.to_string())?;
        let mut settings = Settings::for_operator(READ_TIME);
        if !url.origin().is_secure {
            settings.trust = Trust::Nobody;
        }
        let client = Client::new(settings).map_err(|error| error.to_string())?;
        let set = Arc::new(KeySet {
            url,
            client,
            state: ArcSwap::default(),
            reading: tokio::sync::Mutex::default(),
            reads: RateLimit::new(READS),
        });
        sets.retain(|_, set| set.strong_count() > 0);
        sets.insert(address.to_owned(), Arc::downgrade(&set));
        Ok(set)
    }
}

impl State {
    fn fitting(&self, header: &Header) -> Vec<Arc<Key>> {
        let fits = |key: &&Arc<Key>| {
            let is_named = header.key_id.is_none() || key.id.is_none() || key.id == header.key_id;
            Some(key.algorithm) == header.algorithm && is_named
        };
        self.keys.iter().filter(fits).cloned().collect()
    }

    /// Returns how many seconds ago the keys were read.
    fn age(&self, now: Timestamp) -> Option<i64> {
        Some(now.seconds() - self.read_at?)
    }
}

impl KeySet {
    /// Returns whether the keys are still those of a state, and not too old.
    pub(super) fn is_in(&self, number: u64, now: Timestamp) -> bool {
        let state = self.state.load();
        state.number == number && state.age(now).is_some_and(|age| age < FRESH_SECONDS)
    }

    /// Returns the keys that may have signed a token with this header.
    ///
    /// # Errors
    ///
    /// [`NoKey`]
    pub(super) async fn find(
        self: &Arc<Self>,
        header: &Header,
        now: Timestamp,
    ) -> Result<Found, NoKey> {
        if header.algorithm.is_none() {
            return Err(NoKey::Unknown);
        }
        let found = |state: &State| {
            let keys = state.fitting(header);
            (!keys.is_empty()).then_some(Found { keys, state: state.number })
        };
        let is_younger = |state: &State, most| state.age(now).is_some_and(|age| age < most);
        let before = self.state.load_full();
        if is_younger(&before, KEPT_SECONDS)
            && let Some(found) = found(&before)
        {
            if !is_younger(&before, FRESH_SECONDS) {
                // No request waits for keys that are only somewhat old.
                let set = Arc::clone(self);
                tokio::spawn(async move { set.read_again(&before, now).await });
            }
            return Ok(found);
        }
        self.read_again(&before, now).await;
        let state = self.state.load();
        if !is_younger(&state, KEPT_SECONDS) {
            return Err(NoKey::Unavailable);
        }
        found(&state).ok_or(NoKey::Unknown)
    }

    /// Reads the keys, unless another request has done so since `before` or they were read too often.
    async fn read_again(&self, before: &State, now: Timestamp) {
        let _reading = self.reading.lock().await;
        let is_as_before = self.state.load().read_at == before.read_at;
        if is_as_before && self.reads.admit("", now).is_ok() {
            self.read(now).await;
        }
    }

    /// Reads the keys; if that fails, those from before stay.
    async fn read(&self, now: Timestamp) {
        let asked = Request::get(self.url.clone()).header("accept", "application/json");
        let read = async {
            let answer = self.client.send(asked?).await?;
            let status = answer.status();
            Ok::<_, homeroom_client::Error>((status, answer.whole(SET_BYTES_MAX).await?.body))
        };
        let keys = match read.await {
            Ok((status, body)) if status == 200 => read_set(&body),
            Ok((status, _)) => Err(format!("the answer is {status}")),
            Err(error) => Err(error.to_string()),
        };
        match keys {
            Ok(keys) => {
                let before = self.state.load();
                let is_same = keys.iter().eq(before.keys.iter().map(|key| &**key));
                let number = before.number + u64::from(!is_same);
                let keys = keys.into_iter().map(Arc::new).collect();
                self.state.store(Arc::new(State { keys, number, read_at: Some(now.seconds()) }));
            }
            Err(reason) => {
                tracing::warn!(url = %self.url, reason, "the keys of an issuer cannot be read");
            }
        }
    }
}
