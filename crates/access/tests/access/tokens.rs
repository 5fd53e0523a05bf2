//! Tokens: how they are issued, how long they are valid, what ends them.

use crate::support::{
    Credentials, FORM, NOW, ask_token, call, create, new_key, open, open_with, recognize, store,
    token,
};
use std::sync::Arc;

use homeroom_access::{Access, AccessConfig, ItemKind, Manage, Subscribed};
use http::Method;
use serde_json::json;

/// The address at which this part is called.
const BASE_URL: &str = "http://127.0.0.1:8080";

const AUTHENTICATION: (u16, &str) = (401, "urn:ed-fi:api:security:authentication");

#[tokio::test]
async fn a_token_is_issued_for_credentials_in_the_body_or_the_basic_header() {
    let access = crate::support::access().await;
    let Credentials { key, secret } = create(&access, new_key("FullAccess")).await;
    let basic = format!("Basic {}", base64(&format!("{key}:{secret}")));
    let json = serde_json::json!({
        "grant_type": "client_credentials", "client_id": key, "client_secret": secret
    });

    for path in ["/oauth/token"] {
        for (headers, body) in [
            (vec![FORM, ("authorization", &basic)], "grant_type=client_credentials".to_owned()),
            (vec![("content-type", "application/json")], json.to_string()),
            (vec![("content-type", "application/json")], json.to_string().replace('}', " , }")),
        ] {
            let answer = call(&access, Method::POST, path, &headers, &body, NOW).await;

            assert_eq!(answer.status, 200, "{answer:?}");
            assert_eq!(answer.headers["cache-control"], "no-store");
            assert_eq!(answer.body["expires_in"], 1_800);
            assert_eq!(answer.body["token_type"], "bearer");
            assert_eq!(answer.body.as_object().unwrap().len(), 3);
            let token = answer.body["access_token"].as_str().unwrap();
            assert_eq!(recognize(&access, token, "data", NOW).unwrap().key, key);
        }
    }
}

#[tokio::test]
async fn every_failed_authentication_gets_the_same_bytes() {
    let access = crate::support::access().await;
    let known = create(&access, new_key("FullAccess")).await;
    let revoked = create(&access, new_key("FullAccess")).await;
    let revoke = Manage::RevokeKey { key: revoked.key.clone(), old_secrets_only: false };
    access.manage(revoke, NOW).await.unwrap();
    let ended = create(&access, new_key("FullAccess")).await;
    let rotate = Manage::RotateKey { key: ended.key.clone(), old_secret_seconds: Some(0) };
    access.manage(rotate, NOW).await.unwrap();
    let suspended = create(&access, new_key("FullAccess")).await;
    let mut change = access.begin_change(NOW).await.unwrap();
    let application = change
        .look_up(|registry| {
            let mut ids = registry.items(ItemKind::Application).map(|(id, _)| id);
            ids.find(|id| registry.clients_of(*id).any(|c| c.client.key == suspended.key))
        })
        .unwrap();
    change.change_client(&suspended.key, application, "a", false).unwrap();
    change.commit().await.unwrap();
    let wrong = |of: &Credentials| Credentials { secret: of.secret.to_uppercase(), ..of.clone() };
    let nobody = Credentials { key: "nobody".into(), ..known.clone() };
    let lent = Credentials { secret: ended.secret.clone(), ..known.clone() };
    let all = [
        wrong(&known),
        nobody,
        lent,
        wrong(&revoked),
        revoked,
        ended,
        wrong(&suspended),
        suspended,
    ];

    for path in ["/oauth/token", "/adminapi/connect/token"] {
        let mut answers = vec![];
        for Credentials { key, secret } in &all {
            for scope in ["", "&scope=", "&scope=1", "&scope=edfi_admin_api/full_access"] {
                // A wrong scope is reported before any client is looked up.
                if path == "/adminapi/connect/token" && scope == "&scope=1" {
                    continue;
                }
                let body = format!(
                    "grant_type=client_credentials&client_id={key}&client_secret={secret}{scope}"
                );
                let answer = call(&access, Method::POST, path, &[FORM], &body, NOW).await;
                answers.push(answer);
            }
        }

        assert_eq!(answers[0].status, 401);
        assert_eq!(answers[0].body["error"], "invalid_client");
        for answer in &answers {
            let (first, other) = (&answers[0], answer);
            assert_eq!((first.status, &first.headers), (other.status, &other.headers), "{path}");
            assert_eq!(first.bytes, other.bytes, "{path}");
        }
    }
}

