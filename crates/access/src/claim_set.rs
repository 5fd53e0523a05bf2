//! Claim sets: the rights of an application, claim by claim.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use homeroom_http::did_you_mean;
use serde_json::{Map, Value, json};

use crate::action::{Action, PerAction};
use crate::claim_name::ClaimName;
use crate::claims_file::Rule;
use crate::strategy::Strategy;

/// Most claims in a set.
const CLAIMS_MAX: usize = 10_000;

/// Most characters of a set's name.
pub(crate) const NAME_MAX: usize = 255;

/// A claim set.
#[derive(Debug, Clone)]
pub struct ClaimSet {
    /// Name, as it was given.
    pub name: String,
    /// Grants by claim, in lower case.
    pub(crate) grants: BTreeMap<String, Grants>,
}

/// The grants of a set on one claim.
#[derive(Debug, Clone)]
pub(crate) struct Grants {
    pub(crate) claim: ClaimName,
    /// Granted actions; strategies, where there are any, replace the defaults.
    pub(crate) actions: Rule,
}

/// The names that a definition of a claim set may use.
pub(crate) trait Vocabulary {
    /// Returns whether a claim has a place in the hierarchy.
    fn knows_claim(&self, claim: &ClaimName) -> bool;
    /// Returns the paths of all claims.
    fn claims(&self) -> Vec<String>;
    /// Returns whether a custom view can be named after this resource.
    fn is_basis(&self, name: &str) -> bool;
}

impl ClaimSet {
    /// Creates a set that grants nothing.
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned(), grants: BTreeMap::new() }
    }

    /// Returns what it grants, claim by claim. Each action is either not granted, or has a possibly
    /// empty list of strategies that replace the defaults.
    pub fn grants(&self) -> impl Iterator<Item = (&ClaimName, &PerAction<Option<Vec<Strategy>>>)> {
        self.grants.values().map(|grants| (&grants.claim, &grants.actions))
    }

    /// Returns what it grants on one claim itself.
    pub fn granted(&self, claim: &ClaimName) -> Option<&PerAction<Option<Vec<Strategy>>>> {
        self.grants.get(&claim.key()).map(|grants| &grants.actions)
    }

    /// Grants actions on a claim, replacing earlier grants on it.
    pub fn grant(&mut self, claim: ClaimName, actions: PerAction<Option<Vec<Strategy>>>) {
        self.grants.insert(claim.key(), Grants { claim, actions });
    }

    /// Removes the grants on a claim itself.
    pub fn revoke(&mut self, claim: &ClaimName) {
        self.grants.remove(&claim.key());
    }

    /// Reads the definition of a set, as `claim-sets put` takes it: an object with `resourceClaims`.
    ///
    /// # Errors
    ///
    /// Every error that was found, one sentence each, with its place.
    pub(crate) fn read(
        name: &str,
        definition: &Value,
        vocabulary: &impl Vocabulary,
    ) -> Result<Self, Vec<String>> {
        let mut reader = Reader { faults: vec![], vocabulary };
        if name.trim().is_empty() || name.chars().count() > NAME_MAX {
            reader
                .fault("name", &format!("a claim set needs a name of 1 to {NAME_MAX} characters"));
        }
        if name.chars().any(char::is_control) {
            reader.fault("name", "control characters are not allowed");
        }
        let set = Self { name: name.trim().to_owned(), grants: reader.set(definition) };
        if reader.faults.is_empty() { Ok(set) } else { Err(reader.faults) }
    }

    /// Returns the definition in the form that `claim-sets put` takes, with every URI in its
    /// written form.
    pub fn to_json(&self) -> Value {
        let claims: Vec<Value> = self
            .grants
            .values()
            .map(|grants| {
                let actions: Vec<Value> = grants
                    .actions
                    .iter()
                    .filter_map(|(action, strategies)| Some((action, strategies.as_ref()?)))
                    .map(|(action, strategies)| {
                        let mut members = Map::new();
                        members.insert("name".into(), action.name().into());
                        if !strategies.is_empty() {
                            let names: Vec<&str> = strategies.iter().map(Strategy::name).collect();
                            members.insert("authorizationStrategies".into(), names.into());
                        }
                        Value::Object(members)
                    })
                    .collect();
                json!({"claim": grants.claim.to_string(), "actions": actions})
            })
            .collect();
        json!({"name": self.name, "resourceClaims": claims})
    }
}

