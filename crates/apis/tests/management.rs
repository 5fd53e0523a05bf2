//! `/adminapi/gateway/v1` over the front door, on each database.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use homeroom_apis::{OPENAPI, openapi_document};
use homeroom_testkit::{Answer, TestApp, USUAL, trial};
use http::Method;
use proptest::prelude::*;
use serde_json::{Value, json};

const BASE: &str = "/adminapi/gateway/v1";

/// A manager with a token.
struct Manager {
    app: TestApp,
    authorization: String,
}

impl Manager {
    async fn of(app: &TestApp) -> Self {
        let (key, secret) = app.key_for(None, &["admin"]).await;
        let answer = app.ask_token("/adminapi/connect/token", &key, &secret, "").await;
        let token = answer.json()["access_token"].as_str().unwrap().to_owned();
        Self { app: app.clone(), authorization: format!("Bearer {token}") }
    }

    async fn send(&self, method: Method, path: &str, media: &str, body: &str) -> Answer {
        let mut headers = vec![("authorization", self.authorization.as_str())];
        if !media.is_empty() {
            headers.push(("content-type", media));
        }
        self.app.send(method, &format!("{BASE}{path}"), &headers, body.to_owned()).await
    }

    async fn get(&self, path: &str) -> Answer {
        self.send(Method::GET, path, "", "").await
    }

    async fn post(&self, path: &str, body: &Value) -> Answer {
        self.send(Method::POST, path, "application/json", &body.to_string()).await
    }

    async fn put(&self, path: &str, body: &Value) -> Answer {
        self.send(Method::PUT, path, "application/json", &body.to_string()).await
    }

    async fn delete(&self, path: &str) -> Answer {
        self.send(Method::DELETE, path, "", "").await
    }
}

fn pay() -> Value {
    json!({
        "plans": [{"name": "gold", "requests_per_second": 10.0, "burst": 5, "quota": "100/day"}],
        "apis": [{
            "name": "pay", "context": "pay", "version": "v1", "upstream": ["http://127.0.0.1:1"],
            "plan": "gold", "openapi": "pay.json", "timeout": "5s",
            "request_headers": {"set": {"x-key": "plain"}},
        }],
        "documents": {"pay.json": {"openapi": "3.0.0", "paths": {"/a": {"get": {}}}}},
    })
}

#[tokio::test]
async fn what_is_applied_is_exported_and_shows_no_difference() {
    for app in TestApp::empty_on_each_store().await {
        let manager = Manager::of(&app).await;

        let before = manager.post("/diff", &pay()).await;
        let applied = manager.post("/apply", &pay()).await;
        let exported = manager.get("/export").await;
        let after = manager.post("/diff", &exported.json()).await;
        let again = manager.post("/apply", &exported.json()).await;

        let fields = |answer: &Value| -> Vec<String> {
            let all = answer.as_array().unwrap().iter();
            all.map(|one| one["field"].as_str().unwrap().to_owned()).collect()
        };
        assert_eq!(
            (before.status, fields(&before.json())),
            (200, ["apis.pay", "plans.gold"].map(String::from).to_vec()),
            "{app}"
        );
        assert_eq!((applied.status, fields(&applied.json()["changed"]).len()), (200, 2), "{app}");
        assert_eq!(after.json(), json!([]), "{app}");
        assert_eq!(again.json(), json!({"changed": []}), "{app}");
    }
}

#[tokio::test]
async fn a_definition_is_toml_as_well_as_json() {
    for app in TestApp::empty_on_each_store().await {
        let manager = Manager::of(&app).await;
        manager.post("/apply", &pay()).await;
        let headers = [("authorization", &*manager.authorization), ("accept", "application/toml")];

        let toml = app.send(Method::GET, &format!("{BASE}/export"), &headers, "").await;
        let text = String::from_utf8(toml.body.to_vec()).unwrap();
        let same = manager.send(Method::POST, "/diff", "application/toml", &text).await;
        let guessed = manager.send(Method::POST, "/diff", "text/plain", &text).await;
        let other = manager.send(Method::POST, "/diff", "application/xml", "<a/>").await;
        let empty = manager.send(Method::POST, "/apply", "application/json", " ").await;

        assert_eq!(toml.header("content-type"), "application/toml", "{app}");
        assert_eq!((same.json(), guessed.json()), (json!([]), json!([])), "{app}: {text}");
        assert_eq!((other.status, empty.status), (415, 400), "{app}");
        assert_eq!(manager.get("/apis").await.json().as_array().unwrap().len(), 1, "{app}");
    }
}

