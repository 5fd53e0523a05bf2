//! Documents for tests that tell a story: a school, a student, an enrolment.

use serde_json::{Value, json};

use crate::app::{Client, FULL_ACCESS, TestApp};
use crate::standard::{Standard, USUAL};

/// Namespace of these descriptors.
const NAMESPACE: &str = "uri://ed-fi.org";

/// Descriptors that the documents here use: name and code.
const DESCRIPTORS: [(&str, &str); 8] = [
    ("EducationOrganizationCategoryDescriptor", "School"),
    ("LocalEducationAgencyCategoryDescriptor", "Independent"),
    ("GradeLevelDescriptor", "Ninth grade"),
    ("GradeLevelDescriptor", "Tenth grade"),
    ("ProgramTypeDescriptor", "Bilingual"),
    ("TermDescriptor", "Fall"),
    ("AcademicSubjectDescriptor", "Mathematics"),
    ("CourseIdentificationSystemDescriptor", "State"),
];

/// Makes an app with these descriptors on each store, and a client with full access.
pub async fn on_each_store() -> Vec<Client> {
    serving(USUAL).await
}

/// Does the same for another standard.
pub async fn serving(standard: Standard) -> Vec<Client> {
    let mut clients = vec![];
    for app in TestApp::serving(standard).await {
        let client = app.client(FULL_ACCESS).await;
        for (name, code) in DESCRIPTORS {
            client.create(&descriptor_path(name), &descriptor(name, code)).await;
        }
        clients.push(client);
    }
    clients
}

/// Returns the path of a descriptor, `/ed-fi/gradeLevelDescriptors`.
pub fn descriptor_path(name: &str) -> String {
    format!("/ed-fi/{}{}s", name[..1].to_ascii_lowercase(), &name[1..])
}

/// Makes a descriptor.
pub fn descriptor(name: &str, code: &str) -> Value {
    json!({
        "namespace": format!("{NAMESPACE}/{name}"), "codeValue": code, "shortDescription": code
    })
}

/// Returns the URI of a descriptor.
pub fn uri(name: &str, code: &str) -> String {
    format!("{NAMESPACE}/{name}#{code}")
}

/// Makes a school.
pub fn school(id: i64) -> Value {
    let category = uri("EducationOrganizationCategoryDescriptor", "School");
    json!({
        "schoolId": id,
        "nameOfInstitution": format!("School {id}"),
        "educationOrganizationCategories": [{"educationOrganizationCategoryDescriptor": category}],
        "gradeLevels": [{"gradeLevelDescriptor": uri("GradeLevelDescriptor", "Ninth grade")}],
    })
}

/// Makes a local education agency.
pub fn agency(id: i64) -> Value {
    let category = uri("EducationOrganizationCategoryDescriptor", "School");
    json!({
        "localEducationAgencyId": id,
        "nameOfInstitution": format!("Agency {id}"),
        "categories": [{"educationOrganizationCategoryDescriptor": category}],
        "localEducationAgencyCategoryDescriptor":
            uri("LocalEducationAgencyCategoryDescriptor", "Independent"),
    })
}

/// Makes a student.
pub fn student(unique_id: &str) -> Value {
    json!({
        "studentUniqueId": unique_id,
        "firstName": "Ada",
        "lastSurname": "Byron",
        "birthDate": "2010-12-10",
    })
}

/// Makes the enrolment of a student in a school.
pub fn enrolment(student: &str, school: i64, entry: &str) -> Value {
    json!({
        "studentReference": {"studentUniqueId": student},
        "schoolReference": {"schoolId": school},
        "entryDate": entry,
        "entryGradeLevelDescriptor": uri("GradeLevelDescriptor", "Ninth grade"),
    })
}

/// Makes a program of an organization.
pub fn program(organization: i64, name: &str) -> Value {
    json!({
        "educationOrganizationReference": {"educationOrganizationId": organization},
        "programName": name,
        "programTypeDescriptor": uri("ProgramTypeDescriptor", "Bilingual"),
    })
}

/// Makes a course of an organization.
pub fn course(organization: i64, code: &str) -> Value {
    let system = uri("CourseIdentificationSystemDescriptor", "State");
    json!({
        "courseCode": code,
        "educationOrganizationReference": {"educationOrganizationId": organization},
        "courseTitle": code,
        "numberOfParts": 1,
        "identificationCodes": [
            {"courseIdentificationSystemDescriptor": system, "identificationCode": code},
        ],
    })
}

/// Returns the document with another value of a member.
#[must_use]
pub fn with(mut document: Value, member: &str, value: impl Into<Value>) -> Value {
    document[member] = value.into();
    document
}
