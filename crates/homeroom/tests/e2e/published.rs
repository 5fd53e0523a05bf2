//! APIs that a file publishes, called over HTTP.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::support::{Client, Place, Server, eventually};

/// An upstream that answers each request with what it has received.
pub struct Upstream {
    address: SocketAddr,
    asked: Arc<AtomicUsize>,
}

impl Upstream {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let counted = Arc::clone(&counted);
                std::thread::spawn(move || answer(&stream, &counted));
            }
        });
        Self { address, asked }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }
}

fn answer(stream: &TcpStream, asked: &AtomicUsize) {
    let mut reader = BufReader::new(stream);
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if reader.read_line(&mut head).unwrap_or(0) == 0 {
                return;
            }
        }
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
        });
        let mut body = vec![0; length.unwrap_or(0)];
        if reader.read_exact(&mut body).is_err() {
            return;
        }
        asked.fetch_add(1, Ordering::Relaxed);
        if head.contains("/silent") {
            std::thread::sleep(std::time::Duration::from_secs(5));
        }
        let text = json!({"head": head, "body": String::from_utf8_lossy(&body)}).to_string();
        let answer = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{text}",
            text.len()
        );
        if (&mut &*stream).write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

fn file(upstream: &Upstream) -> String {
    let url = upstream.url();
    format!(
        "[[plans]]\nname = 'few'\nrequests_per_second = 0.001\nburst = 3\n\
         [[apis]]\nname = 'echo'\ncontext = 'echo'\nversion = 'v1'\nupstream = ['{url}/base']\n\
         openapi = 'echo.json'\ntimeout = '500ms'\n\
         transform.request = [{{op = 'rename', path = '/a', to = 'b'}}]\n\
         transform.response = [{{op = 'drop', path = '/head'}}]\n\
         [[apis]]\nname = 'limited'\ncontext = 'limited'\nversion = 'v1'\nupstream = ['{url}']\n\
         [[apis]]\nname = 'open'\ncontext = 'open'\nversion = 'v1'\nsecurity = 'none'\n\
         upstream = ['http://127.0.0.1:9', '{url}']\nmax_body = '1KiB'\n\
         [[apis]]\nname = 'gone'\ncontext = 'gone'\nversion = 'v1'\nsecurity = 'none'\n\
         upstream = ['http://127.0.0.1:9']\n\
         [[apis]]\nname = 'keyed'\ncontext = 'keyed'\nversion = 'v1'\nsecurity = 'api-key'\n\
         upstream = ['{url}']\n\
         [[apis]]\nname = 'ods'\ncontext = 'ods'\nversion = 'v3'\npart = 'data'\n"
    )
}

fn publish(place: &Place, upstream: &Upstream) {
    let operations = json!({"openapi": "3.0.0", "paths": {
        "/items": {"post": {}, "get": {"security": [{"o": ["items.read"]}]}},
        "/admin": {"get": {"security": [{"o": ["items.admin"]}]}},
        "/silent": {"get": {}}}});
    place.write("echo.json", operations.to_string());
    place.write("apis.toml", file(upstream));
    place.done(&["gateway", "apply", "apis.toml"]);
}

pub fn subscriber(place: &Place, arguments: &[&str]) -> (String, String) {
    let made = place.json(&[&["keys", "create", "--json"], arguments].concat());
    let text = |name: &str| made[name].as_str().unwrap().to_owned();
    (text("key"), text("secret"))
}

pub fn send(client: &mut Client, method: &str, path: &str, body: &str) -> crate::support::Answer {
    client
        .send(method, path, &[("content-type", "application/json")], Some(body.as_bytes()))
        .unwrap()
}

