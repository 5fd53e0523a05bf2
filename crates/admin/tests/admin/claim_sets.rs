//! Claim sets: shipped ones cannot be changed; others are created, copied, imported and changed,
//! with immediate effect.

use std::sync::Arc;

use crate::support::{Client, application, assert_invalid, client_of, manager};
use homeroom_access::{Action, ApiClient, Manage, Permission, Rights, Strategy};
use homeroom_http::Timestamp;
use homeroom_testkit::{TestApp, USUAL, model};
use serde_json::{Value, json};

/// Returns the grants of an exported set, without the set's own properties.
fn claims_of(mut exported: Value) -> Value {
    exported["resourceClaims"].take()
}

/// Returns the permission of the client behind a token on a resource.
fn permission(caller: &Client, endpoint: &str, action: Action) -> Permission {
    let now = Timestamp::now();
    let access = &caller.app.access;
    let client: Arc<ApiClient> =
        access.recognize(Some(&caller.authorization), "data", now).unwrap();
    let model = model();
    let resource = model.resources.iter().find(|resource| resource.endpoint == endpoint).unwrap();
    client.rights.permission(resource.id, action).clone()
}

/// Returns the id of a resource claim.
async fn claim(admin: &Client, name: &str) -> i64 {
    let found = admin.read(&format!("/resourceClaims?name={name}")).await;
    found[0]["id"].as_i64().unwrap_or_else(|| panic!("{name}: {found}"))
}

async fn id_of(admin: &Client, set: &str) -> i64 {
    let found = admin.read(&format!("/claimSets?name={set}")).await;
    found[0]["id"].as_i64().unwrap_or_else(|| panic!("{set}: {found}"))
}

#[tokio::test]
async fn every_shipped_set_comes_back_from_an_import_of_its_export() {
    for app in TestApp::empty_on_each_store().await {
        let admin = manager(&app).await;
        let sets = admin.read("/claimSets?limit=1000").await;
        let sets = sets.as_array().unwrap();
        assert!(sets.len() >= 15, "{app}: {sets:?}");
        let model = model();
        for set in sets {
            let name = set["name"].as_str().unwrap();
            assert_eq!(set["_isSystemReserved"], true, "{name}");
            let exported = admin.read(&format!("/claimSets/{}/export", set["id"])).await;
            let mut asked = exported.clone();
            asked["name"] = json!(format!("Own {name}"));

            let id = admin.create("/claimSets/import", &asked).await;

            let again = admin.read(&format!("/claimSets/{id}/export")).await;
            assert_eq!(again["_isSystemReserved"], false, "{app} {name}");
            assert_eq!(claims_of(again), claims_of(exported), "{app} {name}");
            let rights = |name: &str| {
                app.access.look_up(|registry| {
                    let known = registry.claim_set_named(name).unwrap();
                    Rights::compile(app.access.claims(), known.set())
                })
            };
            let (own, shipped) = (rights(&format!("Own {name}")), rights(name));
            for resource in &model.resources {
                for action in Action::ALL {
                    assert_eq!(
                        own.permission(resource.id, action),
                        shipped.permission(resource.id, action),
                        "{app} {name} {action:?} {}",
                        resource.name
                    );
                }
            }
        }
    }
}

#[tokio::test]
async fn a_shipped_set_stays_as_it_is_and_can_be_copied() {
    for app in TestApp::empty_on_each_store().await {
        let admin = manager(&app).await;
        let id = id_of(&admin, "SISVendor").await;
        let one = format!("/claimSets/{id}");
        let student = claim(&admin, "student").await;
        let before = admin.read(&one).await;
        let actions = json!([{"name": "Read", "enabled": true}]);
        let added = json!({"resourceClaimId": student, "resourceClaimActions": actions});
        let on = format!("{one}/resourceClaimActions");

        for refused in [
            admin.put(&one, &json!({"name": "Mine"})).await,
            admin.delete(&one).await,
            admin.post(&on, &added).await,
            admin.put(&format!("{on}/{student}"), &added).await,
            admin.delete(&format!("{on}/{student}")).await,
            admin.post(&format!("{on}/{student}/resetAuthorizationStrategies"), &json!({})).await,
        ] {
            assert_invalid(&refused, &["Id"]);
        }
        assert_eq!(admin.read(&one).await, before, "{app}");

        let copy =
            admin.create("/claimSets/copy", &json!({"originalId": id, "name": "Mine"})).await;

        let copied = admin.read(&format!("/claimSets/{copy}")).await;
        assert_eq!(
            (&copied["name"], &copied["_isSystemReserved"]),
            (&json!("Mine"), &json!(false))
        );
        assert_eq!(claims_of(copied), claims_of(before), "{app}");
    }
}

