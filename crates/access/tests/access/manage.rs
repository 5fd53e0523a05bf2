//! Managing keys and claim sets.

use crate::support::{
    Credentials, NOW, access, call, create, new_key, open, recognize, store, token,
};
use homeroom_access::{
    Access, Action, ClientRights, Explain, ItemKind, Manage, ManageError, Permission,
};
use http::Method;
use serde_json::{Value, json};

fn key(claim_set: Option<&str>, scopes: &[&str]) -> Manage {
    Manage::CreateKey {
        claim_set: claim_set.map(String::from),
        name: None,
        scopes: scopes.iter().map(|scope| (*scope).to_owned()).collect(),
        education_organizations: vec![],
        namespace_prefixes: vec![],
        ownership_tokens: vec![],
        creator_token: None,
    }
}

fn readers(actions: &[&str]) -> Value {
    let actions: Vec<Value> = actions
        .iter()
        .map(|name| {
            json!({"name": name, "authorizationStrategies": ["NoFurtherAuthorizationRequired"]})
        })
        .collect();
    json!({"name": "Readers", "resourceClaims": [
        {"claim": "http://ed-fi.org/ods/identity/claims/student", "actions": actions},
    ]})
}

#[tokio::test]
async fn a_key_for_data_needs_a_claim_set_and_the_refusal_lists_them() {
    let access = access().await;

    for (asked, expected) in [
        (key(None, &[]), "a key needs a claim set"),
        (key(None, &["learning", "data"]), "a key needs a claim set"),
        (key(Some("Vendor"), &[]), "there is no claim set `Vendor`"),
    ] {
        let refusal = access.manage(asked, NOW).await.unwrap_err().to_string();

        assert!(refusal.starts_with(expected), "{refusal}");
        assert!(refusal.contains("EdFiSandbox") && refusal.contains("FullAccess"), "{refusal}");
    }
    assert_eq!(access.manage(Manage::ListKeys {}, NOW).await.unwrap()["keys"], json!([]));
}

#[tokio::test]
async fn a_claim_set_is_found_by_name_regardless_of_blanks_hyphens_and_case() {
    let access = access().await;

    for name in ["SISVendor", "SIS Vendor", "sis-vendor"] {
        let made = access.manage(key(Some(name), &[]), NOW).await.unwrap();
        assert_eq!(made["claimSet"], "SISVendor", "{name}");
    }
}

#[tokio::test]
async fn an_invalid_key_definition_is_refused() {
    let access = access().await;
    let asked =
        |organizations: Vec<i64>, prefixes: Vec<String>, name: Option<String>| Manage::CreateKey {
            claim_set: Some("FullAccess".into()),
            name,
            scopes: vec![],
            education_organizations: organizations,
            namespace_prefixes: prefixes,
            ownership_tokens: vec![],
            creator_token: None,
        };

    for (asked, expected) in [
        (key(Some("FullAccess"), &["root"]), "there is no scope `root`"),
        (key(None, &["xapi"]), "there is no scope `xapi`; available: data, admin, learning, apis"),
        (asked((0..10_001).collect(), vec![], None), "at most 10000 education organizations"),
        (asked(vec![], vec![" ".into()], None), "a namespace prefix has 1 to 255"),
        (asked(vec![], vec!["u".repeat(256)], None), "a namespace prefix has 1 to 255"),
        (
            asked(vec![], (0..101).map(|n| format!("uri://{n}")).collect(), None),
            "at most 100 namespace prefixes",
        ),
        (asked(vec![], vec![], Some("n".repeat(256))), "at most 255 characters"),
        (asked(vec![], vec![], Some("a\u{7}b".into())), "no control characters"),
    ] {
        let refusal = access.manage(asked, NOW).await.unwrap_err();

        assert!(matches!(refusal, ManageError::Invalid(_)), "{refusal:?}");
        assert!(refusal.to_string().contains(expected), "{refusal}");
    }
}

#[tokio::test]
async fn a_list_of_keys_shows_all_but_the_secrets() {
    let store = store();
    let before = open(&store).await;
    let asked = Manage::CreateKey {
        claim_set: Some("AssessmentVendor".into()),
        name: Some(" Tests & Co. ".into()),
        scopes: vec!["learning".into(), "data".into(), "data".into()],
        education_organizations: vec![2, 1, 2],
        namespace_prefixes: vec!["uri://b".into(), "uri://a".into(), "uri://b".into()],
        ownership_tokens: vec![8],
        creator_token: Some(7),
    };
    let made = create(&before, asked).await;
    drop(before);

    let listed = open(&store).await.manage(Manage::ListKeys {}, NOW).await.unwrap();

    assert_eq!(
        listed["keys"],
        json!([{
            "key": made.key,
            "name": "Tests & Co.",
            "claimSet": "AssessmentVendor",
            "scopes": ["data", "learning"],
            "educationOrganizations": [1, 2],
            "namespacePrefixes": ["uri://b", "uri://a"],
            "ownershipTokens": [7, 8],
            "creatorToken": 7,
            "status": "active",
            "created": NOW.to_string(),
            "revoked": null,
            "secrets": [{"created": NOW.to_string(), "validUntil": null}],
            "certificates": [],
        }])
    );
    assert!(!listed.to_string().contains(&made.secret));
}