#[tokio::test]
async fn a_scope_must_be_one_of_the_clients_organizations_and_confines_the_token() {
    let access = crate::support::access().await;
    let asked = Manage::CreateKey {
        claim_set: Some("FullAccess".into()),
        name: None,
        scopes: vec![],
        education_organizations: vec![255_901, 255_902],
        namespace_prefixes: vec![],
        ownership_tokens: vec![],
        creator_token: None,
    };
    let credentials = create(&access, asked).await;

    for scope in ["&scope=1", "&scope=admin", "&scope=items.read", "&scope=255901%20255902"] {
        let refused = ask_token(&access, &credentials, scope, NOW).await;
        assert_eq!((refused.status, &refused.body["error"]), (400, &"invalid_scope".into()));
    }
    let confined = ask_token(&access, &credentials, "&scope=255902", NOW).await;
    let whole = ask_token(&access, &credentials, "&scope=", NOW).await;

    for (answer, organizations) in [(confined, &[255_902][..]), (whole, &[255_901, 255_902])] {
        let token = answer.body["access_token"].as_str().unwrap();
        for _ in 0..2 {
            let client = recognize(&access, token, "data", NOW).unwrap();
            assert_eq!(*client.education_organizations, *organizations);
        }
    }
}

/// A key with the scopes `data` and `apis`, which has the scopes `items.read` and `items.write` for APIs.
async fn subscriber(access: &Arc<Access>) -> Credentials {
    let asked = Manage::CreateKey {
        claim_set: Some("FullAccess".into()),
        name: None,
        scopes: vec!["data".into(), "apis".into()],
        education_organizations: vec![255_901],
        namespace_prefixes: vec![],
        ownership_tokens: vec![],
        creator_token: None,
    };
    let credentials = create(access, asked).await;
    let key = credentials.key.clone();
    access.know_subscriptions(Box::new(move |asked| {
        let texts = |texts: [&str; 2]| texts.map(str::to_owned).into();
        let scopes = texts(["items.read", "items.write"]);
        (asked == key).then(|| Subscribed { apis: texts(["items", "parts"]), scopes })
    }));
    credentials
}

#[tokio::test]
async fn a_token_that_was_asked_for_with_scopes_is_held_to_them() {
    let access = crate::support::access().await;
    let credentials = subscriber(&access).await;
    for (asked, has, has_not, introspected) in [
        ("", &["data", "apis"][..], &[][..], "data apis items.read items.write"),
        ("items.read", &["apis"], &["data"], "apis items.read"),
        ("items.read data", &["apis", "data"], &[], "data apis items.read"),
        ("data 255901", &["data"], &["apis"], "data"),
        ("apis", &["apis"], &["data"], "apis"),
    ] {
        let scope = format!("&scope={}", asked.replace(' ', "+"));
        let answer = ask_token(&access, &credentials, &scope, NOW).await;
        let token = answer.body["access_token"].as_str().unwrap();

        for scope in has {
            assert!(recognize(&access, token, scope, NOW).is_ok(), "{asked}: {scope}");
        }
        for scope in has_not {
            assert_eq!(
                recognize(&access, token, scope, NOW).unwrap_err().0,
                403,
                "{asked}: {scope}"
            );
        }
        assert_eq!(answer.body["scope"].as_str().unwrap_or(""), asked);
        let Credentials { key, secret } = &credentials;
        let body = format!("client_id={key}&client_secret={secret}&token={token}");
        let told = call(&access, Method::POST, "/oauth/introspect", &[FORM], &body, NOW).await.body;
        assert_eq!(told["scope"], introspected, "{asked}");
        assert_eq!(told["iss"], BASE_URL);
        assert_eq!(told["aud"], json!([BASE_URL, "items", "parts"]));
    }
    let refused = ask_token(&access, &credentials, "&scope=items.read+items.admin", NOW).await;
    assert_eq!((refused.status, &refused.body["error"]), (400, &"invalid_scope".into()));
}

