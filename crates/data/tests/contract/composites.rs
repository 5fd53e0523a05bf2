//! Composites: the shipped enrollment set by each of its ways, and definitions of one's own.

use std::collections::BTreeSet;

use homeroom_access::Manage;
use homeroom_data::Composites;
use homeroom_http::Timestamp;
use http::Method;
use serde_json::{Value, json};

use crate::app::documents::{
    agency, course, descriptor, descriptor_path, enrolment, on_each_store, school, student, uri,
    with,
};
use crate::app::{Client, STANDARDS, TestApp, model};

const ROOT: &str = "/composites/v1/ed-fi/enrollment";
const PARAMETER: &str = "bad-request:parameter-validation-failed";
const NOWHERE: &str = "0197d8f1b4347f0b8a3e7b2c5d6e7f80";

/// Two districts with a school each; in each a section with a teacher and students.
struct Town {
    owner: Client,
}

impl Town {
    async fn on_each_store() -> Vec<Self> {
        let mut towns = vec![];
        for owner in on_each_store().await {
            for (name, code) in [
                ("ClassroomPositionDescriptor", "Teacher"),
                ("StaffClassificationDescriptor", "Teacher"),
                ("SexDescriptor", "Female"),
                ("AddressTypeDescriptor", "Mailing"),
                ("StateAbbreviationDescriptor", "TX"),
                ("SchoolCategoryDescriptor", "High School"),
            ] {
                owner.create(&descriptor_path(name), &descriptor(name, code)).await;
            }
            let town = Self { owner };
            town.district(1, 11, &["s1", "s2"], "t1").await;
            town.district(2, 12, &["s3"], "t2").await;
            towns.push(town);
        }
        towns
    }

    async fn district(&self, agency_id: i64, school_id: i64, students: &[&str], teacher: &str) {
        let owner = &self.owner;
        owner.create("/ed-fi/localEducationAgencies", &agency(agency_id)).await;
        let mut the_school = with(
            school(school_id),
            "localEducationAgencyReference",
            json!({"localEducationAgencyId": agency_id}),
        );
        the_school["addresses"] = json!([{
            "addressTypeDescriptor": uri("AddressTypeDescriptor", "Mailing"),
            "city": "Austin", "postalCode": "78701", "streetNumberName": "1 Main",
            "stateAbbreviationDescriptor": uri("StateAbbreviationDescriptor", "TX"),
        }]);
        the_school["schoolCategories"] =
            json!([{"schoolCategoryDescriptor": uri("SchoolCategoryDescriptor", "High School")}]);
        owner.create("/ed-fi/schools", &the_school).await;
        owner.create("/ed-fi/courses", &course(school_id, "ALG")).await;
        let session = json!({
            "schoolReference": {"schoolId": school_id},
            "schoolYearTypeReference": {"schoolYear": 2025},
            "sessionName": "Fall", "beginDate": "2024-08-20", "endDate": "2024-12-20",
            "termDescriptor": uri("TermDescriptor", "Fall"), "totalInstructionalDays": 80,
        });
        owner.create("/ed-fi/sessions", &session).await;
        let offering = json!({
            "localCourseCode": "ALG-1", "localCourseTitle": "Algebra",
            "schoolReference": {"schoolId": school_id},
            "sessionReference": {"schoolId": school_id, "schoolYear": 2025, "sessionName": "Fall"},
            "courseReference": {"courseCode": "ALG", "educationOrganizationId": school_id},
        });
        owner.create("/ed-fi/courseOfferings", &offering).await;
        let period = json!({
            "classPeriodName": "First", "schoolReference": {"schoolId": school_id},
        });
        owner.create("/ed-fi/classPeriods", &period).await;
        let room = json!({
            "classroomIdentificationCode": "A1", "schoolReference": {"schoolId": school_id},
        });
        owner.create("/ed-fi/locations", &room).await;
        let section = json!({
            "sectionIdentifier": "ALG-1-1", "sequenceOfCourse": 1,
            "courseOfferingReference": {
                "localCourseCode": "ALG-1", "schoolId": school_id, "schoolYear": 2025,
                "sessionName": "Fall",
            },
            "locationReference": {"classroomIdentificationCode": "A1", "schoolId": school_id},
            "classPeriods": [{"classPeriodReference":
                {"classPeriodName": "First", "schoolId": school_id}}],
        });
        owner.create("/ed-fi/sections", &section).await;
        let in_section = |begin: &str| {
            json!({
                "beginDate": begin,
                "sectionReference": {
                    "localCourseCode": "ALG-1", "schoolId": school_id, "schoolYear": 2025,
                    "sectionIdentifier": "ALG-1-1", "sessionName": "Fall",
                },
            })
        };
        for id in students {
            owner.create("/ed-fi/students", &student(id)).await;
            owner
                .create("/ed-fi/studentSchoolAssociations", &enrolment(id, school_id, "2024-08-20"))
                .await;
            let there =
                with(in_section("2024-08-21"), "studentReference", json!({"studentUniqueId": id}));
            owner.create("/ed-fi/studentSectionAssociations", &there).await;
            let demographics = json!({
                "educationOrganizationReference": {"educationOrganizationId": school_id},
                "studentReference": {"studentUniqueId": id}, "loginId": format!("{id}-login"),
                "sexDescriptor": uri("SexDescriptor", "Female"), "hispanicLatinoEthnicity": false,
            });
            owner.create("/ed-fi/studentEducationOrganizationAssociations", &demographics).await;
        }
        let person = json!({
            "staffUniqueId": teacher, "firstName": "Alan", "lastSurname": "Turing",
        });
        owner.create("/ed-fi/staffs", &person).await;
        let mut there =
            with(in_section("2024-08-19"), "staffReference", json!({"staffUniqueId": teacher}));
        there["classroomPositionDescriptor"] = uri("ClassroomPositionDescriptor", "Teacher").into();
        owner.create("/ed-fi/staffSectionAssociations", &there).await;
        let assignment = json!({
            "educationOrganizationReference": {"educationOrganizationId": school_id},
            "staffReference": {"staffUniqueId": teacher}, "beginDate": "2024-08-01",
            "staffClassificationDescriptor": uri("StaffClassificationDescriptor", "Teacher"),
        });
        owner.create("/ed-fi/staffEducationOrganizationAssignmentAssociations", &assignment).await;
    }

