//! Keys that were made only on the server: management over HTTP may do nothing to them.

use crate::support::{BASE, Client, DATA, application, client_of, manager, vendor};
use homeroom_access::{ApplicationClient, ItemKind, Manage};
use homeroom_http::{Guard, Timestamp};
use homeroom_store::{Decision, Plan, Sql, Write};
use homeroom_testkit::{Answer, TestApp};
use http::Method;
use serde_json::{Value, json};

/// A key made by a command with two scopes, and its ids in the Admin API.
struct Reserved {
    key: String,
    secret: String,
    client: i64,
    application: i64,
    claim_set: i64,
    vendor: i64,
}

/// Returns the client of a key from the registry.
fn registered(app: &TestApp, key: &str) -> Option<ApplicationClient> {
    app.access.look_up(|registry| {
        let applications = registry.items(ItemKind::Application).map(|(id, _)| id);
        applications.flat_map(|id| registry.clients_of(id)).find(|found| found.client.key == key)
    })
}

/// Returns everything a key shows, for comparison.
fn shown(app: &TestApp, key: &str) -> String {
    let found = registered(app, key).unwrap_or_else(|| panic!("{app}: {key} is gone"));
    let client = &found.client;
    format!(
        "{} {} {} {} {:?} {:?} {:?} {:?} {:?} {:?} {:?}",
        found.id,
        found.application,
        found.name,
        found.is_approved,
        client.application,
        client.claim_set,
        client.rights,
        client.education_organizations,
        client.namespace_prefixes,
        client.scopes,
        client.status,
    )
}

const ACTIONS: &str = "/adminapi/v2/claimSets/{id}/resourceClaimActions";

/// Creates a key with the scopes and with a claim set of the operator's own.
async fn reserved(app: &TestApp, admin: &Client, scopes: &[&str]) -> Reserved {
    let claim = "http://ed-fi.org/identity/claims/ed-fi/student";
    let strategies = ["NoFurtherAuthorizationRequired"];
    let actions = json!([{"name": "Read", "authorizationStrategies": strategies}]);
    let name = format!("Set of {}", scopes.join(" and "));
    let definition =
        json!({"name": name, "resourceClaims": [{"claim": claim, "actions": actions}]});
    let put = Manage::PutClaimSet { name: name.clone(), definition };
    app.access.manage(put, Timestamp::now()).await.unwrap();
    let (key, secret) = app.key_for(Some(&name), scopes).await;
    let found = registered(app, &key).unwrap();
    let sets = admin.read(&format!("/claimSets?name={}", name.replace(' ', "+"))).await;
    let vendor = admin.create("/vendors", &vendor()).await;
    Reserved {
        key,
        secret,
        client: found.id,
        application: found.application,
        claim_set: sets[0]["id"].as_i64().unwrap(),
        vendor,
    }
}

