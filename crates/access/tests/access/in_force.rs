//! A stored change is in force, whatever fails after it was written.

use std::sync::Arc;

use crate::support::{
    Credentials, NOW, ask_token, create, new_key, open, recognize, store, text, token,
};
use homeroom_access::{Access, ApplicationClient, ClientRights, ItemKind, Manage, ManageError};
use homeroom_store::{Answer, Decision, Plan, Sql, Store, Write};
use serde_json::json;

/// Runs SQL that Homeroom itself would never run, without Homeroom noticing.
async fn write(store: &Store, text: &'static str, key: &str) {
    let sql = Sql::new(text, vec![key.into()]);
    let plan = Plan {
        ask: vec![],
        decide: move |_: Vec<Answer>| -> Decision<(), ()> {
            Decision::Write(vec![Write::Sql(sql.clone())], ())
        },
    };
    store.run(plan).await.unwrap();
}

/// Damages a key's stored row so that it cannot be read.
async fn damage(store: &Store, key: &str) {
    write(store, "UPDATE api_client SET education_organizations = 'none' WHERE api_key = ?1", key)
        .await;
}

/// Suspends keys in one change.
async fn suspend(access: &Access, keys: &[String]) -> Result<(), ManageError> {
    let mut change = access.begin_change(NOW).await.unwrap();
    let clients: Vec<ApplicationClient> = change.look_up(|registry| {
        let ids = registry.items(ItemKind::Application).map(|(id, _)| id);
        ids.flat_map(|id| registry.clients_of(id)).collect()
    });
    for key in keys {
        let found = clients.iter().find(|found| found.client.key == *key).unwrap();
        change.change_client(key, found.application, "a", false).unwrap();
    }
    change.commit().await
}

#[tokio::test]
async fn every_way_to_end_a_key_takes_effect_even_if_the_key_cannot_be_reread() {
    for way in ["revoke", "rotate", "old secrets", "suspend"] {
        let store = store();
        let access = open(&store).await;
        let credentials = create(&access, new_key("FullAccess")).await;
        let (token, key) = (token(&access, &credentials, NOW).await, credentials.key.clone());
        let rotate =
            |old_secret_seconds| Manage::RotateKey { key: key.clone(), old_secret_seconds };
        if way == "old secrets" {
            access.manage(rotate(None), NOW).await.unwrap();
        }
        assert!(recognize(&access, &token, "data", NOW).is_ok());
        damage(&store, &key).await;

        let done = match way {
            "revoke" => {
                let revoke = Manage::RevokeKey { key: key.clone(), old_secrets_only: false };
                access.manage(revoke, NOW).await.map(|_| ())
            }
            "rotate" => access.manage(rotate(Some(0)), NOW).await.map(|made| {
                text(&made["secret"]);
            }),
            "old secrets" => {
                let revoke = Manage::RevokeKey { key: key.clone(), old_secrets_only: true };
                access.manage(revoke, NOW).await.map(|_| ())
            }
            _ => suspend(&access, std::slice::from_ref(&key)).await,
        };

        let after =
            recognize(&access, &token, "data", NOW).map(|_| ()).map_err(|(status, _)| status);
        assert_eq!(after, Err(401), "{way}");
        assert!(done.is_ok(), "{way} was written, and is said to have failed: {done:?}");
    }
}

#[tokio::test]
async fn a_change_of_many_keys_takes_effect_even_if_one_cannot_be_reread() {
    let store = store();
    let access = open(&store).await;
    let mut tokens = vec![];
    let mut keys = vec![];
    for _ in 0..40 {
        let credentials = create(&access, new_key("FullAccess")).await;
        tokens.push(token(&access, &credentials, NOW).await);
        keys.push(credentials.key);
    }
    damage(&store, &keys[7]).await;

    let done = suspend(&access, &keys).await;

    assert!(done.is_ok(), "{done:?}");
    for token in &tokens {
        assert!(recognize(&access, token, "data", NOW).is_err());
    }
}

