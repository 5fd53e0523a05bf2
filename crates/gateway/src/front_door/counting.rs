//! How often somebody may ask: keys by their names, strangers by their addresses.

use homeroom_access::ApiClient;
use homeroom_http::{Guard, Problem, Route, Timestamp};
use http::{HeaderMap, StatusCode};

use super::FrontDoor;
use crate::caller::Caller;
use crate::callers::network;
use crate::forwarded::client_address;
use crate::rate::{Guesses, RateLimit};
use crate::recognition::Sender;

impl FrontDoor {
    /// Counts a request of a recognized sender by its name, and one of a stranger by its address.
    pub(super) fn admit(
        &self,
        route: &Route<ApiClient>,
        sender: &Sender,
        caller: &Caller,
        headers: &HeaderMap,
        now: Timestamp,
    ) -> Result<(), Problem> {
        let Some(rate) = self.rate.as_ref().filter(|_| !route.is_probe) else { return Ok(()) };
        self.count(rate, sender.name(), caller, headers, now)
    }

    /// Counts a refused request: for its key if that is known and merely may not come here (403), otherwise
    /// for its address. An error of the server (5xx) counts for nobody. Returns 429 instead of the problem
    /// once the count is used up.
    pub(super) fn counted(
        &self,
        problem: Problem,
        caller: &Caller,
        headers: &HeaderMap,
        now: Timestamp,
    ) -> Problem {
        let is_known = problem.kind.status() == StatusCode::FORBIDDEN;
        if !is_known {
            caller.acts_for_its_address();
        }
        let Some(rate) = self.rate.as_ref().filter(|_| problem.kind.status().is_client_error())
        else {
            return problem;
        };
        let name = problem.named.as_ref().filter(|_| is_known).map(|named| named.key.as_str());
        self.count(rate, name, caller, headers, now).err().unwrap_or(problem)
    }

    /// Returns whether the address of a request may show secrets that nobody has proved before.
    pub(super) fn guesses(
        &self,
        route: &Route<ApiClient>,
        caller: &Caller,
        headers: &HeaderMap,
        now: Timestamp,
    ) -> Guesses {
        match self.rate.as_ref().filter(|_| matches!(route.guard, Guard::Key { .. })) {
            Some(rate) => rate.may_guess(&self.address_of(caller, headers), now),
            None => Guesses::Allowed,
        }
    }

    /// Counts a request by the name of its sender, or by its address where the sender has none.
    fn count(
        &self,
        rate: &RateLimit,
        name: Option<&str>,
        caller: &Caller,
        headers: &HeaderMap,
        now: Timestamp,
    ) -> Result<(), Problem> {
        match name {
            Some(name) => rate.admit(name, now),
            None => rate.admit(&self.address_of(caller, headers), now),
        }
    }

    /// Returns the name under which the requests of a stranger are counted.
    fn address_of(&self, caller: &Caller, headers: &HeaderMap) -> String {
        let forwarded = if self.limits.trust_forwarded { client_address(headers) } else { None };
        let address = forwarded.or(caller.from()).map(network);
        address.map_or_else(String::new, |address| address.to_string())
    }
}