#[tokio::test]
async fn a_client_finds_out_where_tokens_are_issued_and_verified() {
    let access = crate::support::access().await;
    let path = "/.well-known/oauth-authorization-server";

    let answer = call(&access, Method::GET, path, &[], "", NOW).await;

    assert_eq!((answer.status, &answer.body["issuer"]), (200, &BASE_URL.into()));
    for (member, path) in [
        ("token_endpoint", "/oauth/token"),
        ("jwks_uri", "/.well-known/jwks.json"),
        ("introspection_endpoint", "/oauth/introspect"),
        ("revocation_endpoint", "/oauth/revoke"),
    ] {
        assert_eq!(answer.body[member], format!("{BASE_URL}{path}"), "{member}");
    }
}

#[tokio::test]
async fn a_token_expires_after_thirty_minutes_even_if_it_is_cached() {
    let access = crate::support::access().await;
    let credentials = create(&access, new_key("FullAccess")).await;
    let token = token(&access, &credentials, NOW).await;

    assert!(recognize(&access, &token, "data", NOW).is_ok());
    assert!(recognize(&access, &token, "data", NOW.plus_seconds(1_799)).is_ok());
    let late = recognize(&access, &token, "data", NOW.plus_seconds(1_800));

    assert_eq!(late.unwrap_err(), AUTHENTICATION);
}

#[tokio::test]
async fn a_caller_without_a_valid_token_gets_401_with_a_bearer_challenge() {
    let access = crate::support::access().await;
    let credentials = create(&access, new_key("FullAccess")).await;
    let token = token(&access, &credentials, NOW).await;

    for header in [
        None,
        Some(""),
        Some("Bearer"),
        Some("Bearer "),
        Some("Bearer nonsense"),
        Some("Bearer a.b.c"),
        Some("Basic a2V5OnNlY3JldA=="),
        Some(token.as_str()),
        Some(&format!("Token {token}")),
        Some(&format!("Bearer {token} {token}")),
        Some(&format!("Bearer {}", "a".repeat(100_000))),
    ] {
        let problem = access.recognize(header, "data", NOW).unwrap_err();

        assert_eq!(problem.kind.status(), 401, "{header:?}");
        assert_eq!(problem.errors.len(), 1);
        let response = problem.into_response("c");
        let challenge = response.headers()["www-authenticate"].to_str().unwrap();
        assert!(challenge.starts_with("Bearer"), "{challenge}");
    }
    assert!(access.recognize(Some(&format!("bearer  {token}")), "data", NOW).is_ok());
}

#[tokio::test]
async fn a_key_may_call_only_within_its_own_scopes() {
    let access = crate::support::access().await;
    let asked = Manage::CreateKey {
        claim_set: None,
        name: None,
        scopes: vec!["learning".into(), "apis".into()],
        education_organizations: vec![],
        namespace_prefixes: vec![],
        ownership_tokens: vec![],
        creator_token: None,
    };
    let credentials = create(&access, asked).await;
    let token = token(&access, &credentials, NOW).await;

    for (scope, allowed) in [
        ("data", false),
        ("admin", false),
        ("learning", true),
        ("apis", true),
        ("*", true),
        ("console", false),
    ] {
        let found = recognize(&access, &token, scope, NOW);
        match found {
            Ok(_) => assert!(allowed, "{scope}"),
            Err((status, _)) => assert_eq!((status, allowed), (403, false), "{scope}"),
        }
    }
}

