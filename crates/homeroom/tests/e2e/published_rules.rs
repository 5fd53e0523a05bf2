//! Published APIs whose requests are checked, limited and spread over groups of upstreams.

use serde_json::json;

use crate::published::{Upstream, send, subscriber};
use crate::support::{Client, Place, Server, eventually};

fn document() -> String {
    json!({"openapi": "3.1.0", "paths": {
        "/items": {
            "post": {"requestBody": {"required": true, "content": {"application/json": {"schema": {
                "type": "object", "required": ["name"], "properties": {
                    "name": {"type": "string", "maxLength": 5},
                    "parts": {"type": "array", "items": {"type": "integer"}},
                },
            }}}}},
            "get": {"parameters": [{"name": "limit", "in": "query", "schema": {"type": "integer"}}]},
        },
        "/items/{id}": {"get": {
            "parameters": [{"name": "id", "in": "path", "required": true, "schema": {"type": "integer"}}],
        }},
    }})
    .to_string()
}

fn publish(place: &Place, text: &str) {
    place.write("document.json", document());
    place.write("apis.toml", text);
    place.done(&["gateway", "apply", "apis.toml"]);
}

#[test]
fn a_request_that_the_document_forbids_never_reaches_the_upstream() {
    let (place, upstream) = (Place::new(), Upstream::start());
    let server = Server::start(&place);
    let url = upstream.url();
    publish(
        &place,
        &format!(
            "[[apis]]\nname = 'a'\ncontext = 'a'\nversion = 'v1'\nupstream = ['{url}']\n\
             security = 'none'\nopenapi = 'document.json'\nvalidate = true\n"
        ),
    );
    let mut client = server.client();

    let posted = send(&mut client, "POST", "/apis/a/v1/items", "{\"name\": \"x\", \"parts\": [1]}");
    let got = client.get("/apis/a/v1/items/7").status;
    let asked = upstream.asked();
    for (method, path, body, errors) in [
        (
            "POST",
            "/apis/a/v1/items",
            "{\"name\": \"too long\", \"parts\": [1, \"b\"]}",
            &["$.name", "$.parts[1]"][..],
        ),
        ("POST", "/apis/a/v1/items", "{}", &["$.name"]),
        ("POST", "/apis/a/v1/items", "no JSON", &["$"]),
        ("GET", "/apis/a/v1/items?limit=many", "", &["query.limit"]),
        ("GET", "/apis/a/v1/items/seven", "", &["path.id"]),
    ] {
        let refused = send(&mut client, method, path, body);

        assert_eq!(refused.status, 400, "{method} {path} {body}: {}", refused.text());
        assert_eq!(refused.header("content-type"), Some("application/problem+json"));
        let found = refused.json()["validationErrors"].as_object().unwrap().clone();
        assert_eq!(found.keys().collect::<Vec<_>>(), errors, "{method} {path} {body}");
    }

    assert_eq!((posted.status, got), (200, 200), "{}", posted.text());
    assert_eq!(posted.json()["body"], "{\"name\": \"x\", \"parts\": [1]}", "byte for byte");
    assert_eq!(upstream.asked(), asked);
}

#[test]
fn calls_are_limited_by_operation_address_claim_and_key() {
    let (place, upstream) = (Place::new(), Upstream::start());
    let server = Server::start(&place);
    let api = |name: &str, more: &str| {
        format!(
            "[[apis]]\nname = '{name}'\ncontext = '{name}'\nversion = 'v1'\n\
             upstream = ['{}']\nopenapi = 'document.json'\n{more}\n",
            upstream.url()
        )
    };
    let text = [
        api("operation", "limits = [{by = 'operation', quota = '2/day'}]"),
        api(
            "address",
            "security = 'none'\nlimits = {by = 'address', requests_per_second = 0.001, burst = 3}",
        ),
        api("claim", "limits = [{by = 'claim', claim = 'sub', quota = '1/month'}]"),
        api(
            "some",
            "limits = [{operations = ['GET /items'], quota = '1/day'}, {by = 'key', quota = '4/day'}]",
        ),
    ];
    publish(&place, &text.concat());
    let mut one = server.client_of(&subscriber(&place, &["--apis", "*"]));
    let mut two = server.client_of(&subscriber(&place, &["--apis", "*"]));
    let mut open = server.client();

    let by_operation: Vec<u16> = ["/items", "/items/1", "/items", "/items/2", "/items", "/items/3"]
        .iter()
        .map(|path| one.get(&format!("/apis/operation/v1{path}")).status)
        .collect();
    let by_address: Vec<u16> = (0..4).map(|_| open.get("/apis/address/v1/items").status).collect();
    let some: Vec<u16> = ["/items", "/items", "/items/1", "/items/1", "/items/1", "/items/1"]
        .iter()
        .map(|path| one.get(&format!("/apis/some/v1{path}")).status)
        .collect();
    let other = two.get("/apis/some/v1/items/1");

    assert_eq!(by_operation, [200, 200, 200, 200, 429, 429]);
    assert_eq!(by_address, [200, 200, 200, 429]);
    assert_eq!(some, [200, 429, 200, 200, 200, 429], "what is refused does not count");
    assert_eq!(other.status, 200, "another key");
    assert_eq!(other.header("ratelimit").unwrap().split(';').nth(1), Some("r=3"));
    let refused = open.get("/apis/address/v1/items");
    assert_eq!(refused.header("ratelimit-policy"), Some("\"address\";q=3;w=3000"));
    assert!(refused.header("retry-after").unwrap().parse::<u64>().unwrap() > 0);
    assert_eq!(refused.json()["status"], 429);
    let by_claim = |client: &mut Client| client.get("/apis/claim/v1/items").status;
    let claims = [by_claim(&mut one), by_claim(&mut one), by_claim(&mut two)];
    assert_eq!(claims, [200, 429, 200]);
}

