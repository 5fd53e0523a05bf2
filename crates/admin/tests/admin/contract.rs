//! Compares the routes and members with the published OpenAPI document, in the folder that
//! `HOMEROOM_REFERENCE` names.

use std::collections::BTreeSet;

use crate::support::{application, is_own, manager};
use homeroom_testkit::TestApp;
use serde_json::{Value, json};

fn openapi() -> Option<Value> {
    let Some(folder) = std::env::var_os("HOMEROOM_REFERENCE") else {
        println!("skipped: HOMEROOM_REFERENCE names no folder");
        return None;
    };
    let path = std::path::Path::new(&folder).join("ed-fi/openapi/management-2.3.0.json");
    Some(serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap())
}

/// Returns a method and a path whose placeholders have no names.
fn operation(method: &str, path: &str) -> String {
    let segments = path.trim_end_matches('/').split('/');
    let plain = segments.map(|segment| if segment.starts_with('{') { "{}" } else { segment });
    format!("{} {}", method.to_uppercase(), plain.collect::<Vec<_>>().join("/"))
}

#[tokio::test]
async fn the_routes_are_those_of_the_published_document() {
    let Some(document) = openapi() else { return };
    for app in TestApp::empty_on_each_store().await {
        let published: BTreeSet<String> = document["paths"]
            .as_object()
            .unwrap()
            .iter()
            .flat_map(|(path, methods)| {
                let methods = methods.as_object().unwrap().keys();
                methods.map(move |method| operation(method, &format!("/adminapi{path}")))
            })
            .collect();

        let ours: BTreeSet<String> = app
            .front_door
            .routes()
            .filter(|(_, route)| is_own(&route.template))
            .map(|(method, route)| operation(method.as_str(), &route.template))
            .collect();

        assert_eq!(ours, published, "{app}");
    }
}

/// Asserts that a value has exactly the members of a schema, at every level.
fn assert_fits(document: &Value, schema: &Value, value: &Value, place: &str) {
    if let Some(name) = schema["$ref"].as_str() {
        let name = name.rsplit('/').next().unwrap();
        let schema = &document["components"]["schemas"][name];
        return assert_fits(document, schema, value, place);
    }
    if value.is_null() {
        assert_eq!(schema["nullable"], true, "{place} is null");
        return;
    }
    match schema["type"].as_str() {
        Some("object") => {
            let properties = schema["properties"].as_object().unwrap();
            let names: BTreeSet<&String> = properties.keys().collect();
            let found: BTreeSet<&String> = value.as_object().unwrap().keys().collect();
            assert_eq!(found, names, "{place}");
            for (name, schema) in properties {
                assert_fits(document, schema, &value[name], &format!("{place}.{name}"));
            }
        }
        Some("array") => {
            for item in value.as_array().unwrap_or_else(|| panic!("{place} is not a list")) {
                assert_fits(document, &schema["items"], item, &format!("{place}[]"));
            }
        }
        Some("integer") if schema["format"] == "int32" => {
            assert!(i32::try_from(value.as_i64().unwrap()).is_ok(), "{place}: {value}");
        }
        Some("integer") => assert!(value.is_i64(), "{place}: {value}"),
        Some("boolean") => assert!(value.is_boolean(), "{place}: {value}"),
        Some("string") => assert!(value.is_string(), "{place}: {value}"),
        other => panic!("{place}: {other:?}"),
    }
}

#[tokio::test]
async fn every_answer_has_the_members_of_the_published_schema() {
    let Some(document) = openapi() else { return };
    for app in TestApp::empty_on_each_store().await {
        let admin = manager(&app).await;
        app.key_for(Some("FullAccess"), &[]).await;
        let (id, ..) = admin.application("SISVendor").await;
        let definition = "<Profile name=\"P\"><Resource name=\"School\"/></Profile>";
        admin.create("/profiles", &json!({"name": "P", "definition": definition})).await;
        let context = json!({"odsInstanceId": 1, "contextKey": "k", "contextValue": "v"});
        admin.create("/odsInstanceContexts", &context).await;
        let derivative = json!({
            "odsInstanceId": 1, "derivativeType": "Snapshot", "connectionString": "x"
        });
        admin.create("/odsInstanceDerivatives", &derivative).await;
        let sets = admin.read("/claimSets?name=SISVendor").await;
        let claims = admin.read("/resourceClaims?name=student").await;
        let clients = admin.read(&format!("/apiclients?applicationid={id}")).await;

        let mut checked = 0;
        for (path, methods) in document["paths"].as_object().unwrap() {
            let answers = &methods["get"]["responses"]["200"]["content"]["application/json"];
            if answers.is_null() {
                continue;
            }
            let of = match path.split('/').nth(2) {
                Some("claimSets") => &sets[0]["id"],
                Some("resourceClaims") => &claims[0]["id"],
                Some("apiclients") => &clients[0]["id"],
                Some("applications") => &json!(id),
                _ => &json!(1),
            };
            let address = format!("/adminapi{}", path.replace("{id}", &of.to_string()));
            let query = format!("?applicationid={id}&limit=1000");

            let answer = admin.read(&format!("{address}{query}")).await;

            assert!(answer.as_array().is_none_or(|list| !list.is_empty()), "{app} {path}");
            assert_fits(&document, &answers["schema"], &answer, path);
            checked += 1;
        }
        assert!(checked >= 24, "{app}: {checked}");
        let mut other = application(1, "FullAccess");
        other["applicationName"] = json!("Other");
        let schema = |name: &str| json!({"$ref": format!("#/components/schemas/{name}")});
        let made = admin.post("/applications", &other).await.json();
        assert_fits(&document, &schema("applicationResult"), &made, "POST applications");
        let asked = json!({"name": "second", "applicationId": id});
        let made = admin.post("/apiclients", &asked).await.json();
        assert_fits(&document, &schema("apiClientResult"), &made, "POST apiclients");
        let path = format!("/apiclients/{}/reset-credential", made["id"]);
        let reset = admin.put(&path, &json!({})).await.json();
        assert_fits(&document, &schema("apiClientResult"), &reset, "reset apiclients");
        let path = format!("/applications/{id}/reset-credential");
        let reset = admin.put(&path, &json!({})).await.json();
        assert_fits(&document, &schema("applicationResult"), &reset, "reset applications");
    }
}
