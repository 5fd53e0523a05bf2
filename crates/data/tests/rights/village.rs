//! A village whose documents have every possible relationship to one school.

use homeroom_access::Manage;
use serde_json::{Value, json};

use super::town::{
    agency_of, assignment, contact, contact_of, owners, responsibility, school_of, staff,
    student_at,
};
use crate::app::Client;
use crate::app::documents::{
    course, descriptor, descriptor_path, enrolment, program, student, uri,
};

/// The agency above the key's own school.
const ABOVE: i64 = 1;
/// The school of the key under test.
pub const OWN: i64 = 11;
/// A school that belongs to another key.
const OTHER: i64 = 12;
/// The key's namespace prefix; the next constant is another namespace.
pub const OURS: &str = "uri://ours.example";
const THEIRS: &str = "uri://theirs.example";
/// The key's ownership token; the next constant is another one.
pub const OWN_TOKEN: i64 = 1;
const OTHER_TOKEN: i64 = 2;

/// A new document, modelled on a stored one, that a key tries to create.
pub enum Fresh {
    /// Another document with the same subjects.
    Like(Value),
    /// A document that is its own subject, without relationships yet.
    Stranger(Value),
}

impl Fresh {
    pub fn body(&self) -> &Value {
        match self {
            Self::Like(body) | Self::Stranger(body) => body,
        }
    }
}

/// A stored document.
pub struct Paper {
    pub what: &'static str,
    pub body: Value,
    pub path: String,
    pub fresh: Fresh,
    /// Id of a similar document that was created and deleted.
    pub deleted: Option<String>,
}

/// The documents of an endpoint, in order of creation.
pub struct Shelf {
    pub endpoint: &'static str,
    pub papers: Vec<Paper>,
}

pub struct Village {
    pub owner: Client,
    pub shelves: Vec<Shelf>,
}