#[test]
fn a_published_api_is_called_by_those_who_have_subscribed_to_it() {
    let (place, upstream) = (Place::new(), Upstream::start());
    let server = Server::start(&place);
    publish(&place, &upstream);
    let key = subscriber(&place, &["--apis", "echo,keyed", "--api-scopes", "items.read"]);
    let mut client = server.client_of(&key);

    let got = client.get("/apis/echo/v1/items?x=1&y=%20");
    let posted = send(&mut client, "POST", "/apis/echo/v1/items", "{\"a\": 1.0, \"c\":2}");

    assert_eq!(got.status, 200, "{}", got.text());
    assert!(got.json()["head"].is_null(), "the answer is changed: {}", got.text());
    assert_eq!(posted.json()["body"], "{\"b\": 1.0, \"c\":2}");
    let asked = upstream.asked();
    for (method, path, body, status) in [
        ("GET", "/apis/echo/v1/admin", "", 403),
        ("GET", "/apis/echo/v1/nothing", "", 404),
        ("DELETE", "/apis/echo/v1/items", "", 405),
        ("POST", "/apis/echo/v1/items", "no JSON", 400),
        ("GET", "/apis/limited/v1/x", "", 403),
        ("GET", "/apis/unknown/v1/x", "", 404),
        ("GET", "/apis/echo/v1/../v1/items", "", 400),
    ] {
        let refused = send(&mut client, method, path, body);
        assert_eq!(refused.status, status, "{method} {path}: {}", refused.text());
    }
    assert_eq!(server.client().get("/apis/echo/v1/items").status, 401);
    assert_eq!(upstream.asked(), asked, "what is refused does not reach the upstream");
    let api_key = format!("{}.{}", key.0, key.1);
    let keyed = server.client().send("GET", "/apis/keyed/v1/x", &[("x-api-key", &*api_key)], None);
    let head = keyed.unwrap().json()["head"].as_str().unwrap().to_lowercase();
    assert!(head.starts_with("get /x http/1.1") && !head.contains("x-api-key"), "{head}");
    assert!(head.contains("x-forwarded-for: 127.0.0.1"), "{head}");
    let silent = client.get("/apis/echo/v1/silent");
    assert_eq!(silent.status, 504, "{}", silent.text());
}

#[test]
fn an_api_without_security_falls_back_to_an_upstream_that_is_there() {
    let (place, upstream) = (Place::new(), Upstream::start());
    let server = Server::start(&place);
    publish(&place, &upstream);
    let mut client = server.client();

    for _ in 0..5 {
        assert_eq!(client.get("/apis/open/v1/a").status, 200);
    }
    let long = send(&mut client, "POST", "/apis/open/v1/a", &"x".repeat(2_000));
    let gone = server.client().get("/apis/gone/v1/a");

    assert_eq!(long.status, 413);
    assert_eq!((gone.status, gone.header("retry-after")), (503, Some("1")));
}

#[test]
fn a_plan_admits_its_burst_over_all_apis_of_a_key_together() {
    let (place, upstream) = (Place::new(), Upstream::start());
    let server = Server::start(&place);
    publish(&place, &upstream);
    let key = subscriber(&place, &["--apis", "*", "--plan", "few", "--api-scopes", "items.read"]);
    let mut client = server.client_of(&key);
    let asked = upstream.asked();

    let paths = ["/apis/limited/v1/a", "/apis/echo/v1/items"];
    let answers: Vec<u16> = (0..10).map(|n| client.get(paths[n % 2]).status).collect();
    let refused = client.get(paths[0]);

    assert_eq!(answers, [200, 200, 200, 429, 429, 429, 429, 429, 429, 429]);
    assert_eq!(upstream.asked() - asked, 3);
    assert!(refused.header("retry-after").is_some() && refused.header("ratelimit").is_some());
}

#[test]
fn a_part_answers_below_a_published_path_as_it_does_itself() {
    let (place, upstream) = (Place::new(), Upstream::start());
    let server = Server::start(&place);
    publish(&place, &upstream);
    let key = subscriber(&place, &["--claim-set", "FullAccess", "--apis", "ods"]);
    let mut client = server.client_of(&key);
    let made = client.post("/apis/ods/v3/ed-fi/students", &crate::support::student("7", "Ada"));
    assert_eq!(made.status, 201, "{}", made.text());
    let base = format!("http://{}/apis/ods/v3", server.api);
    let path = made.header("location").unwrap().strip_prefix(&base).unwrap().to_owned();

    let direct = client.get(&format!("/data/v3{path}"));
    let published = client.get(&format!("/apis/ods/v3{path}"));

    assert_eq!(direct.status, 200);
    assert_eq!((published.status, published.text()), (200, direct.text()));
    assert_eq!(published.header("etag"), direct.header("etag"));
}