/// Returns the requests by which a route may reach a key, as path and body; empty where it cannot.
async fn reaching(
    admin: &Client,
    key: &Reserved,
    method: &Method,
    template: &str,
) -> Vec<(String, Value)> {
    let claims = admin.read("/resourceClaims?name=student").await;
    let claim = claims[0]["id"].clone();
    let claimed = json!([{"name": "Read", "enabled": true}, {"name": "Delete", "enabled": true}]);
    let set = key.claim_set;
    let one = |path: String, body: Value| vec![(path, body)];
    let mut as_application = application(key.vendor, "FullAccess");
    as_application["applicationName"] = json!("Taken over");
    let client = |application: i64, approved: bool| json!({"name": "Taken over", "applicationId": application, "isApproved": approved, "odsInstanceIds": [1]});
    let plain = template.strip_prefix(BASE).unwrap_or(template);
    let with_id = |id: i64| plain.replace("{id}", &id.to_string());
    let of_claim = with_id(set).replace("{resourceClaimId}", &claim.to_string());
    match (method.as_str(), template) {
        ("PUT", "/adminapi/v2/applications/{id}") => {
            let mut disabled = as_application.clone();
            disabled["enabled"] = json!(false);
            vec![(with_id(key.application), as_application), (with_id(key.application), disabled)]
        }
        ("DELETE", "/adminapi/v2/applications/{id}")
        | ("PUT", "/adminapi/v2/applications/{id}/reset-credential") => {
            one(with_id(key.application), json!({}))
        }
        ("POST", "/adminapi/v2/apiclients") => {
            one("/apiclients".into(), client(key.application, true))
        }
        ("PUT", "/adminapi/v2/apiclients/{id}") => {
            let other = admin.application("FullAccess").await.0;
            let clients = admin.read(&format!("/apiclients?applicationid={other}")).await;
            let stranger = clients[0]["id"].as_i64().unwrap();
            vec![
                (with_id(key.client), client(key.application, true)),
                (with_id(key.client), client(key.application, false)),
                (with_id(key.client), client(other, true)),
                // Another key must not gain a share in what belongs to this one.
                (with_id(stranger), client(key.application, true)),
            ]
        }
        ("DELETE", "/adminapi/v2/apiclients/{id}")
        | ("PUT", "/adminapi/v2/apiclients/{id}/reset-credential") => {
            one(with_id(key.client), json!({}))
        }
        ("PUT", "/adminapi/v2/claimSets/{id}") => one(with_id(set), json!({"name": "Taken over"})),
        ("DELETE", "/adminapi/v2/claimSets/{id}") => one(with_id(set), json!({})),
        ("POST", ACTIONS) => {
            one(with_id(set), json!({"resourceClaimId": claim, "resourceClaimActions": claimed}))
        }
        ("PUT" | "DELETE", path)
            if path.ends_with("/{resourceClaimId}") && path.starts_with(ACTIONS) =>
        {
            one(of_claim, json!({"resourceClaimActions": claimed}))
        }
        ("POST", path) if path.ends_with("/overrideAuthorizationStrategy") => {
            let strategies = ["NamespaceBased"];
            one(of_claim, json!({"actionName": "Read", "authorizationStrategies": strategies}))
        }
        ("POST", path) if path.ends_with("/resetAuthorizationStrategies") => {
            one(of_claim, json!({}))
        }
        // No route that creates or changes another kind of item reaches a key.
        ("POST", _) => vec![],
        // Published APIs and plans are no part of the registry.
        ("PUT" | "DELETE", path) if path.starts_with("/adminapi/gateway/v1/") => vec![],
        ("PUT" | "DELETE", path) => {
            let is_other = [
                "vendors",
                "profiles",
                "odsInstances",
                "odsInstanceContexts",
                "odsInstanceDerivatives",
            ]
            .iter()
            .any(|kind| path == format!("{BASE}/{kind}/{{id}}"));
            assert!(is_other, "may {method} {path} reach a key?");
            vec![]
        }
        (other, path) => panic!("may {other} {path} reach a key?"),
    }
}

async fn ask(admin: &Client, method: &Method, path: &str, body: &Value) -> Answer {
    let body = if *method == Method::DELETE { String::new() } else { body.to_string() };
    admin.send(method.clone(), path, &body).await
}

#[tokio::test]
async fn no_admin_route_changes_a_key_with_more_than_data_scope() {
    for app in TestApp::empty_on_each_store().await {
        let admin = manager(&app).await;
        for scopes in
            [&["data", "admin"][..], &["data", "learning"], &["admin", "data", "learning"]]
        {
            let key = reserved(&app, &admin, scopes).await;
            let caller = client_of(&app, &key.key, &key.secret).await;
            let before = shown(&app, &key.key);
            let mut tried = 0;
            for (method, route) in app.front_door.routes() {
                let is_change = *method != Method::GET;
                if !is_change || route.guard != (Guard::Token { scope: "admin" }) {
                    continue;
                }
                for (path, body) in reaching(&admin, &key, method, &route.template).await {
                    tried += 1;

                    let answer = ask(&admin, method, &path, &body).await;

                    let what = format!("{app} {scopes:?}: {method} {path}: {answer:?}");
                    assert_eq!(answer.status, 403, "{what}");
                    let hint = answer.json()["hint"].as_str().unwrap_or_default().to_owned();
                    assert!(hint.contains("homeroom "), "{what}");
                    assert_eq!(shown(&app, &key.key), before, "{what}");
                    assert_eq!(caller.get(DATA).await.status, 200, "{what}");
                    client_of(&app, &key.key, &key.secret).await;
                }
            }
            assert!(tried >= 15, "{tried}");
        }
    }
}