#[tokio::test]
async fn a_revoked_key_is_refused_at_the_next_call() {
    let access = crate::support::access().await;
    let credentials = create(&access, new_key("FullAccess")).await;
    let other = create(&access, new_key("FullAccess")).await;
    let ours = token(&access, &credentials, NOW).await;
    let theirs = token(&access, &other, NOW).await;
    assert!(recognize(&access, &ours, "data", NOW).is_ok());

    let revoke = Manage::RevokeKey { key: credentials.key.clone(), old_secrets_only: false };
    access.manage(revoke, NOW).await.unwrap();

    assert_eq!(recognize(&access, &ours, "data", NOW).unwrap_err(), AUTHENTICATION);
    assert_eq!(ask_token(&access, &credentials, "", NOW).await.status, 401);
    assert!(recognize(&access, &theirs, "data", NOW).is_ok());
}

#[tokio::test]
async fn after_a_rotation_both_secrets_hold_until_the_old_one_is_revoked() {
    let access = crate::support::access().await;
    let old = create(&access, new_key("FullAccess")).await;
    let old_token = token(&access, &old, NOW).await;

    let rotated = access
        .manage(Manage::RotateKey { key: old.key.clone(), old_secret_seconds: None }, NOW)
        .await
        .unwrap();
    let new = Credentials { secret: crate::support::text(&rotated["secret"]), ..old.clone() };
    let new_token = token(&access, &new, NOW).await;
    assert!(recognize(&access, &old_token, "data", NOW).is_ok());
    assert_eq!(ask_token(&access, &old, "", NOW).await.status, 200);
    let third = Manage::RotateKey { key: old.key.clone(), old_secret_seconds: None };
    let refusal = access.manage(third, NOW).await.unwrap_err();
    assert!(refusal.to_string().contains("2 valid secrets"), "{refusal}");
    let revoke = Manage::RevokeKey { key: old.key.clone(), old_secrets_only: true };
    access.manage(revoke, NOW).await.unwrap();

    assert_eq!(recognize(&access, &old_token, "data", NOW).unwrap_err(), AUTHENTICATION);
    assert_eq!(ask_token(&access, &old, "", NOW).await.status, 401);
    assert!(recognize(&access, &new_token, "data", NOW).is_ok());
}

#[tokio::test]
async fn the_answer_names_the_scope_that_was_asked_for() {
    let access = crate::support::access().await;
    let mut asked = new_key("FullAccess");
    if let Manage::CreateKey { education_organizations, .. } = &mut asked {
        *education_organizations = vec![255_901];
    }
    let credentials = create(&access, asked).await;

    for (more, expected) in [
        ("", None),
        ("&scope=", None),
        ("&scope=255901", Some("255901")),
        ("&scope=+255901+", Some("255901")),
    ] {
        let answer = ask_token(&access, &credentials, more, NOW).await;

        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!(answer.body.get("scope").and_then(|scope| scope.as_str()), expected, "{more}");
    }
}

#[tokio::test]
async fn an_old_secret_and_its_tokens_end_at_the_stated_time() {
    let access = crate::support::access().await;
    let old = create(&access, new_key("FullAccess")).await;
    let earlier_token = token(&access, &old, NOW).await;

    let rotate = Manage::RotateKey { key: old.key.clone(), old_secret_seconds: Some(600) };
    access.manage(rotate, NOW).await.unwrap();

    let answer = ask_token(&access, &old, "", NOW).await;
    assert_eq!(answer.body["expires_in"], 600);
    let old_token = crate::support::text(&answer.body["access_token"]);
    let end = NOW.plus_seconds(600);
    for token in [&earlier_token, &old_token] {
        assert!(recognize(&access, token, "data", NOW.plus_seconds(599)).is_ok());
        assert_eq!(recognize(&access, token, "data", end).unwrap_err(), AUTHENTICATION);
    }
    assert_eq!(ask_token(&access, &old, "", end).await.status, 401);
    let third = Manage::RotateKey { key: old.key, old_secret_seconds: None };
    assert!(access.manage(third, end).await.is_ok(), "an ended secret does not count");
}

