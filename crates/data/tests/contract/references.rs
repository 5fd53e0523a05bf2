//! References: to abstract bases, to the document itself, to missing documents; and their links.

use serde_json::json;

use crate::app::answer::violated;
use crate::app::documents::{
    agency, course, descriptor, enrolment, on_each_store, program, school, student, uri, with,
};

const TAKEN: &str = "data-conflict:non-unique-identity";
const DEPENDENT: &str = "data-conflict:dependent-item-exists";

#[tokio::test]
async fn an_abstract_reference_accepts_any_education_organization() {
    for client in on_each_store().await {
        let at_school = client.create("/ed-fi/schools", &school(1)).await;
        let at_agency = client.create("/ed-fi/localEducationAgencies", &agency(2)).await;

        for (id, name, href) in
            [(1, "School", at_school), (2, "LocalEducationAgency", at_agency.clone())]
        {
            let location = client.create("/ed-fi/courses", &course(id, "ALG")).await;
            let found = client.get(&location).await.json();
            let link = &found["educationOrganizationReference"]["link"];
            assert_eq!(*link, json!({"rel": name, "href": href}));
            let query = format!("/ed-fi/courses?educationOrganizationId={id}");
            assert_eq!(client.ids(&query).await.len(), 1);
        }

        let missing = client.post("/ed-fi/courses", &course(3, "ALG")).await;
        let problem = missing.problem(409, "data-conflict:unresolved-reference");
        assert!(problem["detail"].as_str().unwrap().contains("EducationOrganization"), "{problem}");
        let problem = client.delete(&at_agency).await.problem(409, DEPENDENT);
        assert!(problem["detail"].as_str().unwrap().contains("Course"), "{problem}");
    }
}

#[tokio::test]
async fn a_concrete_reference_takes_only_its_own_kind() {
    for client in on_each_store().await {
        client.create("/ed-fi/localEducationAgencies", &agency(2)).await;
        client.create("/ed-fi/students", &student("1")).await;

        let enrolment = enrolment("1", 2, "2026-08-20");
        let answer = client.post("/ed-fi/studentSchoolAssociations", &enrolment).await;

        let problem = answer.problem(409, "data-conflict:unresolved-reference");
        assert_eq!(
            problem["validationErrors"],
            json!({"$.schoolReference": ["The referenced School does not exist."]})
        );
    }
}

#[tokio::test]
async fn an_education_organization_id_belongs_to_one_kind() {
    for client in on_each_store().await {
        let location = client.create("/ed-fi/schools", &school(1)).await;

        let problem =
            client.post("/ed-fi/localEducationAgencies", &agency(1)).await.problem(409, TAKEN);

        let error = problem["errors"][0].as_str().unwrap();
        assert!(error.contains("localEducationAgencyId") && error.contains('1'), "{error}");
        assert_eq!(client.delete(&location).await.status, 204);
        client.create("/ed-fi/localEducationAgencies", &agency(1)).await;
        client.post("/ed-fi/schools", &school(1)).await.problem(409, TAKEN);
    }
}

#[tokio::test]
async fn an_abstract_reference_accepts_any_general_program_association() {
    for client in on_each_store().await {
        client.create("/ed-fi/schools", &school(1)).await;
        client.create("/ed-fi/students", &student("1")).await;
        client.create("/ed-fi/programs", &program(1, "Spanish")).await;
        let kind = uri("ProgramTypeDescriptor", "Bilingual");
        let association = json!({
            "beginDate": "2026-08-20",
            "educationOrganizationReference": {"educationOrganizationId": 1},
            "programReference": {
                "educationOrganizationId": 1, "programName": "Spanish",
                "programTypeDescriptor": kind,
            },
            "studentReference": {"studentUniqueId": "1"},
        });
        let path = "/ed-fi/studentProgramAssociations";
        let location = client.create(path, &association).await;

        let other = client.post("/ed-fi/studentHomelessProgramAssociations", &association).await;
        other.problem(409, TAKEN);

        let objective = json!({
            "objective": "Read",
            "educationOrganizationReference": {"educationOrganizationId": 1},
            "objectiveGradeLevelDescriptor": uri("GradeLevelDescriptor", "Ninth grade"),
        });
        client.create("/ed-fi/competencyObjectives", &objective).await;
        client
            .create(
                "/ed-fi/gradingPeriodDescriptors",
                &descriptor("GradingPeriodDescriptor", "First"),
            )
            .await;
        client
            .create(
                "/ed-fi/competencyLevelDescriptors",
                &descriptor("CompetencyLevelDescriptor", "High"),
            )
            .await;
        let period = uri("GradingPeriodDescriptor", "First");
        let grading_period = json!({
            "gradingPeriodDescriptor": period, "gradingPeriodName": "1",
            "schoolReference": {"schoolId": 1}, "schoolYearTypeReference": {"schoolYear": 2027},
            "beginDate": "2026-08-20", "endDate": "2026-10-20", "totalInstructionalDays": 40,
        });
        client.create("/ed-fi/gradingPeriods", &grading_period).await;
        let competency = json!({
            "gradingPeriodReference": {
                "gradingPeriodDescriptor": period, "gradingPeriodName": "1", "schoolId": 1,
                "schoolYear": 2027,
            },
            "objectiveCompetencyObjectiveReference": {
                "educationOrganizationId": 1, "objective": "Read",
                "objectiveGradeLevelDescriptor": uri("GradeLevelDescriptor", "Ninth grade"),
            },
            "studentReference": {"studentUniqueId": "1"},
            "competencyLevelDescriptor": uri("CompetencyLevelDescriptor", "High"),
            "generalStudentProgramAssociations": [{
                "generalStudentProgramAssociationReference": {
                    "beginDate": "2026-08-20", "educationOrganizationId": 1,
                    "programEducationOrganizationId": 1, "programName": "Spanish",
                    "programTypeDescriptor": kind, "studentUniqueId": "1",
                },
            }],
        });

        let competency = client.create("/ed-fi/studentCompetencyObjectives", &competency).await;

        let found = client.get(&competency).await.json();
        let link = &found["generalStudentProgramAssociations"][0]["generalStudentProgramAssociationReference"]
            ["link"];
        assert_eq!(*link, json!({"rel": "StudentProgramAssociation", "href": location}));
        client.delete(&location).await.problem(409, DEPENDENT);
    }
}