#[tokio::test]
async fn a_node_that_cannot_read_another_nodes_change_recognizes_no_token() {
    let store = store();
    let (here, there) = (open(&store).await, open(&store).await);
    let revoked = create(&here, new_key("FullAccess")).await;
    there.refresh().await.unwrap();
    let token = token(&there, &revoked, NOW).await;
    let revoke = Manage::RevokeKey { key: revoked.key.clone(), old_secrets_only: false };
    here.manage(revoke, NOW).await.unwrap();
    damage(&store, &revoked.key).await;

    assert!(there.refresh().await.is_err());

    let refused = recognize(&there, &token, "data", NOW).map(|_| ()).unwrap_err();
    assert_eq!(refused.0, 503);
    let mend = "UPDATE api_client SET education_organizations = '[]' WHERE api_key = ?1";
    write(&store, mend, &revoked.key).await;
    there.refresh().await.unwrap();
    let refused = recognize(&there, &token, "data", NOW).map(|_| ()).unwrap_err();
    assert_eq!(refused.0, 401);
}

/// Drops a change after some polls. Returns whether it had finished before.
async fn give_up(access: &Arc<Access>, asked: Manage, polls: usize) -> bool {
    let mut change = Box::pin(access.manage(asked, NOW));
    for _ in 0..polls {
        let polled = std::future::poll_fn(|context| {
            std::task::Poll::Ready(change.as_mut().poll(context).is_ready())
        });
        if polled.await {
            return true;
        }
        // Gives the change's pending work time to finish.
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    false
}

#[tokio::test]
async fn a_cancelled_revocation_takes_effect_or_is_not_written() {
    let store = store();
    let access = open(&store).await;
    for polls in 0..20 {
        let credentials = create(&access, new_key("FullAccess")).await;
        let (token, key) = (token(&access, &credentials, NOW).await, credentials.key);
        let revoke = Manage::RevokeKey { key: key.clone(), old_secrets_only: false };

        let has_ended = give_up(&access, revoke, polls).await;

        // The writer is a queue: everything submitted earlier is done before this.
        write(&store, "DELETE FROM managed WHERE kind = ?1", "none").await;
        let sql = "SELECT revoked FROM api_client WHERE api_key = ?1";
        let rows = store.query(Sql::new(sql, vec![key.as_str().into()])).await.unwrap();
        let is_revoked = rows[0][0].as_integer().is_some();
        let is_recognized = recognize(&access, &token, "data", NOW).is_ok();
        assert_ne!(is_revoked, is_recognized, "{polls} polls");
        access.refresh().await.unwrap();
        let after =
            recognize(&access, &token, "data", NOW).map(|_| ()).map_err(|(status, _)| status);
        assert_eq!(after, if is_revoked { Err(401) } else { Ok(()) }, "{polls} polls");
        if has_ended {
            return;
        }
    }
    panic!("a revocation never ends");
}

/// Returns everything a registry shows, as text.
async fn shown(access: &Arc<Access>) -> String {
    let mut applications = access.look_up(|registry| {
        let items = registry.items(ItemKind::Application);
        let clients = items.map(|(id, item)| {
            let clients: Vec<String> =
                registry.clients_of(id).map(|client| format!("{client:?}")).collect();
            format!("{id} {item} {clients:?}")
        });
        clients.collect::<Vec<_>>()
    });
    let listed = access.manage(Manage::ListKeys {}, NOW).await.unwrap();
    let mut keys: Vec<String> =
        listed["keys"].as_array().unwrap().iter().map(ToString::to_string).collect();
    keys.sort_unstable();
    applications.extend(keys);
    applications.join("\n")
}

#[tokio::test]
async fn memory_equals_the_store_after_every_change() {
    let store = store();
    let access = open(&store).await;
    let Credentials { key, .. } = create(&access, new_key("FullAccess")).await;
    let other = create(&access, new_key("SISVendor")).await.key;
    let rotate = |old_secret_seconds| Manage::RotateKey { key: key.clone(), old_secret_seconds };
    let revoke =
        |key: &str, old_secrets_only| Manage::RevokeKey { key: key.into(), old_secrets_only };
    let set = |name: &str| {
        let claim = "http://ed-fi.org/identity/claims/ed-fi/student";
        let definition = json!({"name": name, "resourceClaims": [{"claim": claim, "actions": [{"name": "Read"}]}]});
        Manage::PutClaimSet { name: name.into(), definition }
    };
    let asked = [
        rotate(None),
        revoke(&key, true),
        rotate(Some(60)),
        revoke(&key, true),
        rotate(Some(0)),
        set("Mine"),
        new_key("Mine"),
        set("Mine"),
        Manage::CreateKey {
            claim_set: None,
            name: Some("both".into()),
            scopes: vec!["admin".into(), "learning".into()],
            education_organizations: vec![3, 1, 2, 1],
            namespace_prefixes: vec!["uri://a".into()],
            ownership_tokens: vec![5, 4],
            creator_token: Some(6),
        },
        revoke(&key, false),
    ];
    for asked in asked {
        let what = format!("{asked:?}");
        access.manage(asked, NOW).await.unwrap();
        assert_eq!(shown(&access).await, shown(&open(&store).await).await, "{what}");
    }
    for step in ["suspend", "approve", "grant", "move", "reset", "rename", "remove"] {
        let mut change = access.begin_change(NOW).await.unwrap();
        let (found, rights) = change.look_up(|registry| {
            let ids = registry.items(ItemKind::Application).map(|(id, _)| id);
            let mut clients = ids.flat_map(|id| registry.clients_of(id));
            let found = clients.find(|found| found.client.key == other).unwrap();
            let rights = homeroom_access::ClientRights::from(&found.client);
            (found, rights)
        });
        let at = found.application;
        match step {
            "suspend" | "approve" => {
                change.change_client(&other, at, step, step == "approve").unwrap();
            }
            "grant" => change.grant(
                &other,
                &homeroom_access::ClientRights {
                    application: "granted".into(),
                    claim_set: Some("Mine".into()),
                    education_organizations: vec![9, 8],
                    namespace_prefixes: vec!["uri://b".into()],
                },
            ),
            "move" => {
                let new =
                    json!({"applicationName": "new", "claimSetName": "Mine", "profileIds": []});
                let new = change.put(ItemKind::Application, None, new).unwrap();
                change.add_client(new, "first", true, rights).unwrap();
                change.change_client(&other, new, "moved", true).unwrap();
            }
            "reset" => _ = change.reset_secret(&other).unwrap(),
            "rename" => change.rename_claim_set("Mine", "Yours").unwrap(),
            _ => change.remove_client(&other),
        }
        change.commit().await.unwrap();
        assert_eq!(shown(&access).await, shown(&open(&store).await).await, "{step}");
    }
}

#[tokio::test]
async fn a_change_is_in_force_at_the_next_call_without_verifying_any_token_again() {
    let access = open(&store()).await;
    let mut asked = new_key("FullAccess");
    if let Manage::CreateKey { education_organizations, .. } = &mut asked {
        *education_organizations = vec![255_901, 255_902];
    }
    let credentials = create(&access, asked).await;
    let whole = token(&access, &credentials, NOW).await;
    let confined = ask_token(&access, &credentials, "&scope=255902", NOW).await;
    let confined = text(&confined.body["access_token"]);
    let other = create(&access, new_key("FullAccess")).await;
    let others = token(&access, &other, NOW).await;
    for token in [&whole, &confined, &others] {
        recognize(&access, token, "data", NOW).unwrap();
    }
    assert_eq!(access.verifications(), 3);

    let mut change = access.begin_change(NOW).await.unwrap();
    let client = change.look_up(|registry| {
        let mut clients = registry.clients();
        clients.find(|client| client.key == credentials.key).cloned().map(Arc::new).unwrap()
    });
    let rights =
        ClientRights { education_organizations: vec![255_901], ..ClientRights::from(&client) };
    change.grant(&credentials.key, &rights);
    change.commit().await.unwrap();

    let changed = recognize(&access, &whole, "data", NOW).unwrap();
    assert_eq!(*changed.education_organizations, [255_901]);
    assert_eq!(recognize(&access, &confined, "data", NOW).unwrap_err().0, 401);
    assert!(recognize(&access, &others, "data", NOW).is_ok());
    let revoke = Manage::RevokeKey { key: other.key, old_secrets_only: false };
    access.manage(revoke, NOW).await.unwrap();
    assert_eq!(recognize(&access, &others, "data", NOW).unwrap_err().0, 401);
    assert!(recognize(&access, &whole, "data", NOW).is_ok());
    assert_eq!(access.verifications(), 3);
}

#[tokio::test]
async fn a_token_that_was_verified_long_ago_still_ends_with_its_secret() {
    let access = open(&store()).await;
    let credentials = create(&access, new_key("FullAccess")).await;
    let token = token(&access, &credentials, NOW).await;
    recognize(&access, &token, "data", NOW).unwrap();

    let rotate = Manage::RotateKey { key: credentials.key, old_secret_seconds: Some(60) };
    access.manage(rotate, NOW).await.unwrap();

    assert!(recognize(&access, &token, "data", NOW.plus_seconds(59)).is_ok());
    assert_eq!(recognize(&access, &token, "data", NOW.plus_seconds(60)).unwrap_err().0, 401);
}