#[test]
fn a_quota_goes_on_when_its_api_or_its_plan_changes() {
    let (place, upstream) = (Place::new(), Upstream::start());
    let server = Server::start(&place);
    let file = |timeout: &str, quota: &str| {
        let url = upstream.url();
        let api = |name: &str, more: &str| {
            format!(
                "[[apis]]\nname = '{name}'\ncontext = '{name}'\nversion = 'v1'\n\
                 upstream = ['{url}']\ntimeout = '{timeout}'\n{more}\n"
            )
        };
        let plan = format!("[[plans]]\nname = 'p'\nquota = '{quota}/month'\n");
        [plan, api("own", "limits = {quota = '2/month'}"), api("planned", "plan = 'p'")].concat()
    };
    publish(&place, &file("5s", "2"));
    let mut client = server.client_of(&subscriber(&place, &["--apis", "*"]));
    let mut calls = |api: &str| -> Vec<u16> {
        (0..3).map(|_| client.get(&format!("/apis/{api}/v1/x")).status).collect()
    };
    assert_eq!((calls("own"), calls("planned")), (vec![200, 200, 429], vec![200, 200, 429]));

    publish(&place, &file("6s", "3"));

    assert_eq!(calls("own"), [429, 429, 429], "its timeout has changed, and no limit");
    assert_eq!(calls("planned"), [200, 429, 429], "one more is allowed");
}

#[test]
fn a_canary_gets_its_share_and_a_caller_stays_with_it() {
    let (place, well) = (Place::new(), Upstream::start());
    let (old, new) = (Upstream::start(), Upstream::start());
    let server = Server::start(&place);
    let api = |name: &str, old: &Upstream, new: &str, more: &str| {
        format!(
            "[[apis]]\nname = '{name}'\ncontext = '{name}'\nversion = 'v1'\nsecurity = 'none'\n\
             groups = [{{upstream = ['{}'], weight = 90}}, {{upstream = ['{new}'], weight = 10}}]\n\
             {more}\n",
            old.url()
        )
    };
    let text = [
        api("spread", &old, &new.url(), ""),
        api("sticky", &old, &new.url(), "sticky = 'header:x-user'"),
        api("down", &well, "http://127.0.0.1:9", "health = {path = '/', interval = '50ms'}"),
    ];
    place.write("apis.toml", text.concat());
    place.done(&["gateway", "apply", "apis.toml"]);
    let mut client = server.client();

    for _ in 0..100 {
        assert_eq!(client.get("/apis/spread/v1/a").status, 200);
    }
    let spread = (old.asked(), new.asked());
    let mut groups = std::collections::BTreeSet::new();
    for user in 0..40 {
        let before = new.asked();
        for _ in 0..3 {
            let user = user.to_string();
            let got = client.send("GET", "/apis/sticky/v1/a", &[("x-user", user.as_str())], None);
            assert_eq!(got.unwrap().status, 200);
        }
        let by_new = new.asked() - before;
        assert!([0, 3].contains(&by_new), "{by_new}");
        groups.insert(by_new);
    }
    eventually("only the group that is up is asked", || {
        (0..20).all(|_| client.get("/apis/down/v1/a").status == 200)
    });

    assert_eq!(spread, (90, 10));
    assert_eq!(groups.len(), 2, "both groups have callers");
}

