//! A reverse proxy that puts a path in front: addresses in answers have it, if the proxy is trusted.

use serde_json::Value;

use crate::support::{Answer, Client, Place, STUDENTS, Server, student};

const FORWARDED: [(&str, &str); 3] = [
    ("x-forwarded-proto", "https"),
    ("x-forwarded-host", "example.org"),
    ("x-forwarded-prefix", "/ods"),
];
const SEEN: &str = "https://example.org/ods";

fn get(client: &mut Client, path: &str) -> Answer {
    client.send("GET", path, &FORWARDED, None).unwrap()
}

/// Returns every text of a JSON document that is a URL of this server.
fn urls(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) if text.starts_with("http") => vec![text.clone()],
        Value::Array(items) => items.iter().flat_map(urls).collect(),
        Value::Object(members) => members.values().flat_map(urls).collect(),
        _ => vec![],
    }
}

#[test]
fn behind_a_trusted_proxy_every_address_in_answers_begins_with_its_path() {
    let place = Place::new();
    let key = place.key("FullAccess");
    let server = Server::start_with(&place, &[("HOMEROOM_SERVER__TRUST_FORWARDED", "true")]);
    let mut client = server.client_of(&key);

    let discovery = get(&mut client, "/").json();
    assert_eq!(discovery["urls"]["dataManagementApi"], format!("{SEEN}/data/v3/"));
    assert_eq!(discovery["urls"]["oauth"], format!("{SEEN}/oauth/token"));
    let listed = get(&mut client, "/metadata").json();
    for url in urls(&discovery["urls"]).iter().chain(&urls(&listed)) {
        assert!(url.starts_with(&format!("{SEEN}/")), "{url}");
    }
    let resources = "/metadata/data/v3/resources/swagger.json";
    let openapi = get(&mut client, resources).json();
    assert_eq!(openapi["servers"][0]["url"], format!("{SEEN}/data/v3"), "{}", openapi["servers"]);
    let token = &openapi["components"]["securitySchemes"]["oauth2_client_credentials"];
    let token = &token["flows"]["clientCredentials"]["tokenUrl"];
    assert_eq!(*token, format!("{SEEN}/oauth/token"));

    let headers = [&FORWARDED[..], &[("content-type", "application/json")]].concat();
    for id in ["1", "2", "3"] {
        let body = student(id, "Ada").to_string();
        let made = client.send("POST", STUDENTS, &headers, Some(body.as_bytes())).unwrap();
        let location = made.header("location").unwrap();
        assert!(location.starts_with(&format!("{SEEN}{STUDENTS}/")), "{location}");
    }
    let page = get(&mut client, "/docs").text();
    for name in ["href=\"", "src=\"", "data-document=\""] {
        let of = |rest: &str| rest.split('"').next().unwrap_or_default().to_owned();
        let targets: Vec<String> = page.split(name).skip(1).map(of).collect();
        assert!(!targets.is_empty(), "{name}");
        assert!(targets.iter().all(|to| !to.starts_with('/')), "relative: {targets:?}");
    }
    let browser = [&FORWARDED[..], &[("accept", "text/html")]].concat();
    let page = client.send("GET", "/", &browser, None).unwrap().text();
    assert!(page.contains(SEEN) && !page.contains("href=\"/"), "{page}");
}

#[test]
fn a_path_that_no_trusted_proxy_sends_counts_for_nothing() {
    let place = Place::new();
    for (trust, prefix) in [("false", "/ods"), ("true", "//evil.example"), ("true", "/a/../b")] {
        let server = Server::start_with(&place, &[("HOMEROOM_SERVER__TRUST_FORWARDED", trust)]);

        let headers = [("x-forwarded-prefix", prefix)];
        let answer = server.client().send("GET", "/", &headers, None).unwrap().json();

        let expected = format!("http://{}/data/v3/", server.api);
        assert_eq!(answer["urls"]["dataManagementApi"], expected, "{trust} {prefix}");
    }
}
