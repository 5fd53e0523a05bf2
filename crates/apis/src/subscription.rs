//! What a key may call of the published APIs, and by which plan.

use homeroom_store::Value;
use serde::{Deserialize, Serialize};

use crate::error::{ApisError, NAMED_MAX};
use crate::index::Index;

/// Most APIs and scopes of a key.
const NAMES_MAX: usize = 1_000;

/// What a key may call.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct Subscription {
    /// The plan that limits it; without one, each API's own.
    #[serde(default)]
    pub plan: Option<String>,
    /// Names of APIs; `NAME*` for all whose names begin so, such as the versions of one, and `*` for all.
    pub apis: Vec<String>,
    /// The scopes that it has for operations.
    #[serde(default)]
    pub scopes: Vec<String>,
}

impl Subscription {
    /// Returns whether it covers an API.
    pub(crate) fn has(&self, api: &str) -> bool {
        self.apis.iter().any(|name| covers(name, api))
    }

    /// Checks that its plan and its APIs are published.
    ///
    /// # Errors
    ///
    /// [`ApisError::Subscription`] says what is missing, or wrong with it as such.
    pub(crate) fn check(&self, published: &Index) -> Result<(), ApisError> {
        if let Some(fault) = self.fault() {
            return Err(ApisError::Subscription(fault));
        }
        let list =
            |names: Vec<&str>| if names.is_empty() { "none".into() } else { names.join(", ") };
        if let Some(plan) = &self.plan
            && published.plan(plan).is_none()
        {
            let known = list(published.plans().map(|own| own.item.name.as_str()).collect());
            return Err(ApisError::Subscription(format!(
                "there is no plan {plan}; plans: {known}"
            )));
        }
        let is_unknown = |name: &&String| {
            *name != "*" && !published.apis().any(|own| covers(name, &own.item.name))
        };
        if let Some(name) = self.apis.iter().find(is_unknown) {
            let known = published.apis().map(|own| own.item.name.as_str()).take(NAMED_MAX);
            let known = list(known.collect());
            return Err(ApisError::Subscription(format!("there is no API {name}; APIs: {known}")));
        }
        Ok(())
    }

    /// Says what is wrong with it as such, whatever is published.
    fn fault(&self) -> Option<String> {
        let mut names = self.apis.iter().chain(&self.scopes).chain(&self.plan);
        if self.apis.is_empty() {
            return Some("name the APIs that the key may call: --apis NAME,NAME, or *".into());
        }
        if self.apis.len() + self.scopes.len() > NAMES_MAX {
            return Some(format!("a key has at most {NAMES_MAX} APIs and scopes"));
        }
        let is_wrong = |name: &String| name.is_empty() || name.len() > 255;
        names.any(is_wrong).then(|| "a name has 1 to 255 bytes".to_owned())
    }

    /// Reads a row of [`crate::sql::SUBSCRIPTIONS`].
    pub(crate) fn read(row: &[Value]) -> Option<(String, Self)> {
        let [key, plan, apis, scopes] = row else { return None };
        let list = |value: &Value| serde_json::from_str(value.as_text()?).ok();
        let plan = plan.as_text().map(str::to_owned);
        Some((key.as_text()?.to_owned(), Self { plan, apis: list(apis)?, scopes: list(scopes)? }))
    }

    /// Returns the arguments of [`crate::sql::SUBSCRIBE`] for a version.
    pub(crate) fn arguments(&self, key: &str, version: i64) -> Vec<Value> {
        let list = |names: &[String]| Value::Text(serde_json::Value::from(names).to_string());
        let (apis, scopes) = (list(&self.apis), list(&self.scopes));
        vec![key.into(), self.plan.clone().into(), apis, scopes, version.into()]
    }
}

/// Returns whether a name of a subscription is that of an API, or its beginning with a `*`.
fn covers(name: &str, api: &str) -> bool {
    name.strip_suffix('*').map_or(name == api, |begin| api.starts_with(begin))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_a_star_is_for_all_that_begin_so() {
        let has = |name: &str, api: &str| {
            Subscription { apis: vec![name.into()], ..Subscription::default() }.has(api)
        };

        assert!(has("echo", "echo") && !has("echo", "echo-2"));
        assert!(has("echo-*", "echo-1") && has("echo-*", "echo-2") && !has("echo-*", "echo"));
        assert!(has("*", "anything"));
    }
}