#[test]
fn what_a_file_no_longer_names_is_withdrawn_with_prune_and_a_restart_keeps_the_rest() {
    let (place, upstream) = (Place::new(), Upstream::start());
    let server = Server::start(&place);
    publish(&place, &upstream);
    let only = file(&upstream).split("[[apis]]").nth(3).map(|api| format!("[[apis]]{api}"));
    place.write("only.toml", only.unwrap());

    let before = server.client().get("/apis/gone/v1/a").status;
    place.done(&["gateway", "apply", "only.toml"]);
    let kept = server.client().get("/apis/gone/v1/a").status;
    let nothing = place.run(&["gateway", "diff", "only.toml"]).code;
    let differs = place.run(&["gateway", "diff", "only.toml", "--prune", "--json"]);
    place.done(&["gateway", "apply", "only.toml", "--prune"]);
    let after = server.client().get("/apis/gone/v1/a").status;
    let same = place.run(&["gateway", "diff", "only.toml", "--prune"]);

    assert_eq!((before, kept, after), (503, 503, 404));
    assert_eq!(nothing, Some(0), "without prune there is nothing to change");
    assert_eq!(differs.code, Some(6), "{differs:?}");
    let found: Value = serde_json::from_str(&differs.stdout).unwrap();
    assert!(found.as_array().unwrap().iter().any(|change| change["field"] == "apis.gone"));
    assert_eq!(same.code, Some(0), "{same:?}");
    server.stop();
    let server = Server::start(&place);
    eventually("the API is served", || server.client().get("/apis/open/v1/a").status == 200);
    place.done(&["gateway", "export", "exported.toml"]);
    assert_eq!(place.run(&["gateway", "diff", "exported.toml", "--prune"]).code, Some(0));
    let missing = "request_headers.set = {x = 'env:NOT_SET_ANYWHERE'}";
    place.write(
        "missing.toml",
        format!(
            "[[apis]]\nname = 'm'\ncontext = 'm'\nversion = 'v1'\nupstream = ['http://a']\n{missing}\n"
        ),
    );
    let refused = place.run(&["gateway", "apply", "missing.toml"]);
    assert!(refused.stderr.contains("missing.toml:6: apis[0].request_headers"), "{refused:?}");
}

#[test]
fn a_changed_document_keeps_its_name() {
    let (place, upstream) = (Place::new(), Upstream::start());
    let _server = Server::start(&place);
    publish(&place, &upstream);
    let other = json!({"openapi": "3.0.0", "paths": {"/other": {"get": {}}}});
    place.write("echo.json", other.to_string());

    place.done(&["gateway", "apply", "apis.toml"]);

    assert_eq!(place.run(&["gateway", "diff", "apis.toml"]).code, Some(0));
    assert_eq!(place.run(&["gateway", "diff", "apis.toml", "--prune"]).code, Some(0));
}

#[test]
fn variables_that_are_meant_for_apis_can_be_named_over_http() {
    let (place, upstream) = (Place::new(), crate::support::Upstream::echo());
    let secrets = [("HOMEROOM_API_KEY", "planted"), ("AWS_SECRET", "not-for-you")];
    let server = Server::start_with(&place, &secrets);
    let mut admin = server.client_of(&subscriber(&place, &["--scope", "admin"]));
    let mut apply = |variable: &str| {
        let api = json!({
            "name": "a", "context": "a", "version": "v1", "security": "none",
            "upstream": [upstream.url()],
            "request_headers": {"set": {"x-key": format!("env:{variable}")}},
        });
        admin.post("/adminapi/gateway/v1/apply", &json!({"apis": [api]}))
    };

    let refused = apply("AWS_SECRET");
    let missing = apply("HOMEROOM_API_OTHER");
    let applied = apply("HOMEROOM_API_KEY");

    assert_eq!((refused.status, missing.status), (400, 400), "{}", refused.text());
    assert!(missing.text().contains("$.apis[0].request_headers.set.x-key"), "{}", missing.text());
    assert_eq!(applied.status, 200, "{}", applied.text());
    assert_eq!(server.client().get("/apis/a/v1/x").status, 200);
    assert_eq!(upstream.take()[0].values("x-key"), ["planted"]);
    for peer in ["AWS_SECRET", "HOMEROOM_API_KEY"] {
        let api = json!({
            "name": "b", "context": "b", "version": "v1", "security": "none",
            "upstream": ["https://127.0.0.1:9"],
            "peer": {"certificate": format!("env:{peer}"), "key": format!("env:{peer}")},
        });
        let refused = admin.post("/adminapi/gateway/v1/apply", &json!({"apis": [api]}));
        assert_eq!(refused.status, 400, "{peer}");
        assert!(refused.text().contains("$.apis[0].peer.certificate"), "{}", refused.text());
        assert_eq!(refused.text().contains("over HTTP only"), peer == "AWS_SECRET");
    }
}

