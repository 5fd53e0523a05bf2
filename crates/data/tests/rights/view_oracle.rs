//! Compares custom views with a straightforward computation from all documents, after any change.

use std::collections::BTreeSet;

use homeroom_access::Manage;
use homeroom_http::Timestamp;
use http::Method;
use serde_json::{Value, json};

use super::oracle::{Everything, change, see, value};
use super::town::{Dice, Subjects, any_organization, define, owners, people};
use crate::app::documents::{course, enrolment, uri, with};
use crate::app::{Client, TestApp};

/// A view, its rule, and the rule in Rust: whether it contains the document with a key.
pub struct View {
    pub name: &'static str,
    basis: &'static str,
    rule: fn() -> Value,
    has: fn(&Everything, &Value) -> bool,
}

/// Defines a view.
pub async fn put(app: &TestApp, name: &str, rule: Value) {
    let put = Manage::PutStrategy { name: name.into(), definition: json!({ "where": rule }) };
    app.access.manage(put, Timestamp::now()).await.unwrap();
}

pub fn grade(code: &str) -> String {
    uri("GradeLevelDescriptor", code)
}

const STUDENT: &str = "studentReference.studentUniqueId";
const ORGANIZATION: &str = "educationOrganizationReference.educationOrganizationId";

/// Whether a document with this value at a path passes a test.
fn any(
    all: &Everything,
    endpoint: &str,
    (path, key): (&str, &Value),
    passes: impl Fn(&Value) -> bool,
) -> bool {
    all.documents[endpoint].iter().any(|d| value(d, path) == key && passes(d))
}

const VIEWS: [View; 7] = [
    View {
        name: "StudentWithResponsibility",
        basis: "Student",
        rule: || json!({"exists": "studentEducationOrganizationResponsibilityAssociations"}),
        has: |all, key| {
            let endpoint = "studentEducationOrganizationResponsibilityAssociations";
            any(all, endpoint, (STUDENT, key), |_| true)
        },
    },
    View {
        name: "StudentWithTenthGrade",
        basis: "Student",
        rule: || {
            json!({"exists": "studentSchoolAssociations", "where": {
                "member": "entryGradeLevelDescriptor",
                "in": [grade("TENTH grade"), grade("Eleventh grade")],
            }})
        },
        has: |all, key| {
            any(all, "studentSchoolAssociations", (STUDENT, key), |d| {
                d["entryGradeLevelDescriptor"] == grade("Tenth grade")
            })
        },
    },
    View {
        name: "StudentWithNameOrContact",
        basis: "Student",
        rule: || {
            json!({"any": [
                {"all": [
                    {"member": "studentUniqueId", "in": ["s1", "s3", "s5"]},
                    {"member": "middleName", "present": false},
                ]},
                {"exists": "studentContactAssociations"},
            ]})
        },
        has: |all, key| {
            ["s1", "s3", "s5"].iter().any(|name| key == name)
                || any(all, "studentContactAssociations", (STUDENT, key), |_| true)
        },
    },
    View {
        name: "SchoolWithAgency",
        basis: "School",
        rule: || json!({"member": "localEducationAgencyReference.localEducationAgencyId", "in": [1, 2]}),
        has: |all, key| {
            any(all, "schools", ("schoolId", key), |d| {
                let agency = value(d, "localEducationAgencyReference.localEducationAgencyId");
                agency == 1 || agency == 2
            })
        },
    },
    View {
        name: "SchoolWithNextYear",
        basis: "School",
        rule: || json!({"exists": "studentSchoolAssociations", "by": "nextYearSchoolReference"}),
        has: |all, key| {
            any(all, "studentSchoolAssociations", ("nextYearSchoolReference.schoolId", key), |_| {
                true
            })
        },
    },
    View {
        name: "EducationOrganizationWithCourses",
        basis: "EducationOrganization",
        rule: || json!({"exists": "courses", "where": {"member": "identificationCodes.identificationCode", "in": ["k1", "k3", "k5", "k7"]}}),
        has: |all, key| {
            any(all, "courses", (ORGANIZATION, key), |d| {
                ["k1", "k3", "k5", "k7"].iter().any(|code| d["courseCode"] == *code)
            })
        },
    },
    View {
        name: "ContactWithStudent",
        basis: "Contact",
        rule: || json!({"exists": "/ed-fi/studentContactAssociations", "by": "contactReference"}),
        has: |all, key| {
            let path = ("contactReference.contactUniqueId", key);
            any(all, "studentContactAssociations", path, |_| true)
        },
    },
];

