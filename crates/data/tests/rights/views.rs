//! Custom views on the wire: what a key may write, why it is refused, and what takes effect at
//! once.

use homeroom_access::Explain;
use serde_json::{Value, json};

use super::town::{agency_of, define, owners, responsibility, school_of};
use super::view_oracle::{grade, put};
use crate::app::Client;
use crate::app::documents::{course, enrolment, student, with};

const DENIED: &str = "security:authorization";
const RESPONSIBILITIES: &str = "/ed-fi/studentEducationOrganizationResponsibilityAssociations";

/// Makes a client whose key has a claim set with these strategies.
async fn key_of(owner: &Client, strategies: &[&str]) -> Client {
    define(&owner.app, "Views", strategies).await;
    owner.app.client("Views").await
}

/// Makes a client that sees students with a responsible organization, and creates a school and a
/// student.
async fn responsible(owner: &Client) -> Client {
    let rule = json!({"exists": "studentEducationOrganizationResponsibilityAssociations"});
    put(&owner.app, "StudentWithResponsibility", rule).await;
    owner.create("/ed-fi/schools", &school_of(11, None)).await;
    owner.create("/ed-fi/students", &student("s")).await;
    key_of(owner, &["StudentWithResponsibility"]).await
}

#[tokio::test]
async fn a_write_is_permitted_only_while_its_association_exists() {
    for owner in owners().await {
        let vendor = responsible(&owner).await;
        let path = "/ed-fi/studentSchoolAssociations";
        let body = enrolment("s", 11, "2025-08-20");

        vendor.post(path, &body).await.problem(403, DENIED);
        let person = owner.create(RESPONSIBILITIES, &responsibility("s", 11)).await;
        let enrolled = vendor.create(path, &body).await;
        let later = with(body, "entryGradeLevelDescriptor", grade("Tenth grade"));
        assert_eq!(vendor.put(&enrolled, &later).await.status, 204);
        assert_eq!(owner.delete(&person).await.status, 204);
        vendor.put(&enrolled, &later).await.problem(403, DENIED);
        vendor.delete(&enrolled).await.problem(403, DENIED);
        vendor.get(&enrolled).await.problem(403, DENIED);
        assert_eq!(vendor.ids(path).await.len(), 0);
    }
}

#[tokio::test]
async fn a_new_document_cannot_bring_itself_into_a_view() {
    for owner in owners().await {
        let vendor = responsible(&owner).await;

        vendor.post(RESPONSIBILITIES, &responsibility("s", 11)).await.problem(403, DENIED);
        vendor.post("/ed-fi/students", &student("t")).await.problem(403, DENIED);
        assert_eq!(owner.ids("/ed-fi/students").await.len(), 1);
    }
}

#[tokio::test]
async fn a_refusal_names_the_view_the_property_and_what_is_missing() {
    for owner in owners().await {
        let vendor = responsible(&owner).await;

        let unknown = enrolment("nobody", 11, "2025-08-20");
        let problem =
            vendor.post("/ed-fi/studentSchoolAssociations", &unknown).await.problem(403, DENIED);

        let error = "The view StudentWithResponsibility does not contain the document's \
                     'StudentUniqueId'.";
        assert_eq!(problem["errors"][0], error);
        let hint = "StudentWithResponsibility requires a 'Student' with a \
                    'StudentEducationOrganizationResponsibilityAssociation'. You may need to \
                    create the corresponding \
                    'StudentEducationOrganizationResponsibilityAssociation'.";
        assert_eq!(problem["hint"], hint);
        let path = owner.ids("/ed-fi/students").await.pop().unwrap();
        vendor.get(&format!("/ed-fi/students/{path}")).await.problem(403, DENIED);
    }
}

/// Makes a view of agencies that have a parent: agency 2 below agency 1.
async fn with_parent(owner: &Client) -> Client {
    let rule = json!({"member": "parentLocalEducationAgencyReference", "present": true});
    put(&owner.app, "LocalEducationAgencyWithParent", rule).await;
    owner.create("/ed-fi/localEducationAgencies", &agency_of(1, None)).await;
    owner.create("/ed-fi/localEducationAgencies", &agency_of(2, Some(1))).await;
    key_of(owner, &["LocalEducationAgencyWithParent"]).await
}

