//! A small town: organizations, people, documents about them, and keys for each strategy.

use serde_json::{Value, json};

use crate::app::documents::{
    agency, course, descriptor, descriptor_path, enrolment, on_each_store, school, student, uri,
    with,
};
use crate::app::{Client, TestApp};
use homeroom_access::Manage;
use homeroom_http::Timestamp;

/// A resource of the town, and its subjects.
pub struct Subjects {
    pub endpoint: &'static str,
    pub name: &'static str,
    /// Path of the organization's id: `reference.member`, or a member of the document.
    pub organization: Option<&'static str>,
    /// Kinds of persons, each with the path of its unique id.
    pub people: &'static [(&'static str, &'static str)],
}

const STUDENT: (&str, &str) = ("Student", "studentReference.studentUniqueId");

pub const RESOURCES: [Subjects; 11] = [
    Subjects {
        endpoint: "localEducationAgencies",
        name: "localEducationAgency",
        organization: Some("localEducationAgencyId"),
        people: &[],
    },
    Subjects { endpoint: "schools", name: "school", organization: Some("schoolId"), people: &[] },
    Subjects {
        endpoint: "courses",
        name: "course",
        organization: Some("educationOrganizationReference.educationOrganizationId"),
        people: &[],
    },
    Subjects {
        endpoint: "students",
        name: "student",
        organization: None,
        people: &[("Student", "studentUniqueId")],
    },
    Subjects {
        endpoint: "contacts",
        name: "contact",
        organization: None,
        people: &[("Contact", "contactUniqueId")],
    },
    Subjects {
        endpoint: "staffs",
        name: "staff",
        organization: None,
        people: &[("Staff", "staffUniqueId")],
    },
    Subjects {
        endpoint: "studentSchoolAssociations",
        name: "studentSchoolAssociation",
        organization: Some("schoolReference.schoolId"),
        people: &[STUDENT],
    },
    Subjects {
        endpoint: "studentContactAssociations",
        name: "studentContactAssociation",
        organization: None,
        people: &[("Contact", "contactReference.contactUniqueId"), STUDENT],
    },
    Subjects {
        endpoint: "studentEducationOrganizationAssociations",
        name: "studentEducationOrganizationAssociation",
        organization: Some("educationOrganizationReference.educationOrganizationId"),
        people: &[STUDENT],
    },
    Subjects {
        endpoint: "studentEducationOrganizationResponsibilityAssociations",
        name: "studentEducationOrganizationResponsibilityAssociation",
        organization: Some("educationOrganizationReference.educationOrganizationId"),
        people: &[STUDENT],
    },
    Subjects {
        endpoint: "staffEducationOrganizationAssignmentAssociations",
        name: "staffEducationOrganizationAssignmentAssociation",
        organization: Some("educationOrganizationReference.educationOrganizationId"),
        people: &[("Staff", "staffReference.staffUniqueId")],
    },
];

/// The relationship strategies, without their common prefix.
pub const STRATEGIES: [&str; 10] = [
    "EdOrgsAndPeople",
    "EdOrgsOnly",
    "PeopleOnly",
    "StudentsOnly",
    "StudentsOnlyThroughResponsibility",
    "EdOrgsOnlyInverted",
    "EdOrgsAndPeopleInverted",
    "EdOrgsAndPeopleIncludingDeletes",
    "StudentsOnlyIncludingDeletes",
    "StudentsOnlyThroughResponsibilityIncludingDeletes",
];

/// Pseudo-random numbers that are the same in each run.
pub struct Dice(pub u64);

impl Dice {
    pub fn below(&mut self, n: i64) -> i64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        i64::try_from(self.0 >> 34).unwrap_or(0) % n
    }

    /// Returns an index below a length.
    pub fn index(&mut self, length: usize) -> usize {
        let n = i64::try_from(length).unwrap_or(1);
        usize::try_from(self.below(n)).unwrap_or(0)
    }
}

/// Makes a client with full access on each kind of store, with the descriptors of a town.
pub async fn owners() -> Vec<Client> {
    let owners = on_each_store().await;
    for owner in &owners {
        for (name, code) in [
            ("ResponsibilityDescriptor", "Accountability"),
            ("StaffClassificationDescriptor", "Teacher"),
        ] {
            owner.create(&descriptor_path(name), &descriptor(name, code)).await;
        }
        for strategy in STRATEGIES {
            let strategy = format!("RelationshipsWith{strategy}");
            define(&owner.app, &strategy, &[&strategy]).await;
        }
    }
    owners
}

/// Defines a claim set that grants all actions on the town's resources, within strategies.
pub async fn define(app: &TestApp, name: &str, strategies: &[&str]) {
    define_for(app, name, strategies, &RESOURCES.map(|resource| resource.name)).await;
}

/// Defines a claim set that grants all actions on given resources, within strategies.
pub async fn define_for(app: &TestApp, name: &str, strategies: &[&str], resources: &[&str]) {
    grant(app, name, &["Create", "Read", "Update", "Delete", "ReadChanges"], strategies, resources)
        .await;
}