#[tokio::test]
async fn the_store_contains_no_plain_secret() {
    let store = store();
    let access = open(&store).await;
    let made = create(&access, new_key("FullAccess")).await;

    for table in ["SELECT hash FROM api_client_secret", "SELECT bytes FROM server_key"] {
        let rows = store.query(homeroom_store::Sql::new(table, vec![])).await.unwrap();
        assert!(!rows.is_empty());
        assert!(!format!("{rows:?}").contains(&made.secret));
    }
}

#[tokio::test]
async fn a_revoked_key_stays_revoked() {
    let access = access().await;
    let Credentials { key, .. } = create(&access, new_key("FullAccess")).await;
    let revoke = || Manage::RevokeKey { key: key.clone(), old_secrets_only: false };
    let revoked = access.manage(revoke(), NOW).await.unwrap();
    assert_eq!(revoked["status"], "revoked");

    for asked in [revoke(), Manage::RotateKey { key: key.clone(), old_secret_seconds: None }] {
        let refusal = access.manage(asked, NOW).await.unwrap_err();
        assert!(refusal.to_string().contains("was revoked at"), "{refusal}");
    }
    let listed = access.manage(Manage::ListKeys {}, NOW).await.unwrap();
    assert_eq!(listed["keys"][0]["status"], "revoked");
    assert_eq!(listed["keys"][0]["secrets"], json!([]));
}

#[tokio::test]
async fn an_error_about_an_unknown_key_suggests_the_nearest_key() {
    let access = access().await;
    let made = create(&access, new_key("FullAccess")).await;
    let nearly = format!("{}x", made.key);

    for asked in [
        Manage::RevokeKey { key: nearly.clone(), old_secrets_only: false },
        Manage::RotateKey { key: nearly.clone(), old_secret_seconds: None },
        Manage::Explain(Explain { key: nearly, method: "GET".into(), resource: "schools".into() }),
    ] {
        let refusal = access.manage(asked, NOW).await.unwrap_err();
        assert!(matches!(refusal, ManageError::UnknownKey { .. }));
        assert!(refusal.to_string().ends_with(&format!("did you mean {}?", made.key)), "{refusal}");
    }
}

#[tokio::test]
async fn a_changed_claim_set_applies_to_tokens_already_issued() {
    let store = store();
    let access = open(&store).await;
    let put = |actions: &[&str]| Manage::PutClaimSet {
        name: "Readers".into(),
        definition: readers(actions),
    };
    let first = access.manage(put(&["Read"]), NOW).await.unwrap();
    assert_eq!(
        first,
        json!({
            "name": "Readers",
            "replaced": false,
            "overridesShipped": false,
            "resourceClaims": 1,
        })
    );
    let credentials = create(&access, new_key("readers")).await;
    let token = token(&access, &credentials, NOW).await;
    let model = crate::support::model();
    let student = model.by_endpoint("ed-fi", "students").unwrap().id;
    let may_delete = |access: &homeroom_access::Access| {
        let client = recognize(access, &token, "data", NOW).unwrap();
        matches!(client.rights.permission(student, Action::Delete), Permission::Granted(_))
    };
    assert!(!may_delete(&access));

    let second = access.manage(put(&["Read", "Delete"]), NOW).await.unwrap();

    assert_eq!(second["replaced"], true);
    assert!(may_delete(&access));
    let after = open(&store).await;
    assert!(may_delete(&after), "after a restart too");
}

#[tokio::test]
async fn a_claim_set_that_cannot_be_used_is_refused_with_every_fault() {
    let access = access().await;
    let definition = json!({"resourceClaims": [
        {"claim": "http://ed-fi.org/identity/claims/ed-fi/studnet", "actions": [{"name": "Read"}]},
        {"claim": "http://ed-fi.org/identity/claims/ed-fi/school", "actions": [{"name": "Write"}]},
    ]});

    let asked = Manage::PutClaimSet { name: "Broken".into(), definition };
    let refusal = access.manage(asked, NOW).await.unwrap_err().to_string();

    assert!(refusal.contains("did you mean ed-fi/student"), "{refusal}");
    assert!(
        refusal.contains("resourceClaims[1].actions[0]: `Write` is not an action"),
        "{refusal}"
    );
    let sets = access.manage(Manage::ListClaimSets {}, NOW).await.unwrap();
    assert_eq!(sets["claimSets"].as_array().unwrap().len(), 15);
}

