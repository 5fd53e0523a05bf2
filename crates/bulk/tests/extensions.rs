//! Loads files with extensions: XML and JSON lines.

mod support;

use serde_json::json;
use support::{Folder, load_all, stored, target_with};

const GRADE: &str = "uri://x/GradeLevelDescriptor#1";
const CATEGORY: &str = "uri://x/EducationOrganizationCategoryDescriptor#School";

fn descriptors() -> String {
    let record = |element: &str, code: &str| {
        format!(
            "<{element}><CodeValue>{code}</CodeValue><ShortDescription>{code}</ShortDescription>\
             <Namespace>uri://x/{element}</Namespace></{element}>\n"
        )
    };
    interchange(
        "Descriptors",
        &(record("GradeLevelDescriptor", "1")
            + &record("EducationOrganizationCategoryDescriptor", "School")
            + &record("DisabilityDescriptor", "None")
            + &record("TelephoneNumberTypeDescriptor", "Work")),
    )
}

fn interchange(name: &str, records: &str) -> String {
    format!("<Interchange{name} xmlns=\"http://x/5.2.0\">\n{records}\n</Interchange{name}>\n")
}

/// Returns a school in an element of this name, with the members that Sample adds.
fn school(element: &str) -> String {
    format!(
        "<{element}><NameOfInstitution>North</NameOfInstitution>\
         <EducationOrganizationCategory>{CATEGORY}</EducationOrganizationCategory>\
         <SchoolId>1</SchoolId><GradeLevel>{GRADE}</GradeLevel>\
         <DirectlyOwnedBusReference><BusIdentity><BusId>602</BusId></BusIdentity>\
         </DirectlyOwnedBusReference><IsExemplary>true</IsExemplary></{element}>"
    )
}

#[test]
fn xml_with_extensions_is_loaded_in_the_order_of_dependency() {
    for (element, bus) in [("School", "Bus"), ("SAMPLE-SchoolExtension", "SAMPLE-Bus")] {
        let target = target_with(&["sample"]);
        let folder = Folder::new();
        folder.write("1-schools.xml", interchange("EducationOrganization", &school(element)));
        let bus = format!("<{bus}><BusId>602</BusId></{bus}>");
        folder.write("2-sample.xml", interchange("Sample", &bus));
        folder.write("3-descriptors.xml", descriptors());

        let (summary, rejects) = load_all(&target, &[folder.path()]);

        assert_eq!((summary.rejected, rejects), (0, vec![]));
        assert_eq!(stored(&target, "sample/buses"), [json!({"busId": "602"})]);
        assert_eq!(
            stored(&target, "schools")[0]["_ext"],
            json!({"sample": {
                "directlyOwnedBuses": [{"directlyOwnedBusReference": {"busId": "602"}}],
                "isExemplary": true,
            }})
        );
    }
}

#[test]
fn an_extension_record_named_like_a_standard_one_is_loaded_into_the_extension() {
    let target = target_with(&["homograph"]);
    let folder = Folder::new();
    let records = "<HOMOGRAPH-SchoolYearType><SchoolYear>2026</SchoolYear></HOMOGRAPH-SchoolYearType>\
                   <HOMOGRAPH-School><SchoolName>North</SchoolName></HOMOGRAPH-School>";
    folder.write("homograph.xml", interchange("Homograph", records));

    let (summary, rejects) = load_all(&target, &[folder.path()]);

    assert_eq!((summary.rejected, rejects), (0, vec![]));
    assert_eq!(stored(&target, "homograph/schools"), [json!({"schoolName": "North"})]);
    assert!(stored(&target, "schools").is_empty());
}

#[test]
fn json_lines_with_extensions_are_loaded_and_their_faults_are_reported() {
    let target = target_with(&["sample"]);
    let folder = Folder::new();
    folder.write("buses.jsonl", "{\"busId\":\"1\"}\n{\"busId\":\"\"}\n");
    let student = json!({
        "studentUniqueId": "7", "firstName": "A", "lastSurname": "B", "birthDate": "2010-01-01",
        "_ext": {"sample": {"pets": [{"petName": "Rex"}, {"petName": "Rex"}]}},
    });
    folder.write("students.jsonl", student.to_string());

    let (summary, rejects) = load_all(&target, &[folder.path()]);

    assert_eq!(summary.rejected, 2, "{rejects:?}");
    assert_eq!(stored(&target, "sample/buses"), [json!({"busId": "1"})]);
    let pets = rejects.iter().find(|reject| reject["resource"] == "ed-fi/students").unwrap();
    let message = pets["message"].as_str().unwrap();
    assert!(message.contains("$._ext.sample.pets: "), "{message}");
}
