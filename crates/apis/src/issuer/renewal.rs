//! The keys of an issuer as they are at its address: read when they are needed, and again when they are old
//! or a token names one that is not among them. One reading is for all who wait for it.
#![expect(clippy::disallowed_methods, reason = "a pause begins when a reading has failed")]

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use arc_swap::ArcSwap;
use homeroom_client::{Client, Request, Settings, Trust, Url};
use homeroom_gateway::{Rate, RateLimit, Shares};
use homeroom_http::{BudgetFigures, Timestamp};
use tokio::sync::watch;
use tokio::time::Instant;

use super::keys::{Key, read_set};
use super::token::Header;
use super::tokens::Tokens;
use crate::definition::Issuer;

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
/// How long an address is left alone after a reading has failed.
const PAUSE: Duration = Duration::from_secs(5);
/// The budget of requests that wait for a reading.
pub(super) const WAITING: &str = "issuer_keys";

/// The sets of keys of all APIs, by address. APIs with one issuer share it.
pub(crate) struct KeySets {
    all: Mutex<HashMap<String, Weak<KeySet>>>,
    /// Tokens that were checked, by what is stated of their issuer.
    tokens: Mutex<HashMap<Issuer, Weak<Tokens>>>,
    tokens_max: usize,
    /// Requests that wait, by the addresses.
    waiting: Arc<Shares>,
}

/// The keys at one address.
pub(super) struct KeySet {
    url: Url,
    client: Client,
    state: ArcSwap<State>,
    reading: Mutex<Reading>,
    reads: RateLimit,
    waiting: Arc<Shares>,
}

/// The reading that goes on, and when the next one may begin.
#[derive(Default)]
struct Reading {
    /// The reading under way; its channel closes when the reading ends.
    goes_on: Option<watch::Receiver<()>>,
    /// The end of the pause after one that has failed.
    paused_until: Option<Instant>,
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
    /// The issuer cannot be asked for so many seconds.
    Unavailable(u64),
    /// As many requests wait for its keys as may.
    Busy,
}

/// Keys that may have signed a token.
pub(super) struct Found {
    pub(super) keys: Vec<Arc<Key>>,
    /// The state in which they are.
    pub(super) state: u64,
}

impl KeySets {
    /// Creates the sets, none of which is known; so many requests may wait for them, and so many tokens of an issuer
    /// are remembered.
    pub(crate) fn new(waiting_max: u64, tokens_max: usize) -> Self {
        let (all, tokens) = (Mutex::default(), Mutex::default());
        Self { all, tokens, tokens_max, waiting: Shares::new(WAITING, waiting_max) }
    }

    /// Returns the tokens that were checked for what is stated of an issuer.
    pub(super) fn tokens_of(&self, stated: &Issuer) -> Arc<Tokens> {
        let mut all = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(tokens) = all.get(stated).and_then(Weak::upgrade) {
            return tokens;
        }
        let tokens = Arc::new(Tokens::new(self.tokens_max));
        all.retain(|_, tokens| tokens.strong_count() > 0);
        all.insert(stated.clone(), Arc::downgrade(&tokens));
        tokens
    }

    /// Returns the figures of the requests that wait.
    pub(crate) fn figures(&self) -> BudgetFigures {
        self.waiting.figures()
    }

    /// Returns the keys at an address.
    ///
    /// # Errors
    ///
    /// If it is no address, or the trusted certificates cannot be read.
    pub(super) fn of(&self, address: &str) -> Result<Arc<KeySet>, String> {
        let mut sets = self.all.lock().unwrap_or_else(PoisonError::into_inner);
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
            reading: Mutex::default(),
            reads: RateLimit::new(READS),
            waiting: Arc::clone(&self.waiting),
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
                _ = self.reading(&before, now);
            }
            return Ok(found);
        }
        let mut rest = PAUSE.as_secs();
        match self.reading(&before, now) {
            Ok(Some(mut reading)) => {
                let place = self.waiting.take(&[&self.url.as_uri().to_string()], 1);
                let _place = place.map_err(|_| {
                    self.waiting.refuse();
                    NoKey::Busy
                })?;
                // It is closed and never changes.
                _ = reading.changed().await;
            }
            Ok(None) => {}
            Err(seconds) => rest = seconds,
        }
        let state = self.state.load();
        if !is_younger(&state, KEPT_SECONDS) {
            return Err(NoKey::Unavailable(rest));
        }
        found(&state).ok_or(NoKey::Unknown)
    }

    /// Returns the reading that goes on, or begins one; [`None`] if there was one since `before`.
    ///
    /// # Errors
    ///
    /// In how many seconds one may begin, if the last one has just failed or there were too many.
    fn reading(
        self: &Arc<Self>,
        before: &Arc<State>,
        now: Timestamp,
    ) -> Result<Option<watch::Receiver<()>>, u64> {
        let mut reading = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(goes_on) = reading.goes_on.as_ref().filter(|on| on.has_changed().is_ok()) {
            return Ok(Some(goes_on.clone()));
        }
        if !Arc::ptr_eq(&self.state.load(), before) {
            return Ok(None);
        }
        let pause = reading.paused_until.map(|until| until.duration_since(Instant::now()));
        if let Some(pause) = pause.filter(|pause| !pause.is_zero()) {
            return Err(u64::try_from(pause.as_millis().div_ceil(1_000)).unwrap_or(1));
        }
        self.reads.take("", now)?;
        let (ends, goes_on) = watch::channel(());
        reading.goes_on = Some(goes_on.clone());
        drop(reading);
        let set = Arc::clone(self);
        // Whoever has asked for it may leave.
        tokio::spawn(async move {
            let paused_until = (!set.read(now).await).then(|| Instant::now() + PAUSE);
            let mut reading = set.reading.lock().unwrap_or_else(PoisonError::into_inner);
            reading.paused_until = paused_until;
            drop((ends, reading));
        });
        Ok(Some(goes_on))
    }

    /// Reads the keys, and returns whether that is done; if not, those from before stay.
    async fn read(&self, now: Timestamp) -> bool {
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
                true
            }
            Err(reason) => {
                tracing::warn!(url = %self.url, reason, "the keys of an issuer cannot be read");
                false
            }
        }
    }
}
