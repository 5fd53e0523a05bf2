//! `keys explain` for a document: whether it is within a key's grant, and for what reason.

use homeroom_access::Explain;
use serde_json::{Value, json};

use super::town::{agency_of, contact, contact_of, define, owners, school_of, vendor};
use crate::app::Client;
use crate::app::documents::{course, enrolment, student};

/// Returns the explanation of each action on a document.
async fn explained(client: &Client, method: &str, path: &str) -> Vec<Value> {
    let explain = Explain { key: client.key.clone(), method: method.into(), resource: path.into() };
    let found = client.app.explain(explain).await.unwrap();
    let decisions = found["decisions"].as_array().unwrap();
    decisions.iter().map(|decision| decision["document"].clone()).collect()
}

#[tokio::test]
async fn an_explanation_names_the_associations_that_relate_a_person() {
    for owner in owners().await {
        owner.create("/ed-fi/localEducationAgencies", &agency_of(1, None)).await;
        owner.create("/ed-fi/schools", &school_of(11, Some(1))).await;
        owner.create("/ed-fi/students", &student("s")).await;
        let person = owner.create("/ed-fi/contacts", &contact("c")).await;
        let related =
            owner.create("/ed-fi/studentContactAssociations", &contact_of("c", "s")).await;
        let vendor = vendor(&owner.app, "EdOrgsAndPeople", &[1]).await;

        let before = explained(&vendor, "GET", &person).await;
        let enrolled = owner
            .create("/ed-fi/studentSchoolAssociations", &enrolment("s", 11, "2025-08-20"))
            .await;
        let after = explained(&vendor, "GET", &format!("/data/v3{person}")).await;

        assert_eq!(before[0]["within"], false);
        let lacking = &before[0]["strategies"][0]["subjects"][0];
        assert_eq!(lacking["standing"], "unrelated");
        let missing = lacking["missing"].as_str().unwrap();
        assert!(missing.contains("'StudentContactAssociation'"), "{missing}");
        assert_eq!(before[0]["problem"]["status"], 403);
        assert_eq!(
            after[0],
            json!({
                "id": person.rsplit('/').next().unwrap(),
                "within": true,
                "strategies": [{
                    "strategy": "RelationshipsWithEdOrgsAndPeople",
                    "holds": true,
                    "subjects": [{
                        "property": "ContactUniqueId",
                        "standing": "related",
                        "organization": 1,
                        "through": [related, enrolled],
                        "organizations": [1, 11],
                    }],
                }],
                "problem": null,
            })
        );
    }
}

#[tokio::test]
async fn an_explanation_names_the_organization_above_or_below_a_document() {
    for owner in owners().await {
        owner.create("/ed-fi/localEducationAgencies", &agency_of(1, None)).await;
        owner.create("/ed-fi/schools", &school_of(11, Some(1))).await;
        let taught = owner.create("/ed-fi/courses", &course(11, "k")).await;
        let offered = owner.create("/ed-fi/courses", &course(1, "k")).await;

        for (strategy, key, path, organization) in [
            ("EdOrgsOnly", 1, &taught, json!(1)),
            ("EdOrgsOnly", 11, &taught, json!(11)),
            ("EdOrgsOnly", 11, &offered, Value::Null),
            ("EdOrgsOnlyInverted", 11, &offered, json!(11)),
            ("EdOrgsOnlyInverted", 1, &taught, Value::Null),
        ] {
            let vendor = vendor(&owner.app, strategy, &[key]).await;

            let found = explained(&vendor, "PUT", path).await;

            let status = vendor.get(path).await.status;
            let subject = &found[0]["strategies"][0]["subjects"][0];
            assert_eq!(subject["organization"], organization, "{strategy} {key} {path}");
            assert_eq!(found[0]["within"], status == 200, "{strategy} {key} {path}");
        }
    }
}

#[tokio::test]
async fn an_explanation_distinguishes_owners_deleted_associations_and_creations() {
    for owner in owners().await {
        define(&owner.app, "Owners", &["OwnershipBased"]).await;
        owner.create("/ed-fi/schools", &school_of(11, None)).await;
        let person = owner.create("/ed-fi/students", &student("s")).await;
        let enrolled = owner
            .create("/ed-fi/studentSchoolAssociations", &enrolment("s", 11, "2025-08-20"))
            .await;
        assert_eq!(owner.delete(&enrolled).await.status, 204);
        let owned = owner.app.client_of("Owners", &[]).await;
        let past = vendor(&owner.app, "StudentsOnlyIncludingDeletes", &[11]).await;

        let not_owned = explained(&owned, "GET", &person).await;
        let deleted = explained(&past, "POST", &person).await;

        let strategy = json!([{"strategy": "OwnershipBased", "holds": false}]);
        assert_eq!(not_owned[0]["strategies"], strategy);
        assert_eq!(deleted[0], Value::Null, "nothing is created where a document is");
        let subject = &deleted[1]["strategies"][0]["subjects"][0];
        assert_eq!(subject["through"], json!(["an association that was deleted"]));
    }
}

#[tokio::test]
async fn an_explanation_says_that_a_document_does_not_exist() {
    for owner in owners().await {
        let school = owner.create("/ed-fi/schools", &school_of(11, None)).await;
        let id = school.rsplit('/').next().unwrap();
        for (path, expected) in [
            (format!("/ed-fi/students/{id}"), "/ed-fi/students has no document"),
            ("/ed-fi/students/1".to_owned(), "`1` is not a document id"),
        ] {
            let explain = Explain { key: owner.key.clone(), method: "GET".into(), resource: path };

            let refusal = owner.app.explain(explain).await.unwrap_err();

            assert!(refusal.to_string().contains(expected), "{refusal}");
        }
    }
}
