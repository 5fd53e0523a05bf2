//! Composites: the shipped enrollment set by each of its routes. Definitions have a file of their own.

#[path = "composites/definitions.rs"]
mod definitions;

use std::collections::BTreeSet;

use homeroom_access::Manage;
use homeroom_http::Timestamp;
use http::Method;
use serde_json::{Value, json};

use crate::app::documents::{
    agency, course, descriptor, descriptor_path, enrolment, on_each_store, school, student, uri,
    with,
};
use crate::app::{Client, TestApp};

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
async fn a_student_composite_contains_schools_and_demographics() {
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
async fn a_section_composite_contains_its_people_and_references() {
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
async fn every_composite_is_served_on_each_of_its_paths() {
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
async fn missing_items_and_unknown_composites_are_not_found() {
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
async fn the_fields_parameter_selects_members_and_nested_members() {
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
        for wrong in [
            "",
            "a,",
            "a(",
            "a)",
            "a(b",
            "a.b",
            "nobodyHasThis",
            "schoolId,nobodyHasThis",
            "addresses(nobodyHasThis)",
            "schoolId(city)",
        ] {
            let path = format!("{ROOT}/schools?fields={wrong}");
            town.owner.get(&path).await.problem(400, PARAMETER);
        }
    }
}

#[tokio::test]
async fn a_query_expression_filters_as_its_parameters_do_and_is_never_ignored() {
    for town in Town::on_each_store().await {
        let plain = town.owner.get(&format!("{ROOT}/schools?schoolId=11")).await.json();
        assert_eq!(plain.as_array().unwrap().len(), 1);

        for right in [
            "q=schoolId:11",
            "q=(schoolId:11)",
            "queryExpression=schoolId:11",
            "Q=SCHOOLID:11+AND+(nameOfInstitution:%22School+11%22)",
            "q=schoolId:11&schoolId=11",
        ] {
            let found = town.owner.get(&format!("{ROOT}/schools?{right}")).await;
            assert_eq!(found.json(), plain, "{right}");
        }
        let other = "q=schoolId:11+AND+(nameOfInstitution:%22School+12%22)";
        let none = town.owner.get(&format!("{ROOT}/schools?{other}")).await;
        assert_eq!(none.json(), json!([]));
        for wrong in [
            "q=schoolId",
            "q=",
            "q=nobody:1",
            "q=schoolId:11+OR+schoolId:12",
            "q=schoolId:11&schoolId=12",
        ] {
            let path = format!("{ROOT}/schools?{wrong}");
            town.owner.get(&path).await.problem(400, PARAMETER);
        }
        let school = town.id("/ed-fi/schools?schoolId=11").await;
        let one = format!("{ROOT}/schools/{school}?q=schoolId:11");
        town.owner.get(&one).await.problem(400, PARAMETER);
        let of_school = format!("{ROOT}/schools/{school}/students");
        let all = town.owner.get(&of_school).await.json();
        let found = town.owner.get(&format!("{of_school}?q=studentUniqueId:s1")).await.json();
        assert_eq!((all.as_array().unwrap().len(), found.as_array().unwrap().len()), (2, 1));
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
async fn a_key_sees_only_its_own_district() {
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
async fn unreadable_members_are_omitted_and_an_unreadable_base_is_refused() {
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
        // A filter reveals nothing that the key may not read.
        client.get(&format!("{ROOT}/schools/{school}/students")).await.problem(403, kind);
    }
}

#[tokio::test]
async fn composite_values_equal_those_of_their_documents() {
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

/// Returns whether a value is contained in another; items may have fewer members, or renamed ones.
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
async fn the_discovery_and_openapi_documents_link_to_the_composites() {
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
async fn strict_handling_refuses_what_a_composite_does_not_have() {
    const STRICT: [(&str, &str); 1] = [("prefer", "handling=strict")];
    for town in Town::on_each_store().await {
        let id = town.id("/ed-fi/students?studentUniqueId=s1").await;
        let school = town.id("/ed-fi/schools?schoolId=11").await;
        let get = async |path: &str| {
            town.owner.send(Method::GET, &format!("{ROOT}{path}"), &STRICT, "").await
        };

        for path in [
            "/students?studentUniqueId=s1&limit=5&fields=id,firstName",
            &format!("/schools/{school}/students?totalCount=true"),
            &format!("/students/{id}?fields=id"),
            "/students?birthDate=2010-12-10",
        ] {
            let answer = get(path).await;

            assert_eq!(answer.status, 200, "{path}: {answer:?}");
            assert_eq!(answer.header("preference-applied"), "handling=strict", "{path}");
        }
        for path in [
            "/students?shoeSize=4".to_owned(),
            "/students?birthDate=12/10/2010".to_owned(),
            format!("/schools/{school}/students?shoeSize=4"),
            format!("/students/{id}?limit=4"),
        ] {
            get(&path).await.problem(400, PARAMETER);
        }
    }
}
