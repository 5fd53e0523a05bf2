//! References by other values than the key.

use serde_json::json;

use crate::support::{Folder, load_all, stored, target};
use crate::{CATEGORY, descriptors, interchange, school};

#[test]
fn a_lookup_finds_the_one_document_that_has_its_values() {
    let (target, folder) = (target(), Folder::new());
    folder.write("a.xml", descriptors());
    let schools = school(7, "North") + &school(8, "South") + &school(9, "South");
    folder.write("b.xml", interchange("EducationOrganization", &schools));
    let room = |code: &str, values: &str| {
        format!(
            "<Location><ClassroomIdentificationCode>{code}</ClassroomIdentificationCode>\
             <SchoolReference><SchoolLookup>{values}</SchoolLookup></SchoolReference></Location>"
        )
    };
    let name = |name: &str| format!("<NameOfInstitution>{name}</NameOfInstitution>");
    let category =
        format!("<EducationOrganizationCategory>{CATEGORY}</EducationOrganizationCategory>");
    let rooms = room("one", &(name("North") + &category))
        + &room("two", &name("South"))
        + &room("none", &name("West"))
        + &room("key", "<SchoolId>9</SchoolId>");
    folder.write("c.xml", interchange("EducationOrganization", &rooms));

    let (summary, rejects) = load_all(&target, &[folder.path()]);

    assert_eq!((summary.loaded, summary.rejected), (8, 2), "{rejects:#?}");
    assert!(rejects[0]["message"].as_str().unwrap().contains("More than one School"));
    assert!(rejects[1]["message"].as_str().unwrap().contains("No School"));
    let rooms = stored(&target, "locations");
    assert_eq!(rooms[0]["schoolReference"], json!({"schoolId": 7}));
    assert_eq!(rooms[1]["schoolReference"], json!({"schoolId": 9}));
}

#[test]
fn a_lookup_of_a_base_searches_all_its_subclasses() {
    let (target, folder) = (target(), Folder::new());
    folder.write("a.xml", descriptors());
    folder.write("b.xml", interchange("EducationOrganization", &school(7, "North")));
    let rating = |title: &str, values: &str| {
        format!(
            "<AccountabilityRating><EducationOrganizationReference><EducationOrganizationLookup>\
             {values}</EducationOrganizationLookup></EducationOrganizationReference>\
             <RatingTitle>{title}</RatingTitle><Rating>A</Rating><SchoolYear>2021-2022</SchoolYear>\
             </AccountabilityRating>"
        )
    };
    let ratings = rating("name", "<NameOfInstitution>North</NameOfInstitution>")
        + &rating("id", "<EducationOrganizationId>7</EducationOrganizationId>");
    folder.write("c.xml", interchange("EducationOrganization", &ratings));

    let (summary, rejects) = load_all(&target, &[folder.path()]);

    assert_eq!((summary.loaded, summary.rejected), (6, 0), "{rejects:#?}");
    for rating in stored(&target, "accountabilityRatings") {
        assert_eq!(rating["educationOrganizationReference"], json!({"educationOrganizationId": 7}));
    }
}