/// Returns the path of a basis's key in a resource, if it has one.
fn leads(basis: &str, endpoint: &str) -> Option<&'static str> {
    match (basis, endpoint) {
        ("Student", "students") => Some("studentUniqueId"),
        ("Contact", "contacts") => Some("contactUniqueId"),
        ("Contact", "studentContactAssociations") => Some("contactReference.contactUniqueId"),
        ("School" | "EducationOrganization", "schools") => Some("schoolId"),
        ("EducationOrganization", "localEducationAgencies") => Some("localEducationAgencyId"),
        ("School" | "EducationOrganization", "studentSchoolAssociations") => {
            Some("schoolReference.schoolId")
        }
        (
            "School" | "EducationOrganization",
            "courses"
            | "studentEducationOrganizationAssociations"
            | "studentEducationOrganizationResponsibilityAssociations"
            | "staffEducationOrganizationAssignmentAssociations",
        ) => Some(ORGANIZATION),
        ("Student", name) => {
            (name.starts_with("student") && name.ends_with("Associations")).then_some(STUDENT)
        }
        _ => None,
    }
}

/// Changes a document that views depend on.
async fn change_more(owner: &Client, dice: &mut Dice) {
    let school = 11 + dice.below(8);
    let (path, body) = if dice.below(2) == 0 {
        let mut body = enrolment(&format!("s{}", dice.below(12)), school, "2025-08-20");
        if dice.below(3) == 0 {
            body = with(body, "entryGradeLevelDescriptor", grade("Tenth grade"));
        }
        if dice.below(3) == 0 {
            let next = json!({"schoolId": 11 + dice.below(8)});
            body = with(body, "nextYearSchoolReference", next);
        }
        ("/ed-fi/studentSchoolAssociations", body)
    } else {
        let code = format!("k{}", dice.below(12));
        ("/ed-fi/courses", course(any_organization(dice), &code))
    };
    let answer = owner.post(path, &body).await;
    assert!(matches!(answer.status, 200 | 201), "{path} {body}: {answer:?}");
    if dice.below(2) == 0 {
        let courses = owner.ids("/ed-fi/courses").await;
        let path = format!("/ed-fi/courses/{}", courses[dice.index(courses.len())]);
        assert_eq!(owner.send(Method::DELETE, &path, &[], "").await.status, 204);
    }
}

#[tokio::test]
async fn documents_visible_by_views_equal_those_of_an_independent_oracle_after_every_change() {
    for owner in owners().await {
        let mut dice = Dice(7);
        people(&owner, &mut dice).await;
        for view in &VIEWS {
            put(&owner.app, view.name, (view.rule)()).await;
            define(&owner.app, view.name, &[view.name]).await;
            let both = ["RelationshipsWithEdOrgsAndPeople", view.name];
            define(&owner.app, &format!("{} and more", view.name), &both).await;
        }
        let mut deleted = vec![];
        for round in 0..7 {
            for _ in 0..4 {
                change(&owner, &mut dice, &mut deleted).await;
                change_more(&owner, &mut dice).await;
            }
            let all = Everything::read(&owner, &deleted).await;
            for view in [&VIEWS[round], &VIEWS[(round + 3) % 7]] {
                let in_view = |of: &Subjects, document: &Value| {
                    let path = leads(view.basis, of.endpoint)?;
                    Some((view.has)(&all, value(document, path)))
                };
                let vendor = owner.app.client(view.name).await;
                see(&vendor, &all, view.name, in_view, &mut dice).await;
                let own =
                    BTreeSet::from([any_organization(&mut dice), any_organization(&mut dice)]);
                let own: Vec<i64> = own.into_iter().collect();
                let vendor = owner.app.client_of(&format!("{} and more", view.name), &own).await;
                let both = |of: &Subjects, document: &Value| {
                    let relation = all.lets("EdOrgsAndPeople", &own, of, document);
                    Some(in_view(of, document)? && relation?)
                };
                see(&vendor, &all, &format!("{} {own:?}", view.name), both, &mut dice).await;
            }
        }
    }
}
