//! The OpenAPI document of the Admin API: it has every route, and answers are as it says.

use std::collections::BTreeSet;

use crate::support::{application, is_own, manager};
use homeroom_admin::OPENAPI;
use homeroom_testkit::TestApp;
use http::Method;
use serde_json::{Value, json};

/// Returns the document as a client without a key reads it.
async fn document(app: &TestApp) -> Value {
    let answer = app.send(Method::GET, OPENAPI.path, &[], "").await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

/// Returns the operations of a document as `GET /path`.
fn operations(document: &Value) -> BTreeSet<String> {
    let paths = document["paths"].as_object().unwrap().iter();
    let all = paths.flat_map(|(path, item)| {
        item.as_object()
            .unwrap()
            .keys()
            .map(move |method| format!("{} {path}", method.to_uppercase()))
    });
    all.collect()
}

#[tokio::test]
async fn the_document_has_every_route_and_no_other() {
    for app in TestApp::empty_on_each_store().await {
        let routes: BTreeSet<String> = app
            .front_door
            .routes()
            .filter(|(_, route)| is_own(&route.template))
            .map(|(method, route)| format!("{method} {}", route.template))
            .collect();

        let described = operations(&document(&app).await);

        assert_eq!(described, routes, "{app}");
        assert!(routes.len() > 50, "{app}: {}", routes.len());
    }
}

#[tokio::test]
async fn the_document_is_listed_with_those_of_the_data_api() {
    for app in TestApp::empty_on_each_store().await {
        let list = app.send(Method::GET, "/metadata", &[], "").await.json();

        let found = list.as_array().unwrap().iter().find(|entry| entry["name"] == "Admin").unwrap();
        let url = found["endpointUri"].as_str().unwrap();
        assert!(url.starts_with("http") && url.ends_with(OPENAPI.path), "{app}: {url}");
    }
}

#[test]
fn every_reference_leads_to_a_component_and_every_component_is_used() {
    let document = homeroom_admin::openapi_document();
    let mut found = BTreeSet::new();

    each_reference(&document, &mut |target| {
        assert!(document.pointer(&target[1..]).is_some(), "{target}");
        found.insert(target.to_owned());
    });

    for kind in ["schemas", "responses"] {
        for name in document["components"][kind].as_object().unwrap().keys() {
            assert!(found.contains(&format!("#/components/{kind}/{name}")), "{kind} {name}");
        }
    }
}

fn each_reference(value: &Value, check: &mut impl FnMut(&str)) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                match (name.as_str(), member) {
                    ("$ref", Value::String(target)) => check(target),
                    _ => each_reference(member, check),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| each_reference(item, check)),
        _ => {}
    }
}

#[test]
fn operation_ids_are_unique_and_every_tag_has_operations() {
    let document = homeroom_admin::openapi_document();
    let (mut ids, mut tags) = (BTreeSet::new(), BTreeSet::new());

    for item in document["paths"].as_object().unwrap().values() {
        for operation in item.as_object().unwrap().values() {
            assert!(ids.insert(operation["operationId"].as_str().unwrap()), "{operation}");
            tags.insert(operation["tags"][0].as_str().unwrap());
        }
    }

    let listed = document["tags"].as_array().unwrap().iter();
    let listed: BTreeSet<&str> = listed.map(|tag| tag["name"].as_str().unwrap()).collect();
    assert_eq!(tags, listed);
}

#[tokio::test]
async fn a_part_of_the_document_is_asked_for_by_tags() {
    for app in TestApp::empty_on_each_store().await {
        let path = format!("{}?tags=vendors", OPENAPI.path);

        let answer = app.send(Method::GET, &path, &[], "").await;

        let part = answer.json();
        assert_eq!(part["tags"].as_array().unwrap().len(), 1, "{app}");
        assert!(operations(&part).contains("POST /adminapi/v2/vendors"), "{app}");
        let all = operations(&part);
        assert!(all.iter().all(|found| found.contains("/vendors")), "{app}: {all:?}");
        assert!(part["components"]["schemas"].get("claimSet").is_none(), "{app}");
        let etag = answer.header("etag").to_owned();
        let known = [("if-none-match", etag.as_str())];
        assert_eq!(app.send(Method::GET, &path, &known, "").await.status, 304, "{app}");
        let path = format!("{}?tags=vendor", OPENAPI.path);
        let refused = app.send(Method::GET, &path, &[], "").await;
        assert_eq!(refused.status, 400, "{app}");
        assert_eq!(
            refused.json()["errors"],
            json!(["There is no tag vendor; did you mean Vendors?"]),
            "{app}"
        );
    }
}

