//! Rights change at once with the documents that they depend on.

use serde_json::json;

use super::town::{agency_of, owners, school_of, vendor};
use crate::app::documents::{course, enrolment, student, with};

const DENIED: &str = "security:authorization";

#[tokio::test]
async fn a_new_enrolment_shows_the_student_and_its_end_hides_it() {
    for owner in owners().await {
        owner.create("/ed-fi/schools", &school_of(11, None)).await;
        let vendor = vendor(&owner.app, "EdOrgsAndPeople", &[11]).await;
        let path = owner.create("/ed-fi/students", &student("s")).await;
        vendor.get(&path).await.problem(403, DENIED);
        assert_eq!(vendor.ids("/ed-fi/students").await.len(), 0);

        let enrolled = owner
            .create("/ed-fi/studentSchoolAssociations", &enrolment("s", 11, "2025-08-20"))
            .await;
        assert_eq!(vendor.get(&path).await.status, 200);
        assert_eq!(vendor.ids("/ed-fi/students").await.len(), 1);

        assert_eq!(owner.delete(&enrolled).await.status, 204);
        vendor.get(&path).await.problem(403, DENIED);
        assert_eq!(vendor.ids("/ed-fi/students").await.len(), 0);
    }
}

#[tokio::test]
async fn documents_follow_their_school_to_another_agency() {
    for owner in owners().await {
        for id in [1, 2] {
            owner.create("/ed-fi/localEducationAgencies", &agency_of(id, None)).await;
        }
        owner.create("/ed-fi/schools", &school_of(11, Some(1))).await;
        let path = owner.create("/ed-fi/courses", &course(11, "k")).await;
        let (first, second) = (
            vendor(&owner.app, "EdOrgsOnly", &[1]).await,
            vendor(&owner.app, "EdOrgsOnly", &[2]).await,
        );
        assert_eq!((first.get(&path).await.status, second.get(&path).await.status), (200, 403));

        assert_eq!(owner.post("/ed-fi/schools", &school_of(11, Some(2))).await.status, 200);

        assert_eq!((first.get(&path).await.status, second.get(&path).await.status), (403, 200));
        assert_eq!(first.ids("/ed-fi/courses").await.len(), 0);
        assert_eq!(second.ids("/ed-fi/courses").await.len(), 1);
    }
}

#[tokio::test]
async fn a_circle_of_parent_organizations_is_handled() {
    for owner in owners().await {
        for id in [1, 2] {
            owner.create("/ed-fi/localEducationAgencies", &agency_of(id, None)).await;
        }
        for (id, parent) in [(1, 2), (2, 1)] {
            let agency = agency_of(id, Some(parent));
            assert_eq!(owner.post("/ed-fi/localEducationAgencies", &agency).await.status, 200);
        }
        for strategy in ["EdOrgsOnly", "EdOrgsOnlyInverted"] {
            let vendor = vendor(&owner.app, strategy, &[2]).await;
            assert_eq!(vendor.ids("/ed-fi/localEducationAgencies").await.len(), 2);
        }
    }
}

#[tokio::test]
async fn a_key_may_create_an_organization_that_it_names() {
    for owner in owners().await {
        let vendor = vendor(&owner.app, "EdOrgsOnly", &[11]).await;

        vendor.create("/ed-fi/schools", &school_of(11, None)).await;
        let refused = vendor.post("/ed-fi/schools", &school_of(12, None)).await;

        let problem = refused.problem(403, DENIED);
        assert!(problem["errors"][0].as_str().unwrap().contains("'SchoolId'"), "{problem}");
        assert_eq!(owner.ids("/ed-fi/schools").await.len(), 1);
    }
}

#[tokio::test]
async fn an_update_is_checked_against_the_stored_and_the_sent_document() {
    for owner in owners().await {
        for id in [11, 12] {
            owner.create("/ed-fi/schools", &school_of(id, None)).await;
        }
        let vendor = vendor(&owner.app, "EdOrgsOnly", &[11]).await;
        let ours = owner.create("/ed-fi/courses", &course(11, "k")).await;
        let theirs = owner.create("/ed-fi/courses", &course(12, "k")).await;
        let renamed = |organization| with(course(organization, "k"), "courseTitle", "new");

        assert_eq!(vendor.put(&ours, &renamed(11)).await.status, 204);
        vendor.put(&theirs, &renamed(12)).await.problem(403, DENIED);
        // The organization is part of the key, which cannot be changed; this is reported first.
        let kind = "bad-request:data-validation-failed:key-change-not-supported";
        vendor.put(&ours, &renamed(12)).await.problem(400, kind);
        vendor.post("/ed-fi/courses", &renamed(12)).await.problem(403, DENIED);
        assert_eq!(vendor.delete(&theirs).await.status, 403);
        assert_eq!(vendor.delete(&ours).await.status, 204);
        assert_eq!(owner.get(&theirs).await.json()["courseTitle"], json!("k"));
    }
}

#[tokio::test]
async fn partitions_contain_only_documents_that_the_key_can_see() {
    for owner in owners().await {
        for id in [11, 12] {
            owner.create("/ed-fi/schools", &school_of(id, None)).await;
        }
        let course = |id, n: usize| json!({"resource": "ed-fi/courses", "document": course(id, &format!("{n:04}"))});
        let lines = |id, count: usize| {
            (0..count).map(|n| course(id, n).to_string()).collect::<Vec<_>>().join("\n")
        };
        owner.app.seed(&lines(12, 600)).await;
        owner.app.seed(&lines(11, 5_001)).await;
        let vendor = vendor(&owner.app, "EdOrgsOnly", &[11]).await;

        for (query, sizes) in [
            ("number=2", vec![2_501, 2_500]),
            ("number=9&numberOfParts=1", vec![2_500, 2_500, 1]),
            ("number=2&courseCode=0007", vec![1]),
            ("number=2&courseCode=none", vec![]),
        ] {
            let answer = vendor.get(&format!("/ed-fi/courses/partitions?{query}")).await.json();

            let mut found = vec![];
            for token in answer["pageTokens"].as_array().unwrap() {
                let (filter, token) = (query.split_once('&'), token.as_str().unwrap());
                let filter = filter.map(|(_, filter)| filter).unwrap_or_default();
                let path = format!("/ed-fi/courses?{filter}&pageToken={token}");
                let (mut size, mut next) = (0, Some(path));
                while let Some(path) = next {
                    let page = vendor.get(&path).await;
                    size += page.ids().len();
                    next = page.headers.get("next-page-token").map(|token| {
                        let token = token.to_str().unwrap();
                        format!("/ed-fi/courses?{filter}&pageToken={token}")
                    });
                }
                found.push(size);
            }
            assert_eq!(found, sizes, "{} {query}", owner.app);
        }
    }
}

#[tokio::test]
async fn changing_a_persons_document_keeps_their_relationships() {
    for owner in owners().await {
        owner.create("/ed-fi/schools", &school_of(11, None)).await;
        let path = owner.create("/ed-fi/students", &student("s")).await;
        owner.create("/ed-fi/studentSchoolAssociations", &enrolment("s", 11, "2025-08-20")).await;
        let vendor = vendor(&owner.app, "EdOrgsAndPeople", &[11]).await;

        for (client, name) in [(&owner, "Augusta"), (&vendor, "Ada"), (&vendor, "Augusta")] {
            let changed = with(student("s"), "firstName", name);
            assert_eq!(client.put(&path, &changed).await.status, 204, "{} {name}", owner.app);

            assert_eq!(vendor.get(&path).await.json()["firstName"], name);
            assert_eq!(vendor.ids("/ed-fi/students").await.len(), 1);
        }
    }
}
