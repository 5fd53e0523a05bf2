//! The settings of a client.

use std::time::Duration;

use crate::address::AddressPolicy;
use crate::connections::Connections;
use crate::redirect::Redirects;
use crate::resolver::Resolver;
use crate::retry::Retries;
use crate::times::Times;
use crate::tls::{Identity, Trust, Versions};
use crate::url::Origin;

/// The settings of a [`Client`](crate::Client). The default suits URLs that somebody else may have
/// chosen: public addresses only, no redirects, no retries.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// The addresses that it may connect to.
    pub addresses: AddressPolicy,
    /// The time-out of each phase.
    pub times: Times,
    /// The policy for sending a request again.
    pub retries: Retries,
    /// Whether it follows redirects.
    pub redirects: Redirects,
    /// The limits of its connections.
    pub pool: Pool,
    /// The certificates that it trusts.
    pub trust: Trust,
    /// The certificate that it shows to servers which ask for one.
    pub identity: Option<Identity>,
    /// The server that it connects to instead of the one that URLs name. The URL's host is still sent, and
    /// certificates must name that host.
    pub reaches: Option<Origin>,
    /// The versions of HTTP that it offers.
    pub versions: Versions,
    /// The source of addresses for host names.
    pub resolver: Resolver,
    /// Where its connections are counted.
    pub connections: Connections,
}

/// The limits of a client's connections.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pool {
    /// The most requests in progress to one origin; a request is in progress until its answer's body
    /// has been read or dropped. Further ones wait for at most [`Times::wait`].
    pub requests_per_origin: usize,
    /// The most requests in progress to all origins together. Further ones wait in the same way. Where both are
    /// [`usize::MAX`], requests are not counted at all.
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
    /// Returns whether a request is sent once, whatever becomes of it.
    pub(crate) fn sends_once(&self) -> bool {
        self.retries.times == 0 && self.redirects == Redirects::Returned
    }

    /// Returns settings for a server that the operator has named: any address, the certificates
    /// that the system trusts, and the same time for each phase and for all of them.
    pub fn for_operator(time: Duration) -> Self {
        Self { addresses: AddressPolicy::Trusted, times: Times::all(time), ..Self::default() }
    }

    /// Returns settings for a server on this machine or in a test, which uses no TLS. They are those of
    /// [`Settings::for_operator`], but no certificate is trusted: an https URL is an [`Error::Trust`].
    ///
    /// [`Error::Trust`]: crate::Error::Trust
    pub fn trusted(time: Duration) -> Self {
        Self { trust: Trust::Nobody, ..Self::for_operator(time) }
    }
}
