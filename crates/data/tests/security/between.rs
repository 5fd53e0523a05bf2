//! A right that ends after the front door has recognized the client and before the read begins.

use homeroom_access::{Call, Manage};
use homeroom_http::{Params, Timestamp};
use http::{HeaderMap, HeaderValue, Method};
use serde_json::json;

use crate::app::documents::{on_each_store, student};
use crate::app::{Client, TestApp};

/// Returns the client's request as the front door passes it on after recognizing the client.
fn recognized(client: &Client, template: &str, id: &str) -> Call {
    let app = &client.app;
    let (now, recognized_at) = (Timestamp::now(), app.access.generation());
    let known = app.access.recognize(Some(&client.authorization), "data", now).unwrap();
    let mut headers = HeaderMap::new();
    headers.insert("authorization", HeaderValue::from_str(&client.authorization).unwrap());
    let params = [("schema", "ed-fi"), ("endpoint", "students"), ("id", id)];
    Call {
        headers,
        params: Params(params.map(|(name, value)| (name.into(), value.into())).into()),
        client: Some(known),
        foreign: None,
        recognized_at,
        ..homeroom_testkit::call(Method::GET, template, now)
    }
}

async fn put_set(app: &TestApp, actions: &[&str]) {
    let actions: Vec<_> = actions
        .iter()
        .map(|name| {
            json!({"name": name, "authorizationStrategies": ["NoFurtherAuthorizationRequired"]})
        })
        .collect();
    let claim = "http://ed-fi.org/identity/claims/ed-fi/student";
    let definition =
        json!({"name": "Mine", "resourceClaims": [{"claim": claim, "actions": actions}]});
    let asked = Manage::PutClaimSet { name: "Mine".into(), definition };
    app.access.manage(asked, Timestamp::now()).await.unwrap();
}

#[tokio::test]
async fn a_read_is_refused_if_its_right_ended_just_before_it_began() {
    for owner in on_each_store().await {
        let app = &owner.app;
        let path = owner.create("/ed-fi/students", &student("s")).await;
        let id = path.rsplit('/').next().unwrap();
        let routes = homeroom_data::routes(&app.data, &app.access);
        let reads = routes.iter().filter(|route| {
            let reads = ["/{endpoint}", "/{id}", "/partitions", "/deletes"];
            route.methods == [Method::GET] && reads.iter().any(|end| route.template.ends_with(end))
        });
        let reads: Vec<_> = reads.collect();
        assert_eq!(reads.len(), 4);
        for route in reads {
            for status in [401, 403] {
                put_set(app, &["Read", "ReadChanges"]).await;
                let client = app.client("Mine").await;
                let unchanged = (route.handler)(recognized(&client, &route.template, id)).await;
                assert_eq!(unchanged.unwrap().status(), 200, "{app}: {}", route.template);
                let call = recognized(&client, &route.template, id);

                if status == 401 {
                    let revoke =
                        Manage::RevokeKey { key: client.key.clone(), old_secrets_only: false };
                    app.access.manage(revoke, Timestamp::now()).await.unwrap();
                } else {
                    put_set(app, &["Create"]).await;
                }
                let answer = (route.handler)(call).await;

                let problem = answer.expect_err(&route.template);
                assert_eq!(problem.kind.status(), status, "{app}: {}", route.template);
            }
        }
    }
}