/// Folds a set's name: drops spaces, hyphens and case, so that equal folded names are one name.
pub(crate) fn fold_name(name: &str) -> String {
    name.chars()
        .filter(|letter| !letter.is_whitespace() && *letter != '-')
        .flat_map(char::to_lowercase)
        .collect()
}

struct Reader<'a, V> {
    faults: Vec<String>,
    vocabulary: &'a V,
}

impl<V: Vocabulary> Reader<'_, V> {
    fn fault(&mut self, place: &str, message: &str) {
        self.faults.push(format!("{place}: {message}"));
    }

    fn set(&mut self, definition: &Value) -> BTreeMap<String, Grants> {
        let mut grants = BTreeMap::new();
        let Some(claims) = definition.get("resourceClaims").and_then(Value::as_array) else {
            self.fault("resourceClaims", "expected a list of `{\"claim\": URI, \"actions\": […]}`");
            return grants;
        };
        if claims.len() > CLAIMS_MAX {
            self.fault("resourceClaims", &format!("more than {CLAIMS_MAX} claims"));
            return grants;
        }
        for (at, item) in claims.iter().enumerate() {
            let place = format!("resourceClaims[{at}]");
            let Some(claim) = self.claim(&place, item) else { continue };
            let actions = self.actions(&place, item);
            match grants.entry(claim.key()) {
                Entry::Vacant(free) => _ = free.insert(Grants { claim, actions }),
                Entry::Occupied(_) => {
                    self.fault(&place, &format!("the claim {claim} appears twice"));
                }
            }
        }
        grants
    }

    fn claim(&mut self, place: &str, item: &Value) -> Option<ClaimName> {
        for member in item.as_object().into_iter().flat_map(Map::keys) {
            if !["claim", "actions"].contains(&member.as_str()) {
                let known = did_you_mean(member, ["claim", "actions"]);
                self.fault(place, &format!("`{member}` is not a member of a claim{known}"));
            }
        }
        let Some(uri) = item.get("claim").and_then(Value::as_str) else {
            self.fault(place, "expected a text `claim`, the claim's URI");
            return None;
        };
        let name = ClaimName::read(uri);
        if let Some(name) = name.filter(|name| self.vocabulary.knows_claim(name)) {
            return Some(name);
        }
        let path = uri.rsplit("claims/").next().unwrap_or(uri);
        let claims = self.vocabulary.claims();
        let mut known = did_you_mean(path, claims.iter().map(String::as_str));
        if known.is_empty() {
            let last = path.rsplit('/').next().unwrap_or(path);
            let ending = |claim: &&str| claim.rsplit('/').next() == Some(last);
            known = did_you_mean(path, claims.iter().map(String::as_str).filter(ending));
        }
        self.fault(place, &format!("`{uri}` is not a claim of the hierarchy{known}"));
        None
    }

    fn actions(&mut self, place: &str, item: &Value) -> Rule {
        let mut rule: Rule = PerAction::default();
        let actions = item.get("actions").and_then(Value::as_array);
        let Some(actions) = actions.filter(|actions| !actions.is_empty()) else {
            self.fault(place, "expected `actions`, a list of at least one `{\"name\": ACTION}`");
            return rule;
        };
        for (at, item) in actions.iter().enumerate() {
            let place = format!("{place}.actions[{at}]");
            for member in item.as_object().into_iter().flat_map(Map::keys) {
                if !["name", "authorizationStrategies"].contains(&member.as_str()) {
                    let known = did_you_mean(member, ["name", "authorizationStrategies"]);
                    self.fault(&place, &format!("`{member}` is not a member of an action{known}"));
                }
            }
            let name = item.get("name").and_then(Value::as_str).unwrap_or_default();
            let Some(action) = Action::read(name) else {
                let names = Action::ALL.map(Action::name).join(", ");
                let known = did_you_mean(name, Action::ALL.map(Action::name));
                self.fault(&place, &format!("`{name}` is not an action ({names}){known}"));
                continue;
            };
            let strategies = self.strategies(&place, item.get("authorizationStrategies"));
            if rule.get_mut(action).replace(strategies).is_some() {
                self.fault(&place, &format!("the action {name} appears twice"));
            }
        }
        rule
    }

    fn strategies(&mut self, place: &str, list: Option<&Value>) -> Vec<Strategy> {
        let items = match list {
            None | Some(Value::Null) => return vec![],
            Some(Value::Array(items)) => items,
            Some(_) => {
                self.fault(place, "expected `authorizationStrategies` to be a list of names");
                return vec![];
            }
        };
        let mut strategies = vec![];
        for item in items {
            // Exports of other servers write `{"name": …}`.
            let name = item.as_str().or_else(|| item.get("name")?.as_str()).unwrap_or_default();
            let known = |basis: &str| self.vocabulary.is_basis(basis);
            if let Some(strategy) = Strategy::read(name, known) {
                strategies.push(strategy);
                continue;
            }
            let known = did_you_mean(name, Strategy::PUBLISHED.iter().map(Strategy::name));
            self.fault(place, &format!("`{name}` is not an authorization strategy{known}"));
        }
        strategies
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Known;

    impl Vocabulary for Known {
        fn knows_claim(&self, claim: &ClaimName) -> bool {
            self.claims().iter().any(|known| known.to_lowercase() == claim.key())
        }

        fn claims(&self) -> Vec<String> {
            ["*", "domains/people", "ed-fi/student"].map(String::from).into()
        }

        fn is_basis(&self, name: &str) -> bool {
            name == "Student"
        }
    }

    #[test]
    fn a_definition_is_read_in_both_uri_forms_and_written_in_the_first() {
        let definition = json!({"name": "Readers", "resourceClaims": [
            {"claim": "http://ed-fi.org/ods/identity/claims/student", "actions": [
                {"name": "read", "authorizationStrategies": ["NamespaceBased"]},
                {"name": "ReadChanges"},
            ]},
        ]});

        let set = ClaimSet::read("Readers", &definition, &Known).unwrap();

        assert_eq!(
            set.to_json(),
            json!({"name": "Readers", "resourceClaims": [
                {"claim": "http://ed-fi.org/identity/claims/ed-fi/student", "actions": [
                    {"name": "Read", "authorizationStrategies": ["NamespaceBased"]},
                    {"name": "ReadChanges"},
                ]},
            ]})
        );
        assert!(ClaimSet::read("Readers", &set.to_json(), &Known).is_ok());
    }

    #[test]
    fn every_fault_is_reported_with_its_place_and_a_suggestion() {
        let definition = json!({"resourceClaims": [
            {"claim": "http://ed-fi.org/identity/claims/ed-fi/studnet", "actions": [{"name": "Read"}]},
            {"claim": "ed-fi/student", "actions": [
                {"name": "Reed"},
                {"name": "Read", "authorizationStrategies": ["NamespacedBased"]},
                {"name": "Read"},
            ]},
            {"claim": "domains/people", "actions": []},
            {"claim": "ed-fi/Student", "actions": [{"name": "Read", "strategies": []}]},
            {},
        ]});

        let faults = ClaimSet::read(" ", &definition, &Known).unwrap_err();

        for (at, expected) in [
            "name: a claim set needs a name",
            "resourceClaims[0]: `http://ed-fi.org/identity/claims/ed-fi/studnet` is not a claim of the \
             hierarchy; did you mean ed-fi/student?",
            "resourceClaims[1].actions[0]: `Reed` is not an action (Create, Read, Update, Delete, \
             ReadChanges); did you mean Read",
            "resourceClaims[1].actions[1]: `NamespacedBased` is not an authorization strategy; did you \
             mean NamespaceBased",
            "resourceClaims[1].actions[2]: the action Read appears twice",
            "resourceClaims[2]: expected `actions`",
            "resourceClaims[3].actions[0]: `strategies` is not a member of an action",
            "resourceClaims[3]: the claim http://ed-fi.org/identity/claims/ed-fi/Student appears twice",
            "resourceClaims[4]: expected a text `claim`",
        ]
        .into_iter()
        .enumerate()
        {
            assert!(faults[at].starts_with(expected), "{at}: {faults:#?}");
        }
        assert_eq!(faults.len(), 9);
    }

    #[test]
    fn names_that_differ_in_blanks_hyphens_or_case_are_equal() {
        assert_eq!(fold_name("SIS-Vendor"), fold_name("sis vendor"));
        assert_ne!(fold_name("SISVendor"), fold_name("SIS_Vendor"));
    }
}
