//! Reads view definitions against a model.

mod find;

use homeroom_http::did_you_mean;
use homeroom_model::{Model, Resource, ResourceKind, Scalar, Target};
use serde_json::{Map, Value};

use super::{CustomView, MemberIs, MemberRule, ViewRule, leads, words};
use crate::strategy::{NAME_MAX, Strategy};
use find::{find, same};

/// Most rules in a definition.
const RULES_MAX: usize = 100;
/// Deepest nesting of rules.
const DEPTH_MAX: usize = 8;
/// Most values that a member can be compared with.
const VALUES_MAX: usize = 200;
/// Most bytes of a text value.
const TEXT_MAX: usize = 1_000;

const MEMBERS: [&str; 3] = ["name", "basis", "where"];

impl CustomView {
    /// Reads a definition, as `strategies put` takes it: an object with `where`.
    ///
    /// # Errors
    ///
    /// Every error that was found, one sentence each, with its place.
    pub(crate) fn read(name: &str, definition: &Value, model: &Model) -> Result<Self, Vec<String>> {
        let mut reader = DefinitionReader { faults: vec![], model, rules: 0 };
        let basis = reader.basis(name, definition);
        if let Some(members) = definition.as_object() {
            reader.known("definition", members, &MEMBERS);
        }
        let Some(basis) = basis else { return Err(reader.faults) };
        let owner = match basis {
            Target::Resource(id) => Owner::Resource(model.resource(id)),
            Target::Abstract(_) => Owner::Abstract(model.target_name(basis)),
        };
        let rule = match definition.get("where") {
            Some(rule) => reader.rule("where", rule, owner, Some(basis), 0),
            None => {
                reader.fault("where", "expected an object that says which documents the view has");
                None
            }
        };
        let (Some(rule), true) = (rule, reader.faults.is_empty()) else {
            return Err(reader.faults);
        };
        let word = model.target_name(basis);
        Ok(Self {
            name: name.to_owned(),
            basis,
            basis_name: word.to_owned(),
            asks: words::asks(model, word, &rule),
            hint: words::hint(model, word, &rule),
            leads: leads(model, basis),
            rule,
            definition: definition.clone(),
        })
    }
}

/// The kind of document whose members a rule tests.
#[derive(Clone, Copy)]
enum Owner<'m> {
    Resource(&'m Resource),
    /// Documents of several kinds, whose members have different names.
    Abstract(&'m str),
}

struct DefinitionReader<'m> {
    faults: Vec<String>,
    model: &'m Model,
    rules: usize,
}

impl<'m> DefinitionReader<'m> {
    fn fault(&mut self, place: &str, message: &str) {
        self.faults.push(format!("{place}: {message}"));
    }

    fn known(&mut self, place: &str, members: &Map<String, Value>, known: &[&str]) {
        for member in members.keys() {
            if !known.contains(&member.as_str()) {
                let near = did_you_mean(member, known.iter().copied());
                self.fault(place, &format!("`{member}` is not one of {}{near}", known.join(", ")));
            }
        }
    }

