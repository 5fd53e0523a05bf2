//! How a client works.

use std::time::Duration;

use crate::address::AddressPolicy;
use crate::redirect::Redirects;
use crate::resolver::Resolver;
use crate::retry::Retries;
use crate::times::Times;
use crate::tls::{Trust, Versions};

/// Everything that a [`Client`](crate::Client) can be told. The default suits a URL that somebody
/// else may have chosen: public addresses only, no redirect, no retry.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// Which addresses it connects to.
    pub addresses: AddressPolicy,
    /// The time-out of each phase.
    pub times: Times,
    /// When it sends a request again.
    pub retries: Retries,
    /// Whether it follows redirects.
    pub redirects: Redirects,
    /// The limits of its connections.
    pub pool: Pool,
    /// Which certificates it trusts.
    pub trust: Trust,
    /// Which versions of HTTP it offers.
    pub versions: Versions,
    /// Where the addresses of a host come from.
    pub resolver: Resolver,
}

/// The limits of a client's connections.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pool {
    /// The most requests to one origin at a time, until the answer's body has been read or dropped.
    /// Further ones wait, at most [`Times::wait`].
    pub requests_per_origin: usize,
    /// The most requests at a time to all origins together. Further ones wait in the same way.
    pub requests: usize,
    /// The most connections to one origin that are kept open without a request.
    pub idle_per_origin: usize,
    /// The longest time that a connection is kept open without a request, at most a day.
    pub idle: Duration,
}

impl Default for Pool {
    fn default() -> Self {
        Self {
            requests_per_origin: 64,
            requests: 512,
            idle_per_origin: 8,
            idle: Duration::from_mins(1),
        }
    }
}

impl Settings {
    /// Settings for a server that the operator has named: any address, the certificates that the system
    /// trusts, and the same time for each phase and for all of them.
    pub fn for_operator(time: Duration) -> Self {
        Self { addresses: AddressPolicy::Trusted, times: Times::all(time), ..Self::default() }
    }

    /// Settings for a server of this machine or this test, which uses no TLS. They are those of
    /// [`Settings::for_operator`], but no certificate is trusted: an https URL is an [`Error::Trust`].
    ///
    /// [`Error::Trust`]: crate::Error::Trust
    pub fn trusted(time: Duration) -> Self {
        Self { trust: Trust::Nobody, ..Self::for_operator(time) }
    }
}
