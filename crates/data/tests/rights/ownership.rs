//! The strategy `OwnershipBased`: documents belong to the token of the key that created them.

use homeroom_access::Manage;

use super::town::{define, owners, school_of};
use crate::app::documents::{student, with};
use crate::app::{Client, TestApp};

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
async fn a_key_reads_changes_and_deletes_what_bears_one_of_its_tokens() {
    for owner in owners().await {
        let app = &owner.app;
        define(app, "Owners", &["OwnershipBased"]).await;
        let one = owner_of(app, Some(1), &[]).await;
        let two = owner_of(app, Some(2), &[1]).await;
        let none = owner_of(app, None, &[]).await;
        let ones = one.create("/ed-fi/students", &student("1")).await;
        let twos = two.create("/ed-fi/students", &student("2")).await;
        let nobodys = none.create("/ed-fi/students", &student("3")).await;
        let mismatch = "security:authorization:ownership:access-denied:ownership-mismatch";
        let missing = "security:authorization:ownership:invalid-data:ownership-uninitialized";

        assert_eq!(one.ids("/ed-fi/students").await.len(), 1);
        assert_eq!(two.ids("/ed-fi/students").await.len(), 2);
        assert_eq!(none.ids("/ed-fi/students").await.len(), 0);
        assert_eq!(owner.ids("/ed-fi/students").await.len(), 3);
        one.get(&twos).await.problem(403, mismatch);
        one.get(&nobodys).await.problem(403, missing);
        let renamed = |id: &str| with(student(id), "firstName", "Augusta");
        one.put(&twos, &renamed("2")).await.problem(403, mismatch);
        one.delete(&twos).await.problem(403, mismatch);
        // Who changes a document does not come to own it.
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