    /// The id of the only document that a filter finds.
    async fn id(&self, path: &str) -> String {
        let ids = self.owner.ids(path).await;
        assert_eq!(ids.len(), 1, "{path}");
        ids[0].clone()
    }
}

/// What a list of composites has, each by a member.
async fn each(client: &Client, path: &str, member: &str) -> BTreeSet<String> {
    let answer = client.get(&format!("{ROOT}{path}")).await;
    assert_eq!(answer.status, 200, "{path}: {answer:?}");
    let items = answer.json();
    let items = items.as_array().unwrap().iter();
    items.map(|item| item[member].to_string().trim_matches('"').to_owned()).collect()
}

#[tokio::test]
async fn a_student_stands_there_with_schools_and_demographics() {
    for town in Town::on_each_store().await {
        let id = town.id("/ed-fi/students?studentUniqueId=s1").await;
        let school = town.id("/ed-fi/schools?schoolId=11").await;

        let answer = town.owner.get(&format!("{ROOT}/students/{id}")).await;

        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!(
            answer.json(),
            json!({
                "id": id, "studentUniqueId": "s1", "firstName": "Ada", "lastSurname": "Byron",
                "birthDate": "2010-12-10",
                "studentSchoolEnrollments": [{
                    "id": school, "schoolId": 11, "nameOfInstitution": "School 11",
                    "entryGradeLevelDescriptor": uri("GradeLevelDescriptor", "Ninth grade"),
                    "enrollmentBeginDate": "2024-08-20",
                }],
                "studentDemographics": [{
                    "educationOrganizationId": 11, "educationOrganizationType": "edfi.School",
                    "loginId": "s1-login", "sexDescriptor": uri("SexDescriptor", "Female"),
                    "hispanicLatinoEthnicity": false, "languages": [], "races": [],
                }],
            })
        );
    }
}