#[tokio::test]
async fn a_vendor_of_a_reserved_key_keeps_its_namespaces() {
    for app in TestApp::empty_on_each_store().await {
        let admin = manager(&app).await;
        let key = reserved(&app, &admin, &["data", "admin"]).await;
        // Recreates a state that an earlier version allowed.
        let mut change = app.access.begin_change(Timestamp::now()).await.unwrap();
        let mut theirs = change
            .look_up(|registry| registry.item(ItemKind::Application, key.application).cloned())
            .unwrap();
        theirs["vendorId"] = json!(key.vendor);
        change.put(ItemKind::Application, Some(key.application), theirs).unwrap();
        change.commit().await.unwrap();
        let before = shown(&app, &key.key);
        let path = format!("/vendors/{}", key.vendor);
        let mut changed = vendor();
        changed["namespacePrefixes"] = json!("uri://taken.over");

        let refused = admin.put(&path, &changed).await;
        changed["namespacePrefixes"] = json!("uri://command");
        changed["company"] = json!("Another name");
        let renamed = admin.put(&path, &changed).await;

        assert_eq!((refused.status, renamed.status), (403, 200), "{app}: {refused:?} {renamed:?}");
        assert_eq!(shown(&app, &key.key), before, "{app}");
    }
}

#[tokio::test]
async fn data_keys_and_revoked_keys_can_still_be_managed() {
    for app in TestApp::empty_on_each_store().await {
        let admin = manager(&app).await;
        for (scopes, is_revoked) in [(&["data"][..], false), (&["data", "admin"], true)] {
            let key = reserved(&app, &admin, scopes).await;
            if is_revoked {
                let revoke = Manage::RevokeKey { key: key.key.clone(), old_secrets_only: false };
                app.access.manage(revoke, Timestamp::now()).await.unwrap();
            }
            let set = format!("/claimSets/{}", key.claim_set);
            let name = json!({"name": format!("Renamed {is_revoked}")});

            assert_eq!(admin.put(&set, &name).await.status, 200, "{app}");
            let reset = format!("/apiclients/{}/reset-credential", key.client);
            let reset = admin.put(&reset, &json!({})).await;
            let deleted = admin.delete(&format!("/applications/{}", key.application)).await;

            assert_eq!(reset.status, if is_revoked { 400 } else { 200 }, "{app}: {reset:?}");
            assert_eq!(deleted.status, 200, "{app}: {deleted:?}");
            assert!(registered(&app, &key.key).is_none(), "{app}");
        }
    }
}

#[tokio::test]
async fn a_missing_claim_set_of_a_reserved_key_cannot_be_created_over_http() {
    for app in TestApp::empty_on_each_store().await {
        let admin = manager(&app).await;
        let key = reserved(&app, &admin, &["data", "admin"]).await;
        let other = admin.create("/claimSets", &json!({"name": "Other"})).await;
        let lost = [
            "DELETE FROM claim_set WHERE name LIKE 'Set of %'",
            "UPDATE access_version SET version = version + 1",
        ];
        let lost = lost.map(|text| Write::Sql(Sql::new(text, vec![])));
        let plan = Plan {
            ask: vec![],
            decide: move |_: Vec<homeroom_store::Answer>| -> Decision<(), String> {
                Decision::Write(lost.to_vec(), ())
            },
        };
        app.data.store.run(plan).await.map(|_| ()).unwrap();
        app.access.refresh().await.unwrap();
        let before = shown(&app, &key.key);
        let name = "set-of DATA and admin";

        for (method, path, body) in [
            (Method::POST, "/claimSets".to_owned(), json!({"name": name})),
            (Method::POST, "/claimSets/copy".into(), json!({"name": name, "originalId": other})),
            (Method::POST, "/claimSets/import".into(), json!({"name": name, "resourceClaims": []})),
            (Method::PUT, format!("/claimSets/{other}"), json!({"name": name})),
        ] {
            let answer = ask(&admin, &method, &path, &body).await;

            assert_eq!(answer.status, 403, "{app}: {method} {path}: {answer:?}");
            assert_eq!(shown(&app, &key.key), before, "{app}: {method} {path}");
        }
    }
}