#[tokio::test]
async fn the_addresses_in_the_document_are_those_of_the_request() {
    for app in TestApp::empty_on_each_store().await {
        let document = document(&app).await;

        let server = document["servers"][0]["url"].as_str().unwrap();
        assert!(server.starts_with("http://"), "{app}: {server}");
        let token = &document["components"]["securitySchemes"]["oauth2_client_credentials"]["flows"]
            ["clientCredentials"]["tokenUrl"];
        assert_eq!(*token, format!("{server}/adminapi/connect/token"), "{app}");
    }
}

/// Asserts that a value is as a schema says: no member that the schema lacks, none missing that it
/// requires, each of its type.
fn assert_fits(document: &Value, schema: &Value, value: &Value, place: &str) {
    if let Some(target) = schema["$ref"].as_str() {
        return assert_fits(document, document.pointer(&target[1..]).unwrap(), value, place);
    }
    if value.is_null() {
        assert_eq!(schema["nullable"], true, "{place} is null");
        return;
    }
    if let Some(known) = schema["enum"].as_array() {
        assert!(known.contains(value), "{place}: {value}");
    }
    match schema["type"].as_str() {
        Some("object") => {
            let members = value.as_object().unwrap_or_else(|| panic!("{place} is no object"));
            for name in schema["required"].as_array().into_iter().flatten() {
                assert!(members.contains_key(name.as_str().unwrap()), "{place} lacks {name}");
            }
            for (name, member) in members {
                let own = &schema["properties"][name];
                assert!(own.is_object(), "{place}: the schema has no {name}");
                assert_fits(document, own, member, &format!("{place}.{name}"));
            }
        }
        Some("array") => {
            for item in value.as_array().unwrap_or_else(|| panic!("{place} is not a list")) {
                assert_fits(document, &schema["items"], item, &format!("{place}[]"));
            }
        }
        Some("integer") => {
            let number = value.as_i64().unwrap_or_else(|| panic!("{place}: {value}"));
            assert!(number >= schema["minimum"].as_i64().unwrap_or(i64::MIN), "{place}: {value}");
            assert!(schema["format"] != "int32" || i32::try_from(number).is_ok(), "{place}");
        }
        Some("boolean") => assert!(value.is_boolean(), "{place}: {value}"),
        Some("string") => assert!(value.is_string(), "{place}: {value}"),
        other => panic!("{place}: {other:?}"),
    }
}

#[tokio::test]
async fn every_answer_is_as_the_document_says() {
    for app in TestApp::empty_on_each_store().await {
        let document = document(&app).await;
        let admin = manager(&app).await;
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
        for (path, item) in document["paths"].as_object().unwrap() {
            let Some(get) = item.get("get") else { continue };
            let of = match path.split('/').nth(3) {
                Some("claimSets") => &sets[0]["id"],
                Some("resourceClaims") => &claims[0]["id"],
                Some("apiclients") => &clients[0]["id"],
                Some("applications") => &json!(id),
                _ => &json!(1),
            };
            let address = path.replace("{id}", &of.to_string()).replace("{tenantName}", "default");
            let answer = admin.read(&format!("{address}?applicationid={id}&limit=1000")).await;

            let schema = &get["responses"]["200"]["content"]["application/json"]["schema"];
            assert!(answer.as_array().is_none_or(|list| !list.is_empty()), "{app} {path}");
            assert_fits(&document, schema, &answer, path);
            checked += 1;
        }

        assert!(checked >= 27, "{app}: {checked}");
        let mut other = application(1, "FullAccess");
        other["applicationName"] = json!("Other");
        let made = admin.post("/applications", &other).await;
        let of = |path: &str, method: &str, status: &str| {
            document["paths"][path][method]["responses"][status]["content"]["application/json"]
                ["schema"]
                .clone()
        };
        let schema = of("/adminapi/v2/applications", "post", "201");
        assert_fits(&document, &schema, &made.json(), "a new application");
        let refused = admin.post("/applications", &json!({})).await;
        assert_eq!(refused.status, 400, "{app}");
        let errors = refused.json()["errors"].clone();
        assert!(errors["ApplicationName"].is_array(), "{app}: {errors}");
    }
}