#[tokio::test]
async fn a_section_stands_there_with_its_people_and_what_it_refers_to() {
    for town in Town::on_each_store().await {
        let id = town.id("/ed-fi/sections?schoolId=11").await;
        let staff = town.id("/ed-fi/staffs?staffUniqueId=t1").await;
        let session = town.id("/ed-fi/sessions?schoolId=11").await;
        let location = town.id("/ed-fi/locations?schoolId=11").await;

        let answer = town.owner.get(&format!("{ROOT}/sections/{id}")).await.json();

        assert_eq!(answer["localCourseCode"], "ALG-1");
        assert_eq!(answer["localCourseTitle"], "Algebra");
        assert_eq!(answer["staff"], json!([{"id": staff, "staffUniqueId": "t1"}]));
        assert_eq!(answer["classPeriods"], json!([{"classPeriodName": "First"}]));
        assert_eq!(
            answer["session"],
            json!({
                "id": session, "schoolId": 11, "schoolYear": 2025,
                "termDescriptor": uri("TermDescriptor", "Fall"), "sessionName": "Fall",
                "beginDate": "2024-08-20", "endDate": "2024-12-20", "totalInstructionalDays": 80,
            })
        );
        assert_eq!(
            answer["location"],
            json!({"id": location, "schoolId": 11, "classroomIdentificationCode": "A1"})
        );
        let students = answer["students"].as_array().unwrap();
        assert_eq!(students.len(), 2);
        assert_eq!(students[0]["studentUniqueId"], "s1");
        assert_eq!(students[0]["enrollmentBeginDate"], "2024-08-21");
    }
}

#[tokio::test]
async fn every_composite_can_be_had_by_each_of_its_ways() {
    for town in Town::on_each_store().await {
        let agency = town.id("/ed-fi/localEducationAgencies?localEducationAgencyId=1").await;
        let school = town.id("/ed-fi/schools?schoolId=11").await;
        let section = town.id("/ed-fi/sections?schoolId=11").await;
        let staff = town.id("/ed-fi/staffs?staffUniqueId=t1").await;
        let student = town.id("/ed-fi/students?studentUniqueId=s1").await;
        let starts = [
            ("localEducationAgencies", &agency),
            ("schools", &school),
            ("sections", &section),
            ("staffs", &staff),
            ("students", &student),
        ];
        for (composite, member, all, own) in [
            ("schools", "schoolId", &["11", "12"][..], &["11"][..]),
            ("sections", "sectionIdentifier", &["ALG-1-1"], &["ALG-1-1"]),
            ("staffs", "staffUniqueId", &["t1", "t2"], &["t1"]),
            ("students", "studentUniqueId", &["s1", "s2", "s3"], &["s1", "s2"]),
        ] {
            let set = |names: &[&str]| -> BTreeSet<String> {
                names.iter().map(|name| (*name).to_owned()).collect()
            };
            assert_eq!(each(&town.owner, &format!("/{composite}"), member).await, set(all));
            for (start, id) in starts {
                if start == composite {
                    continue;
                }
                let way = format!("/{start}/{id}/{composite}");
                assert_eq!(each(&town.owner, &way, member).await, set(own), "{way}");
                let nowhere = format!("/{start}/{NOWHERE}/{composite}");
                assert_eq!(each(&town.owner, &nowhere, member).await, set(&[]), "{nowhere}");
            }
            let by_school = format!("/{composite}?schoolId=11");
            assert_eq!(each(&town.owner, &by_school, member).await, set(own), "{by_school}");
            let by_agency = format!("/{composite}?localEducationAgencyId=1");
            assert_eq!(each(&town.owner, &by_agency, member).await, set(own), "{by_agency}");
        }
        let way = format!("/schools/{school}/students?studentUniqueId=s2");
        assert_eq!(
            each(&town.owner, &way, "studentUniqueId").await,
            BTreeSet::from(["s2".to_owned()])
        );
        // Two paths narrow more than one.
        let both = format!("/schools/{school}/students?localEducationAgencyId=2");
        assert!(each(&town.owner, &both, "studentUniqueId").await.is_empty());
    }
}

