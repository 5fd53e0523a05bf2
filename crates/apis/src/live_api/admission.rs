//! Who may make a call of a published API, and by which plan it is limited.

use std::sync::Arc;

use homeroom_access::Call;
use homeroom_client::Network;
use homeroom_http::{Kind, Problem};
use http::header::{ALLOW, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue, Method};

use super::LiveApi;
use crate::definition::Security;
use crate::limit::PlanLimit;
use crate::operations::{Scopes, are_granted};

impl LiveApi {
    /// Refuses methods that would show a caller what this server tells an upstream.
    pub(super) fn check_method(&self, call: &Call) -> Result<(), Problem> {
        if !matches!(call.method.as_str(), "TRACE" | "TRACK" | "CONNECT") {
            return Ok(());
        }
        let methods = self.methods_at(&call.path);
        let names = methods.iter().map(Method::as_str).collect::<Vec<_>>().join(", ");
        let allow = HeaderValue::try_from(names.as_str()).unwrap_or(HeaderValue::from_static(""));
        Err(Problem::of(Kind::MethodNotAllowed)
            .error(format!("{} is not allowed here; allowed: {names}.", call.method))
            .header(ALLOW, allow))
    }

    /// Refuses addresses from which the API may not be called.
    pub(super) fn check_address(&self, call: &Call) -> Result<(), Problem> {
        if self.allow.is_empty() && self.deny.is_empty() {
            return Ok(());
        }
        let is_in = |networks: &[Network]| {
            call.from.is_some_and(|from| networks.iter().any(|network| network.contains(from)))
        };
        let is_allowed = self.allow.is_empty() || is_in(&self.allow);
        if is_allowed && !is_in(&self.deny) {
            return Ok(());
        }
        Err(Problem::of(Kind::AccessDenied).detail("This API may not be called from this address."))
    }

    /// Refuses a header that is longer than this API takes.
    pub(super) fn check_header(&self, headers: &HeaderMap) -> Result<(), Problem> {
        let Some(most) = self.api.max_header else { return Ok(()) };
        let bytes: usize =
            headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
        if bytes <= most.0 {
            return Ok(());
        }
        let detail =
            format!("The request's header is larger than the {} bytes allowed here.", most.0);
        Err(Problem::of(Kind::HeadersTooLarge).detail(detail))
    }

    /// Returns the plan by which the call is limited.
    pub(super) fn check_subscription(
        &self,
        call: &Call,
        scopes: &Scopes,
    ) -> Result<Option<Arc<PlanLimit>>, Problem> {
        if self.api.security == Security::None {
            return self.plan(self.api.plan.as_deref());
        }
        if let Some(foreign) = &call.foreign {
            return if are_granted(scopes, &foreign.scopes) {
                self.plan(self.api.plan.as_deref())
            } else {
                Err(insufficient(scopes))
            };
        }
        let subscriptions = self.shared.subscriptions.load();
        let own = subscriptions.get(&call.client().key);
        let Some(own) = own.filter(|own| own.has(&self.api.name)) else {
            return Err(Problem::of(Kind::AccessDenied)
                .detail(format!("This key has not subscribed to the API {}.", self.api.name))
                .hint("Create a key for it with `homeroom keys create --apis NAME --plan PLAN`."));
        };
        if !are_granted(scopes, &own.scopes) {
            return Err(lacks(scopes, "key"));
        }
        if let Some(held_to) = &call.client().held_to {
            let both = own.scopes.iter().filter(|scope| held_to.contains(scope));
            if !are_granted(scopes, &both.cloned().collect::<Vec<_>>()) {
                return Err(insufficient(scopes));
            }
        }
        self.plan(own.plan.as_deref().or(self.api.plan.as_deref()))
    }

    /// Returns a plan by its name. One that is not there limits nothing, so it admits nothing.
    fn plan(&self, name: Option<&str>) -> Result<Option<Arc<PlanLimit>>, Problem> {
        let Some(name) = name else { return Ok(None) };
        let found = self.shared.plans.load().get(name).cloned();
        found.map(Some).ok_or_else(|| {
            Problem::of(Kind::AccessDenied)
                .detail(format!("There is no plan {name}, by which these calls would be limited."))
                .hint("Publish the plan, or give the key another with `homeroom keys subscribe`.")
        })
    }
}

/// Returns 403 for a token that was not asked for with the scopes, or not given them.
///
/// Source: RFC 6750 §3.1.
fn insufficient(scopes: &Scopes) -> Problem {
    let challenge = HeaderValue::from_static(r#"Bearer error="insufficient_scope""#);
    lacks(scopes, "token").header(WWW_AUTHENTICATE, challenge)
}

fn lacks(scopes: &Scopes, whose: &str) -> Problem {
    let asked: Vec<String> = scopes.iter().map(|list| list.join(" ")).collect();
    Problem::of(Kind::AccessDenied).detail(format!(
        "This operation asks for the scope {}, which this {whose} does not have.",
        asked.join(", or ")
    ))
}