#[tokio::test]
async fn a_document_without_the_required_reference_is_refused_by_name_and_not_listed() {
    for owner in owners().await {
        let vendor = with_parent(&owner).await;
        let stored = owner.create("/ed-fi/schools", &school_of(11, None)).await;
        let uninitialized = "security:authorization:custom-view:invalid-data:element-uninitialized";
        let required = "security:authorization:custom-view:access-denied:element-required";

        let sent = vendor.post("/ed-fi/schools", &school_of(12, None)).await;
        let problem = sent.problem(403, required);
        vendor.get(&stored).await.problem(403, uninitialized);
        vendor.delete(&stored).await.problem(403, uninitialized);
        vendor.post("/ed-fi/schools", &school_of(11, Some(2))).await.problem(403, uninitialized);

        let detail = problem["detail"].as_str().unwrap();
        assert!(
            detail
                .contains("'LocalEducationAgencyId', which LocalEducationAgencyWithParent checks")
        );
        assert_eq!(problem.get("errors"), None, "{problem}");
        assert_eq!(vendor.ids("/ed-fi/schools").await.len(), 0);
    }
}

#[tokio::test]
async fn an_update_is_checked_by_a_view_against_the_stored_and_the_sent_document() {
    for owner in owners().await {
        let vendor = with_parent(&owner).await;
        let ours = vendor.create("/ed-fi/schools", &school_of(11, Some(2))).await;
        let theirs = owner.create("/ed-fi/schools", &school_of(12, Some(1))).await;

        let named = |id, agency| with(school_of(id, agency), "nameOfInstitution", "Oak Hill");
        assert_eq!(vendor.put(&ours, &named(11, Some(2))).await.status, 204);
        vendor.put(&ours, &named(11, Some(1))).await.problem(403, DENIED);
        vendor.put(&theirs, &named(12, Some(2))).await.problem(403, DENIED);
        vendor.post("/ed-fi/schools", &named(12, Some(2))).await.problem(403, DENIED);
        let required = "security:authorization:custom-view:access-denied:element-required";
        vendor.put(&ours, &named(11, None)).await.problem(403, required);

        assert_eq!(owner.get(&theirs).await.json()["nameOfInstitution"], "School 12");
    }
}

#[tokio::test]
async fn views_are_checked_before_ownership_and_relationships_in_claim_set_order() {
    for owner in owners().await {
        responsible(&owner).await;
        put(&owner.app, "StudentWithGrace", json!({"member": "firstName", "in": ["Grace"]})).await;
        let path = format!("/ed-fi/students/{}", owner.ids("/ed-fi/students").await[0]);
        for (strategies, first) in [
            (&["StudentWithGrace", "StudentWithResponsibility"][..], "StudentWithGrace"),
            (&["StudentWithResponsibility", "StudentWithGrace"], "StudentWithResponsibility"),
            (&["OwnershipBased", "StudentWithGrace"], "StudentWithGrace"),
            (&["RelationshipsWithStudentsOnly", "StudentWithGrace"], "StudentWithGrace"),
        ] {
            define(&owner.app, "Views", strategies).await;
            let vendor = owner.app.client_of("Views", &[11]).await;

            let problem = vendor.get(&path).await.problem(403, DENIED);

            let error = problem["errors"][0].as_str().unwrap();
            assert!(error.starts_with(&format!("The view {first} ")), "{strategies:?}: {error}");
        }
    }
}

#[tokio::test]
async fn a_changed_definition_applies_to_the_next_request() {
    for owner in owners().await {
        let vendor = responsible(&owner).await;
        let path = format!("/ed-fi/students/{}", owner.ids("/ed-fi/students").await[0]);

        vendor.get(&path).await.problem(403, DENIED);
        let rule = json!({"member": "firstName", "in": ["Ada"]});
        put(&owner.app, "StudentWithResponsibility", rule).await;
        assert_eq!(vendor.get(&path).await.status, 200);
        assert_eq!(vendor.ids("/ed-fi/students").await.len(), 1);
        define(&owner.app, "Views", &["StudentWithNobody"]).await;
        let undefined = vendor.get(&path).await;
        undefined.problem(500, "system:configuration:security");
        let listed = vendor.get("/ed-fi/students").await;
        listed.problem(500, "system:configuration:security");
    }
}

