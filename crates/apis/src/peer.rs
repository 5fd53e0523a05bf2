//! By what names and certificates the upstreams of an API and this server know each other.

use homeroom_client::{Error, Identity, Origin, Trust, Url, UrlError, Versions};

use crate::definition::Peer;
use crate::secret::secret;

/// What is wrong with a member of a [`Peer`].
#[derive(Debug, thiserror::Error)]
#[error("peer.{member}: {reason}")]
pub(crate) struct Unfit {
    pub(crate) member: &'static str,
    pub(crate) reason: String,
}

impl Peer {
    /// Returns the certificates by which upstreams are known, and the one that is shown to them.
    ///
    /// # Errors
    ///
    /// Which member cannot be read or used; what it says is not shown.
    pub(crate) fn trust(&self) -> Result<Trust, Unfit> {
        let unfit = |member| move |reason| Unfit { member, reason };
        let read = |member, value: &Option<String>| {
            value.as_deref().map(secret).transpose().map_err(unfit(member))
        };
        let trust = read("ca", &self.ca)?
            .map_or(Trust::Native, |authorities| Trust::Bundle(authorities.into_bytes()));
        let shown = read("certificate", &self.certificate)?.zip(read("key", &self.key)?);
        let identity = shown.map(|(certificate, key)| Identity {
            certificate: certificate.into_bytes(),
            key: key.into_bytes(),
        });
        let config = trust.read_as(identity.as_ref(), Versions::default());
        let config = config.map_err(|error| {
            let member = match error {
                Error::Identity { .. } => "certificate",
                _ => "ca",
            };
            unfit(member)(error.to_string())
        })?;
        Ok(config.map_or(Trust::Nobody, Trust::Config))
    }

    /// Returns the URL that is sent for that of an upstream, and where it is reached if that is elsewhere.
    pub(crate) fn sent(&self, upstream: &Url) -> Result<(Url, Option<Origin>), UrlError> {
        let Some(host) = &self.host else { return Ok((upstream.clone(), None)) };
        let origin = upstream.origin();
        let scheme = if origin.is_secure { "https" } else { "http" };
        let url = Url::parse(&format!("{scheme}://{host}{}", upstream.path_and_query()))?;
        Ok((url, Some(Origin::clone(origin))))
    }
}
