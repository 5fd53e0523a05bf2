//! `/oauth/introspect`: whether a token is valid, told to a client.

use homeroom_access::Manage;
use http::Method;
use serde_json::json;

use crate::support::{Credentials, FORM, NOW, call, create, new_key, token};

#[tokio::test]
async fn a_client_learns_of_its_own_tokens_and_no_others() {
    let access = crate::support::access().await;
    let own = create(&access, new_key("FullAccess")).await;
    let other = create(&access, new_key("FullAccess")).await;
    let (good, foreign) = (token(&access, &own, NOW).await, token(&access, &other, NOW).await);
    let path = "/oauth/introspect";
    let ask = async |who: &Credentials, text: &str, now| {
        let body = format!("token={text}&client_id={}&client_secret={}", who.key, who.secret);
        call(&access, Method::POST, path, &[FORM], &body, now).await
    };

    let answer = ask(&own, &good, NOW).await;

    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.headers["cache-control"], "no-store");
    let body = answer.body;
    assert_eq!(
        (&body["active"], &body["client_id"], &body["token_type"], &body["scope"]),
        (&json!(true), &json!(own.key), &json!("bearer"), &json!("data"))
    );
    assert_eq!(body["exp"].as_i64().unwrap() - body["iat"].as_i64().unwrap(), 1_800);
    let inactive = json!({"active": false});
    for text in [&*foreign, "x", "a.b.c", &good[..good.len() - 2]] {
        assert_eq!(ask(&own, text, NOW).await.body, inactive, "{text}");
    }
    assert_eq!(ask(&own, &good, NOW.plus_seconds(1_800)).await.body, inactive, "it has ended");
    let wrong = Credentials { secret: other.secret.clone(), ..own.clone() };
    assert_eq!(ask(&wrong, &good, NOW).await.status, 401);
    for (body, status) in [("", 401), ("token=x", 401), ("client_id=a&client_secret=b", 400)] {
        let answer = call(&access, Method::POST, path, &[FORM], body, NOW).await;
        assert_eq!(answer.status, status, "{body}: {answer:?}");
    }
    let revoke = Manage::RevokeKey { key: own.key.clone(), old_secrets_only: false };
    access.manage(revoke, NOW).await.unwrap();
    assert_eq!(ask(&own, &good, NOW).await.status, 401, "a revoked key asks nothing");
}