#[tokio::test]
async fn a_set_can_be_built_claim_by_claim_and_each_step_applies_at_once() {
    for app in TestApp::empty_on_each_store().await {
        let admin = manager(&app).await;
        let set = admin.create("/claimSets", &json!({"name": "Own"})).await;
        let (_, key, secret) = admin.application("Own").await;
        let caller = client_of(&app, &key, &secret).await;
        let of = |action| permission(&caller, "students", action);
        let student = claim(&admin, "student").await;
        let on = format!("/claimSets/{set}/resourceClaimActions");
        let actions = |names: &[&str]| {
            let enabled = names.iter().map(|name| json!({"name": name, "enabled": true}));
            let off = json!({"name": "Delete", "enabled": false});
            Value::Array(enabled.chain([off]).collect())
        };
        assert_eq!(of(Action::Read), Permission::NotGrantedOnResource, "{app}");

        let body = json!({"resourceClaimId": student, "resourceClaimActions": actions(&["read", "Create"])});
        assert_eq!(admin.post(&on, &body).await.status, 201);

        let people = Permission::Granted(vec![Strategy::RelationshipsWithEdOrgsAndPeople]);
        assert_eq!(of(Action::Read), people, "{app}");
        assert_eq!(of(Action::Delete), Permission::NotGrantedForAction);

        let one = format!("{on}/{student}");
        let strategies = json!({"actionName": "Read",
            "authorizationStrategies": ["NamespaceBased", "OwnershipBased"]});
        let answer = admin.post(&format!("{one}/overrideAuthorizationStrategy"), &strategies).await;
        assert_eq!(answer.status, 200, "{answer:?}");

        let own = Permission::Granted(vec![Strategy::NamespaceBased, Strategy::OwnershipBased]);
        assert_eq!(of(Action::Read), own, "{app}");
        let shown = admin.read(&format!("/claimSets/{set}")).await;
        let shown = &shown["resourceClaims"][0];
        assert_eq!((&shown["id"], &shown["name"]), (&json!(student), &json!("student")));
        let overridden = &shown["authorizationStrategyOverridesForCRUD"];
        assert_eq!(overridden.as_array().unwrap().len(), 1);
        assert_eq!(overridden[0]["actionName"], "Read");
        assert_eq!(
            overridden[0]["authorizationStrategies"][1]["authStrategyName"],
            "OwnershipBased"
        );
        let defaults = &shown["_defaultAuthorizationStrategiesForCRUD"][1];
        let default = &defaults["authorizationStrategies"][0];
        assert_eq!(default["authStrategyName"], "RelationshipsWithEdOrgsAndPeople");
        assert_eq!(default["isInheritedFromParent"], true);

        let body = json!({"resourceClaimActions": actions(&["Read", "Update"])});
        assert_eq!(admin.put(&one, &body).await.status, 200);
        assert_eq!(of(Action::Read), own, "{app}: an action that stays keeps its strategies");
        assert_eq!(of(Action::Create), Permission::NotGrantedForAction);

        let reset = admin.post(&format!("{one}/resetAuthorizationStrategies"), &json!({})).await;
        assert_eq!(reset.status, 200);
        assert_eq!(of(Action::Read), people, "{app}");

        assert_eq!(admin.delete(&one).await.status, 200);
        assert_eq!(of(Action::Read), Permission::NotGrantedOnResource, "{app}");
        for gone in [
            admin.delete(&one).await,
            admin.put(&one, &body).await,
            admin.post(&format!("{one}/overrideAuthorizationStrategy"), &strategies).await,
        ] {
            assert_eq!(gone.status, 404, "{app}: {gone:?}");
        }
    }
}