#[tokio::test]
async fn what_is_wrong_is_told_with_line_and_path_and_changes_nothing() {
    for app in TestApp::empty_on_each_store().await {
        let manager = Manager::of(&app).await;
        manager.post("/apply", &pay()).await;
        let wrong = "[[apis]]\nname = 'a'\ncontext = 'a'\nversion = 'v1'\n\
                     upstream = ['ftp://a']\nplan = 'none'\n";

        let linted = manager.send(Method::POST, "/lint", "application/toml", wrong).await;
        let refused = manager.send(Method::POST, "/apply", "application/toml", wrong).await;
        let broken = manager.send(Method::POST, "/apply", "application/json", "{\n\"a").await;
        let fine = manager.post("/lint", &pay()).await;

        let findings = linted.json()["findings"].clone();
        let told: Vec<_> =
            findings.as_array().unwrap().iter().map(|f| (&f["line"], &f["path"])).collect();
        let (plan, upstream) = (json!("apis[0].plan"), json!("apis[0].upstream[0]"));
        assert_eq!(told, [(&json!(6), &plan), (&json!(5), &upstream)], "{app}");
        assert_eq!(refused.status, 400, "{app}");
        let errors = &refused.json()["validationErrors"];
        assert!(errors["$.apis[0].plan"][0].as_str().unwrap().starts_with("line 6: "), "{errors}");
        assert!(errors["$.apis[0].upstream[0]"].is_array(), "{app}: {errors}");
        assert_eq!(broken.status, 400, "{app}: {broken:?}");
        assert_eq!(fine.json(), json!({"findings": [], "hints": []}), "{app}");
        assert_eq!(manager.post("/diff", &pay()).await.json(), json!([]), "{app}");
    }
}

#[tokio::test]
async fn lint_hints_at_what_a_document_promises_and_an_api_does_not_keep() {
    for app in TestApp::empty_on_each_store().await {
        let manager = Manager::of(&app).await;
        let body = json!({"content": {"multipart/form-data": {"schema": {"type": "object"}}}});
        let mut new = pay();
        new["documents"]["pay.json"]["paths"] = json!({
            "/news": {"get": {"security": []}}, "/photos": {"post": {"requestBody": body}}});
        new["apis"][0]["validate"] = json!(true);

        let sent = manager.post("/lint", &new).await.json();
        manager.post("/apply", &new).await;
        new.as_object_mut().unwrap().remove("documents");
        new.as_object_mut().unwrap().remove("plans");
        let stored = manager.post("/lint", &new).await.json();

        for linted in [sent, stored] {
            let hints = linted["hints"].as_array().unwrap();
            let paths: Vec<_> = hints.iter().map(|hint| hint["path"].as_str().unwrap()).collect();
            assert_eq!(paths, ["apis[0].security", "apis[0].validate"], "{app}: {linted}");
            assert!(hints.iter().all(|hint| hint["line"] == 1), "{app}: {linted}");
            assert_eq!(linted["findings"], json!([]), "{app}");
        }
    }
}