/// Returns a set as the list shows it.
async fn listed(access: &Access, name: &str) -> Value {
    let sets = access.manage(Manage::ListClaimSets {}, NOW).await.unwrap();
    let sets = sets["claimSets"].as_array().unwrap();
    sets.iter().find(|set| set["name"] == name).unwrap_or(&Value::Null).clone()
}

fn show(name: &str) -> Manage {
    Manage::ShowClaimSet { name: name.into() }
}

fn remove(name: &str) -> Manage {
    Manage::RemoveClaimSet { name: name.into() }
}

#[tokio::test]
async fn a_set_named_like_a_shipped_set_overrides_it_until_it_is_removed() {
    let store = crate::support::store();
    let access = crate::support::open(&store).await;
    create(&access, new_key("SISVendor")).await;
    let shipped = access.manage(show("sis vendor"), NOW).await.unwrap();
    assert_eq!((&shipped["shipped"], &shipped["overridesShipped"]), (&json!(true), &json!(false)));
    let refusal = access.manage(remove("SISVendor"), NOW).await.unwrap_err();
    assert!(refusal.to_string().contains("`SISVendor` is shipped"), "{refusal}");

    let asked = Manage::PutClaimSet { name: "SIS Vendor".into(), definition: readers(&["Read"]) };
    let put = access.manage(asked, NOW).await.unwrap();

    assert_eq!(
        put,
        json!({"name": "SISVendor", "replaced": false, "overridesShipped": true,
            "resourceClaims": 1})
    );
    for access in [&access, &crate::support::open(&store).await] {
        let own = json!({"name": "SISVendor", "shipped": false, "overridesShipped": true,
            "resourceClaims": 1, "keys": 1});
        assert_eq!(listed(access, "SISVendor").await, own);
        let shown = access.manage(show("SISVendor"), NOW).await.unwrap();
        assert_eq!(shown["overridesShipped"], true);
        assert_eq!(shown["resourceClaims"].as_array().unwrap().len(), 1);
    }

    let removed = access.manage(remove("SISVendor"), NOW).await.unwrap();

    assert_eq!(removed, json!({"name": "SISVendor", "removed": true, "shippedIsBack": true}));
    for access in [&access, &crate::support::open(&store).await] {
        assert_eq!(access.manage(show("SISVendor"), NOW).await.unwrap(), shipped);
        assert_eq!(listed(access, "SISVendor").await["keys"], 1);
    }
}

#[tokio::test]
async fn the_shown_form_of_a_set_can_be_put_back() {
    let access = access().await;
    let shipped = access.manage(show("SISVendor"), NOW).await.unwrap();

    let copy = Manage::PutClaimSet { name: "SISVendor".into(), definition: shipped.clone() };
    access.manage(copy, NOW).await.unwrap();

    let shown = access.manage(show("SISVendor"), NOW).await.unwrap();
    assert_eq!(shown["resourceClaims"], shipped["resourceClaims"]);
}

#[tokio::test]
async fn a_custom_set_can_be_removed_once_no_key_uses_it() {
    let access = access().await;
    let put = Manage::PutClaimSet { name: "Readers".into(), definition: readers(&["Read"]) };
    access.manage(put, NOW).await.unwrap();
    let made = create(&access, new_key("Readers")).await;

    let refusal = access.manage(remove("readers"), NOW).await.unwrap_err();
    assert!(refusal.to_string().contains("1 key(s)"), "{refusal}");
    let refusal = access.manage(remove("Reader"), NOW).await.unwrap_err();
    assert!(refusal.to_string().contains("there is no claim set `Reader`"), "{refusal}");
    assert!(!made.key.is_empty());

    let other = Manage::PutClaimSet { name: "Others".into(), definition: readers(&["Read"]) };
    access.manage(other, NOW).await.unwrap();
    let removed = access.manage(remove("others"), NOW).await.unwrap();
    assert_eq!(removed, json!({"name": "Others", "removed": true, "shippedIsBack": false}));
    assert_eq!(listed(&access, "Others").await, Value::Null);
}