#[tokio::test]
async fn an_invalid_grant_on_a_claim_is_refused_with_its_member() {
    for app in TestApp::empty_on_each_store().await {
        let admin = manager(&app).await;
        let set = admin.create("/claimSets", &json!({"name": "Own"})).await;
        let student = claim(&admin, "student").await;
        let on = format!("/claimSets/{set}/resourceClaimActions");
        let read = json!([{"name": "Read", "enabled": true}]);
        let body = json!({"resourceClaimId": student, "resourceClaimActions": read});
        assert_eq!(admin.post(&on, &body).await.status, 201);
        let change = format!("{on}/{student}/overrideAuthorizationStrategy");
        for (path, body, members) in [
            (&on, json!({}), vec!["ResourceClaimId", "ResourceClaimActions"]),
            (
                &on,
                json!({"resourceClaimId": 1, "resourceClaimActions": []}),
                vec!["ResourceClaimId", "ResourceClaimActions"],
            ),
            (
                &on,
                json!({"resourceClaimId": student, "resourceClaimActions":
                [{"name": "Read", "enabled": false}]}),
                vec!["ResourceClaimActions"],
            ),
            (
                &on,
                json!({"resourceClaimId": student, "resourceClaimActions": [{"name": "Reed"}]}),
                vec!["ResourceClaimActions"],
            ),
            (
                &on,
                json!({"resourceClaimId": student, "resourceClaimActions": [5, null]}),
                vec!["ResourceClaimActions"],
            ),
            (&change, json!({}), vec!["ActionName", "AuthorizationStrategies"]),
            (
                &change,
                json!({"actionName": "Create", "authorizationStrategies": ["NamespaceBasd"]}),
                vec!["ActionName", "AuthorizationStrategies"],
            ),
            (
                &change,
                json!({"actionName": "Read", "authorizationStrategies": []}),
                vec!["AuthorizationStrategies"],
            ),
            (
                &change,
                json!({"actionName": "Read", "authorizationStrategies": "NamespaceBased"}),
                vec!["AuthorizationStrategies"],
            ),
        ] {
            assert_invalid(&admin.post(path, &body).await, &members);
        }
    }
}

#[tokio::test]
async fn an_import_names_every_fault_with_its_place() {
    for app in TestApp::empty_on_each_store().await {
        let admin = manager(&app).await;
        let read = json!([{"name": "Read", "enabled": true}]);
        let asked = json!({"name": "Bad", "resourceClaims": [
            {"name": "studnet", "actions": read},
            {"name": "people", "actions": [], "children": [
                {"name": "school", "actions": read},
                {"name": "student", "actions": read,
                    "authorizationStrategyOverridesForCRUD": [
                        {"actionName": "Create", "authorizationStrategies":
                            [{"authStrategyName": "NamespaceBased"}]},
                        {"actionName": "Read", "authorizationStrategies":
                            [{"authStrategyName": "Nothing"}]},
                    ]},
            ]},
            {"name": "http://ed-fi.org/ods/identity/claims/student", "actions": read},
            "student",
        ]});

        let refused = admin.post("/claimSets/import", &asked).await;

        assert_invalid(&refused, &["ResourceClaims"]);
        let body = refused.json();
        let mut places: Vec<&str> =
            body["validationErrors"].as_object().unwrap().keys().map(String::as_str).collect();
        places.sort_unstable();
        let children = "$.resourceClaims[1].children";
        let overrides = format!("{children}[1].authorizationStrategyOverridesForCRUD");
        let mut expected = vec![
            "$.resourceClaims[0].name".to_owned(),
            "$.resourceClaims[1].actions".into(),
            format!("{children}[0].name"),
            format!("{overrides}[0].actionName"),
            format!("{overrides}[1].authorizationStrategies[0]"),
            "$.resourceClaims[2].name".into(),
            "$.resourceClaims[3]".into(),
        ];
        expected.sort_unstable();
        assert_eq!(places, expected, "{app}");
        let typo = body["validationErrors"]["$.resourceClaims[0].name"][0].as_str().unwrap();
        assert!(typo.contains("did you mean student"), "{typo}");
        assert_eq!(admin.read("/claimSets?name=Bad").await, json!([]), "{app}");
    }
}

#[tokio::test]
async fn a_renamed_set_keeps_its_applications_and_keys() {
    for app in TestApp::empty_on_each_store().await {
        let admin = manager(&app).await;
        let original = id_of(&admin, "FullAccess").await;
        let copy = json!({"originalId": original, "name": "Before"});
        let id = admin.create("/claimSets/copy", &copy).await;
        let (application, key, secret) = admin.application("Before").await;
        let caller = client_of(&app, &key, &secret).await;
        let before = permission(&caller, "schools", Action::Delete);
        assert!(matches!(before, Permission::Granted(_)), "{before:?}");

        for name in ["After", "after", "SIS Vendor"] {
            let answer = admin.put(&format!("/claimSets/{id}"), &json!({"name": name})).await;
            assert_eq!(answer.status == 200, name != "SIS Vendor", "{app} {name}: {answer:?}");
        }

        assert_eq!(permission(&caller, "schools", Action::Delete), before, "{app}");
        let shown = admin.read(&format!("/applications/{application}")).await;
        assert_eq!(shown["claimSetName"], "after");
        let set = admin.read(&format!("/claimSets/{id}")).await;
        assert_eq!(set["_applications"], json!([{"applicationName": "Gradebook"}]));
        assert_eq!(admin.read("/claimSets?name=Before").await, json!([]));
        let reopened = TestApp::on("again", USUAL, app.data.store.clone()).await;
        let same = Client { app: reopened, authorization: caller.authorization };
        assert_eq!(permission(&same, "schools", Action::Delete), before, "{app}");
    }
}

