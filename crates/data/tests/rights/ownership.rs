//! The strategy `OwnershipBased`: a document belongs to the ownership token of the key that created
//! it.

use homeroom_access::{ClientRights, ItemKind, Manage};
use homeroom_http::Timestamp;
use serde_json::{Value, json};

use super::town::{define, owners, school_of};
use crate::app::documents::{student, with};
use crate::app::{Answer, Client, TestApp};

const MISMATCH: &str = "security:authorization:ownership:access-denied:ownership-mismatch";

async fn owner_of(app: &TestApp, creator: Option<i64>, tokens: &[i64]) -> Client {
    let asked = Manage::CreateKey {
        claim_set: Some("Owners".into()),
        name: None,
        scopes: vec![],
        education_organizations: vec![],
        namespace_prefixes: vec![],
        ownership_tokens: tokens.to_vec(),
        creator_token: creator,
    };
    app.client_with(asked).await
}

#[tokio::test]
async fn a_key_reads_changes_and_deletes_documents_with_one_of_its_ownership_tokens() {
    for owner in owners().await {
        let app = &owner.app;
        define(app, "Owners", &["OwnershipBased"]).await;
        let one = owner_of(app, Some(1), &[]).await;
        let two = owner_of(app, Some(2), &[1]).await;
        let none = owner_of(app, None, &[]).await;
        let ones = one.create("/ed-fi/students", &student("1")).await;
        let twos = two.create("/ed-fi/students", &student("2")).await;
        let nobodys = none.create("/ed-fi/students", &student("3")).await;
        let missing = "security:authorization:ownership:invalid-data:ownership-uninitialized";

        assert_eq!(one.ids("/ed-fi/students").await.len(), 1);
        assert_eq!(two.ids("/ed-fi/students").await.len(), 2);
        assert_eq!(none.ids("/ed-fi/students").await.len(), 0);
        assert_eq!(owner.ids("/ed-fi/students").await.len(), 3);
        one.get(&twos).await.problem(403, MISMATCH);
        one.get(&nobodys).await.problem(403, missing);
        let renamed = |id: &str| with(student(id), "firstName", "Augusta");
        one.put(&twos, &renamed("2")).await.problem(403, MISMATCH);
        one.delete(&twos).await.problem(403, MISMATCH);
        // Updating a document does not change its owner.
        assert_eq!(two.put(&ones, &renamed("1")).await.status, 204);
        assert_eq!(one.get(&ones).await.status, 200);
        assert_eq!(one.delete(&ones).await.status, 204);
        let deleted = one.get("/ed-fi/students/deletes").await.json();
        assert_eq!(deleted.as_array().unwrap().len(), 1);
        assert_eq!(none.get("/ed-fi/students/deletes").await.json().as_array().unwrap().len(), 0);
        one.create("/ed-fi/schools", &school_of(11, None)).await;
        assert_eq!(none.ids("/ed-fi/schools").await.len(), 0);
    }
}

/// Creates something with the Admin API; returns the answer.
async fn made(admin: &Client, path: &str, body: Value) -> Answer {
    let answer = admin.post(&format!("/adminapi/v2/{path}"), &body).await;
    assert_eq!(answer.status, 201, "{path} {body}: {answer:?}");
    answer
}

/// Returns a client with the key and the secret in an answer of the Admin API.
async fn caller(app: &TestApp, made: &Answer) -> Client {
    app.client_of_key(&made.json()).await
}

#[tokio::test]
async fn the_keys_of_an_application_of_the_admin_api_share_what_they_create() {
    for owner in owners().await {
        let app = &owner.app;
        define(app, "Owners", &["OwnershipBased"]).await;
        let admin = Manage::CreateKey {
            claim_set: None,
            name: None,
            scopes: vec!["admin".into()],
            education_organizations: vec![],
            namespace_prefixes: vec![],
            ownership_tokens: vec![],
            creator_token: None,
        };
        let admin = app.client_with(admin).await;
        let vendor = json!({
            "company": "Acme", "contactName": "Ada", "contactEmailAddress": "ada@acme.org",
            "namespacePrefixes": "uri://acme.org",
        });
        let at = made(&admin, "vendors", vendor).await;
        let vendor: i64 = at.header("location").rsplit('/').next().unwrap().parse().unwrap();
        let application = |name: &str| {
            json!({
                "applicationName": name, "vendorId": vendor, "claimSetName": "Owners",
                "educationOrganizationIds": [11], "odsInstanceIds": [1],
            })
        };
        let one = made(&admin, "applications", application("one")).await;
        let other = made(&admin, "applications", application("other")).await;
        let key_of = |name: &str, of: &Answer| json!({"name": name, "applicationId": of.json()["id"], "odsInstanceIds": [1]});
        let further = made(&admin, "apiclients", key_of("further", &one)).await;
        let (first, second, stranger) =
            (caller(app, &one).await, caller(app, &further).await, caller(app, &other).await);

        let path = first.create("/ed-fi/students", &student("1")).await;
        second.create("/ed-fi/students", &student("2")).await;
        stranger.create("/ed-fi/students", &student("3")).await;

        assert_eq!(first.ids("/ed-fi/students").await.len(), 2, "{app}");
        assert_eq!(second.ids("/ed-fi/students").await.len(), 2, "{app}");
        assert_eq!(stranger.ids("/ed-fi/students").await.len(), 1, "{app}");
        stranger.get(&path).await.problem(403, MISMATCH);
        // A key that is moved to another application owns the documents of that application's keys.
        let moved = format!("/adminapi/v2/apiclients/{}", further.json()["id"]);
        assert_eq!(admin.put(&moved, &key_of("further", &other)).await.status, 200);
        second.get(&path).await.problem(403, MISMATCH);
        assert_eq!(second.ids("/ed-fi/students").await, stranger.ids("/ed-fi/students").await);
    }
}

#[tokio::test]
async fn a_further_key_of_an_application_owns_the_documents_of_its_first_key() {
    for owner in owners().await {
        let app = &owner.app;
        define(app, "Owners", &["OwnershipBased"]).await;
        let first = owner_of(app, Some(7), &[8]).await;
        let path = first.create("/ed-fi/students", &student("1")).await;
        let mut change = app.access.begin_change(Timestamp::now()).await.unwrap();
        let (application, rights) = change.look_up(|registry| {
            let mut ids = registry.items(ItemKind::Application).map(|(id, _)| id);
            let is_of = |id: &i64| registry.clients_of(*id).any(|c| c.client.key == first.key);
            let id = ids.find(is_of).unwrap();
            let client = registry.clients_of(id).next().unwrap().client;
            (id, ClientRights::from(&client))
        });

        let made = change.add_client(application, "further", true, rights).unwrap();
        change.commit().await.unwrap();

        let made = json!({"key": made.key, "secret": made.secret.expose()});
        let further = app.client_of_key(&made).await;
        assert_eq!(further.get(&path).await.status, 200, "{app}");
    }
}