/// A document before it is stored: description, token of its creator, body, new document.
type Draft = (&'static str, Option<i64>, Value, Fresh);

fn like(what: &'static str, body: impl Fn(&str) -> Value) -> Draft {
    (what, None, body("1"), Fresh::Like(body("2")))
}

fn itself(what: &'static str, body: Value, fresh: Value) -> Draft {
    (what, None, body, Fresh::Stranger(fresh))
}

impl Village {
    /// Makes a village on each available kind of store.
    pub async fn on_each_store() -> Vec<Self> {
        let mut villages = vec![];
        for owner in owners().await {
            villages.push(Self::of(owner).await);
        }
        villages
    }

    async fn of(owner: Client) -> Self {
        for (name, code) in [
            ("EmploymentStatusDescriptor", "Contractual"),
            ("DeliveryMethodDescriptor", "Individual"),
            ("InterventionClassDescriptor", "Curriculum"),
        ] {
            owner.create(&descriptor_path(name), &descriptor(name, code)).await;
        }
        let mut village = Self { owner, shelves: vec![] };
        village.shelve("localEducationAgencies", organizations_above()).await;
        village.shelve("schools", schools()).await;
        village.shelve("students", people(&STUDENTS, student)).await;
        village.shelve("contacts", people(&["here", "elsewhere", "gone"], contact)).await;
        let staffs = people(&["assigned", "hired", "elsewhere", "gone"], staff);
        village.shelve("staffs", staffs).await;
        village.relate().await;
        village.owner.create("/ed-fi/assessments", &assessment(OURS, "usual")).await;
        village.shelve("courses", courses()).await;
        village.shelve("studentEducationOrganizationAssociations", papers()).await;
        village.shelve("studentContactAssociations", families()).await;
        village.shelve("studentAssessments", results()).await;
        village.shelve("organizationDepartments", departments()).await;
        village.shelve("interventionPrescriptions", prescriptions()).await;
        village.shelve("programs", programs()).await;
        village
    }

    /// Stores drafts. For a document about other subjects, a similar one is created and deleted,
    /// too.
    async fn shelve(&mut self, endpoint: &'static str, drafts: Vec<Draft>) {
        let all = format!("/ed-fi/{endpoint}");
        let mut papers = vec![];
        for (what, maker, body, fresh) in drafts {
            let maker = match maker {
                None => self.owner.clone(),
                Some(token) => self.owner.app.client_with(marking(token)).await,
            };
            let path = maker.create(&all, &body).await;
            let mut deleted = None;
            if let Fresh::Like(body) = &fresh {
                let path = maker.create(&all, body).await;
                assert_eq!(maker.delete(&path).await.status, 204, "{path}");
                deleted = path.rsplit('/').next().map(String::from);
            }
            papers.push(Paper { what, body, path, fresh, deleted });
        }
        self.shelves.push(Shelf { endpoint, papers });
    }

    /// Associates people with schools, and ends some of the associations.
    async fn relate(&self) {
        let enrolments = "/ed-fi/studentSchoolAssociations";
        let responsibilities = "/ed-fi/studentEducationOrganizationResponsibilityAssociations";
        let assignments = "/ed-fi/staffEducationOrganizationAssignmentAssociations";
        let employments = "/ed-fi/staffEducationOrganizationEmploymentAssociations";
        let contacts = "/ed-fi/studentContactAssociations";
        let enrolled = |student, school| enrolment(student, school, "2025-08-20");
        let hired = json!({
            "educationOrganizationReference": {"educationOrganizationId": OWN},
            "staffReference": {"staffUniqueId": "hired"},
            "employmentStatusDescriptor": uri("EmploymentStatusDescriptor", "Contractual"),
            "hireDate": "2025-08-01",
        });
        for (path, body) in [
            (enrolments, enrolled("here", OWN)),
            (enrolments, enrolled("here too", OWN)),
            (enrolments, enrolled("elsewhere", OTHER)),
            (enrolments, enrolled("elsewhere too", OTHER)),
            (enrolments, enrolled("charge", OTHER)),
            (responsibilities, responsibility("charge", OWN)),
            (assignments, assignment("assigned", OWN)),
            (assignments, assignment("elsewhere", OTHER)),
            (employments, hired),
        ] {
            self.owner.create(path, &body).await;
        }
        for (path, body) in [
            (enrolments, enrolled("gone", OWN)),
            (responsibilities, responsibility("former", OWN)),
            (assignments, assignment("gone", OWN)),
            (contacts, contact_of("gone", "here")),
        ] {
            let path = self.owner.create(path, &body).await;
            assert_eq!(self.owner.delete(&path).await.status, 204, "{path}");
        }
    }
}

/// `here` and `gone` are related by enrolment, `charge` and `former` by responsibility.
const STUDENTS: [&str; 7] =
    ["here", "elsewhere", "gone", "charge", "former", "here too", "elsewhere too"];

fn organizations_above() -> Vec<Draft> {
    vec![itself("above", agency_of(ABOVE, None), agency_of(ABOVE + 1, None))]
}

fn schools() -> Vec<Draft> {
    let fresh = || school_of(OWN + 10, None);
    vec![
        itself("own", school_of(OWN, Some(ABOVE)), fresh()),
        itself("other", school_of(OTHER, None), fresh()),
    ]
}

fn people(names: &[&'static str], body: impl Fn(&str) -> Value) -> Vec<Draft> {
    names.iter().map(|name| itself(name, body(name), body("nobody"))).collect()
}

fn courses() -> Vec<Draft> {
    [("above", ABOVE), ("own", OWN), ("other", OTHER)]
        .map(|(what, organization)| like(what, |code| course(organization, code)))
        .into()
}

fn papers() -> Vec<Draft> {
    let fresh = |student: &str| match student {
        "here" => "here too",
        "elsewhere" => "elsewhere too",
        _ => "",
    };
    [
        ("own, here", OWN, "here"),
        ("own, elsewhere", OWN, "elsewhere"),
        ("other, here", OTHER, "here"),
        ("above, here", ABOVE, "here"),
        ("own, charge", OWN, "charge"),
        ("own, gone", OWN, "gone"),
    ]
    .map(|(what, organization, student)| {
        let body = student_at(student, organization);
        match fresh(student) {
            // There is no other student with this relationship.
            "" => itself(what, body, student_at("nobody", OTHER)),
            other => (what, None, body, Fresh::Like(student_at(other, organization))),
        }
    })
    .into()
}

fn families() -> Vec<Draft> {
    [
        ("here, here", "here", "here"),
        ("here, elsewhere", "here", "elsewhere"),
        ("elsewhere, elsewhere", "elsewhere", "elsewhere"),
    ]
    .map(|(what, contact, student)| {
        let fresh = contact_of(contact, &format!("{student} too"));
        (what, None, contact_of(contact, student), Fresh::Like(fresh))
    })
    .into()
}

fn results() -> Vec<Draft> {
    [
        ("own, here", Some(OWN), "here"),
        ("other, here", Some(OTHER), "here"),
        ("own, elsewhere", Some(OWN), "elsewhere"),
        ("none, here", None, "here"),
        ("none, elsewhere", None, "elsewhere"),
    ]
    .map(|(what, school, student)| like(what, |n| result(&format!("{n} {what}"), student, school)))
    .into()
}

pub fn result(id: &str, student: &str, school: Option<i64>) -> Value {
    let mut result = json!({
        "studentAssessmentIdentifier": id,
        "assessmentReference": {"assessmentIdentifier": "usual", "namespace": OURS},
        "studentReference": {"studentUniqueId": student},
    });
    if let Some(school) = school {
        result["reportedSchoolReference"] = json!({"schoolId": school});
    }
    result
}

fn departments() -> Vec<Draft> {
    [("own", Some(OWN)), ("other", Some(OTHER)), ("above", Some(ABOVE)), ("none", None)]
        .map(|(what, parent)| like(what, |n| department(n, parent)))
        .into()
}

pub fn department(n: &str, parent: Option<i64>) -> Value {
    let category = uri("EducationOrganizationCategoryDescriptor", "School");
    let id = 1_000 * n.parse::<i64>().unwrap() + parent.unwrap_or_default();
    let mut department = json!({
        "organizationDepartmentId": id,
        "nameOfInstitution": "Department",
        "categories": [{"educationOrganizationCategoryDescriptor": category}],
    });
    if let Some(parent) = parent {
        department["parentEducationOrganizationReference"] =
            json!({"educationOrganizationId": parent});
    }
    department
}

pub fn assessment(namespace: &str, id: &str) -> Value {
    let subject = uri("AcademicSubjectDescriptor", "Mathematics");
    json!({
        "assessmentIdentifier": id,
        "namespace": namespace,
        "assessmentTitle": id,
        "academicSubjects": [{"academicSubjectDescriptor": subject}],
    })
}

fn prescriptions() -> Vec<Draft> {
    [("ours", Some(OURS)), ("theirs", Some(THEIRS)), ("none", None)]
        .map(|(what, namespace)| like(what, |n| prescription(&format!("{n} {what}"), namespace)))
        .into()
}

pub fn prescription(code: &str, namespace: Option<&str>) -> Value {
    let mut prescription = json!({
        "educationOrganizationReference": {"educationOrganizationId": OWN},
        "interventionPrescriptionIdentificationCode": code,
        "deliveryMethodDescriptor": uri("DeliveryMethodDescriptor", "Individual"),
        "interventionClassDescriptor": uri("InterventionClassDescriptor", "Curriculum"),
    });
    if let Some(namespace) = namespace {
        prescription["namespace"] = namespace.into();
    }
    prescription
}

fn programs() -> Vec<Draft> {
    [("own", Some(OWN_TOKEN)), ("other", Some(OTHER_TOKEN)), ("none", None)]
        .map(|(what, token)| {
            let body = |n| program(OWN, &format!("{n} {what}"));
            (what, token, body("1"), Fresh::Like(body("2")))
        })
        .into()
}

/// Returns the request for a key with full access whose token marks the documents that it creates.
fn marking(token: i64) -> Manage {
    Manage::CreateKey {
        claim_set: Some(crate::app::FULL_ACCESS.into()),
        name: None,
        scopes: vec![],
        education_organizations: vec![],
        namespace_prefixes: vec![],
        ownership_tokens: vec![],
        creator_token: Some(token),
    }
}