#[tokio::test]
async fn tokens_and_secrets_survive_a_restart() {
    let store = store();
    let before = open(&store).await;
    let credentials = create(&before, new_key("SISVendor")).await;
    let token = token(&before, &credentials, NOW).await;
    drop(before);

    let after = open(&store).await;

    let client = recognize(&after, &token, "data", NOW).unwrap();
    assert_eq!(client.claim_set.as_deref(), Some("SISVendor"));
    assert_eq!(ask_token(&after, &credentials, "", NOW).await.status, 200);
}

#[tokio::test]
async fn another_process_sees_a_change_when_it_refreshes() {
    let store = store();
    let (one, other) = (open(&store).await, open(&store).await);
    let credentials = create(&one, new_key("FullAccess")).await;
    let token = token(&one, &credentials, NOW).await;

    assert_eq!(recognize(&other, &token, "data", NOW).unwrap_err(), AUTHENTICATION);
    other.refresh().await.unwrap();
    assert!(recognize(&other, &token, "data", NOW).is_ok());

    let revoke = Manage::RevokeKey { key: credentials.key, old_secrets_only: false };
    one.manage(revoke, NOW).await.unwrap();
    other.refresh().await.unwrap();
    assert_eq!(recognize(&other, &token, "data", NOW).unwrap_err(), AUTHENTICATION);
}

#[tokio::test]
async fn a_token_of_another_store_is_refused() {
    let (here, there) = (crate::support::access().await, crate::support::access().await);
    let credentials = create(&there, new_key("FullAccess")).await;

    let foreign = token(&there, &credentials, NOW).await;

    assert_eq!(recognize(&here, &foreign, "data", NOW).unwrap_err(), AUTHENTICATION);
}

#[tokio::test]
async fn live_tokens_are_limited_if_the_configuration_sets_a_limit() {
    let config = AccessConfig { live_tokens_max: Some(15), ..AccessConfig::default() };
    let access = open_with(&store(), config).await;
    let credentials = create(&access, new_key("FullAccess")).await;

    for _ in 0..15 {
        token(&access, &credentials, NOW).await;
    }
    let refused = ask_token(&access, &credentials, "", NOW.plus_seconds(100)).await;

    assert_eq!(refused.status, 429);
    assert_eq!(refused.headers["retry-after"], "1700");
    token(&access, &credentials, NOW.plus_seconds(1_800)).await;
}

#[tokio::test]
async fn tokens_are_unlimited_by_default() {
    let access = crate::support::access().await;
    let credentials = create(&access, new_key("FullAccess")).await;

    for _ in 0..40 {
        let token = token(&access, &credentials, NOW).await;
        assert!(recognize(&access, &token, "data", NOW).is_ok());
    }
}

#[tokio::test]
async fn the_public_key_verifies_a_token() {
    use ed25519_dalek::{Signature, VerifyingKey};
    let access = crate::support::access().await;
    let credentials = create(&access, new_key("FullAccess")).await;
    let token = token(&access, &credentials, NOW).await;

    let keys = call(&access, Method::GET, "/.well-known/jwks.json", &[], "", NOW).await;

    let key: [u8; 32] = unbase64(keys.body["keys"][0]["x"].as_str().unwrap()).try_into().unwrap();
    let (signed, signature) = token.rsplit_once('.').unwrap();
    let signature = Signature::from_slice(&unbase64(signature)).unwrap();
    let verifying = VerifyingKey::from_bytes(&key).unwrap();
    assert!(verifying.verify_strict(signed.as_bytes(), &signature).is_ok());
    let header = signed.split_once('.').unwrap().0;
    let header: serde_json::Value = serde_json::from_slice(&unbase64(header)).unwrap();
    assert_eq!(header["kid"], keys.body["keys"][0]["kid"]);
    assert_eq!(header["alg"], "EdDSA");
}

#[tokio::test]
async fn a_body_beyond_the_limit_is_refused() {
    let access = crate::support::access().await;

    let body = "a".repeat((16 << 10) + 1);
    let answer = call(&access, Method::POST, "/oauth/token", &[FORM], &body, NOW).await;

    assert_eq!(answer.status, 413);
}

fn base64(text: &str) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(text)
}

fn unbase64(text: &str) -> Vec<u8> {
    use base64::Engine as _;
    base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(text).unwrap()
}