#[tokio::test]
async fn an_item_that_is_not_there_and_a_composite_that_is_none_are_not_found() {
    for town in Town::on_each_store().await {
        let student = town.id("/ed-fi/students?studentUniqueId=s1").await;
        for path in [
            format!("{ROOT}/students/{NOWHERE}"),
            format!("{ROOT}/schools/{student}"),
            format!("{ROOT}/pupils"),
            format!("{ROOT}/students/{student}/pupils"),
            format!("{ROOT}/students/{student}/localEducationAgencies"),
            format!("{ROOT}/students/{student}/students/x"),
            "/composites/v1/ed-fi/other/students".into(),
            "/composites/v1/other/enrollment/students".into(),
        ] {
            town.owner.get(&path).await.problem(404, "not-found");
        }
        let malformed = town.owner.get(&format!("{ROOT}/students/x")).await;
        malformed.problem(400, "bad-request:data-validation-failed");
        let of_way = town.owner.get(&format!("{ROOT}/schools/x/students")).await;
        of_way.problem(400, "bad-request:data-validation-failed");
        for method in [Method::POST, Method::PUT, Method::DELETE] {
            let path = format!("{ROOT}/students");
            let answer = town.owner.send(method, &path, &[], "{}").await;
            answer.problem(405, "method-not-allowed");
            assert_eq!(answer.header("allow"), "GET, HEAD");
        }
    }
}

#[tokio::test]
async fn fields_choose_members_and_their_members() {
    for town in Town::on_each_store().await {
        let of = async |fields: &str| {
            let path = format!("{ROOT}/schools?schoolId=11&fields={fields}");
            town.owner.get(&path).await.json()[0].clone()
        };

        let address = json!({"city": "Austin", "postalCode": "78701"});
        assert_eq!(of("schoolId").await, json!({"schoolId": 11}));
        assert_eq!(
            of("schoolId,addresses(city,postalCode)").await,
            json!({"schoolId": 11, "addresses": [address]})
        );
        assert_eq!(
            of("LOCALEDUCATIONAGENCY(localEducationAgencyId)").await,
            json!({"localEducationAgency": {"localEducationAgencyId": 1}})
        );
        let whole = town.owner.get(&format!("{ROOT}/schools?schoolId=11")).await.json();
        assert_eq!(of("*").await, whole[0]);
        assert_eq!(of("nobodyHasThis").await, json!({}));
        for wrong in ["", "a,", "a(", "a)", "a(b", "a.b"] {
            let path = format!("{ROOT}/schools?fields={wrong}");
            town.owner.get(&path).await.problem(400, PARAMETER);
        }
    }
}

#[tokio::test]
async fn a_list_of_composites_is_paged_and_counted_as_others_are() {
    for town in Town::on_each_store().await {
        let school = town.id("/ed-fi/schools?schoolId=11").await;
        let ids = town.owner.ids("/ed-fi/students").await;
        for offset in 0..4 {
            for limit in 0..4 {
                let path = format!("{ROOT}/students?offset={offset}&limit={limit}&totalCount=true");
                let answer = town.owner.get(&path).await;
                let expected: Vec<String> = ids.iter().skip(offset).take(limit).cloned().collect();
                assert_eq!(answer.ids(), expected, "{path}");
                assert_eq!(answer.header("total-count"), "3");
            }
        }
        let way = format!("{ROOT}/schools/{school}/students?limit=1&totalCount=true");
        let first = town.owner.get(&way).await;
        assert_eq!((first.ids().len(), first.header("total-count")), (1, "2"));
        let token = first.header("next-page-token");
        let way = format!("{ROOT}/schools/{school}/students?pageToken={token}&pageSize=5");
        assert_eq!(town.owner.get(&way).await.ids(), ids[1..2]);
        town.owner.get(&format!("{ROOT}/students?limit=501")).await.problem(400, PARAMETER);
    }
}