#[tokio::test]
async fn claim_sets_are_listed_with_the_keys_that_use_them() {
    let access = access().await;
    create(&access, new_key("FullAccess")).await;
    let put = Manage::PutClaimSet { name: "Readers".into(), definition: readers(&["Read"]) };
    access.manage(put, NOW).await.unwrap();

    assert_eq!(
        listed(&access, "FullAccess").await,
        json!({"name": "FullAccess", "shipped": true, "overridesShipped": false,
            "resourceClaims": 1, "keys": 1})
    );
    assert_eq!(
        listed(&access, "Readers").await,
        json!({"name": "Readers", "shipped": false, "overridesShipped": false,
            "resourceClaims": 1, "keys": 0})
    );
}

#[tokio::test]
async fn an_explanation_names_the_claims_that_decide() {
    let access = access().await;
    let made = create(&access, new_key("SISVendor")).await;
    let explain = |method: &str, resource: &str| {
        Manage::Explain(Explain {
            key: made.key.clone(),
            method: method.into(),
            resource: resource.into(),
        })
    };
    let uri = |claim: &str| format!("http://ed-fi.org/identity/claims/{claim}");

    let found = access.manage(explain("POST", "/ed-fi/students"), NOW).await.unwrap();

    assert_eq!(found["resource"], "/ed-fi/students");
    assert_eq!(found["claims"], json!([uri("ed-fi/student"), uri("domains/people"), "*"]));
    let decisions = found["decisions"].as_array().unwrap();
    assert_eq!(
        decisions[0],
        json!({
            "action": "Create",
            "allowed": true,
            "grantedBy": uri("domains/people"),
            "strategies": ["NoFurtherAuthorizationRequired"],
            "strategiesFrom": uri("domains/people"),
            "strategiesAreDefaults": true,
            "problem": null,
        })
    );
    assert_eq!(decisions[1]["action"], "Update");
    assert_eq!(decisions[1]["strategies"], json!(["RelationshipsWithEdOrgsAndPeople"]));
    // A key without organizations is authorized; its lists are empty.
    assert_eq!(decisions[1]["problem"], Value::Null);
    assert_eq!(found["educationOrganizations"], json!([]));

    let refused = access.manage(explain("delete", "School"), NOW).await.unwrap();
    assert_eq!(refused["decisions"][0]["allowed"], false);
    assert_eq!(refused["decisions"][0]["grantedBy"], Value::Null);
    assert_eq!(
        refused["decisions"][0]["problem"]["type"],
        "urn:ed-fi:api:security:authorization:access-denied:action"
    );

    for (method, resource, expected) in [
        ("FETCH", "schools", "`FETCH` is neither a method"),
        ("GET", "scools", "there is no resource `scools`; did you mean schools"),
        ("GET", "/tpdm/schools", "there is no resource `/tpdm/schools`"),
    ] {
        let refusal = access.manage(explain(method, resource), NOW).await.unwrap_err();
        assert!(refusal.to_string().contains(expected), "{refusal}");
    }
}

#[tokio::test]
async fn an_explanation_reports_a_key_that_may_not_call_at_all() {
    let access = access().await;
    let mut keys = vec![];
    for state in ["active", "suspended", "revoked", "profiled"] {
        let key = create(&access, new_key("FullAccess")).await.key;
        if state == "revoked" {
            let revoke = Manage::RevokeKey { key: key.clone(), old_secrets_only: false };
            access.manage(revoke, NOW).await.unwrap();
        }
        keys.push((state, key));
    }
    let mut change = access.begin_change(NOW).await.unwrap();
    for (state, key) in &keys {
        let (application, mut definition, rights) = change
            .look_up(|registry| {
                registry.items(ItemKind::Application).find_map(|(id, definition)| {
                    let client = registry.clients_of(id).find(|c| c.client.key == *key)?.client;
                    Some((id, definition.clone(), ClientRights::from(&client)))
                })
            })
            .unwrap();
        match *state {
            "suspended" => change.change_client(key, application, state, false).unwrap(),
            "profiled" => {
                definition["profileIds"] = json!([1]);
                change.put(ItemKind::Application, Some(application), definition).unwrap();
                change.grant(key, &rights);
            }
            _ => {}
        }
    }
    change.commit().await.unwrap();
    keys.push(("admin", create(&access, key(None, &["admin"])).await.key));

    for (state, key) in keys {
        let explain = Manage::Explain(Explain {
            key,
            method: "GET".into(),
            resource: "/ed-fi/schools".into(),
        });
        let found = access.manage(explain, NOW).await.unwrap();

        let refused = &found["refused"];
        let (status, word) = match state {
            "active" => {
                assert_eq!(
                    (refused, &found["decisions"][0]["allowed"]),
                    (&json!(null), &json!(true))
                );
                continue;
            }
            "suspended" => (401, "suspended"),
            "revoked" => (401, "revoked at"),
            "profiled" => (501, "profile"),
            _ => (403, "'data'"),
        };
        assert_eq!(refused["status"], status, "{state}: {found}");
        assert!(refused["detail"].as_str().unwrap().contains(word), "{state}: {refused}");
        assert!(refused["hint"].as_str().is_some_and(|hint| !hint.is_empty()), "{state}");
        assert_eq!(found["decisions"][0]["allowed"], false, "{state}");
    }
}