#[test]
fn limits_groups_and_documents_that_make_no_sense_are_told_with_their_places() {
    let place = Place::new();
    place.write("document.json", document());
    place.write("swagger.json", "{\"swagger\": \"2.0\", \"paths\": {}}");
    let api = |name: &str, more: &str| {
        format!(
            "[[apis]]\nname = '{name}'\ncontext = '{name}'\nversion = 'v1'\n\
             upstream = ['http://a']\n{more}\n"
        )
    };
    let text = [
        api("a", "limits = {burst = 1}"),
        api("b", "limits = [{quota = '1/day'}, {by = 'claim', quota = '1/day'}]"),
        api("c", "security = 'none'\nlimits = {by = 'key', requests_per_second = 0}"),
        api(
            "d",
            "openapi = 'document.json'\nlimits = {operations = ['GET /none'], quota = '1/day'}",
        ),
        api("e", "validate = true"),
        api("f", "validate = true\nopenapi = 'swagger.json'"),
        api("g", "groups = [{upstream = [], weight = 0}]"),
        api("h", "sticky = 'key'"),
        api("i", "validate = true\nopenapi = 'faulty.yaml'"),
    ];
    let faulty = "openapi: 3.1.0\npaths:\n  /items:\n    get:\n      parameters:\n\
                  \u{20}       - name: size\n          in: query\n          schema:\n\
                  \u{20}           pattern: (?=x)\n";
    place.write("faulty.yaml", faulty);
    place.write("apis.toml", text.concat());

    let linted = place.run(&["gateway", "lint", "apis.toml"]);

    assert_eq!(linted.code, Some(1));
    for told in [
        "apis.toml:6: apis[0].limits: ",
        "apis.toml:12: apis[1].limits[1].claim: ",
        "apis.toml:19: apis[2].limits.by: ",
        "apis.toml:19: apis[2].limits.requests_per_second: ",
        "apis.toml:26: apis[3].limits.operations[0]: the document has no operation GET /none",
        "apis.toml:32: apis[4].validate: ",
        "apis.toml:39: apis[5].openapi: ",
        "apis.toml:45: apis[6].groups: ",
        "apis.toml:45: apis[6].groups[0].upstream: ",
        "apis.toml:51: apis[7].sticky: ",
        "apis.toml:58: apis[8].openapi: faulty.yaml:9:13: \
         #/paths/~1items/get/parameters/0/schema/pattern: GET /items: the parameter size: ",
    ] {
        assert!(linted.stderr.contains(told), "{told}: {}", linted.stderr);
    }
}

#[test]
fn a_key_has_a_plan_that_is_there_or_none() {
    let (place, upstream) = (Place::new(), Upstream::start());
    let server = Server::start(&place);
    let file = |plans: &str| {
        let url = upstream.url();
        let (name, rest) = ("name = 'a'\ncontext = 'a'\nversion = 'v1'", "security = 'oauth2'");
        format!("{plans}[[apis]]\n{name}\nupstream = ['{url}']\n{rest}\n")
    };
    let plan = |name: &str| format!("[[plans]]\nname = '{name}'\nquota = '2/month'\n");
    publish(&place, &file(&(plan("gold") + &plan("silver"))));
    let keys = || place.json(&["keys", "list", "--json"])["keys"].as_array().unwrap().len();
    let before = keys();

    let wrong_plan = place.run(&["keys", "create", "--apis", "a", "--plan", "nope"]);
    let wrong_api = place.run(&["keys", "create", "--apis", "nosuch"]);

    assert_eq!((wrong_plan.code, wrong_api.code), (Some(1), Some(1)));
    assert!(wrong_plan.stderr.contains("no plan nope; plans: gold, silver"), "{wrong_plan:?}");
    assert!(wrong_api.stderr.contains("no API nosuch; APIs: a"), "{wrong_api:?}");
    assert_eq!(keys(), before, "no key is left behind");

    let key = subscriber(&place, &["--apis", "a", "--plan", "gold"]);
    let mut client = server.client_of(&key);
    let mut admin = server.client_of(&subscriber(&place, &["--scope", "admin"]));
    let mut remove = |plan: &str| {
        let path = format!("/adminapi/gateway/v1/plans/{plan}");
        let removed = admin.send("DELETE", &path, &[], None).unwrap();
        (removed.status, removed.text().contains(&key.0))
    };
    assert_eq!(remove("gold"), (409, true), "it says whose plan it is");
    place.write("apis.toml", file(&plan("silver")));
    let applied = place.run(&["gateway", "apply", "apis.toml", "--prune"]);
    assert_eq!(applied.code, Some(1));
    assert!(applied.stderr.contains(&key.0), "{applied:?}");
    let statuses: Vec<u16> = (0..3).map(|_| client.get("/apis/a/v1/x").status).collect();
    assert_eq!(statuses, [200, 200, 429]);

    place.done(&["keys", "subscribe", &key.0, "--apis", "a", "--plan", "silver"]);
    assert_eq!(client.get("/apis/a/v1/x").status, 200, "by the other plan");
    assert_eq!(remove("gold"), (204, false));
    place.done(&["keys", "revoke", &key.0]);
    assert_eq!(remove("silver"), (204, false), "a revoked key keeps no plan");
}