#[tokio::test]
async fn an_api_and_a_plan_are_put_shown_and_removed() {
    for app in TestApp::empty_on_each_store().await {
        let manager = Manager::of(&app).await;
        let api = json!({
            "context": "own", "version": "v1", "upstream": ["http://127.0.0.1:1"], "plan": "few",
            "openapi": {"openapi": "3.1.0", "paths": {}},
        });

        let early = manager.put("/apis/own%20one", &api).await;
        let plan = manager.put("/plans/few", &json!({"requests_per_second": 1})).await;
        let made = manager.put("/apis/own%20one", &api).await;
        let same = manager.put("/apis/own%20one", &api).await;
        let shown = manager.get("/apis/own%20one").await;
        let renamed = manager.put("/apis/own%20one", &json!({"name": "other"})).await;
        let in_use = manager.delete("/plans/few").await;

        assert!(early.json()["validationErrors"]["$.plan"].is_array(), "{app}: {early:?}");
        assert_eq!((plan.status, made.status, same.status), (201, 201, 200), "{app}");
        assert_eq!(made.header("location"), &format!("{BASE}/apis/own%20one"), "{app}");
        assert_eq!(
            (&shown.json()["name"], &shown.json()["openapi"]),
            (&json!("own one"), &json!("own one.json"))
        );
        assert_eq!(manager.put("/apis/own%20one", &shown.json()).await.status, 200, "{app}");
        assert_eq!((renamed.status, in_use.status), (400, 409), "{app}");
        assert_eq!(
            manager.get("/export").await.json()["documents"]["own one.json"],
            json!("{\"openapi\":\"3.1.0\",\"paths\":{}}")
        );
        assert_eq!(manager.delete("/apis/own%20one").await.status, 204, "{app}");
        assert_eq!(manager.delete("/apis/own%20one").await.status, 404, "{app}");
        assert_eq!(manager.delete("/plans/few").await.status, 204, "{app}");
        assert_eq!(manager.get("/plans/few").await.status, 404, "{app}");
        assert_eq!(manager.get("/export").await.json(), json!({"plans": [], "apis": []}), "{app}");
    }
}

#[tokio::test]
async fn lists_have_pages_and_apply_may_keep_what_is_not_named() {
    for app in TestApp::empty_on_each_store().await {
        let manager = Manager::of(&app).await;
        let api = |name: &str, timeout: &str| {
            json!({"apis": [{
                "name": name, "context": name, "version": "v1", "timeout": timeout,
                "upstream": ["http://127.0.0.1:1"],
            }]})
        };
        for name in ["b", "a", "c"] {
            let kept = manager.post("/apply", &api(name, "1s")).await;
            assert_eq!(kept.status, 200, "{app}: {kept:?}");
        }
        manager.post("/apply?prune=false", &api("b", "2s")).await;
        let shown = manager.post("/diff?prune=true", &api("c", "1s")).await;
        let none = manager.post("/diff", &api("c", "1s")).await;

        let page = manager.get("/apis?offset=1&limit=1").await;
        let wrong = manager.get("/apis?limit=many").await;
        let odd = manager.post("/apply?prune=perhaps", &api("a", "1s")).await;
        let pruned = manager.post("/apply?prune=true", &api("c", "1s")).await;

        assert_eq!(page.header("total-count"), "3", "{app}");
        let names = |answer: &Answer| -> Vec<Value> {
            answer.json().as_array().unwrap().iter().map(|api| api["name"].clone()).collect()
        };
        assert_eq!((names(&page), &page.json()[0]["timeout"]), (vec![json!("b")], &json!("2s")));
        assert_eq!((wrong.status, odd.status), (400, 400), "{app}");
        assert_eq!(pruned.json()["changed"].as_array().unwrap().len(), 2, "{app}");
        assert_eq!((shown.json(), none.json()), (pruned.json()["changed"].clone(), json!([])));
        assert_eq!(names(&manager.get("/apis").await), ["c"], "{app}");
    }
}

#[tokio::test]
async fn files_of_the_server_are_named_on_the_server_only() {
    for app in TestApp::empty_on_each_store().await {
        let manager = Manager::of(&app).await;
        let folder = homeroom_testkit::Folder::new();
        let file = folder.path().join("key");
        std::fs::write(&file, "s3cret").unwrap();
        let mut asked = pay();
        asked["apis"][0]["request_headers"]["set"]["x-key"] =
            json!(format!("file:{}", file.display()));

        let refused = manager.post("/apply", &asked).await;
        let apis = homeroom_apis::Apis::new(app.data.store.clone());
        let definition = json!({
            "definition": {"plans": asked["plans"], "apis": asked["apis"]},
            "documents": {"pay.json": asked["documents"]["pay.json"].to_string()},
        });
        apis.apply(serde_json::from_value(definition).unwrap()).await.unwrap();
        let known = manager.post("/apply", &asked).await;
        let exported = manager.get("/export").await;

        let errors = &refused.json()["validationErrors"];
        let path = "$.apis[0].request_headers.set.x-key";
        assert!(errors[path].is_array(), "{app}: {errors}");
        assert_eq!(known.status, 200, "{app}: {known:?}");
        assert!(!format!("{exported:?}").contains("s3cret"), "{app}");
    }
}