    /// Returns the view's basis, from its name and, where that is ambiguous, from `basis`.
    fn basis(&mut self, name: &str, definition: &Value) -> Option<Target> {
        if name.len() > NAME_MAX || !name.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            let message = format!("expected up to {NAME_MAX} letters and digits");
            self.fault("name", &message);
            return None;
        }
        if Strategy::PUBLISHED.iter().any(|strategy| strategy.name().eq_ignore_ascii_case(name)) {
            self.fault("name", &format!("`{name}` is a published strategy; choose another name"));
            return None;
        }
        let model = self.model;
        let begins = name.match_indices("With").filter(|(at, with)| at + with.len() < name.len());
        let mut begins = begins.map(|(at, _)| &name[..at]);
        let basis = match definition.get("basis") {
            None => begins.find_map(|word| model.by_name(word)),
            Some(given) => {
                let given = given.as_str().unwrap_or_default();
                let found = model.by_name(given);
                let found = found.or_else(|| Some(Target::Resource(model.named(given)?.id)));
                let Some(found) = found else {
                    let names = model.resources.iter().map(|resource| resource.name.as_str());
                    let near = did_you_mean(given, names);
                    self.fault("basis", &format!("`{given}` is not a resource of the model{near}"));
                    return None;
                };
                let word = model.target_name(found);
                if !begins.any(|begin| begin == word) {
                    self.fault("basis", &format!("the name must begin with `{word}With`"));
                    return None;
                }
                Some(found)
            }
        };
        let Some(basis) = basis else {
            let word = name.split("With").next().unwrap_or(name);
            let names = model.resources.iter().map(|resource| resource.name.as_str());
            let near = did_you_mean(word, names);
            let message = format!(
                "`{name}` does not begin with the name of a resource followed by With, as in \
                 StudentWithText{near}"
            );
            self.fault("name", &message);
            return None;
        };
        if let Target::Resource(id) = basis
            && model.resource(id).kind == ResourceKind::Descriptor
        {
            self.fault("basis", "a view cannot be based on a descriptor");
            return None;
        }
        Some(basis)
    }

    /// Reads a rule about documents of `owner`. With `basis`, the rule may ask which documents
    /// refer to them.
    fn rule(
        &mut self,
        place: &str,
        value: &Value,
        owner: Owner<'m>,
        basis: Option<Target>,
        depth: usize,
    ) -> Option<ViewRule> {
        self.rules += 1;
        if self.rules > RULES_MAX || depth > DEPTH_MAX {
            if self.rules == RULES_MAX + 1 || depth > DEPTH_MAX {
                let limits =
                    format!("more than {RULES_MAX} rules, or rules nested deeper than {DEPTH_MAX}");
                self.fault(place, &limits);
            }
            return None;
        }
        let Some(members) = value.as_object() else {
            self.fault(place, "expected an object: `all`, `any`, `member` or `exists`");
            return None;
        };
        let kinds = ["all", "any", "member", "exists"];
        let found: Vec<&str> =
            kinds.into_iter().filter(|kind| members.contains_key(*kind)).collect();
        match found[..] {
            [kind @ ("all" | "any")] => {
                self.known(place, members, &[kind]);
                let rules = members[kind].as_array().filter(|rules| !rules.is_empty());
                let Some(rules) = rules else {
                    self.fault(&format!("{place}.{kind}"), "expected a list of at least one rule");
                    return None;
                };
                let mut read = vec![];
                for (at, rule) in rules.iter().enumerate() {
                    let place = format!("{place}.{kind}[{at}]");
                    read.push(self.rule(&place, rule, owner, basis, depth + 1));
                }
                let read: Vec<ViewRule> = read.into_iter().collect::<Option<_>>()?;
                Some(if kind == "all" { ViewRule::All(read) } else { ViewRule::Any(read) })
            }
            ["member"] => self.member(place, members, owner).map(ViewRule::Member),
            ["exists"] => self.exists(place, members, basis, depth),
            _ => {
                self.fault(place, "expected one of `all`, `any`, `member`, `exists`");
                None
            }
        }
    }

    fn member(
        &mut self,
        place: &str,
        members: &Map<String, Value>,
        owner: Owner<'m>,
    ) -> Option<MemberRule> {
        self.known(place, members, &["member", "in", "present"]);
        let path = members["member"].as_str().unwrap_or_default();
        let resource = match owner {
            Owner::Resource(resource) => resource,
            Owner::Abstract(name) => {
                let message = format!(
                    "the subclasses of {name} name their members differently; use `exists`, or \
                     choose one subclass as basis"
                );
                self.fault(place, &message);
                return None;
            }
        };
        let found = match find(resource, path) {
            Ok(found) => found,
            Err(message) => {
                self.fault(&format!("{place}.member"), &message);
                return None;
            }
        };
        let is = match (members.get("in"), members.get("present")) {
            (Some(values), None) => self.values(&format!("{place}.in"), values, found.scalar)?,
            (None, Some(Value::Bool(true))) => MemberIs::Present,
            (None, Some(Value::Bool(false))) if found.lists.is_empty() => MemberIs::Absent,
            (None, Some(Value::Bool(false))) => {
                let message =
                    "an absent member cannot be tested inside a list; name the list itself";
                self.fault(place, message);
                return None;
            }
            _ => {
                self.fault(place, "expected either `in`, a list, or `present`, true or false");
                return None;
            }
        };
        Some(MemberRule { lists: found.lists, path: found.path, is })
    }

    /// Reads the values that a member is compared with.
    fn values(&mut self, place: &str, values: &Value, scalar: Option<Scalar>) -> Option<MemberIs> {
        let Some(scalar) = scalar else {
            self.fault(place, "the member holds no single value; ask whether it is `present`");
            return None;
        };
        let values = values.as_array().filter(|v| (1..=VALUES_MAX).contains(&v.len()));
        let Some(values) = values else {
            self.fault(place, &format!("expected a list of 1 to {VALUES_MAX} values"));
            return None;
        };
        let texts = |is_good: &dyn Fn(&str) -> bool| -> Option<Vec<String>> {
            let text = |value: &Value| {
                let text = value.as_str()?;
                (text.len() <= TEXT_MAX && is_good(text)).then(|| text.to_owned())
            };
            values.iter().map(text).collect()
        };
        let (what, read) = match scalar {
            Scalar::Text { .. } => ("texts", texts(&|_| true).map(MemberIs::Text)),
            Scalar::Date => ("dates, `2026-08-01`", texts(&is_date).map(MemberIs::Text)),
            Scalar::DateTime => (
                "moments in UTC, `2026-08-01T08:00:00Z`",
                texts(&|text| text.ends_with('Z') && text.get(..10).is_some_and(is_date))
                    .map(MemberIs::Text),
            ),
            Scalar::Time => (
                "times, `08:00:00`",
                texts(&|text| text.len() >= 8 && text.as_bytes()[2] == b':').map(MemberIs::Text),
            ),
            Scalar::Descriptor(_) => (
                "descriptors, `uri://namespace#code`",
                texts(&|text| text.contains('#')).map(MemberIs::Descriptor),
            ),
            Scalar::Integer { .. } => (
                "whole numbers",
                values.iter().map(Value::as_i64).collect::<Option<_>>().map(MemberIs::Integer),
            ),
            Scalar::Decimal { .. } => (
                "numbers",
                values
                    .iter()
                    .map(|value| value.as_number().cloned())
                    .collect::<Option<_>>()
                    .map(MemberIs::Decimal),
            ),
            Scalar::Boolean => (
                "one of true and false",
                values
                    .first()
                    .and_then(Value::as_bool)
                    .filter(|_| values.len() == 1)
                    .map(MemberIs::Boolean),
            ),
        };
        if read.is_none() {
            self.fault(place, &format!("expected {what}"));
        }
        read
    }

    fn exists(
        &mut self,
        place: &str,
        members: &Map<String, Value>,
        basis: Option<Target>,
        depth: usize,
    ) -> Option<ViewRule> {
        self.known(place, members, &["exists", "by", "where"]);
        let Some(basis) = basis else {
            self.fault(place, "`exists` cannot be nested in `exists`");
            return None;
        };
        let model = self.model;
        let given = members["exists"].as_str().unwrap_or_default();
        let Some(resource) = model.named(given) else {
            let names = model.resources.iter().map(|resource| resource.endpoint.as_str());
            let near = did_you_mean(given.rsplit('/').next().unwrap_or(given), names);
            let message = format!("`{given}` is not a resource of the model{near}");
            self.fault(&format!("{place}.exists"), &message);
            return None;
        };
        let same = match same(model, resource, basis, members.get("by")) {
            Ok(same) => same,
            Err(message) => {
                self.fault(place, &message);
                return None;
            }
        };
        let rule = match members.get("where") {
            Some(rule) => {
                let owner = Owner::Resource(resource);
                self.rule(&format!("{place}.where"), rule, owner, None, depth + 1)?
            }
            None => ViewRule::All(vec![]),
        };
        Some(ViewRule::Exists { resource: resource.id, same, rule: Box::new(rule) })
    }
}

fn is_date(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() == 10
        && bytes.iter().enumerate().all(|(at, byte)| match at {
            4 | 7 => *byte == b'-',
            _ => byte.is_ascii_digit(),
        })
}

#[cfg(test)]
mod tests;