/// Makes a claim set that grants Read on resources by relationships, or by none.
async fn readers(app: &TestApp, name: &str, resources: &[&str], strategy: &str) {
    let claims: Vec<Value> = resources
        .iter()
        .map(|resource| {
            let claim = format!("http://ed-fi.org/identity/claims/ed-fi/{resource}");
            json!({"claim": claim, "actions": [
                {"name": "Read", "authorizationStrategies": [strategy]},
            ]})
        })
        .collect();
    let definition = json!({"name": name, "resourceClaims": claims});
    let put = Manage::PutClaimSet { name: name.into(), definition };
    app.access.manage(put, Timestamp::now()).await.unwrap();
}

const NONE: &str = "NoFurtherAuthorizationRequired";
const RELATED: &str = "RelationshipsWithEdOrgsAndPeople";

#[tokio::test]
async fn a_key_sees_its_own_district_and_nothing_of_the_other() {
    for town in Town::on_each_store().await {
        let all = [
            "localEducationAgency",
            "school",
            "student",
            "studentSchoolAssociation",
            "studentEducationOrganizationAssociation",
            "section",
            "courseOffering",
            "studentSectionAssociation",
        ];
        let app = &town.owner.app;
        readers(app, "Related", &all, RELATED).await;
        // One pupil goes to both schools.
        let second = enrolment("s1", 12, "2025-01-10");
        town.owner.create("/ed-fi/studentSchoolAssociations", &second).await;
        let other_school = town.id("/ed-fi/schools?schoolId=12").await;
        let stranger = town.id("/ed-fi/students?studentUniqueId=s3").await;
        let client = app.client_of("Related", &[1]).await;

        let list = client.get(&format!("{ROOT}/students?totalCount=true")).await;

        assert_eq!(list.ids(), client.ids("/ed-fi/students").await);
        assert_eq!(list.header("total-count"), "2");
        assert_eq!(list.json()[0]["studentSchoolEnrollments"].as_array().unwrap().len(), 1);
        let other = format!("/schools/{other_school}/students");
        assert!(each(&client, &other, "studentUniqueId").await.is_empty());
        let item = client.get(&format!("{ROOT}/students/{stranger}")).await;
        item.problem(404, "not-found");
        let nobody = app.client_of("Related", &[]).await;
        let list = nobody.get(&format!("{ROOT}/students?totalCount=true")).await;
        assert_eq!((list.ids().len(), list.header("total-count")), (0, "0"));
    }
}

#[tokio::test]
async fn what_a_key_may_not_read_of_a_member_is_left_out_and_of_the_base_is_refused() {
    for town in Town::on_each_store().await {
        let app = &town.owner.app;
        readers(app, "Students", &["student", "studentSchoolAssociation"], NONE).await;
        let client = app.client("Students").await;
        let id = town.id("/ed-fi/students?studentUniqueId=s1").await;
        let school = town.id("/ed-fi/schools?schoolId=11").await;

        let student = client.get(&format!("{ROOT}/students/{id}")).await.json();

        let enrolled = json!([{
            "entryGradeLevelDescriptor": uri("GradeLevelDescriptor", "Ninth grade"),
            "enrollmentBeginDate": "2024-08-20",
        }]);
        assert_eq!(student["studentSchoolEnrollments"], enrolled);
        assert!(student.get("studentDemographics").is_none(), "{student}");
        let kind = "security:authorization:access-denied:resource";
        client.get(&format!("{ROOT}/sections")).await.problem(403, kind);
        // Nor is anything told by way of what it may not read.
        client.get(&format!("{ROOT}/schools/{school}/students")).await.problem(403, kind);
    }
}

#[tokio::test]
async fn the_values_of_a_composite_are_those_of_the_documents_themselves() {
    for town in Town::on_each_store().await {
        for (composite, skipped) in [
            ("localEducationAgencies", &[][..]),
            ("schools", &["localEducationAgency"]),
            ("students", &["studentSchoolEnrollments", "studentDemographics"]),
            ("staffs", &["educationOrganizationAssignments"]),
        ] {
            let plain = town.owner.get(&format!("/ed-fi/{composite}")).await.json();
            let all = town.owner.get(&format!("{ROOT}/{composite}")).await.json();
            let pairs = plain.as_array().unwrap().iter().zip(all.as_array().unwrap());
            let mut compared = 0;
            for (plain, shown) in pairs {
                for (name, value) in shown.as_object().unwrap() {
                    if !skipped.contains(&name.as_str()) {
                        compared += 1;
                        same(value, &plain[name], name);
                    }
                }
            }
            assert!(compared > 5, "{composite}: {all}");
        }
    }
}