#[tokio::test]
async fn an_explanation_understands_the_paths_of_changes_and_partitions() {
    let access = access().await;
    let made = create(&access, new_key("FullAccess")).await;
    for (method, resource, expected) in [
        ("GET", "/ed-fi/students/deletes", Some("ReadChanges")),
        ("head", "/data/v3/ed-fi/students/keyChanges/", Some("ReadChanges")),
        ("ReadChanges", "students/deletes", Some("ReadChanges")),
        ("GET", "/ed-fi/students/Partitions", Some("Read")),
        ("POST", "/ed-fi/students/deletes", None),
        ("GET", "/deletes", None),
    ] {
        let explain = Manage::Explain(Explain {
            key: made.key.clone(),
            method: method.into(),
            resource: resource.into(),
        });

        let found = access.manage(explain, NOW).await;

        match (found, expected) {
            (Ok(found), Some(action)) => {
                assert_eq!(found["resource"], "/ed-fi/students", "{resource}");
                assert_eq!(found["decisions"].as_array().unwrap().len(), 1);
                assert_eq!(found["decisions"][0]["action"], action, "{method} {resource}");
            }
            (Err(_), None) => {}
            (found, expected) => panic!("{method} {resource}: {found:?}, not {expected:?}"),
        }
    }
}

#[tokio::test]
async fn a_management_request_survives_serialization() {
    for asked in [
        new_key("FullAccess"),
        Manage::ListKeys {},
        Manage::RotateKey { key: "k".into(), old_secret_seconds: Some(60) },
        Manage::PutClaimSet { name: "n".into(), definition: readers(&["Read"]) },
    ] {
        let text = serde_json::to_string(&asked).unwrap();

        assert_eq!(serde_json::from_str::<Manage>(&text).unwrap(), asked, "{text}");
    }
    let short: Manage =
        serde_json::from_value(json!({"manage": "create-key", "claim_set": "x"})).unwrap();
    assert_eq!(short, key(Some("x"), &[]));
}

#[tokio::test]
async fn keys_created_concurrently_are_all_stored() {
    let access = access().await;
    let made = (0..20).map(|_| {
        let access = std::sync::Arc::clone(&access);
        tokio::spawn(async move { create(&access, new_key("FullAccess")).await })
    });

    for made in made.collect::<Vec<_>>() {
        let credentials = made.await.unwrap();
        let token = token(&access, &credentials, NOW).await;
        assert!(recognize(&access, &token, "data", NOW).is_ok());
    }
    let keys = call(&access, Method::GET, "/.well-known/jwks.json", &[], "", NOW).await;
    assert_eq!(keys.body["keys"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_key_of_every_scope_is_suspended_until_it_is_resumed() {
    let store = store();
    let access = open(&store).await;
    let suspend = |key: &str, resume| Manage::SuspendKey { key: key.to_owned(), resume };
    for scope in homeroom_access::Scope::SERVED.map(homeroom_access::Scope::name) {
        let set = (scope == "data").then_some("FullAccess");
        let credentials = create(&access, key(set, &[scope])).await;
        let bearer = token(&access, &credentials, NOW).await;

        let told = access.manage(suspend(&credentials.key, false), NOW).await.unwrap();

        assert_eq!(told["status"], "suspended", "{scope}");
        let other = open(&store).await;
        for access in [&access, &other] {
            assert_eq!(recognize(access, &bearer, scope, NOW).unwrap_err().0, 401, "{scope}");
        }
        let told = access.manage(suspend(&credentials.key, true), NOW).await.unwrap();
        assert_eq!(told["status"], "active", "{scope}");
        recognize(&access, &bearer, scope, NOW).unwrap();
        access.manage(suspend(&credentials.key, false), NOW).await.unwrap();
        let revoke = Manage::RevokeKey { key: credentials.key.clone(), old_secrets_only: false };
        access.manage(revoke, NOW).await.unwrap();
        assert!(access.manage(suspend(&credentials.key, true), NOW).await.is_err(), "{scope}");
    }
}