/// Defines a claim set that grants given actions on resources, within strategies.
pub async fn grant(
    app: &TestApp,
    name: &str,
    actions: &[&str],
    strategies: &[&str],
    resources: &[&str],
) {
    let actions: Vec<Value> = actions
        .iter()
        .map(|action| json!({"name": action, "authorizationStrategies": strategies}))
        .collect();
    let claims: Vec<Value> = resources
        .iter()
        .map(|resource| {
            let claim = format!("http://ed-fi.org/identity/claims/ed-fi/{resource}");
            json!({"claim": claim, "actions": actions})
        })
        .collect();
    let definition = json!({"name": name, "resourceClaims": claims});
    let put = Manage::PutClaimSet { name: name.into(), definition };
    app.access.manage(put, Timestamp::now()).await.unwrap();
}

/// Makes a client whose key has a strategy and organizations.
pub async fn vendor(app: &TestApp, strategy: &str, organizations: &[i64]) -> Client {
    app.client_of(&format!("RelationshipsWith{strategy}"), organizations).await
}

pub fn contact(unique_id: &str) -> Value {
    json!({"contactUniqueId": unique_id, "firstName": "Grace", "lastSurname": "Hopper"})
}

pub fn staff(unique_id: &str) -> Value {
    json!({"staffUniqueId": unique_id, "firstName": "Alan", "lastSurname": "Turing"})
}

pub fn contact_of(contact: &str, student: &str) -> Value {
    json!({
        "contactReference": {"contactUniqueId": contact},
        "studentReference": {"studentUniqueId": student},
    })
}

pub fn student_at(student: &str, organization: i64) -> Value {
    json!({
        "educationOrganizationReference": {"educationOrganizationId": organization},
        "studentReference": {"studentUniqueId": student},
    })
}

pub fn responsibility(student: &str, organization: i64) -> Value {
    let mut document = student_at(student, organization);
    document["beginDate"] = "2025-08-01".into();
    document["responsibilityDescriptor"] = uri("ResponsibilityDescriptor", "Accountability").into();
    document
}

pub fn assignment(staff: &str, organization: i64) -> Value {
    json!({
        "educationOrganizationReference": {"educationOrganizationId": organization},
        "staffReference": {"staffUniqueId": staff},
        "beginDate": "2025-08-01",
        "staffClassificationDescriptor": uri("StaffClassificationDescriptor", "Teacher"),
    })
}

pub fn school_of(id: i64, agency: Option<i64>) -> Value {
    match agency {
        None => school(id),
        Some(agency) => with(
            school(id),
            "localEducationAgencyReference",
            json!({"localEducationAgencyId": agency}),
        ),
    }
}

pub fn agency_of(id: i64, parent: Option<i64>) -> Value {
    match parent {
        None => agency(id),
        Some(parent) => with(
            agency(id),
            "parentLocalEducationAgencyReference",
            json!({"localEducationAgencyId": parent}),
        ),
    }
}

/// Creates four agencies, eight schools, and people with documents about them, at random.
pub async fn people(owner: &Client, dice: &mut Dice) {
    for id in 1..=4 {
        let parent = (id > 1 && dice.below(2) == 0).then(|| 1 + dice.below(id - 1));
        owner.create("/ed-fi/localEducationAgencies", &agency_of(id, parent)).await;
    }
    for id in 11..=18 {
        let agency = (dice.below(4) > 0).then(|| 1 + dice.below(4));
        owner.create("/ed-fi/schools", &school_of(id, agency)).await;
    }
    for n in 0..12 {
        let (student_id, contact_id) = (format!("s{n}"), format!("c{n}"));
        owner.create("/ed-fi/students", &student(&student_id)).await;
        owner.create("/ed-fi/contacts", &contact(&contact_id)).await;
        owner.create("/ed-fi/courses", &course(any_organization(dice), &format!("k{n}"))).await;
    }
    for n in 0..5 {
        owner.create("/ed-fi/staffs", &staff(&format!("t{n}"))).await;
    }
    for _ in 0..40 {
        associate(owner, dice).await;
    }
}

pub fn any_organization(dice: &mut Dice) -> i64 {
    if dice.below(3) == 0 { 1 + dice.below(4) } else { 11 + dice.below(8) }
}

/// Associates people with organizations or with each other, or creates a document about them.
pub async fn associate(owner: &Client, dice: &mut Dice) {
    let student = format!("s{}", dice.below(12));
    let (path, body) = match dice.below(6) {
        0 | 1 => {
            let school = 11 + dice.below(8);
            ("studentSchoolAssociations", enrolment(&student, school, "2025-08-20"))
        }
        2 => {
            let contact = format!("c{}", dice.below(12));
            ("studentContactAssociations", contact_of(&contact, &student))
        }
        3 => {
            let body = student_at(&student, any_organization(dice));
            ("studentEducationOrganizationAssociations", body)
        }
        4 => {
            let body = responsibility(&student, any_organization(dice));
            ("studentEducationOrganizationResponsibilityAssociations", body)
        }
        _ => {
            let staff = format!("t{}", dice.below(5));
            let body = assignment(&staff, any_organization(dice));
            ("staffEducationOrganizationAssignmentAssociations", body)
        }
    };
    let answer = owner.post(&format!("/ed-fi/{path}"), &body).await;
    assert!(matches!(answer.status, 200 | 201), "{path} {body}: {answer:?}");
}
