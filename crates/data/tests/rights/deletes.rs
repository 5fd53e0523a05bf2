//! `/deletes` lists the deletions of documents that a key could see.

use std::time::Duration;

use homeroom_access::Manage;
use homeroom_http::Timestamp;
use homeroom_store::{Decision, Plan, Sql, Write};
use serde_json::json;

use super::town::{contact, contact_of, define, owners, responsibility, school_of, vendor};
use super::view_oracle::put;
use crate::app::documents::{course, enrolment, student, uri};
use crate::app::{Client, TestApp};

const RESPONSIBILITIES: &str = "/ed-fi/studentEducationOrganizationResponsibilityAssociations";

async fn deleted(client: &Client, endpoint: &str) -> usize {
    let answer = client.get(&format!("/ed-fi/{endpoint}/deletes?totalCount=true")).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let list = answer.json();
    let list = list.as_array().unwrap();
    assert_eq!(answer.header("total-count"), list.len().to_string());
    list.len()
}

#[tokio::test]
async fn deletions_are_listed_for_keys_of_the_documents_organization() {
    for owner in owners().await {
        for id in [11, 12] {
            owner.create("/ed-fi/schools", &school_of(id, None)).await;
            let path = owner.create("/ed-fi/courses", &course(id, "k")).await;
            assert_eq!(owner.delete(&path).await.status, 204);
        }
        let ours = vendor(&owner.app, "EdOrgsOnly", &[11]).await;
        let nobodys = vendor(&owner.app, "EdOrgsOnly", &[13]).await;

        assert_eq!(deleted(&owner, "courses").await, 2);
        assert_eq!(deleted(&ours, "courses").await, 1);
        assert_eq!(deleted(&nobodys, "courses").await, 0);
    }
}

#[tokio::test]
async fn a_strategy_that_includes_deletes_sees_people_whose_associations_are_gone() {
    for owner in owners().await {
        owner.create("/ed-fi/schools", &school_of(11, None)).await;
        let person = owner.create("/ed-fi/students", &student("s")).await;
        let contact_path = owner.create("/ed-fi/contacts", &contact("c")).await;
        let enrolled = owner
            .create("/ed-fi/studentSchoolAssociations", &enrolment("s", 11, "2025-08-20"))
            .await;
        let related =
            owner.create("/ed-fi/studentContactAssociations", &contact_of("c", "s")).await;
        for path in [&related, &enrolled] {
            assert_eq!(owner.delete(path).await.status, 204);
        }
        let now = vendor(&owner.app, "EdOrgsAndPeople", &[11]).await;
        let past = vendor(&owner.app, "EdOrgsAndPeopleIncludingDeletes", &[11]).await;

        assert_eq!(deleted(&now, "studentSchoolAssociations").await, 0);
        assert_eq!(deleted(&past, "studentSchoolAssociations").await, 1);
        assert_eq!(deleted(&past, "studentContactAssociations").await, 1);
        assert_eq!((now.get(&person).await.status, past.get(&person).await.status), (403, 200));
        assert_eq!(past.get(&contact_path).await.status, 200);
        assert_eq!(owner.delete(&person).await.status, 204);
        assert_eq!(deleted(&past, "students").await, 1);
        assert_eq!(deleted(&now, "students").await, 0);
    }
}

#[tokio::test]
async fn deletions_that_take_longer_than_a_list_may_are_answered_with_503() {
    for owner in owners().await {
        owner.create("/ed-fi/schools", &school_of(11, None)).await;
        let path = owner.create("/ed-fi/courses", &course(11, "k")).await;
        assert_eq!(owner.delete(&path).await.status, 204);
        let vendor = vendor(&owner.app, "EdOrgsOnly", &[11]).await;
        let hurried = owner.app.hurried(Duration::ZERO);

        for client in [&owner, &vendor] {
            let client = Client { app: hurried.clone(), ..client.clone() };
            for query in ["", "?totalCount=true", "?limit=0"] {
                let answer = client.get(&format!("/ed-fi/courses/deletes{query}")).await;

                let problem = answer.problem(503, "service-unavailable");
                assert_eq!(answer.header("retry-after"), "5");
                assert!(problem["hint"].as_str().unwrap().contains("minChangeVersion"));
            }
            assert_eq!(client.get("/ed-fi/courses/keyChanges").await.status, 200);
        }
        assert_eq!(deleted(&vendor, "courses").await, 1);
    }
}

/// Defines a claim set that lists deletions of `resource` without restrictions, and allows reading
/// its documents within strategies.
async fn define_readers(app: &TestApp, name: &str, resource: &str, strategies: &[&str]) {
    let claim = format!("http://ed-fi.org/identity/claims/ed-fi/{resource}");
    let all = json!(["NoFurtherAuthorizationRequired"]);
    let mut actions = vec![
        json!({"name": "Create", "authorizationStrategies": all}),
        json!({"name": "ReadChanges", "authorizationStrategies": all}),
    ];
    if !strategies.is_empty() {
        actions.push(json!({"name": "Read", "authorizationStrategies": strategies}));
    }
    let definition =
        json!({"name": name, "resourceClaims": [{"claim": claim, "actions": actions}]});
    let put = Manage::PutClaimSet { name: name.into(), definition };
    app.access.manage(put, Timestamp::now()).await.unwrap();
}