#[tokio::test]
async fn a_place_that_is_published_is_sent_nowhere_else_over_http() {
    for app in TestApp::empty_on_each_store().await {
        let manager = Manager::of(&app).await;
        let folder = homeroom_testkit::Folder::new();
        let file = folder.path().join("key");
        std::fs::write(&file, "s3cret").unwrap();
        let place = json!(format!("file:{}", file.display()));
        let owner = json!({
            "name": "owner", "context": "owner", "version": "v1",
            "upstream": ["http://127.0.0.1:1", "http://127.0.0.1:2"],
            "request_headers": {"set": {"x-key": place}},
        });
        let tls = json!({
            "name": "tls", "context": "tls", "version": "v1",
            "upstream": ["https://127.0.0.1:1"], "peer": {"key": place, "ca": place, "certificate": place},
        });
        let apis = homeroom_apis::Apis::new(app.data.store.clone());
        let definition = json!({"definition": {"apis": [owner]}, "documents": {}});
        apis.apply(serde_json::from_value(definition).unwrap()).await.unwrap();
        let with = |changes: Value| {
            let mut api = owner.clone();
            api.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
            api
        };
        let headers = "request_headers.set.x-key";
        let thieves = [
            (with(json!({"name": "thief", "context": "thief"})), headers),
            (
                with(
                    json!({"name": "thief", "context": "thief", "security": "none", "request_headers": {},
                    "response_headers": {"set": {"x-key": place}}}),
                ),
                "response_headers.set.x-key",
            ),
            (with(json!({"upstream": ["http://127.0.0.1:1", "http://127.0.0.1:666"]})), headers),
            (
                with(
                    json!({"upstream": [], "groups": [{"upstream": ["http://127.0.0.1:666"], "weight": 1}]}),
                ),
                headers,
            ),
            (with(json!({"upstream": [], "part": "data"})), headers),
            (with(json!({"peer": {"host": "evil.example"}})), headers),
            (with(json!({"security": "none"})), headers),
            (
                with(json!({"request_headers": {"set": {"x-own": place}}})),
                "request_headers.set.x-own",
            ),
            (
                with(json!({"response_headers": {"set": {"x-key": place}}})),
                "response_headers.set.x-key",
            ),
            (tls, "peer.key"),
        ];

        for (thief, path) in thieves {
            let applied = manager.post("/apply", &json!({"apis": [thief]})).await;
            let put =
                manager.put(&format!("/apis/{}", thief["name"].as_str().unwrap()), &thief).await;

            assert_eq!((applied.status, put.status), (400, 400), "{app}: {thief}");
            let told = &applied.json()["validationErrors"][format!("$.apis[0].{path}")];
            assert!(told[0].as_str().unwrap().contains("over HTTP"), "{app}: {thief}: {applied:?}");
            let told = &put.json()["validationErrors"][format!("$.{path}")];
            assert!(told[0].as_str().unwrap().contains("over HTTP"), "{app}: {thief}: {put:?}");
        }
        let harmless = with(json!({"upstream": [], "timeout": "3s", "groups": [
            {"upstream": ["http://127.0.0.1:1"], "weight": 9}, {"upstream": ["http://127.0.0.1:2"], "weight": 1}]}));
        let changed = manager.post("/apply", &json!({"apis": [harmless]})).await;
        assert_eq!(changed.status, 200, "{app}: {changed:?}");
        assert_eq!(manager.delete("/apis/owner").await.status, 204, "{app}");
        let late = manager.put("/apis/owner", &owner).await;
        assert_eq!(late.status, 400, "{app}: what is withdrawn is not published: {late:?}");
    }
}

#[tokio::test]
async fn the_document_has_every_route_and_no_other() {
    for app in TestApp::empty_on_each_store().await {
        let routes: BTreeSet<String> = app
            .front_door
            .routes()
            .filter(|(_, route)| route.template.starts_with(BASE))
            .map(|(method, route)| format!("{method} {}", route.template))
            .collect();
        let document = app.send(Method::GET, OPENAPI.path, &[], "").await.json();

        let mut described = BTreeSet::new();
        for (path, item) in document["paths"].as_object().unwrap() {
            for method in item.as_object().unwrap().keys() {
                described.insert(format!("{} {path}", method.to_uppercase()));
            }
        }

        assert_eq!(described, routes, "{app}");
        assert_eq!(routes.len(), 12, "{app}");
    }
}

