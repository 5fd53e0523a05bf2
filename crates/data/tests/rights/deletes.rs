//! `/deletes` shows what a key could see.

use std::time::Duration;

use super::town::{contact, contact_of, owners, school_of, vendor};
use crate::app::Client;
use crate::app::documents::{course, enrolment, student};

async fn deleted(client: &Client, endpoint: &str) -> usize {
    let answer = client.get(&format!("/ed-fi/{endpoint}/deletes?totalCount=true")).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let list = answer.json();
    let list = list.as_array().unwrap();
    assert_eq!(answer.header("total-count"), list.len().to_string());
    list.len()
}

#[tokio::test]
async fn deletions_are_listed_for_those_whose_organizations_they_were_of() {
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