#[tokio::test]
async fn filters_and_partitions_can_be_combined_with_a_view() {
    for owner in owners().await {
        let vendor = responsible(&owner).await;
        owner.create("/ed-fi/schools", &school_of(12, None)).await;
        owner.create("/ed-fi/students", &student("t")).await;
        owner.create(RESPONSIBILITIES, &responsibility("t", 11)).await;
        for (name, school) in [("s", 11), ("t", 11), ("t", 12)] {
            let body = enrolment(name, school, "2025-08-20");
            owner.create("/ed-fi/studentSchoolAssociations", &body).await;
        }

        let path = "/ed-fi/studentSchoolAssociations";
        for (query, expected) in [
            ("", 2),
            ("schoolId=11", 1),
            ("studentUniqueId=s", 0),
            ("studentUniqueId=t", 2),
            ("entryDate=2025-08-20", 2),
            ("studentUniqueId=t&schoolId=12&entryDate=2025-08-20", 1),
            ("minChangeVersion=1&maxChangeVersion=1000000", 2),
            ("minChangeVersion=1000000", 0),
        ] {
            let answer = vendor.get(&format!("{path}?totalCount=true&{query}")).await;
            assert_eq!(answer.ids().len(), expected, "{query}");
            assert_eq!(answer.header("total-count"), expected.to_string(), "{query}");
        }
        let tokens = vendor.get(&format!("{path}/partitions?number=2")).await.json();
        let token = tokens["pageTokens"][0].as_str().unwrap();
        assert_eq!(vendor.ids(&format!("{path}?pageToken={token}")).await.len(), 2);
    }
}

async fn deleted(client: &Client, endpoint: &str) -> usize {
    let answer = client.get(&format!("/ed-fi/{endpoint}/deletes?totalCount=true")).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let list = answer.json();
    assert_eq!(answer.header("total-count"), list.as_array().unwrap().len().to_string());
    list.as_array().unwrap().len()
}

#[tokio::test]
async fn a_deletion_is_listed_while_its_identity_leads_into_the_view() {
    for owner in owners().await {
        let vendor = responsible(&owner).await;
        owner.create("/ed-fi/students", &student("t")).await;
        let duty = owner.create(RESPONSIBILITIES, &responsibility("t", 11)).await;
        for name in ["s", "t"] {
            let body = enrolment(name, 11, "2025-08-20");
            let path = owner.create("/ed-fi/studentSchoolAssociations", &body).await;
            assert_eq!(owner.delete(&path).await.status, 204);
        }
        let gone = owner.create("/ed-fi/students", &student("u")).await;
        assert_eq!(owner.delete(&gone).await.status, 204);

        assert_eq!(deleted(&owner, "studentSchoolAssociations").await, 2);
        assert_eq!(deleted(&vendor, "studentSchoolAssociations").await, 1);
        assert_eq!(deleted(&vendor, "students").await, 0);
        assert_eq!(owner.delete(&duty).await.status, 204);
        assert_eq!(deleted(&vendor, "studentSchoolAssociations").await, 0);
    }
}

#[tokio::test]
async fn an_explanation_names_the_basis_document_and_the_missing_association() {
    for owner in owners().await {
        let vendor = responsible(&owner).await;
        let person = format!("/ed-fi/students/{}", owner.ids("/ed-fi/students").await[0]);
        let body = enrolment("s", 11, "2025-08-20");
        let enrolled = owner.create("/ed-fi/studentSchoolAssociations", &body).await;
        let explain = async || -> Value {
            let explain = Explain {
                key: vendor.key.clone(),
                method: "GET".into(),
                resource: enrolled.clone(),
            };
            let found = owner.app.explain(explain).await.unwrap();
            found["decisions"][0]["document"].clone()
        };

        let before = explain().await;
        owner.create(RESPONSIBILITIES, &responsibility("s", 11)).await;
        let after = explain().await;

        let strategy = &before["strategies"][0];
        assert_eq!((&before["within"], &strategy["holds"]), (&json!(false), &json!(false)));
        assert_eq!(strategy["basis"], person);
        let missing = strategy["missing"].as_str().unwrap();
        assert!(missing.contains("'StudentEducationOrganizationResponsibilityAssociation'"));
        let holds = json!([{
            "strategy": "StudentWithResponsibility", "holds": true, "basis": person,
        }]);
        assert_eq!((&after["within"], &after["strategies"]), (&json!(true), &holds));
    }
}

#[tokio::test]
async fn a_resource_without_a_path_to_the_basis_is_a_fault_of_the_claim_set() {
    for owner in owners().await {
        let vendor = responsible(&owner).await;
        owner.create("/ed-fi/courses", &course(11, "k")).await;

        let problem =
            vendor.get("/ed-fi/courses").await.problem(500, "system:configuration:security");

        let error = "The strategy StudentWithResponsibility is configured for 'courses', none of \
                     whose references leads to a Student.";
        assert_eq!(problem["errors"][0], error);
    }
}
