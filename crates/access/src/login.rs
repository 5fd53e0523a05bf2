//! Logins that are refused: counted, and written into the audit log.

use std::net::IpAddr;
use std::sync::atomic::Ordering;

use homeroom_http::{Credential, Named, Problem, Response, Timestamp};

use crate::access::Access;
use crate::audit::AUDIT;
use crate::basic;
use crate::client::Call;
use crate::credentials::{Chosen, Credentials};
use crate::recognize::bearer_token;

/// What is known about a login that was refused.
#[derive(Debug, Clone, Copy)]
pub struct RefusedLogin<'a> {
    /// Why, in words of the server.
    pub reason: &'a str,
    /// The route of the request.
    pub route: &'a str,
    /// The caller's address.
    pub from: Option<IpAddr>,
    /// Id of the request.
    pub request_id: &'a str,
    /// The id to correlate by.
    pub correlation_id: &'a str,
    /// When it arrived.
    pub now: Timestamp,
}

impl<'a> RefusedLogin<'a> {
    /// Returns what is known about a request that reached a handler.
    pub(crate) fn of(call: &'a Call, route: &'a str, reason: &'a str) -> Self {
        let (request_id, correlation_id) = (&*call.request_id, &*call.correlation_id);
        Self { reason, route, from: call.from, request_id, correlation_id, now: call.now }
    }
}

impl Access {
    /// Returns how many requests for a token were refused.
    pub fn tokens_refused(&self) -> u64 {
        self.refused_logins.tokens.load(Ordering::Relaxed)
    }

    /// Returns how many requests were refused because of the token or key that they showed.
    pub fn credentials_refused(&self) -> u64 {
        self.refused_logins.requests.load(Ordering::Relaxed)
    }

    /// Counts a refused request for a token and writes an entry about it.
    pub(crate) fn refused_token(&self, login: &RefusedLogin<'_>, key: Option<&str>) {
        self.refused_logins.tokens.fetch_add(1, Ordering::Relaxed);
        if let Some(left_out) = self.refused_logins.admit(login.now) {
            self.write_refused(login, key, left_out);
        }
    }

    /// Counts a request whose credentials were not accepted and writes an entry about it.
    pub fn refused_credentials(
        &self,
        login: &RefusedLogin<'_>,
        by: &[Credential],
        credentials: &Credentials,
    ) {
        self.refused_logins.requests.fetch_add(1, Ordering::Relaxed);
        if let Some(left_out) = self.refused_logins.admit(login.now) {
            let key = self.named_by(by, credentials);
            self.write_refused(login, key.as_deref(), left_out);
        }
    }

    /// Returns the key that credentials name, right or wrong.
    pub(crate) fn named_by(&self, by: &[Credential], credentials: &Credentials) -> Option<String> {
        match credentials.chosen(by) {
            Chosen::Basic(header) => basic::key_of(header),
            Chosen::ApiKey(value) => Some(value.trim().split_once('.')?.0.to_owned()),
            Chosen::Token(header) => {
                let token = bearer_token(Some(header)).ok()?;
                Some(self.tokens.read(token)?.sub)
            }
            Chosen::Certificate(shown) => {
                self.look_up(|registry| registry.key_of(shown).map(str::to_owned))
            }
            Chosen::None => None,
        }
    }

    /// Returns the client of a key as the log of requests names it; [`None`] if there is no such key:
    /// people also send secrets in its place.
    pub(crate) fn named(&self, key: &str) -> Option<Named> {
        self.look_up(|registry| {
            let client = &registry.clients.get(key)?.client;
            Some(Named { key: client.key.clone(), client: client.application.clone() })
        })
    }

    /// Returns an answer about a key, which names its client to the log of requests.
    pub(crate) fn naming(
        &self,
        key: &str,
        mut answer: Result<Response, Problem>,
    ) -> Result<Response, Problem> {
        if let Some(named) = self.named(key) {
            match &mut answer {
                Ok(response) => _ = response.extensions_mut().insert(named),
                Err(problem) => problem.named = Some(named),
            }
        }
        answer
    }

    /// A key is named only if there is one: people also send secrets in its place.
    fn write_refused(&self, login: &RefusedLogin<'_>, key: Option<&str>, left_out: u64) {
        let key = key.filter(|key| self.look_up(|registry| registry.clients.contains_key(*key)));
        tracing::info!(
            target: AUDIT,
            action = "login.refused",
            outcome = "refused",
            by = key.map_or_else(|| "unknown".to_owned(), |key| format!("key {key}")),
            from = login.from.map(display),
            key,
            reason = login.reason,
            route = login.route,
            left_out = (left_out > 0).then_some(left_out),
            request_id = login.request_id,
            correlation_id = login.correlation_id,
            "audit"
        );
    }
}
