//! `/oauth/revoke`: a token ends before its time, on every node.

use std::sync::Arc;

use homeroom_access::Access;
use homeroom_http::Timestamp;
use homeroom_store::{Options, Sql, Store, StoreUrl};
use http::Method;
use serde_json::json;

use crate::support::{
    Answer, Credentials, FORM, NOW, call, create, new_key, open, recognize, store, token,
};

const PATH: &str = "/oauth/revoke";

async fn revoke(access: &Arc<Access>, who: &Credentials, token: &str, now: Timestamp) -> Answer {
    let body = format!(
        "token={token}&token_type_hint=access_token&client_id={}&client_secret={}",
        who.key, who.secret
    );
    call(access, Method::POST, PATH, &[FORM], &body, now).await
}

#[tokio::test]
async fn a_token_that_its_client_revokes_ends_at_once_and_others_go_on() {
    let store = store();
    let access = open(&store).await;
    let own = create(&access, new_key("FullAccess")).await;
    let (first, second) = (token(&access, &own, NOW).await, token(&access, &own, NOW).await);
    let unused = token(&access, &own, NOW).await;
    let is_good = |token: &str| recognize(&access, token, "data", NOW).is_ok();
    assert!(is_good(&first) && is_good(&second));

    for token in [&first, &unused, &first] {
        let answer = revoke(&access, &own, token, NOW).await;
        assert_eq!((answer.status, &answer.body), (200, &json!({})), "{answer:?}");
        assert_eq!(answer.headers["cache-control"], "no-store");
    }

    assert!(is_good(&second));
    for token in [&first, &unused] {
        assert_eq!(recognize(&access, token, "data", NOW).unwrap_err().0, 401);
        let body = format!("token={token}&client_id={}&client_secret={}", own.key, own.secret);
        let asked = call(&access, Method::POST, "/oauth/introspect", &[FORM], &body, NOW).await;
        assert_eq!(asked.body, json!({"active": false}));
    }
}

#[tokio::test]
async fn only_its_client_revokes_a_token_and_one_that_is_none_is_revoked_already() {
    let store = store();
    let access = open(&store).await;
    let own = create(&access, new_key("FullAccess")).await;
    let other = create(&access, new_key("FullAccess")).await;
    let good = token(&access, &own, NOW).await;

    let foreign = revoke(&access, &other, &good, NOW).await;
    let wrong = Credentials { secret: other.secret.clone(), ..own.clone() };
    let stranger = revoke(&access, &wrong, &good, NOW).await;

    assert_eq!((foreign.status, &foreign.body["error"]), (400, &json!("invalid_grant")));
    assert_eq!((stranger.status, &stranger.body["error"]), (401, &json!("invalid_client")));
    for text in ["x", "a.b.c", &good[..good.len() - 2]] {
        assert_eq!(revoke(&access, &own, text, NOW).await.status, 200, "{text}");
    }
    let late = revoke(&access, &own, &good, NOW.plus_seconds(1_800)).await;
    assert_eq!(late.status, 200, "it has ended");
    assert_eq!(revoke(&access, &own, "", NOW).await.status, 400);
    assert!(recognize(&access, &good, "data", NOW).is_ok());
}

#[tokio::test]
async fn a_token_that_is_revoked_leaves_what_the_writer_remembers_of_documents() {
    let store = store();
    let access = open(&store).await;
    let own = create(&access, new_key("FullAccess")).await;
    let good = token(&access, &own, NOW).await;
    let before = store.load().forgotten;

    assert_eq!(revoke(&access, &own, &good, NOW).await.status, 200);

    assert_eq!(store.load().forgotten, before);
    assert_eq!(recognize(&access, &good, "data", NOW).unwrap_err().0, 401);
}

#[tokio::test]
async fn other_nodes_and_a_server_that_starts_anew_know_of_it_and_what_has_ended_is_forgotten() {
    let store = store();
    let (access, node) = (open(&store).await, open(&store).await);
    let own = create(&access, new_key("FullAccess")).await;
    node.refresh().await.unwrap();
    let good = token(&access, &own, NOW).await;
    assert!(recognize(&node, &good, "data", NOW).is_ok());

    assert_eq!(revoke(&access, &own, &good, NOW).await.status, 200);
    node.refresh().await.unwrap();

    let again = open(&store).await;
    for access in [&node, &again] {
        assert_eq!(recognize(access, &good, "data", NOW).unwrap_err().0, 401);
    }
    let later = NOW.plus_seconds(1_800);
    let next = token(&node, &own, later).await;
    assert_eq!(revoke(&node, &own, &next, later).await.status, 200);
    let rows = store.query(Sql::new("SELECT hash FROM revoked_token", vec![]));
    assert_eq!(rows.await.unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_two_nodes_revoke_at_once_has_ended_on_both() {
    const OF_EACH: usize = 20;
    let store = store();
    let other = match store.url() {
        StoreUrl::Postgres(_) => Store::open(&Options::new(store.url().clone())).unwrap(),
        // A file has one process, in which nodes share the store.
        StoreUrl::Sqlite(_) => store.clone(),
    };
    let nodes = [open(&store).await, open(&other).await];
    let own = create(&nodes[0], new_key("FullAccess")).await;
    nodes[1].refresh().await.unwrap();
    let mut tokens = vec![];
    for _ in 0..OF_EACH * nodes.len() {
        tokens.push(token(&nodes[0], &own, NOW).await);
    }
    let mut revoking = vec![];
    for (at, token) in tokens.iter().cloned().enumerate() {
        let (node, own) = (Arc::clone(&nodes[at % nodes.len()]), own.clone());
        revoking.push(tokio::spawn(async move { revoke(&node, &own, &token, NOW).await.status }));
    }
    for revoked in revoking {
        assert_eq!(revoked.await.unwrap(), 200);
    }
    for node in &nodes {
        node.refresh().await.unwrap();
        for token in &tokens {
            assert_eq!(recognize(node, token, "data", NOW).unwrap_err().0, 401);
        }
    }
    let rows = store.query(Sql::new("SELECT hash FROM revoked_token", vec![]));
    assert_eq!(rows.await.unwrap().len(), tokens.len());
}

#[tokio::test]
async fn the_1001st_live_token_of_a_key_is_not_revoked() {
    let access = crate::support::access().await;
    let (own, other) = (
        create(&access, new_key("FullAccess")).await,
        create(&access, new_key("FullAccess")).await,
    );
    let mut statuses = vec![];
    for _ in 0..1_001 {
        let token = token(&access, &own, NOW).await;
        statuses.push(revoke(&access, &own, &token, NOW).await.status);
    }

    let last = statuses.pop();

    assert!(statuses.iter().all(|status| *status == 200));
    assert_eq!(last, Some(503));
    let of_other = token(&access, &other, NOW).await;
    assert_eq!(revoke(&access, &other, &of_other, NOW).await.status, 200);
}