#[tokio::test]
async fn a_set_that_an_application_or_a_key_has_cannot_be_deleted() {
    for app in TestApp::empty_on_each_store().await {
        let admin = manager(&app).await;
        let id = admin.create("/claimSets", &json!({"name": "Own"})).await;
        let one = format!("/claimSets/{id}");
        let (application_id, ..) = admin.application("Own").await;

        assert_invalid(&admin.delete(&one).await, &["Id"]);
        let other = application(1, "SISVendor");
        let path = format!("/applications/{application_id}");
        assert_eq!(admin.put(&path, &other).await.status, 200);

        assert_eq!(admin.delete(&one).await.status, 200, "{app}");
        assert_eq!(admin.get(&one).await.status, 404, "{app}");
        let reopened = TestApp::on("again", USUAL, app.data.store.clone()).await;
        assert_eq!(manager(&reopened).await.get(&one).await.status, 404, "{app}");
    }
}

#[tokio::test]
async fn an_override_of_a_shipped_set_is_editable_and_deleting_it_restores_the_shipped_set() {
    for app in TestApp::empty_on_each_store().await {
        let admin = manager(&app).await;
        let id = id_of(&admin, "SISVendor").await;
        let one = format!("/claimSets/{id}");
        let before = admin.read(&one).await;
        let (_, key, secret) = admin.application("SISVendor").await;
        let caller = client_of(&app, &key, &secret).await;
        let read = |caller: &Client| permission(caller, "students", Action::Read);
        let published = read(&caller);
        let all = json!({"name": "Read",
            "authorizationStrategies": ["NoFurtherAuthorizationRequired"]});
        let definition = json!({"resourceClaims": [{"claim": "ed-fi/student", "actions": [all]}]});

        let put = Manage::PutClaimSet { name: "SIS Vendor".into(), definition };
        app.access.manage(put, Timestamp::now()).await.unwrap();

        let everything = Permission::Granted(vec![Strategy::NoFurtherAuthorizationRequired]);
        assert_eq!(read(&caller), everything, "{app}");
        for app in [app.clone(), TestApp::on("again", USUAL, app.data.store.clone()).await] {
            let admin = manager(&app).await;
            let shown = admin.read(&one).await;
            assert_eq!(shown["name"], "SISVendor", "{app}");
            assert_eq!(shown["_isSystemReserved"], false, "{app}");
            assert_eq!(shown["_overridesSystemReserved"], true, "{app}");
            assert_eq!(shown["resourceClaims"].as_array().unwrap().len(), 1, "{app}");
        }
        let school = claim(&admin, "school").await;
        let actions = json!([{"name": "Read", "enabled": true}]);
        let added = json!({"resourceClaimId": school, "resourceClaimActions": actions});
        let on = format!("{one}/resourceClaimActions");
        assert_eq!(admin.post(&on, &added).await.status, 201, "{app}");
        let renamed = admin.put(&one, &json!({"name": "Mine"})).await;
        assert!(matches!(renamed.status, 400 | 409), "{app}: {renamed:?}");

        assert_eq!(admin.delete(&one).await.status, 200, "{app}");

        assert_eq!(read(&caller), published, "{app}");
        let mut after = admin.read(&one).await;
        after["_applications"] = json!([]);
        assert_eq!(after, before, "{app}");
        assert_invalid(&admin.delete(&one).await, &["Id"]);
        let reopened = TestApp::on("again", USUAL, app.data.store.clone()).await;
        let same = Client { app: reopened, authorization: caller.authorization };
        assert_eq!(read(&same), published, "{app}");
    }
}

#[tokio::test]
async fn ids_are_the_same_after_a_restart() {
    for app in TestApp::empty_on_each_store().await {
        let admin = manager(&app).await;
        let first = admin.create("/claimSets", &json!({"name": "First"})).await;
        assert_eq!(
            admin.put(&format!("/claimSets/{first}"), &json!({"name": "Other"})).await.status,
            200
        );
        let second = admin.create("/claimSets", &json!({"name": "First"})).await;
        assert_ne!(first, second, "{app}");
        let paths = [
            "/claimSets?limit=99",
            "/resourceClaims?limit=999",
            "/actions",
            "/authorizationStrategies",
            "/resourceClaimActions?limit=9999",
        ];
        let mut before = vec![];
        for path in paths {
            before.push(admin.read(path).await);
        }

        let reopened = TestApp::on("again", USUAL, app.data.store.clone()).await;

        let again = manager(&reopened).await;
        for (path, before) in paths.iter().zip(before) {
            assert_eq!(again.read(path).await, before, "{app} {path}");
        }
    }
}