#[test]
fn what_is_applied_over_http_is_served_at_once() {
    let (place, upstream) = (Place::new(), Upstream::start());
    let server = Server::start(&place);
    let mut admin = server.client_of(&subscriber(&place, &["--scope", "admin"]));
    let base = "/adminapi/gateway/v1";
    let api = json!({
        "name": "web", "context": "web", "version": "v2", "security": "none",
        "upstream": [upstream.url()], "request_headers": {"set": {"x-key": "env:USER_OF_TEST"}},
    });

    let refused = admin.post(&format!("{base}/apply"), &json!({"apis": [api]}));
    let mut api = api;
    api["request_headers"]["set"]["x-key"] = json!("plain");
    let applied = admin.post(&format!("{base}/apply"), &json!({"apis": [api]}));
    let live = server.client().get("/apis/web/v2/a").status;
    let exported = admin.get(&format!("{base}/export")).json();
    let differs = admin.post(&format!("{base}/diff"), &exported).json();
    place.done(&["gateway", "export", "exported.toml"]);
    let by_command = place.run(&["gateway", "diff", "exported.toml"]);
    let removed = admin.send("DELETE", &format!("{base}/apis/web"), &[], None).unwrap();
    let gone = server.client().get("/apis/web/v2/a").status;

    assert_eq!(refused.status, 400, "a secret that is not there: {}", refused.text());
    assert_eq!((applied.status, live), (200, 200), "{}", applied.text());
    assert_eq!((differs, by_command.code), (json!([]), Some(0)));
    assert_eq!((removed.status, gone), (204, 404));
}

#[test]
fn headers_that_can_never_be_sent_are_found_with_their_line() {
    let place = Place::new();
    let names = ["Host", "transfer-encoding", "Content-Length", "connection", "Upgrade", "TE"];
    let set = names.map(|name| format!("{name} = 'x'\n")).concat();
    let api = "[[apis]]\nname = 'a'\ncontext = 'a'\nversion = 'v1'\nupstream = ['http://a']\n";
    place.write("own.toml", format!("{api}[apis.request_headers.set]\n{set}X-Own = 'x'\n"));

    let own = place.run(&["gateway", "lint", "own.toml"]);

    assert_eq!(own.code, Some(1), "{own:?}");
    for (number, name) in names.iter().enumerate() {
        let text = format!("own.toml:{}: apis[0].request_headers.set.{name}: ", number + 7);
        assert!(own.stderr.contains(&text), "{text}: {}", own.stderr);
    }
    assert!(!own.stderr.contains("X-Own"), "{}", own.stderr);
}

#[test]
fn a_wrong_file_is_refused_with_line_and_member() {
    let place = Place::new();
    place.write(
        "wrong.toml",
        "[[apis]]\nname = 'a'\ncontext = 'a'\nversion = 'v1'\n\n[[apis]]\n\
        name = 'b'\ncontext = 'a/b'\nversion = 'v1'\nupstream = ['http://a']\nplan = 'none'\n",
    );
    place.write("unknown.toml", "\n[[apis]]\nnmae = 'a'\n");

    let wrong = place.run(&["gateway", "lint", "wrong.toml"]);
    let unknown = place.run(&["gateway", "lint", "unknown.toml"]);

    assert_eq!((wrong.code, unknown.code), (Some(1), Some(1)), "{wrong:?}");
    for text in ["wrong.toml:1: apis[0].upstream", "wrong.toml:8: apis[1].context"] {
        assert!(wrong.stderr.contains(text), "{text}: {}", wrong.stderr);
    }
    assert!(unknown.stderr.contains("unknown.toml:3: apis[0].nmae: "), "{}", unknown.stderr);
}