/// Makes a client whose key has everything that a strategy may depend on.
async fn reader(app: &TestApp, set: &str, number: i64) -> Client {
    let asked = Manage::CreateKey {
        claim_set: Some(set.into()),
        name: None,
        scopes: vec![],
        education_organizations: vec![10 + number],
        namespace_prefixes: vec![format!("uri://{number}")],
        ownership_tokens: vec![],
        creator_token: Some(number),
    };
    app.client_with(asked).await
}

fn learning_standard(namespace: &str) -> serde_json::Value {
    json!({
        "learningStandardId": "l",
        "academicSubjects":
            [{"academicSubjectDescriptor": uri("AcademicSubjectDescriptor", "Mathematics")}],
        "contentStandard": {"title": "t"},
        "description": "d",
        "gradeLevels": [{"gradeLevelDescriptor": uri("GradeLevelDescriptor", "Ninth grade")}],
        "namespace": namespace,
    })
}

#[tokio::test]
async fn a_deletion_is_listed_if_the_document_was_recreated_out_of_reach() {
    for owner in owners().await {
        let app = &owner.app;
        define(app, "Owners", &["OwnershipBased"]).await;
        let (one, two) = (reader(app, "Owners", 1).await, reader(app, "Owners", 2).await);
        let gone = one.create("/ed-fi/students", &student("s")).await;
        assert_eq!(one.delete(&gone).await.status, 204);

        let again = two.create("/ed-fi/students", &student("s")).await;

        let told = one.get("/ed-fi/students/deletes").await.json();
        assert!(gone.ends_with(told[0]["id"].as_str().unwrap()), "{app}: {told}");
        assert_eq!(deleted(&one, "students").await, 1, "{app}");
        assert_eq!(deleted(&two, "students").await, 0, "{app}");
        assert_eq!(deleted(&owner, "students").await, 0, "{app}");
        assert_eq!(two.delete(&again).await.status, 204);
        assert_eq!(deleted(&one, "students").await, 1, "{app}");
        one.create("/ed-fi/students", &student("s")).await;
        assert_eq!(deleted(&one, "students").await, 0, "{app}");
        assert_eq!(deleted(&two, "students").await, 1, "{app}");
    }
}

#[tokio::test]
async fn every_strategy_lists_the_deletion_of_a_document_recreated_out_of_reach() {
    for owner in owners().await {
        let app = &owner.app;
        let rule = json!({"exists": "studentEducationOrganizationResponsibilityAssociations"});
        put(app, "StudentWithResponsibility", rule).await;
        for id in [11, 12] {
            owner.create("/ed-fi/schools", &school_of(id, None)).await;
        }
        let relationships = "RelationshipsWithStudentsOnly";
        for (strategies, resource, within, without) in [
            (&["OwnershipBased"][..], "student", 2, 1),
            (&[relationships], "student", 1, 2),
            (&["StudentWithResponsibility"], "student", 1, 1),
            (&["NamespaceBased"], "learningStandard", 2, 1),
            (&["OwnershipBased", relationships], "student", 2, 1),
        ] {
            let endpoint = format!("{resource}s");
            let path = format!("/ed-fi/{endpoint}");
            let body = match resource {
                "student" => student("s"),
                _ => learning_standard("uri://2"),
            };
            define_readers(app, "Readers", resource, strategies).await;
            define_readers(app, "Blind", resource, &[]).await;
            let (inside, outside) =
                (reader(app, "Readers", within).await, reader(app, "Readers", without).await);
            let blind = reader(app, "Blind", 3).await;
            let maker = reader(app, "Readers", within).await;
            let what = format!("{app}: {strategies:?}");
            let gone = owner.create(&path, &body).await;
            assert_eq!(owner.delete(&gone).await.status, 204);
            for client in [&inside, &outside, &blind] {
                assert_eq!(deleted(client, &endpoint).await, 1, "{what}");
            }

            let again = maker.create(&path, &body).await;

            let has_ties = strategies.iter().any(|name| name.contains("With"));
            if has_ties {
                // A new student has no relationships yet.
                assert_eq!(deleted(&inside, &endpoint).await, 1, "{what}");
            }
            let school = 10 + within;
            let enrolled = enrolment("s", school, "2025-08-20");
            let duty = responsibility("s", school);
            let mut ties = vec![];
            if has_ties {
                ties.push(owner.create("/ed-fi/studentSchoolAssociations", &enrolled).await);
                ties.push(owner.create(RESPONSIBILITIES, &duty).await);
            }
            assert_eq!(deleted(&inside, &endpoint).await, 0, "{what}");
            let is_of_all = strategies == ["StudentWithResponsibility"];
            let expected = usize::from(!is_of_all);
            assert_eq!(deleted(&outside, &endpoint).await, expected, "{what}");
            // A client that may not read any document sees only deletions that are final.
            assert_eq!(deleted(&blind, &endpoint).await, 0, "{what}");
            for path in ties.iter().rev().chain([&again]) {
                assert_eq!(owner.delete(path).await.status, 204);
            }
            assert_eq!(deleted(&inside, &endpoint).await, 2, "{what}");
            forget(app).await;
        }
    }
}

/// Removes all deletions from a store, as if they had never happened.
async fn forget(app: &TestApp) {
    let plan = Plan {
        ask: vec![],
        decide: |_: Vec<homeroom_store::Answer>| -> Decision<(), ()> {
            Decision::Write(vec![Write::Sql(Sql::new("DELETE FROM tomb", vec![]))], ())
        },
    };
    app.data.store.run(plan).await.unwrap();
}
