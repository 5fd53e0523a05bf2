//! What a caller has proved once, and who it is by the registry of the moment.

use std::sync::Arc;

use homeroom_http::Timestamp;

use crate::access::Access;
use crate::cache::{Cached, Entry};
use crate::client::Status;
use crate::recognized::{Proven, Recognized};

/// Why nobody is recognized by what was proved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Lapsed {
    /// This key or its secret is not valid, or not known here yet.
    Key(Box<str>),
    /// This key does not have the education organization.
    Organization(Box<str>),
    /// This key has taken the token back.
    Revoked(Box<str>),
}

impl Access {
    /// Returns the client that has shown what has this hash, verifying it only the first time.
    ///
    /// # Errors
    ///
    /// Those of `verify`, and what `lapsed` makes of a client that is no longer there.
    pub(crate) fn recognize_shown<E>(
        &self,
        shown: &blake3::Hash,
        now: Timestamp,
        verify: impl FnOnce() -> Result<Proven, E>,
        lapsed: impl FnOnce(Lapsed) -> E,
    ) -> Result<Recognized, E> {
        let generation = self.generation();
        let proven = match self.cache.get(shown, generation, now) {
            Some(Cached::Now(recognized)) => return Ok(recognized),
            Some(Cached::Before(proven)) => proven,
            None => {
                self.count_verification();
                verify()?
            }
        };
        self.resolve(proven, shown, generation, now).map_err(lapsed)
    }

    /// Returns whether a credential with this hash has been verified before.
    pub(crate) fn has_proved(&self, shown: &blake3::Hash, now: Timestamp) -> bool {
        self.cache.get(shown, self.generation(), now).is_some()
    }

    /// Finds the client of what was proved, and keeps it for this generation of the registry.
    fn resolve(
        &self,
        proven: Proven,
        shown: &blake3::Hash,
        generation: u64,
        now: Timestamp,
    ) -> Result<Recognized, Lapsed> {
        let found = self.look_up(|registry| {
            let registered = registry.clients.get(&*proven.key)?;
            let mut all = registered.shown();
            let secret = all.find(|kept| *kept.id == *proven.secret && kept.is_live(now))?;
            Some((Arc::clone(&registered.client), secret.valid_until, registry.version))
        });
        let found = found.filter(|(client, ..)| client.status == Status::Active);
        let Some((client, until, version)) = found else {
            self.cache.remove(shown);
            return Err(Lapsed::Key(proven.key));
        };
        let Some(client) = proven.scope.confine(client) else {
            return Err(Lapsed::Organization(proven.key));
        };
        // It also ends with its secret, even if the secret was given its end afterwards.
        let expires = until.map_or(proven.ends, |until| proven.ends.min(until));
        let recognized = Recognized { client, version };
        let entry = Entry { recognized: recognized.clone(), proven, expires, generation };
        if !self.revocations.has(shown) {
            self.cache.insert(shown, entry, now);
            // It may have been taken back in between.
            if !self.revocations.has(shown) {
                return Ok(recognized);
            }
        }
        self.cache.remove(shown);
        Err(Lapsed::Revoked(recognized.client.key.as_str().into()))
    }
}
