//! Definitions of composites: what they lead to, which do not fit, and what they replace.

use homeroom_data::Composites;
use serde_json::json;

use super::{ROOT, Town, each};
use crate::app::documents::{enrolment, with};
use crate::app::{Client, STANDARDS, model};

#[tokio::test]
async fn a_definition_follows_only_the_reference_that_it_names() {
    let own = definition(
        r#"<Specification>
<Parameter name="School.Id" filterPath="StudentSchoolAssociations-&gt;StudentReference.Id"/>
<Parameter name="Enrolled" filterPath="StudentSchoolAssociations.EntryDate"/>
<Parameter name="Coming" filterPath="NextYearStudentSchoolAssociations.EntryDate"/>
</Specification>
<BaseResource name="School">
<Property name="SchoolId"/>
<LinkedCollection name="StudentSchoolAssociations" displayName="enrolled"><Property name="StudentUniqueId"/></LinkedCollection>
<LinkedCollection name="NextYearStudentSchoolAssociations" displayName="coming"><Property name="StudentUniqueId"/></LinkedCollection>
</BaseResource>"#,
    );
    for town in Town::on_each_store().await {
        let next = with(
            enrolment("s3", 12, "2024-08-20"),
            "nextYearSchoolReference",
            json!({"schoolId": 11}),
        );
        let answer = town.owner.post("/ed-fi/studentSchoolAssociations", &next).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        let app = town.owner.app.with_composites(&[("own.xml".into(), own.clone())]);
        let owner = Client { app, ..town.owner.clone() };
        let of = async |query: &str| {
            let path = format!("/composites/v1/mine/views/rosters?{query}");
            owner.get(&path).await.json()
        };
        let pupil = |id: &str| json!({"studentUniqueId": id});

        assert_eq!(
            of("").await,
            json!([
                {"schoolId": 11, "enrolled": [pupil("s1"), pupil("s2")], "coming": [pupil("s3")]},
                {"schoolId": 12, "enrolled": [pupil("s3")], "coming": []},
            ])
        );
        assert_eq!(of("enrolled=2024-08-20&fields=schoolId").await.as_array().unwrap().len(), 2);
        assert_eq!(of("coming=2024-08-20&fields=schoolId").await, json!([{"schoolId": 11}]));
        let students = each(&town.owner, "/students?schoolId=11", "studentUniqueId").await;
        assert_eq!(students.len(), 2, "{students:?}");
    }
}

/// A file of definitions with one composite.
fn definition(inside: &str) -> String {
    format!(
        r#"<CompositeMetadata organizationCode="mine">
<Category name="views" displayName="Mine">
<Routes><Route relativeRouteTemplate="/of/{{School.Id}}/{{compositeName}}" compositeNameConstraint="rosters"/></Routes>
<Composites>
<Composite name="Roster">
{inside}
</Composite>
</Composites>
</Category>
</CompositeMetadata>"#
    )
}

#[tokio::test]
async fn a_custom_definition_is_served_beside_the_shipped_ones() {
    let own = definition(
        r#"<Specification>
<Parameter name="School.Id" filterPath="CourseOfferingReference-&gt;SchoolReference.Id" queryable="false"/>
<Parameter name="Room" filterPath="LocationReference.ClassroomIdentificationCode"/>
</Specification>
<BaseResource name="Section" logicalSchema="Ed-Fi">
<Property name="SectionIdentifier" displayName="Code"/>
<Property name="SchoolYear"/>
<Collection name="SectionClassPeriods">
<ReferencedResource name="ClassPeriodReference"><Property name="Id"/><Property name="ClassPeriodName"/></ReferencedResource>
</Collection>
<LinkedCollection name="StudentSectionAssociations">
<ReferencedResource name="StudentReference" flatten="true">
<Property name="LastSurname"/>
<LinkedCollection name="StudentSchoolAssociations" displayName="entries"><Property name="EntryDate"/></LinkedCollection>
</ReferencedResource>
</LinkedCollection>
</BaseResource>"#,
    );
    for town in Town::on_each_store().await {
        let app = town.owner.app.with_composites(&[("own.xml".into(), own.clone())]);
        let owner = Client { app, ..town.owner.clone() };
        let school = town.id("/ed-fi/schools?schoolId=12").await;
        let period = town.id("/ed-fi/classPeriods?schoolId=12").await;

        let list = owner.get(&format!("/composites/v1/mine/views/of/{school}/rosters")).await;

        let expected = json!([{
            "code": "ALG-1-1", "schoolYear": 2025,
            "classPeriods": [{
                "classPeriodReference": {"id": period, "classPeriodName": "First"},
            }],
            "studentSectionAssociations": [
                {"lastSurname": "Byron", "entries": [{"entryDate": "2024-08-20"}]},
            ],
        }]);
        assert_eq!(list.json(), expected);
        let of = async |query: &str| {
            let list = owner.get(&format!("/composites/v1/mine/views/rosters?{query}")).await;
            list.json().as_array().unwrap().len()
        };
        assert_eq!(of("room=A1").await, 2);
        assert_eq!(of("room=B2").await, 0);
        // What is not for query strings is passed over there.
        assert_eq!(of(&format!("School.Id={school}")).await, 2);
        assert_eq!(owner.get(&format!("{ROOT}/students")).await.ids().len(), 3);
    }
}

