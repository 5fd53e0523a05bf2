//! Loads small files into a store of the shipped model.

#[path = "load/damage.rs"]
mod damage;
#[path = "load/damage_lines.rs"]
mod damage_lines;
#[path = "load/direct.rs"]
mod direct;
#[path = "load/formats.rs"]
mod formats;
#[path = "load/formats_agree.rs"]
mod formats_agree;
#[path = "load/inputs.rs"]
mod inputs;
#[path = "load/lookups.rs"]
mod lookups;
#[path = "load/order.rs"]
mod order;
#[path = "load/rejects.rs"]
mod rejects;
#[path = "load/resuming.rs"]
mod resuming;
#[path = "load/sending.rs"]
mod sending;
mod support;
#[path = "load/taking_back.rs"]
mod taking_back;

use serde_json::{Value, json};

const GRADE: &str = "uri://x/GradeLevelDescriptor#1";
const CATEGORY: &str = "uri://x/EducationOrganizationCategoryDescriptor#School";
const SUBJECT: &str = "uri://x/AcademicSubjectDescriptor#Math";

fn interchange(name: &str, records: &str) -> String {
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Interchange{name} xmlns=\"http://x/5.2.0\">\n\
         {records}\n</Interchange{name}>\n"
    )
}

fn descriptor(element: &str, code: &str) -> String {
    format!(
        "<{element}><CodeValue>{code}</CodeValue><ShortDescription>{code}</ShortDescription>\
         <Namespace>uri://x/{element}</Namespace></{element}>\n"
    )
}

fn descriptors() -> String {
    let records = descriptor("GradeLevelDescriptor", "1")
        + &descriptor("EducationOrganizationCategoryDescriptor", "School")
        + &descriptor("AcademicSubjectDescriptor", "Math");
    interchange("Descriptors", &records)
}

fn school(id: u32, name: &str) -> String {
    format!(
        "<School id='s{id}'><NameOfInstitution>{name}</NameOfInstitution>\
         <EducationOrganizationCategory>{CATEGORY}</EducationOrganizationCategory>\
         <SchoolId>{id}</SchoolId><GradeLevel>{GRADE}</GradeLevel></School>\n"
    )
}

fn location(school: u32, code: &str) -> String {
    format!(
        "<Location><ClassroomIdentificationCode>{code}</ClassroomIdentificationCode>\
         <SchoolReference><SchoolIdentity><SchoolId>{school}</SchoolId></SchoolIdentity>\
         </SchoolReference></Location>\n"
    )
}

fn student(id: &str) -> String {
    format!(
        "<Student><StudentUniqueId>{id}</StudentUniqueId><Name><FirstName>A</FirstName>\
         <LastSurname>B</LastSurname></Name><BirthData><BirthDate>2010-01-01</BirthDate></BirthData>\
         </Student>\n"
    )
}

fn enrolment(student: &str, school: u32) -> Value {
    json!({
        "entryDate": "2021-08-23",
        "entryGradeLevelDescriptor": GRADE,
        "schoolReference": {"schoolId": school},
        "studentReference": {"studentUniqueId": student},
    })
}

fn standard(id: &str, parent: Option<&str>) -> Value {
    let mut document = json!({
        "learningStandardId": id,
        "academicSubjects": [{"academicSubjectDescriptor": SUBJECT}],
        "contentStandard": {"title": "T"},
        "description": "D",
        "gradeLevels": [{"gradeLevelDescriptor": GRADE}],
        "namespace": "uri://x",
    });
    if let Some(parent) = parent {
        document["parentLearningStandardReference"] = json!({"learningStandardId": parent});
    }
    document
}

fn lines(documents: impl IntoIterator<Item = Value>) -> String {
    documents.into_iter().fold(String::new(), |text, document| text + &document.to_string() + "\n")
}

#[test]
fn all_of_this_holds_on_postgresql() {
    homeroom_testkit::trial::again_on_postgres("all_of_this_holds_on_postgresql");
}
