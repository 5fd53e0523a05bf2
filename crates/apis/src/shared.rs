//! What all published APIs share.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use arc_swap::ArcSwap;
use homeroom_gateway::Gates;
use homeroom_http::{RequestBody, Response};
use http::request;
use tokio::sync::watch;

use crate::changing::Changing;
use crate::issuer::KeySets;
use crate::limit::PlanLimit;
use crate::subscription::Subscription;
use crate::upstream::Clients;

/// The limits of what all published APIs share.
#[derive(Debug, Clone)]
pub struct ApisLimits {
    /// Those of the calls to upstreams.
    pub gates: Gates,
    /// Most requests that wait for the keys of issuers.
    pub issuer_keys: u32,
    /// Most tokens of an issuer that are remembered as checked.
    pub issuer_tokens: usize,
    /// Most long bodies that are changed at a time; [`None`] for half of the cores.
    pub transforms: Option<usize>,
    /// Most bytes of these.
    pub transform_bytes: u64,
}

impl Default for ApisLimits {
    fn default() -> Self {
        Self {
            gates: Gates::default(),
            issuer_keys: 1_024,
            issuer_tokens: 10_000,
            transforms: None,
            transform_bytes: 192 << 20,
        }
    }
}

/// Answers a request within this server.
pub type Local = Arc<
    dyn Fn(request::Parts, RequestBody) -> Pin<Box<dyn Future<Output = Response> + Send>>
        + Send
        + Sync,
>;

/// What keys subscribe to, by key.
pub(crate) type Subscriptions = ArcSwap<HashMap<String, Arc<Subscription>>>;

/// What all published APIs share.
pub(crate) struct Shared {
    pub(crate) subscriptions: Subscriptions,
    pub(crate) plans: ArcSwap<HashMap<String, Arc<PlanLimit>>>,
    pub(crate) clients: Clients,
    pub(crate) gates: Gates,
    pub(crate) changing: Changing,
    pub(crate) key_sets: KeySets,
    /// How many APIs cannot be served.
    pub(crate) unserved: AtomicU64,
    /// Connections that have changed their protocol each have a receiver.
    pub(crate) upgraded: watch::Sender<()>,
}

impl Shared {
    /// Returns what APIs share of which none is served yet.
    pub(crate) fn new(limits: ApisLimits) -> Self {
        Self {
            subscriptions: ArcSwap::default(),
            plans: ArcSwap::default(),
            clients: Clients::default(),
            gates: limits.gates,
            changing: Changing::new(limits.transforms, limits.transform_bytes),
            key_sets: KeySets::new(limits.issuer_keys.into(), limits.issuer_tokens),
            unserved: AtomicU64::new(0),
            upgraded: watch::Sender::new(()),
        }
    }
}