#[test]
fn an_invalid_definition_is_refused_with_its_line_and_a_hint() {
    let base = |inside: &str| {
        definition(&format!("<BaseResource name=\"Section\">\n{inside}\n</BaseResource>"))
    };
    for (text, line, said) in [
        (String::new(), 1, "ends before"),
        ("<Profiles/>".into(), 1, "it may have CompositeMetadata"),
        ("<CompositeMetadata>\n</CompositeMetadata>".into(), 1, "organizationCode"),
        (base("<Property/>"), 7, "needs the attribute name"),
        (base("<Property name=\"X\" kind=\"y\"/>"), 7, "no attribute kind"),
        (base("<Property name=\"FirstName\"/>"), 7, "no such value of Section; there are"),
        (base("<Collection name=\"Pets\"><Property name=\"A\"/></Collection>"), 7, "classPeriods"),
        (base("<Collection name=\"ClassPeriods\"/>"), 7, "needs a Property"),
        (
            base("<ReferencedResource name=\"Pet\"><Property name=\"A\"/></ReferencedResource>"),
            7,
            "courseOfferingReference",
        ),
        (
            base("<LinkedCollection name=\"Pets\"><Property name=\"A\"/></LinkedCollection>"),
            7,
            "no resource of ed-fi is called Pets",
        ),
        (
            base("<LinkedCollection name=\"Students\"><Property name=\"Id\"/></LinkedCollection>"),
            7,
            "students do not refer to sections",
        ),
        (
            base(
                "<Property name=\"Id\"/>\n<Property name=\"SectionIdentifier\" displayName=\"Id\"/>",
            ),
            6,
            "id twice",
        ),
        (base("<Property name=\"Id\"/>\n<Category/>"), 8, "BaseResource has no Category"),
        (base("words"), 6, "there is text"),
        (base("<!DOCTYPE x>"), 7, "only elements"),
        (
            definition("<BaseResource name=\"Pet\"><Property name=\"Id\"/></BaseResource>"),
            6,
            "no resource Pet",
        ),
        (
            definition(
                "<Specification>\n<Parameter name=\"A\" filterPath=\"Pet-&gt;B.C\"/>\n</Specification>\n<BaseResource name=\"Section\"><Property name=\"Id\"/></BaseResource>",
            ),
            7,
            "Section has no reference Pet",
        ),
        (
            definition(
                "<Specification>\n<Parameter name=\"Limit\" filterPath=\"SectionIdentifier\"/>\n</Specification>\n<BaseResource name=\"Section\"><Property name=\"Id\"/></BaseResource>",
            ),
            7,
            "choose another name",
        ),
        (base("<Property name=\"Id\"/>") + "<junk>", 12, "nothing may follow"),
        (base("<Property name=\"Id\"/>").replace("rosters", "pets"), 3, "there are rosters"),
        (base("<Property name=\"Id\"/>").replace("</Category>", ""), 12, "XML"),
    ] {
        let files = [("own.xml".to_owned(), text.clone())];
        let error = Composites::compile(&model(), &files).unwrap_err();
        let shown = error.to_string();
        assert!(shown.contains(said), "{text}\n{shown}");
        assert!(shown.starts_with("own.xml:"), "{shown}");
        assert_eq!(error.line, line, "{text}\n{shown}");
    }
}

#[test]
fn a_category_overrides_the_shipped_one_and_cannot_be_defined_twice() {
    let text = definition("<BaseResource name=\"Section\"><Property name=\"Id\"/></BaseResource>");
    let text = text.replace("\"mine\"", "\"Ed-Fi\"").replace("\"views\"", "\"Enrollment\"");
    let file = |name: &str| (name.to_owned(), text.clone());

    let own = Composites::compile(&model(), &[file("a.xml")]).unwrap();
    let twice = Composites::compile(&model(), &[file("a.xml"), file("b.xml")]).unwrap_err();

    assert_eq!(own.categories.len(), 1);
    assert!(own.category("ed-fi", "enrollment").unwrap().composite("students").is_none());
    assert!(twice.to_string().contains("defined twice"), "{twice}");
}

#[test]
fn the_shipped_definitions_fit_every_shipped_standard() {
    for standard in STANDARDS {
        let composites = Composites::compile(&standard.model(), &[]).unwrap();

        let category = composites.category("ed-fi", "enrollment").unwrap();
        let names: Vec<&str> = category.composites.iter().map(|one| one.plural.as_str()).collect();
        assert_eq!(names, ["localEducationAgencies", "schools", "sections", "students", "staffs"]);
        assert_eq!(category.left_out, [], "{}", standard.version);
    }
}

#[test]
fn the_published_definitions_can_be_used_as_they_are() {
    let Some(reference) = std::env::var_os("HOMEROOM_REFERENCE") else {
        println!("skipped: HOMEROOM_REFERENCE names no folder");
        return;
    };
    let folder = std::path::Path::new(&reference).join("ed-fi/profiles-composites");
    for name in ["Composites.xml", "DS4AndDS5_Composites.xml"] {
        let text = std::fs::read_to_string(folder.join(name)).unwrap();
        for standard in STANDARDS {
            let compiled = Composites::compile(&standard.model(), &[(name.into(), text.clone())]);
            assert!(compiled.is_ok(), "{compiled:?}");
        }
    }
}