#[tokio::test]
async fn a_document_may_refer_to_itself() {
    for client in on_each_store().await {
        let path = "/ed-fi/localEducationAgencies";
        let itself = json!({"localEducationAgencyId": 1});
        let body = with(agency(1), "parentLocalEducationAgencyReference", itself);

        let location = client.create(path, &body).await;

        let found = client.get(&location).await.json();
        let link = &found["parentLocalEducationAgencyReference"]["link"];
        assert_eq!(link["href"], location);
        let query = format!("{path}?parentLocalEducationAgencyId=1&totalCount=true");
        let listed = client.get(&query).await;
        assert_eq!((listed.ids().len(), listed.header("total-count")), (1, "1"));
        let again = with(body, "shortNameOfInstitution", "One");
        assert_eq!(client.put(&location, &again).await.status, 204);
        assert_eq!(client.ids(&query).await.len(), 1);
        assert_eq!(client.delete(&location).await.status, 204);
        assert!(client.ids(&query).await.is_empty());
    }
}

#[tokio::test]
async fn a_document_can_be_deleted_once_its_last_referrer_is_gone() {
    for client in on_each_store().await {
        let agency_location = client.create("/ed-fi/localEducationAgencies", &agency(9)).await;
        let other_location = client.create("/ed-fi/localEducationAgencies", &agency(8)).await;
        let under = |id: i64| {
            with(school(1), "localEducationAgencyReference", json!({"localEducationAgencyId": id}))
        };
        let location = client.create("/ed-fi/schools", &under(9)).await;
        client.delete(&agency_location).await.problem(409, DEPENDENT);

        assert_eq!(client.put(&location, &under(8)).await.status, 204);

        assert_eq!(client.delete(&agency_location).await.status, 204);
        client.delete(&other_location).await.problem(409, DEPENDENT);
        assert!(client.ids("/ed-fi/schools?localEducationAgencyId=9").await.is_empty());
        assert_eq!(client.ids("/ed-fi/schools?localEducationAgencyId=8").await.len(), 1);
        assert_eq!(client.delete(&location).await.status, 204);
        assert_eq!(client.delete(&other_location).await.status, 204);
    }
}

#[tokio::test]
async fn several_references_from_one_document_count_as_one_referrer() {
    for client in on_each_store().await {
        let tenth = uri("GradeLevelDescriptor", "Tenth grade");
        let ids = client.ids("/ed-fi/gradeLevelDescriptors?codeValue=Tenth%20grade").await;
        let descriptor = format!("/ed-fi/gradeLevelDescriptors/{}", ids[0]);
        client.create("/ed-fi/schools", &school(1)).await;
        client.create("/ed-fi/students", &student("1")).await;
        let twice = with(
            with(enrolment("1", 1, "2026-08-20"), "entryGradeLevelDescriptor", tenth.clone()),
            "nextYearGradeLevelDescriptor",
            tenth,
        );
        let path = "/ed-fi/studentSchoolAssociations";
        let location = client.create(path, &twice).await;

        let once = with(twice, "nextYearGradeLevelDescriptor", json!(null));
        assert_eq!(client.put(&location, &once).await.status, 204);
        client.delete(&descriptor).await.problem(409, DEPENDENT);
        let none = enrolment("1", 1, "2026-08-20");
        assert_eq!(client.put(&location, &none).await.status, 204);

        assert_eq!(client.delete(&descriptor).await.status, 204);
    }
}

#[tokio::test]
async fn unknown_descriptors_are_reported_before_missing_targets() {
    for client in on_each_store().await {
        let grade = uri("GradeLevelDescriptor", "Hundredth grade");
        let body = with(enrolment("nobody", 404, "2026-08-20"), "entryGradeLevelDescriptor", grade);

        let answer = client.post("/ed-fi/studentSchoolAssociations", &body).await;

        let problem = answer.problem(400, "bad-request:data-validation-failed");
        assert_eq!(violated(&problem), ["$.entryGradeLevelDescriptor"], "{problem}");
        client.create("/ed-fi/schools", &school(404)).await;
        let body = enrolment("nobody", 404, "2026-08-20");
        let answer = client.post("/ed-fi/studentSchoolAssociations", &body).await;
        let problem = answer.problem(409, "data-conflict:unresolved-reference");
        assert_eq!(violated(&problem), ["$.studentReference"], "{problem}");
    }
}