#[test]
fn every_reference_of_the_document_leads_to_a_component_and_every_component_is_used() {
    let document = openapi_document();
    let text = document.to_string();

    let mut found = BTreeSet::new();
    for piece in text.split("\"$ref\":\"#").skip(1) {
        let target = piece.split('"').next().unwrap();
        assert!(document.pointer(target).is_some(), "{target}");
        found.insert(target.to_owned());
    }

    for kind in ["schemas", "responses"] {
        for name in document["components"][kind].as_object().unwrap().keys() {
            assert!(found.contains(&format!("/components/{kind}/{name}")), "{kind} {name}");
        }
    }
}

#[tokio::test]
async fn the_schemas_have_the_members_that_definitions_have() {
    let document = openapi_document();
    let members = |schema: &str| -> BTreeSet<String> {
        let members = &document["components"]["schemas"][schema]["properties"];
        members.as_object().unwrap().keys().cloned().collect()
    };
    // What a definition does not know is told with all that it does know.
    let known = |text: &str| -> BTreeSet<String> {
        let error = toml::from_str::<homeroom_apis::Definition>(text).unwrap_err().to_string();
        let listed = error.split("expected one of").nth(1).unwrap();
        listed.split('`').skip(1).step_by(2).map(str::to_owned).collect()
    };

    assert_eq!(members("api"), known("[[apis]]\nunknown = 1"));
    assert_eq!(members("plan"), known("[[plans]]\nunknown = 1"));
}

/// Returns a server, and a manager of it.
fn served() -> &'static (tokio::runtime::Runtime, Manager) {
    static SERVED: OnceLock<(tokio::runtime::Runtime, Manager)> = OnceLock::new();
    SERVED.get_or_init(|| {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        let store = trial::on_one(&[]).unwrap();
        let manager = runtime.block_on(async {
            let app = TestApp::on("laws", USUAL, store).await;
            Manager::of(&app).await
        });
        (runtime, manager)
    })
}

fn value() -> impl Strategy<Value = Value> {
    const WORDS: [&str; 10] =
        ["pay", "http://a", "gold", "1/day", "10s", "1KiB", "oauth2", "data", "/a/*", "env:X"];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        prop::sample::select(&WORDS[..]).prop_map(Value::from),
        "\\PC{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        let members = prop::collection::btree_map(member(), inner.clone(), 0..6);
        prop_oneof![
            prop::collection::vec(inner, 0..5).prop_map(Value::from),
            members.prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn member() -> impl Strategy<Value = String> {
    let names: BTreeSet<String> = openapi_document()["components"]["schemas"]
        .as_object()
        .unwrap()
        .values()
        .filter_map(|schema| schema["properties"].as_object())
        .flat_map(|members| members.keys().cloned())
        .collect();
    prop::sample::select(names.into_iter().collect::<Vec<_>>())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn no_request_makes_the_server_fail(
        route in 0_usize..1_000,
        name in "[a-zA-Z0-9%é/ -]{1,6}",
        query in "(limit|offset|prune)=[a-z0-9-]{0,6}",
        members in prop::collection::btree_map(member(), value(), 0..8),
        is_toml in any::<bool>(),
    ) {
        let (runtime, manager) = served();
        let routes = manager.app.front_door.routes();
        let own: Vec<_> = routes.filter(|(_, route)| route.template.starts_with(BASE)).collect();
        let (method, route) = own[route % own.len()];
        let encoded = homeroom_testkit::encoded(&name);
        let path = route.template[BASE.len()..].replace("{name}", &encoded);
        let body = Value::Object(members.into_iter().collect());
        let toml = toml::to_string(&body).ok().filter(|_| is_toml);
        let media = if toml.is_some() { "application/toml" } else { "application/json" };
        let body = toml.unwrap_or_else(|| body.to_string());

        let path = format!("{path}?{query}");
        let answer = runtime.block_on(manager.send(method.clone(), &path, media, &body));

        prop_assert!(answer.status < 500, "{method} {path}: {answer:?}");
    }
}
