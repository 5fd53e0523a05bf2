//! Definitions of views, read against a model.

use homeroom_model::{
    Model, Property, PropertyKind, Reference, Resource, ResourceKind, Scalar, SubjectOf, Target,
};
use serde_json::{Map, Value};

use super::{CustomView, MemberIs, MemberRule, ViewRule, leads, words};
use crate::nearest::did_you_mean;
use crate::strategy::{NAME_MAX, Strategy};

/// Most rules in a definition.
const RULES_MAX: usize = 100;
/// Deepest nesting of rules.
const DEPTH_MAX: usize = 8;
/// Most values that a member is compared with.
const VALUES_MAX: usize = 200;
/// Longest text of a value.
const TEXT_MAX: usize = 1_000;

const MEMBERS: [&str; 3] = ["name", "basis", "where"];

impl CustomView {
    /// Reads a definition, as `strategies put` takes it: an object with `where`.
    ///
    /// # Errors
    ///
    /// Every fault that was found, one sentence each, with its place.
    pub(crate) fn read(name: &str, definition: &Value, model: &Model) -> Result<Self, Vec<String>> {
        let mut reader = Reader { faults: vec![], model, rules: 0 };
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

/// Whose members a rule is about.
#[derive(Clone, Copy)]
enum Owner<'m> {
    Resource(&'m Resource),
    /// Documents of several kinds, whose members have different names.
    Abstract(&'m str),
}

struct Reader<'m> {
    faults: Vec<String>,
    model: &'m Model,
    rules: usize,
}

impl<'m> Reader<'m> {
    fn fault(&mut self, place: &str, message: &str) {
        self.faults.push(format!("{place}: {message}"));
    }

    fn known(&mut self, place: &str, members: &Map<String, Value>, known: &[&str]) {
        for member in members.keys() {
            if !known.contains(&member.as_str()) {
                let near = did_you_mean(member, known.iter().copied());
                self.fault(place, &format!("`{member}` is none of {}{near}", known.join(", ")));
            }
        }
    }

    /// What the view is of, by its name and, where that could be several, by `basis`.
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
                    self.fault("basis", &format!("`{given}` is no resource of the model{near}"));
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
                "`{name}` does not begin with the name of a resource and With, as in \
                 StudentWithText{near}"
            );
            self.fault("name", &message);
            return None;
        };
        if let Target::Resource(id) = basis
            && model.resource(id).kind == ResourceKind::Descriptor
        {
            self.fault("basis", "a descriptor cannot be what a view is of");
            return None;
        }
        Some(basis)
    }

    /// A rule about documents of `owner`; with `basis` it may ask who refers to them.
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
                let limits = format!("more than {RULES_MAX} rules, or {DEPTH_MAX} in each other");
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
                    "documents of the kinds of {name} name their members differently; ask for \
                     `exists`, or take one kind as basis"
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
                let message = "what is absent cannot be asked within a list; name the list itself";
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

    /// The values that a member is compared with.
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
            self.fault(place, "`exists` cannot stand within `exists`");
            return None;
        };
        let model = self.model;
        let given = members["exists"].as_str().unwrap_or_default();
        let Some(resource) = model.named(given) else {
            let names = model.resources.iter().map(|resource| resource.endpoint.as_str());
            let near = did_you_mean(given.rsplit('/').next().unwrap_or(given), names);
            let message = format!("`{given}` is no resource of the model{near}");
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

/// A member of a resource's documents.
struct Found {
    lists: Vec<String>,
    path: String,
    scalar: Option<Scalar>,
}

/// Finds `a.b.c` among a resource's members; lists stand for each of their items.
fn find(resource: &Resource, path: &str) -> Result<Found, String> {
    let mut found = Found { lists: vec![], path: "$".into(), scalar: None };
    let mut inner = Some(Inner::Properties(&resource.properties));
    let steps: Vec<&str> = path.split('.').collect();
    for (at, step) in steps.iter().enumerate() {
        let is_last = at + 1 == steps.len();
        let unknown = |names: Vec<&str>| {
            let near = did_you_mean(step, names);
            format!("`{step}` is no member there ('{path}' of {}){near}", resource.name)
        };
        match inner {
            Some(Inner::Properties(properties)) => {
                let names = || properties.iter().map(|property| property.name.as_str()).collect();
                let property = properties.iter().find(|property| property.name == *step);
                let property = property.ok_or_else(|| unknown(names()))?;
                found.path = format!("{}.{step}", found.path);
                inner = match &property.kind {
                    PropertyKind::Scalar(scalar) => {
                        found.scalar = Some(*scalar);
                        None
                    }
                    PropertyKind::Reference(reference) => Some(Inner::Parts(reference)),
                    PropertyKind::Object(inner) => Some(Inner::Properties(inner)),
                    PropertyKind::List(inner) => {
                        if !is_last {
                            found.lists.push(std::mem::replace(&mut found.path, "$".into()));
                        }
                        Some(Inner::Properties(inner))
                    }
                };
            }
            Some(Inner::Parts(reference)) => {
                let names = || reference.parts.iter().map(|part| part.name.as_str()).collect();
                let part = reference.parts.iter().find(|part| part.name == *step);
                let part = part.ok_or_else(|| unknown(names()))?;
                found.path = format!("{}.{step}", found.path);
                found.scalar = Some(part.scalar);
                inner = None;
            }
            None => return Err(unknown(vec![])),
        }
    }
    Ok(found)
}

enum Inner<'m> {
    Properties(&'m [Property]),
    Parts(&'m Reference),
}

/// The values by which documents of `resource` say that they refer to one of `basis` from the place
/// that is meant; none where they do from no other.
fn same(
    model: &Model,
    resource: &Resource,
    basis: Target,
    by: Option<&Value>,
) -> Result<Vec<(String, String, bool)>, String> {
    let basis_name = model.target_name(basis);
    let roots: Vec<(usize, &Reference)> = resource
        .properties
        .iter()
        .enumerate()
        .filter_map(|(at, property)| match &property.kind {
            PropertyKind::Reference(to) if is_related(model, to.target, basis) => Some((at, to)),
            _ => None,
        })
        .collect();
    let sites = sites(model, &resource.properties, basis);
    let names: Vec<&str> =
        roots.iter().map(|(at, _)| resource.properties[*at].name.as_str()).collect();
    let meant = match by {
        Some(by) => {
            let by = by.as_str().unwrap_or_default();
            let at = names.iter().position(|name| *name == by);
            Some(at.ok_or_else(|| {
                let list = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
                format!(
                    "`by`: `{by}` is no reference of {} to a {basis_name}; there is {list}",
                    resource.name
                )
            })?)
        }
        None if sites == 0 => {
            return Err(format!("a {} does not refer to a {basis_name}", resource.name));
        }
        None if sites == 1 => None,
        None => match &roots[..] {
            [_] => Some(0),
            _ => {
                return Err(format!(
                    "a {} refers to a {basis_name} from several places; say which with `by`: {}",
                    resource.name,
                    names.join(", ")
                ));
            }
        },
    };
    let about = resource.subjects.iter().any(|subject| {
        let is_of_basis = match subject.of {
            SubjectOf::Person(person) => basis == Target::Resource(person),
            SubjectOf::Organization(base) => is_related(model, Target::Abstract(base), basis),
            SubjectOf::Other => false,
        };
        is_of_basis && roots.iter().all(|(at, _)| subject.place.steps != [*at])
    });
    // An edge says it all where it can come from one place only.
    if sites == 1 && !about {
        return Ok(vec![]);
    }
    let Some((at, reference)) = meant.or((roots.len() == 1).then_some(0)).map(|at| roots[at])
    else {
        return Err(format!("a {} refers to a {basis_name} within a list", resource.name));
    };
    let Target::Resource(basis) = basis else {
        return Err(format!(
            "a {} may be related to a {basis_name} in several ways, which cannot be told apart; \
             take one kind of {basis_name} as basis",
            resource.name
        ));
    };
    let basis = model.resource(basis);
    let own = |part: usize| match (reference.target, &basis.base) {
        (Target::Abstract(_), Some(base)) => base.columns.get(part).copied(),
        _ => Some(part),
    };
    let pair = |part: usize| {
        let column = &basis.key[own(part)?];
        let property = &resource.properties[at].name;
        let theirs = format!("$.{property}.{}", reference.parts[part].name);
        let is_folded = matches!(column.scalar, Scalar::Descriptor(_));
        Some((theirs, basis.column_path(column.source), is_folded))
    };
    (0..reference.parts.len())
        .map(pair)
        .collect::<Option<_>>()
        .ok_or_else(|| format!("a {} does not refer to a whole {basis_name}", resource.name))
}

/// Whether a reference to one may lead to the other.
fn is_related(model: &Model, target: Target, basis: Target) -> bool {
    let is_kind =
        |resource, base| model.resource(resource).base.as_ref().is_some_and(|own| own.id == base);
    match (target, basis) {
        (Target::Resource(one), Target::Abstract(base))
        | (Target::Abstract(base), Target::Resource(one)) => is_kind(one, base),
        (target, basis) => target == basis,
    }
}

/// How many places may refer to documents of a basis.
fn sites(model: &Model, properties: &[Property], basis: Target) -> usize {
    let of = |property: &Property| match &property.kind {
        PropertyKind::Reference(to) => usize::from(is_related(model, to.target, basis)),
        PropertyKind::Object(inner) | PropertyKind::List(inner) => sites(model, inner, basis),
        PropertyKind::Scalar(_) => 0,
    };
    properties.iter().map(of).sum()
}

#[cfg(test)]
mod tests {
    use homeroom_model::{format, link, shipped};
    use serde_json::json;

    use super::*;

    fn model() -> Model {
        link(&[format::read(shipped("5.2.0").unwrap()).unwrap()]).unwrap()
    }

    #[test]
    fn a_definition_says_what_it_asks_for_and_what_may_be_missing() {
        let model = model();
        let code = "uri://ed-fi.org/StudentCharacteristicDescriptor#Homeless";
        for (name, definition, asks, hint) in [
            (
                "StudentWithTitleI",
                json!({"where": {"exists": "studentTitleIPartAProgramAssociations"}}),
                "a 'Student' with a 'StudentTitleIPartAProgramAssociation'",
                "You may need to create the corresponding 'StudentTitleIPartAProgramAssociation'.",
            ),
            (
                "StudentWithActiveCohort",
                json!({"basis": "ed-fi/Student", "where": {"any": [
                    {"exists": "/ed-fi/studentCohortAssociations", "where": {"all": [
                        {"member": "endDate", "present": false},
                        {"member": "cohortReference.educationOrganizationId", "in": [1, 2]},
                    ]}},
                    {"exists": "StudentEducationOrganizationAssociation", "where": {
                        "member": "studentCharacteristics.studentCharacteristicDescriptor",
                        "in": [code],
                    }},
                ]}}),
                "a 'Student' with a 'StudentCohortAssociation' that has (no 'endDate' and \
                 'cohortReference.educationOrganizationId' '1' or '2') or a \
                 'StudentEducationOrganizationAssociation' that has \
                 'studentCharacteristics.studentCharacteristicDescriptor' \
                 'uri://ed-fi.org/StudentCharacteristicDescriptor#Homeless'",
                "You may need to create the corresponding 'StudentCohortAssociation' or \
                 'StudentEducationOrganizationAssociation'.",
            ),
            (
                "SchoolWithWebSite",
                json!({"where": {"member": "webSite", "present": true}}),
                "a 'School' with a 'webSite'",
                "The 'School' must be changed first, by a key that may.",
            ),
        ] {
            let view = CustomView::read(name, &definition, &model).unwrap();

            assert_eq!(view.asks, asks);
            assert_eq!(view.hint, hint);
        }
    }

    #[test]
    fn who_refers_from_several_places_is_told_by_the_values_of_the_one_that_is_meant() {
        let model = model();
        let same = |name: &str, definition: &Value| -> Vec<(String, String, bool)> {
            match CustomView::read(name, definition, &model).unwrap().rule {
                ViewRule::Exists { same, .. } => same,
                other => panic!("{other:?}"),
            }
        };
        let exists = |name: &str| json!({"where": {"exists": name}});
        let by = |name: &str, by: &str| json!({"where": {"exists": name, "by": by}});

        assert_eq!(same("SchoolWithSessions", &exists("sessions")), []);
        assert_eq!(same("StudentWithSchool", &exists("studentSchoolAssociations")), []);
        let next =
            same("SchoolWithNextYear", &by("studentSchoolAssociations", "nextYearSchoolReference"));
        let pair = ("$.nextYearSchoolReference.schoolId".into(), "$.schoolId".into(), false);
        assert_eq!(next, [pair]);
    }

    #[test]
    fn every_fault_is_named_with_its_place_and_what_may_have_been_meant() {
        let model = model();
        let rule = |rule: Value| json!({ "where": rule });
        let deep = (0..9).fold(
            json!({"member": "firstName", "present": true}),
            |inner, _| json!({ "all": [inner] }),
        );
        let many: Vec<Value> =
            (0..100).map(|_| json!({"member": "firstName", "present": true})).collect();
        for (name, definition, expected) in [
            ("NamespaceBased", rule(json!({})), "name: `NamespaceBased` is a published strategy"),
            ("Student With X", rule(json!({})), "name: expected up to 200 letters and digits"),
            ("StudentWith", rule(json!({})), "name: `StudentWith` does not begin with the name"),
            ("StudnetWithX", rule(json!({})), "StudentWithText; did you mean Student"),
            (
                "GradeLevelDescriptorWithX",
                rule(json!({})),
                "basis: a descriptor cannot be what a view is of",
            ),
            (
                "StudentWithX",
                json!({"basis": "Staff", "where": {}}),
                "basis: the name must begin with `StaffWith`",
            ),
            ("StudentWithX", json!({"basis": "Stud"}), "basis: `Stud` is no resource"),
            (
                "StudentWithX",
                json!({"wher": {}}),
                "definition: `wher` is none of name, basis, where; did you mean where?",
            ),
            ("StudentWithX", json!({"wher": {}}), "where: expected an object"),
            ("StudentWithX", rule(json!([])), "where: expected an object: `all`"),
            ("StudentWithX", rule(json!({"all": []})), "where.all: expected a list"),
            (
                "StudentWithX",
                rule(json!({"all": [{}], "any": [{}]})),
                "where: expected one of `all`, `any`, `member`, `exists`",
            ),
            (
                "StudentWithX",
                rule(json!({"any": [{"member": "fristName", "present": true}]})),
                "where.any[0].member: `fristName` is no member there ('fristName' of Student); did \
                 you mean firstName",
            ),
            (
                "StudentWithX",
                rule(json!({"member": "firstName.x", "present": true})),
                "where.member: `x` is no member there",
            ),
            (
                "StudentWithX",
                rule(json!({"member": "firstName"})),
                "where: expected either `in`, a list, or `present`",
            ),
            (
                "StudentWithX",
                rule(json!({"member": "firstName", "in": []})),
                "where.in: expected a list of 1 to 200 values",
            ),
            (
                "StudentWithX",
                rule(json!({"member": "firstName", "in": [1]})),
                "where.in: expected texts",
            ),
            (
                "StudentWithX",
                rule(json!({"member": "birthDate", "in": ["01.08.2010"]})),
                "where.in: expected dates",
            ),
            (
                "StudentWithX",
                rule(json!({"member": "birthSexDescriptor", "in": ["Female"]})),
                "where.in: expected descriptors",
            ),
            (
                "StudentWithX",
                rule(json!({"member": "visas", "in": ["x"]})),
                "where.in: the member holds no single value",
            ),
            (
                "StudentWithX",
                rule(json!({"member": "visas.visaDescriptor", "present": false})),
                "where: what is absent cannot be asked within a list",
            ),
            (
                "StudentWithX",
                rule(json!({"exists": "studentSchoolAsociations"})),
                "where.exists: `studentSchoolAsociations` is no resource of the model; did you mean",
            ),
            (
                "StudentWithX",
                rule(json!({"exists": "sessions"})),
                "where: a Session does not refer to a Student",
            ),
            (
                "SchoolWithX",
                rule(json!({"exists": "studentSchoolAssociations"})),
                "where: a StudentSchoolAssociation refers to a School from several places; say which",
            ),
            (
                "SchoolWithX",
                rule(json!({"exists": "studentSchoolAssociations", "by": "students"})),
                "where: `by`: `students` is no reference of StudentSchoolAssociation to a School",
            ),
            (
                "StudentWithX",
                rule(
                    json!({"exists": "studentSchoolAssociations", "where": {"exists": "schools"}}),
                ),
                "where.where: `exists` cannot stand within `exists`",
            ),
            (
                "EducationOrganizationWithX",
                rule(json!({"member": "webSite", "present": true})),
                "where: documents of the kinds of EducationOrganization name their members",
            ),
            ("StudentWithX", rule(deep), "more than 100 rules, or 8 in each other"),
            ("StudentWithX", rule(json!({ "all": many })), "more than 100 rules, or 8"),
        ] {
            let faults = CustomView::read(name, &definition, &model).unwrap_err();

            assert!(faults.iter().any(|fault| fault.contains(expected)), "{expected}: {faults:#?}");
        }
    }
}