/// Whether all of a value stands in another; items may have fewer members, and renamed ones.
fn same(shown: &Value, plain: &Value, name: &str) {
    match (shown, plain) {
        (Value::Array(shown), Value::Array(plain)) => {
            assert_eq!(shown.len(), plain.len(), "{name}");
            for (shown, plain) in shown.iter().zip(plain) {
                let values: Vec<&Value> = plain.as_object().unwrap().values().collect();
                for value in shown.as_object().unwrap().values() {
                    assert!(values.contains(&value), "{name}: {value} of {values:?}");
                }
            }
        }
        _ => assert_eq!(shown, plain, "{name}"),
    }
}

#[tokio::test]
async fn the_documents_of_discovery_and_openapi_lead_to_the_composites() {
    for client in on_each_store().await {
        let listed = client.get("/metadata").await.json();
        let entries = listed.as_array().unwrap();
        let entry = entries.iter().find(|entry| entry["prefix"] == "Composites").unwrap();
        assert_eq!(entry["name"], "Enrollment");
        let document = client.get(entry["endpointUri"].as_str().unwrap()).await.json();
        let root = client.get("/").await.json()["urls"]["composites"].clone();

        let server = document["servers"][0]["url"].as_str().unwrap();
        assert_eq!(format!("{server}/"), root.as_str().unwrap());
        let paths = document["paths"].as_object().unwrap();
        assert!(paths.contains_key("/ed-fi/enrollment/schools/{school_Id}/students"), "{paths:?}");
        assert!(
            !paths.contains_key("/ed-fi/enrollment/schools/{school_Id}/localEducationAgencies")
        );
        for path in paths.keys() {
            let mut path = path.clone();
            while let Some((start, rest)) = path.split_once('{') {
                path = format!("{start}{NOWHERE}{}", rest.split_once('}').unwrap().1);
            }
            let answer = client.get(&format!("{server}{path}")).await;
            assert!(matches!(answer.status, 200 | 404), "{path}: {answer:?}");
            if answer.status == 404 {
                assert!(path.ends_with(NOWHERE), "{path}: {answer:?}");
            }
        }
        // Nothing leads nowhere.
        let text = document.to_string();
        for part in text.split("\"$ref\":\"#").skip(1) {
            let pointer = part.split('"').next().unwrap();
            assert!(document.pointer(pointer).is_some(), "{pointer}");
        }
        client
            .get("/metadata/composites/v1/ed-fi/none/swagger.json")
            .await
            .problem(404, "not-found");
    }
}

#[tokio::test]
async fn only_the_reference_that_a_definition_names_leads_from_one_resource_to_another() {
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
async fn a_definition_of_ones_own_is_served_beside_the_shipped_ones() {
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
fn a_definition_that_does_not_fit_is_refused_with_its_line_and_what_would_be_right() {
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
        (base("<Property name=\"Id\"/>") + "<junk>", 12, "nothing may stand behind"),
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
fn a_category_takes_the_place_of_the_shipped_one_and_cannot_stand_twice() {
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
    let Some(reference) = std::env::var_os("HOMEROOM_REFERENCE") else { return };
    let folder = std::path::Path::new(&reference).join("ed-fi/profiles-composites");
    for name in ["Composites.xml", "DS4AndDS5_Composites.xml"] {
        let Ok(text) = std::fs::read_to_string(folder.join(name)) else { continue };
        for standard in STANDARDS {
            let compiled = Composites::compile(&standard.model(), &[(name.into(), text.clone())]);
            assert!(compiled.is_ok(), "{compiled:?}");
        }
    }
}
