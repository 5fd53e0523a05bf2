//! Compares rights with a straightforward computation from all documents, after any change.

use std::collections::{BTreeMap, BTreeSet};

use http::Method;
use serde_json::Value;

use super::town::{
    Dice, RESOURCES, STRATEGIES, Subjects, agency_of, any_organization, associate, owners, people,
    school_of, vendor,
};
use crate::app::Client;

/// All documents of the town, by endpoint.
pub struct Everything {
    pub documents: BTreeMap<&'static str, Vec<Value>>,
    /// Deleted associations.
    deleted: Vec<(&'static str, Value)>,
}

impl Everything {
    pub async fn read(owner: &Client, deleted: &[(&'static str, Value)]) -> Self {
        let mut documents = BTreeMap::new();
        for resource in &RESOURCES {
            let answer = owner.get(&format!("/ed-fi/{}", resource.endpoint)).await;
            documents.insert(resource.endpoint, answer.json().as_array().unwrap().clone());
        }
        Self { documents, deleted: deleted.to_vec() }
    }

    fn of(&self, endpoint: &'static str, past: bool) -> impl Iterator<Item = &Value> {
        let gone = self.deleted.iter().filter(move |(of, _)| past && *of == endpoint);
        self.documents[endpoint].iter().chain(gone.map(|(_, document)| document))
    }

    /// Returns an organization and all organizations above it.
    fn up(&self, id: i64) -> BTreeSet<i64> {
        let mut all = BTreeSet::from([id]);
        let agencies = self.documents["localEducationAgencies"].iter();
        let own = agencies.filter(|a| a["localEducationAgencyId"] == id);
        let schools = self.documents["schools"].iter().filter(|s| s["schoolId"] == id);
        for (document, member) in own
            .map(|a| (a, "parentLocalEducationAgencyReference"))
            .chain(schools.map(|s| (s, "localEducationAgencyReference")))
        {
            if let Some(above) = document[member]["localEducationAgencyId"].as_i64() {
                all.extend(self.up(above));
            }
        }
        all
    }

    /// Returns the organizations that a person is associated with.
    fn at(&self, kind: &str, id: &str, by_responsibility: bool, past: bool) -> Vec<i64> {
        let organization = |document: &Value, path: &str| number(document, path).unwrap();
        let general = "educationOrganizationReference.educationOrganizationId";
        match kind {
            "Student" if by_responsibility => self
                .of("studentEducationOrganizationResponsibilityAssociations", past)
                .filter(|d| d["studentReference"]["studentUniqueId"] == id)
                .map(|d| organization(d, general))
                .collect(),
            "Student" => self
                .of("studentSchoolAssociations", past)
                .filter(|d| d["studentReference"]["studentUniqueId"] == id)
                .map(|d| organization(d, "schoolReference.schoolId"))
                .collect(),
            "Staff" => self
                .of("staffEducationOrganizationAssignmentAssociations", past)
                .filter(|d| d["staffReference"]["staffUniqueId"] == id)
                .map(|d| organization(d, general))
                .collect(),
            "Contact" => self
                .of("studentContactAssociations", past)
                .filter(|d| d["contactReference"]["contactUniqueId"] == id)
                .flat_map(|d| {
                    let student = d["studentReference"]["studentUniqueId"].as_str().unwrap();
                    self.at("Student", student, false, past)
                })
                .collect(),
            other => panic!("{other} is not a kind of person"),
        }
    }

    /// Whether a strategy allows access to a document; [`None`] if it does not apply to any of its
    /// subjects.
    pub fn lets(
        &self,
        strategy: &str,
        own: &[i64],
        of: &Subjects,
        document: &Value,
    ) -> Option<bool> {
        let past = strategy.ends_with("IncludingDeletes");
        let by_responsibility = strategy.contains("Responsibility");
        let inverted = strategy.ends_with("Inverted");
        let below = |id: i64| self.up(id).iter().any(|above| own.contains(above));
        let mut answers = vec![];
        if let (true, Some(path)) = (strategy.starts_with("EdOrgs"), of.organization) {
            let id = number(document, path).unwrap();
            answers.push(if inverted {
                own.iter().any(|own| self.up(*own).contains(&id))
            } else {
                below(id)
            });
        }
        for (kind, path) in of.people {
            let counts = if strategy.starts_with("Students") {
                *kind == "Student"
            } else {
                strategy.contains("People")
            };
            if counts {
                let id = value(document, path).as_str().unwrap().to_owned();
                let at = self.at(kind, &id, by_responsibility, past);
                answers.push(at.into_iter().any(below));
            }
        }
        (!answers.is_empty()).then(|| answers.iter().all(|answer| *answer))
    }
}

pub fn value<'v>(document: &'v Value, path: &str) -> &'v Value {
    path.split('.').fold(document, |value, member| &value[member])
}

fn number(document: &Value, path: &str) -> Option<i64> {
    value(document, path).as_i64()
}

/// Compares a key's access with the computation, by lists, by single reads and by writes.
async fn compare(owner: &Client, all: &Everything, strategy: &str, own: &[i64], dice: &mut Dice) {
    let vendor = vendor(&owner.app, strategy, own).await;
    let lets = |of: &Subjects, document: &Value| all.lets(strategy, own, of, document);
    see(&vendor, all, &format!("{strategy} {own:?}"), lets, dice).await;
}

/// Compares a key's access with what `lets` allows; [`None`] means that no strategy applies.
pub async fn see(
    vendor: &Client,
    all: &Everything,
    what: &str,
    lets: impl Fn(&Subjects, &Value) -> Option<bool>,
    dice: &mut Dice,
) {
    for resource in &RESOURCES {
        let path = format!("/ed-fi/{}", resource.endpoint);
        let what = format!("{} {what} {path}", vendor.app);
        let documents = &all.documents[resource.endpoint];
        if documents.is_empty() {
            continue;
        }
        let seen: Vec<Option<bool>> = documents.iter().map(|d| lets(resource, d)).collect();
        if seen.iter().all(Option::is_none) {
            vendor.get(&path).await.problem(500, "system:configuration:security");
            continue;
        }
        let id = |document: &Value| document["id"].as_str().unwrap().to_owned();
        let expected: Vec<String> = documents
            .iter()
            .zip(&seen)
            .filter(|(_, seen)| **seen == Some(true))
            .map(|(document, _)| id(document))
            .collect();
        let limit = 1 + dice.below(5);
        let first = vendor.get(&format!("{path}?limit={limit}&totalCount=true")).await;
        assert_eq!(first.header("total-count"), expected.len().to_string(), "{what}");
        let mut listed = first.ids();
        let mut next = first.headers.get("next-page-token").cloned();
        while let Some(token) = next {
            let token = token.to_str().unwrap();
            let page = vendor.get(&format!("{path}?pageToken={token}&pageSize={limit}")).await;
            listed.extend(page.ids());
            next = page.headers.get("next-page-token").cloned();
        }
        assert_eq!(listed, expected, "{what}");
        let offset = dice.below(4);
        let rest = vendor.ids(&format!("{path}?offset={offset}")).await;
        let skipped = usize::try_from(offset).unwrap().min(expected.len());
        assert_eq!(rest, expected[skipped..], "{what} offset {offset}");
        for (document, seen) in documents.iter().zip(&seen) {
            let status = if *seen == Some(true) { 200 } else { 403 };
            let got = vendor.get(&format!("{path}/{}", id(document))).await;
            assert_eq!(got.status, status, "{what} {document}: {got:?}");
            let mut body = document.clone();
            for member in ["id", "_etag", "_lastModifiedDate"] {
                body.as_object_mut().unwrap().remove(member);
            }
            let again = vendor.post(&path, &body).await;
            assert_eq!(again.status, status, "{what} {document}: {again:?}");
        }
    }
}

/// Changes the hierarchy or associations, and records deleted associations.
pub async fn change(owner: &Client, dice: &mut Dice, deleted: &mut Vec<(&'static str, Value)>) {
    match dice.below(6) {
        0 => {
            let agency = (dice.below(4) > 0).then(|| 1 + dice.below(4));
            let school = school_of(11 + dice.below(8), agency);
            assert_eq!(owner.post("/ed-fi/schools", &school).await.status, 200);
        }
        1 => {
            let id = 2 + dice.below(3);
            let parent = (dice.below(2) == 0).then(|| 1 + dice.below(id - 1));
            let agency = agency_of(id, parent);
            assert_eq!(owner.post("/ed-fi/localEducationAgencies", &agency).await.status, 200);
        }
        2 | 3 => associate(owner, dice).await,
        _ => {
            let associations: Vec<&Subjects> =
                RESOURCES.iter().filter(|r| r.endpoint.ends_with("Associations")).collect();
            let at = dice.index(associations.len());
            let endpoint = associations[at].endpoint;
            let list = owner.get(&format!("/ed-fi/{endpoint}")).await.json();
            let list = list.as_array().unwrap();
            if list.is_empty() {
                return;
            }
            let at = dice.index(list.len());
            let path = format!("/ed-fi/{endpoint}/{}", list[at]["id"].as_str().unwrap());
            let answer = owner.send(Method::DELETE, &path, &[], "").await;
            assert_eq!(answer.status, 204, "{answer:?}");
            deleted.push((endpoint, list[at].clone()));
        }
    }
}

#[tokio::test]
async fn visible_documents_equal_those_of_an_independent_oracle_after_every_change() {
    for owner in owners().await {
        for seed in [1, 2] {
            let mut dice = Dice(seed);
            if seed == 1 {
                people(&owner, &mut dice).await;
            }
            let mut deleted = vec![];
            for round in 0..10 {
                for _ in 0..=round {
                    change(&owner, &mut dice, &mut deleted).await;
                }
                let all = Everything::read(&owner, &deleted).await;
                for strategy in [STRATEGIES[round], STRATEGIES[9 - round]] {
                    if seed == 2 && strategy.ends_with("IncludingDeletes") {
                        // The second round does not know what the first one deleted.
                        continue;
                    }
                    let own: BTreeSet<i64> =
                        (0..=dice.below(3)).map(|_| any_organization(&mut dice)).collect();
                    let own: Vec<i64> = own.into_iter().collect();
                    compare(&owner, &all, strategy, &own, &mut dice).await;
                }
                assert_eq!(owner.app.wrongly_derived(), [""; 0], "{} round {round}", owner.app);
            }
        }
    }
}