/// Returns the words of a name, `contactEmailAddress` as `contact email address`.
fn words_of(name: &str) -> String {
    let mut words = String::new();
    for letter in name.trim_start_matches('_').chars() {
        if letter.is_uppercase() {
            words.push(' ');
        }
        words.extend(letter.to_lowercase());
    }
    words.replace('_', " ")
}

#[test]
fn every_member_is_described_by_more_than_its_name() {
    let document = homeroom_admin::openapi_document();
    let mut count = 0;

    for (schema, value) in document["components"]["schemas"].as_object().unwrap() {
        for (member, value) in value["properties"].as_object().into_iter().flatten() {
            let about = value["description"].as_str().unwrap_or("");
            let plain = about.trim_end_matches('.').to_lowercase();
            let plain = plain.strip_prefix("the ").unwrap_or(&plain);
            assert!(about.len() > 8 && plain != words_of(member), "{schema}.{member}: {about}");
            count += 1;
        }
    }
    assert!(count > 160, "{count}");
}

#[tokio::test]
async fn every_body_has_an_example_that_fits_and_that_the_server_takes() {
    for app in TestApp::empty_on_each_store().await {
        let document = document(&app).await;
        let admin = manager(&app).await;
        let mut examples = std::collections::BTreeMap::new();
        for (path, item) in document["paths"].as_object().unwrap() {
            for (method, operation) in item.as_object().unwrap() {
                let Some(body) = operation["requestBody"]["content"].as_object() else { continue };
                let content = body.values().next().unwrap();
                let example = &content["example"];
                assert!(example.is_object(), "{method} {path} has no example");
                assert_fits(&document, &content["schema"], example, path);
                examples.insert(format!("{method} {path}"), example.clone());
            }
        }
        let example = |of: &str| examples[&format!("post /adminapi/v2{of}")].clone();

        for path in [
            "/vendors",
            "/applications",
            "/apiclients",
            "/claimSets",
            "/claimSets/import",
            "/odsInstanceContexts",
            "/odsInstanceDerivatives",
            "/profiles",
        ] {
            let made = admin.post(path, &example(path)).await;
            assert_eq!(made.status, 201, "{app} {path}: {made:?}");
        }
        let sets = admin.read("/claimSets?name=SISVendor").await;
        let mut copy = example("/claimSets/copy");
        copy["originalId"] = sets[0]["id"].clone();
        let copied = admin.post("/claimSets/copy", &copy).await;
        assert_eq!(copied.status, 201, "{app}: {copied:?}");
        let location = copied.header("location").to_owned();
        let at = location.find("/claimSets").unwrap();
        let (set, grants) = (&location[at..], format!("{}/resourceClaimActions", &location[at..]));
        assert_eq!(admin.read(set).await["name"], copy["name"], "{app}");
        let own = admin.read("/claimSets?name=Attendance%20only").await;
        let grants = grants.replace(set, &format!("/claimSets/{}", own[0]["id"]));
        let claim = admin.read("/resourceClaims?name=student").await[0]["id"].clone();
        let one = "/claimSets/{id}/resourceClaimActions";
        let mut grant = example(one);
        grant["resourceClaimId"] = claim.clone();
        assert_eq!(admin.post(&grants, &grant).await.status, 201, "{app}");
        let strategies =
            example(&format!("{one}/{{resourceClaimId}}/overrideAuthorizationStrategy"));
        let overrides = format!("{grants}/{claim}/overrideAuthorizationStrategy");
        let taken = admin.post(&overrides, &strategies).await;
        assert_eq!(taken.status, 200, "{app}: {taken:?}");
    }
}