#[tokio::test]
async fn claims_actions_and_strategies_can_be_listed() {
    for app in TestApp::empty_on_each_store().await {
        let admin = manager(&app).await;
        let tops = admin.read("/resourceClaims?limit=1000").await;
        let people = tops.as_array().unwrap().iter().find(|top| top["name"] == "people").unwrap();
        let one = format!("/resourceClaims/{}", people["id"]);

        assert_eq!((&people["parentId"], &people["parentName"]), (&json!(0), &Value::Null));
        let children: Vec<&Value> =
            people["children"].as_array().unwrap().iter().map(|child| &child["name"]).collect();
        assert_eq!(children, ["contact", "staff", "student"], "{app}");
        assert_eq!(&admin.read(&one).await, people);
        let student = admin.read("/resourceClaims?name=Student").await;
        assert_eq!(student[0]["parentName"], "people", "{app}");
        let ids = admin.read("/resourceClaimActions?limit=10000").await;
        let ids: std::collections::BTreeSet<i64> = ids
            .as_array()
            .unwrap()
            .iter()
            .map(|row| row["resourceClaimId"].as_i64().unwrap())
            .collect();
        assert!(ids.len() > 349 && ids.iter().all(|id| *id <= i64::from(i32::MAX)), "{app}");
        let actions = admin.read("/resourceClaimActions?resourceName=student").await;
        assert_eq!(actions[0]["claimName"], "http://ed-fi.org/identity/claims/ed-fi/student");
        assert_eq!(actions[0]["actions"].as_array().unwrap().len(), 5);
        let strategies =
            admin.read("/resourceClaimActionAuthStrategies?resourceName=student").await;
        let of_action = &strategies[0]["authorizationStrategiesForActions"][0];
        assert_eq!(
            (&of_action["actionId"], &of_action["actionName"]),
            (&json!(1), &json!("Create"))
        );
        assert!(of_action["authorizationStrategies"][0]["authStrategyId"].is_i64(), "{strategies}");
        let actions = admin.read("/actions").await;
        assert_eq!(
            actions[4],
            json!({"id": 5, "name": "ReadChanges",
            "uri": "http://ed-fi.org/odsapi/actions/readChanges"})
        );
        let published = admin.read("/authorizationStrategies?limit=100").await;
        assert_eq!(published.as_array().unwrap().len(), Strategy::PUBLISHED.len(), "{app}");
        assert_eq!(published[0]["displayName"], "No Further Authorization Required");
    }
}

#[tokio::test]
async fn a_custom_strategy_is_listed_and_can_be_used_in_grants() {
    for app in TestApp::empty_on_each_store().await {
        let admin = manager(&app).await;
        let before = admin.read("/authorizationStrategies?limit=100").await;
        let put = Manage::PutStrategy {
            name: "StudentWithName".into(),
            definition: json!({"where": {"member": "firstName", "present": true}}),
        };
        app.access.manage(put, Timestamp::now()).await.unwrap();
        let set = admin.create("/claimSets", &json!({"name": "Own"})).await;
        let student = claim(&admin, "student").await;
        let on = format!("/claimSets/{set}/resourceClaimActions");
        let body = json!({"resourceClaimId": student,
            "resourceClaimActions": [{"name": "Read", "enabled": true}]});
        assert_eq!(admin.post(&on, &body).await.status, 201);

        let after = admin.read("/authorizationStrategies?limit=100").await;
        let strategies =
            json!({"actionName": "Read", "authorizationStrategies": ["StudentWithName"]});
        let path = format!("{on}/{student}/overrideAuthorizationStrategy");
        let granted = admin.post(&path, &strategies).await;

        let (before, after) = (before.as_array().unwrap(), after.as_array().unwrap());
        assert_eq!(after.len(), before.len() + 1, "{app}");
        let own = after.iter().find(|strategy| !before.contains(strategy)).unwrap();
        assert_eq!(own["name"], "StudentWithName", "{app}");
        assert_eq!(own["displayName"], "Student With Name", "{app}");
        assert_eq!(granted.status, 200, "{app}: {granted:?}");
    }
}
