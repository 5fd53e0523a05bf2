//! Refusals: what they name, and what they do not reveal.

use super::town::{contact, contact_of, define, owners, responsibility, school_of, staff, vendor};
use crate::app::documents::{course, student};

const DENIED: &str = "security:authorization";

#[tokio::test]
async fn a_refusal_names_five_organizations_the_property_and_the_missing_association() {
    for owner in owners().await {
        owner.create("/ed-fi/schools", &school_of(11, None)).await;
        let vendor = vendor(&owner.app, "EdOrgsAndPeople", &[7, 6, 5, 4, 3, 2, 1]).await;
        for (path, body, property, association) in [
            ("students", student("s"), "'StudentUniqueId'", "'StudentSchoolAssociation'"),
            ("contacts", contact("c"), "'ContactUniqueId'", "'StudentContactAssociation'"),
            (
                "staffs",
                staff("t"),
                "'StaffUniqueId'",
                "'StaffEducationOrganizationAssignmentAssociation' or \
                 'StaffEducationOrganizationEmploymentAssociation'",
            ),
            (
                "courses",
                course(11, "k"),
                "'EducationOrganizationId'",
                "EducationOrganizationId must be",
            ),
        ] {
            let stored = owner.create(&format!("/ed-fi/{path}"), &body).await;

            let problem = vendor.get(&stored).await.problem(403, DENIED);

            let error = problem["errors"][0].as_str().unwrap();
            assert!(error.contains("('1', '2', '3', '4', '5', ...)"), "{error}");
            assert!(error.contains(property), "{error}");
            let hint = problem["hint"].as_str().unwrap();
            assert!(hint.contains(association), "{hint}");
        }
    }
}

#[tokio::test]
async fn a_missing_person_is_refused_like_one_without_relationships() {
    for owner in owners().await {
        owner.create("/ed-fi/schools", &school_of(11, None)).await;
        let vendor = vendor(&owner.app, "EdOrgsAndPeople", &[11]).await;

        let answer = vendor.post("/ed-fi/studentContactAssociations", &contact_of("c", "s")).await;

        let problem = answer.problem(403, DENIED);
        let error = problem["errors"][0].as_str().unwrap();
        assert!(error.contains("'ContactUniqueId', 'StudentUniqueId'"), "{error}");
    }
}

#[tokio::test]
async fn one_of_two_strategies_suffices_and_a_refusal_has_the_hints_of_both() {
    for owner in owners().await {
        let strategies =
            ["RelationshipsWithEdOrgsOnly", "RelationshipsWithStudentsOnlyThroughResponsibility"];
        define(&owner.app, "Either", &strategies).await;
        for id in [11, 12] {
            owner.create("/ed-fi/schools", &school_of(id, None)).await;
        }
        owner.create("/ed-fi/students", &student("s")).await;
        let path = "/ed-fi/studentEducationOrganizationResponsibilityAssociations";
        let first = owner.create(path, &responsibility("s", 11)).await;
        let vendor = owner.app.client_of("Either", &[12]).await;

        let problem = vendor.get(&first).await.problem(403, DENIED);
        let hint = problem["hint"].as_str().unwrap();
        assert!(hint.contains("EducationOrganizationId must be"), "{hint}");
        assert!(hint.contains("StudentEducationOrganizationResponsibilityAssociation"), "{hint}");

        owner.create(path, &responsibility("s", 12)).await;
        assert_eq!(vendor.get(&first).await.status, 200);
        assert_eq!(vendor.ids(path).await.len(), 2);
    }
}

#[tokio::test]
async fn a_key_without_organizations_sees_empty_lists_and_reaches_no_document() {
    for owner in owners().await {
        owner.create("/ed-fi/schools", &school_of(11, None)).await;
        for (strategy, endpoint, body) in [
            ("EdOrgsOnly", "courses", course(11, "k")),
            ("EdOrgsOnlyInverted", "courses", course(11, "i")),
            ("EdOrgsAndPeople", "students", student("s")),
            ("EdOrgsAndPeople", "staffs", staff("t")),
        ] {
            let path = format!("/ed-fi/{endpoint}");
            let stored = owner.create(&path, &body).await;
            let vendor = vendor(&owner.app, strategy, &[]).await;

            let all = vendor.get(&format!("{path}?totalCount=true")).await;
            assert_eq!((all.ids().len(), all.header("total-count")), (0, "0"), "{strategy}");
            assert!(all.headers.get("next-page-token").is_none());
            for number in [1, 5] {
                let cut = vendor.get(&format!("{path}/partitions?number={number}")).await;
                assert_eq!(cut.json(), serde_json::json!({"pageTokens": []}), "{strategy}");
            }
            for answer in [
                vendor.get(&stored).await,
                vendor.put(&stored, &body).await,
                vendor.post(&path, &body).await,
                vendor.delete(&stored).await,
            ] {
                let problem = answer.problem(403, DENIED);
                let errors = problem["errors"].as_array().unwrap();
                assert_eq!(errors.len(), 1, "{problem}");
                assert!(errors[0].as_str().unwrap().contains("(none)"), "{problem}");
            }
        }
    }
}
