//! A management key that ends while its request is on its way.

use crate::support::{Client, client_of};
use homeroom_access::Manage;
use homeroom_http::{Guard, Timestamp};
use homeroom_store::Sql;
use homeroom_testkit::TestApp;
use http::Method;

/// Paths whose answers never change.
const FIXED: [&str; 8] = [
    "/adminapi/v2/tenants",
    "/adminapi/v2/tenants/{tenantName}",
    "/adminapi/v2/resourceClaims",
    "/adminapi/v2/resourceClaims/{id}",
    "/adminapi/v2/resourceClaimActions",
    "/adminapi/v2/resourceClaimActionAuthStrategies",
    "/adminapi/v2/actions",
    "/adminapi/v2/authorizationStrategies",
];

async fn stored(app: &TestApp) -> Vec<Vec<homeroom_store::Value>> {
    let sql = Sql::new("SELECT version FROM access_version", vec![]);
    app.data.store.query(sql).await.unwrap()
}

#[tokio::test]
async fn a_key_revoked_on_another_node_can_no_longer_manage() {
    for app in TestApp::empty_on_each_store().await {
        let routes: Vec<(Method, &str)> = app
            .front_door
            .routes()
            .filter(|(_, route)| route.guard == (Guard::Token { scope: "admin" }))
            .map(|(method, route)| (method.clone(), &*route.template))
            .filter(|(_, template)| !FIXED.contains(template))
            .collect();
        assert!(routes.len() > 40, "{}", routes.len());
        for (method, template) in routes {
            let (key, secret) = app.key_for(None, &["admin"]).await;
            let admin = client_of(&app, &key, &secret).await;
            let late = Client { app: app.another_node().await, ..admin };
            assert_eq!(late.get("/actions").await.status, 200);
            let revoke = Manage::RevokeKey { key, old_secrets_only: false };
            app.access.manage(revoke, Timestamp::now()).await.unwrap();
            let before = stored(&app).await;
            let path = template.replace("{id}", "1").replace("{resourceClaimId}", "1");
            let body = if matches!(method, Method::GET | Method::DELETE) { "" } else { "{}" };

            let answer = late.send(method.clone(), &path, body).await;

            assert_eq!(answer.status, 401, "{app}: {method} {template}: {answer:?}");
            assert_eq!(stored(&app).await, before, "{app}: {method} {template}");
        }
    }
}
