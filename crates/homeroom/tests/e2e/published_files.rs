//! Published APIs as files: of several teams, exported and applied again, and with secrets that come and go.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::published::send;
use crate::support::{Answered, Database, Place, STUDENTS, Server, Upstream, eventually, student};

fn api(name: &str, more: &str) -> String {
    format!("[[apis]]\nname = '{name}'\ncontext = '{name}'\nversion = 'v1'\n{more}\n")
}

fn open(name: &str, upstream: &str, more: &str) -> String {
    api(name, &format!("security = 'none'\nupstream = ['{upstream}']\n{more}"))
}

#[test]
fn teams_with_files_of_their_own_share_a_plan() {
    let place = Place::new();
    let _server = Server::start(&place);
    let team = |plan: &str| open("two", "http://a", &format!("plan = '{plan}'"));
    place.write("plans.toml", "[[plans]]\nname = 'gold'\nquota = '5/day'\n");
    place.write("team.toml", team("gold"));
    place.write("wrong.toml", team("silver"));
    place.done(&["gateway", "apply", "plans.toml"]);

    let linted = place.done(&["gateway", "lint", "team.toml"]);
    let differs = place.run(&["gateway", "diff", "team.toml"]);
    place.done(&["gateway", "apply", "team.toml"]);
    let pruned = place.run(&["gateway", "apply", "team.toml", "--prune"]);
    let wrong = ["diff", "apply"].map(|command| place.run(&["gateway", command, "wrong.toml"]));

    assert!(
        linted.contains("hint: team.toml:7: apis[0].plan: the plan gold is not here"),
        "{linted}"
    );
    assert_eq!(differs.code, Some(6), "{differs:?}");
    assert!(
        pruned.stderr.contains("team.toml:7: apis[0].plan: there is no plan gold"),
        "{pruned:?}"
    );
    for wrong in wrong {
        assert_eq!(wrong.code, Some(1), "{wrong:?}");
        assert!(wrong.stderr.contains("wrong.toml:7: apis[0].plan: there is no plan"), "{wrong:?}");
    }
}

#[test]
fn whatever_export_writes_apply_takes() {
    let place = Place::new();
    let server = Server::start(&place);
    let document =
        |path: &str| json!({"openapi": "3.1.0", "paths": {path: {"get": {}}}}).to_string();
    for (folder, path) in [("one", "/a"), ("two", "/b")] {
        std::fs::create_dir(place.path(folder)).unwrap();
        place.write(&format!("{folder}/v1.yaml"), document(path));
        let text = open(folder, "http://a", "openapi = 'v1.yaml'\nplan = 'p'");
        let plan = "[[plans]]\nname = 'p'\nquota = '1/day'\n";
        place.write(&format!("{folder}/apis.toml"), format!("{plan}{text}"));
        place.done(&["gateway", "apply", &format!("{folder}/apis.toml")]);
    }
    let same = |path: &str| place.run(&["gateway", "diff", path, "--prune"]);

    place.write("full.toml", place.done(&["gateway", "export"]));
    place.write("full.json", place.done(&["gateway", "export", "--json"]));
    place.done(&["gateway", "export", "beside/"]);
    place.done(&["gateway", "export", "beside"]);

    for path in ["full.toml", "full.json", "beside"] {
        assert_eq!(place.run(&["gateway", "lint", path]).code, Some(0), "{path}");
        assert_eq!(same(path).code, Some(0), "{path}: {:?}", same(path));
    }
    let mut names: Vec<String> = std::fs::read_dir(place.path("beside"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["2-v1.yaml", "one.toml", "plans.toml", "two.toml", "v1.yaml"]);
    place.write("beside/other.toml", open("three", "http://a", ""));
    let refused = place.run(&["gateway", "export", "beside"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("other.toml is not of what is published"), "{refused:?}");
    std::fs::remove_file(place.path("beside/other.toml")).unwrap();
    place.done(&["gateway", "apply", "beside", "--prune"]);
    let long = document(&format!("/{}", "x".repeat(2_000)));
    place.write("beside/v1.yaml", long);
    let shown = same("beside");
    assert!(shown.stdout.lines().all(|line| line.len() < 300), "{shown:?}");
    assert!(shown.stdout.contains(" bytes, from line 1 on"), "{shown:?}");
    server.stop();
}

#[test]
fn each_fault_is_told_with_its_place_in_its_own_file() {
    let place = Place::new();
    std::fs::create_dir(place.path("all")).unwrap();
    place.write("all/1.toml", open("a", "http://a", "timeout = '1 parsec'\nbalance = 'dice'"));
    place.write("all/2.toml", open("b", "http://a", "allow = []\nsecrity = 'none'"));
    let structure = place.run(&["gateway", "lint", "all"]);
    place.write("all/1.toml", open("a", "http://a", ""));
    let wrong = [
        "security = 'oauth2'\nupstream = ['http://a']\nscopes = ['a b', '', 'data', 'datum']",
        "security = 'none'\nupstream = ['http://a']\nscopes = ['a']",
        "upstream = ['http://a']\nrequest_headers.set = {x = 'env:'}",
    ];
    let wrong = wrong.iter().enumerate().map(|(n, more)| api(&format!("b{n}"), more));
    place.write("all/2.toml", wrong.collect::<String>());
    let sense = place.run(&["gateway", "lint", "all"]);

    for told in [
        "all/1.toml:7: apis[0].timeout: ",
        "all/1.toml:8: apis[0].balance: unknown variant",
        "all/2.toml:7: apis[0].allow: an empty list",
        "all/2.toml:8: apis[0].secrity: unknown field",
    ] {
        assert!(structure.stderr.contains(told), "{told}: {}", structure.stderr);
    }
    for told in [
        "all/2.toml:7: apis[0].scopes[0]: no key can have it",
        "all/2.toml:7: apis[0].scopes[1]: no key can have it",
        "all/2.toml:7: apis[0].scopes[2]: data is a scope of this server",
        "all/2.toml:14: apis[1].scopes: callers of an API without security",
        "all/2.toml:20: apis[2].request_headers.set.x: it names no place",
    ] {
        assert!(sense.stderr.contains(told), "{told}: {}", sense.stderr);
    }
}

#[test]
fn lint_says_what_a_document_promises_and_an_api_does_not_keep() {
    let place = Place::new();
    let body = json!({"content": {"multipart/form-data": {"schema": {"type": "object"}}}});
    let document = json!({"openapi": "3.1.0", "paths": {
        "/news": {"get": {"security": []}}, "/photos": {"post": {"requestBody": body}}}});
    place.write("a.json", document.to_string());
    let more = "upstream = ['http://a']\nopenapi = 'a.json'\nvalidate = true";
    place.write("apis.toml", api("a", more));

    let told = place.done(&["gateway", "lint", "apis.toml"]);

    assert!(
        told.contains("apis[0].security: the document lets everybody call GET /news"),
        "{told}"
    );
    assert!(told.contains("not checked: POST /photos (multipart/form-data)"), "{told}");
}

#[test]
fn a_secret_that_is_missing_when_a_server_starts_is_read_once_it_is_there() {
    Place::on_each_store(|place| {
        let upstream = Upstream::echo();
        let secret = place.write("secret.txt", "first");
        let page = "https://app.example.org";
        let more = format!(
            "request_headers.set = {{x-secret = 'file:{}'}}\ncors_origins = ['{page}']",
            secret.display()
        );
        let issuers = "issuers = [{issuer = 'i', jwks = 'http://127.0.0.1:9', audience = 'a'}]";
        let with_issuers = format!(
            "{}request_headers.set = {{x-secret = 'file:{}'}}\n",
            api("issued", &format!("upstream = ['{}']\n{issuers}", upstream.url())),
            secret.display()
        );
        let file = open("s", &upstream.url(), &more) + &open("other", &upstream.url(), "");
        place.write("apis.toml", file + &with_issuers);
        let server = Server::start(place);
        place.done(&["gateway", "apply", "apis.toml"]);
        let sent = |server: &Server| {
            let status = server.client().get("/apis/s/v1/x").status;
            let seen = upstream.take();
            (status, seen.first().map(|seen| seen.values("x-secret").concat()))
        };
        let value = |text: &str| (200, Some(text.to_owned()));
        eventually("it is served", || sent(&server) == value("first"));

        place.write("secret.txt", "rotated");
        eventually("the new value is sent", || sent(&server) == value("rotated"));
        let aside = place.path("aside");
        for _ in 0..2 {
            for (from, to) in [(&secret, &aside), (&aside, &secret)] {
                std::fs::rename(from, to).unwrap();
                std::thread::sleep(Duration::from_millis(1_500));
                assert_eq!(sent(&server), value("rotated"), "the value that it had");
            }
        }
        let log = server.stop().stderr;
        std::fs::remove_file(&secret).unwrap();
        let told = log.lines().filter(|line| line.contains("goes on with the secrets that it had"));
        let told = told.filter(|line| line.contains("\"s\"") || line.contains("=s ")).count();
        assert_eq!(told, 2, "each time: {log}");

        let server = Server::start(place);
        eventually("the other API is served", || {
            server.client().get("/apis/other/v1/x").status == 200
        });
        upstream.take();
        let refused = server.client().send("GET", "/apis/s/v1/x", &[("origin", page)], None);
        let refused = refused.unwrap();
        assert_eq!((refused.status, refused.header("retry-after")), (503, Some("5")));
        assert_eq!(refused.header("access-control-allow-origin"), Some(page), "a page may read it");
        let bearer = [("authorization", "Bearer a.token.of-its-issuer")];
        let foreign = server.client().send("GET", "/apis/issued/v1/x", &bearer, None).unwrap();
        assert_eq!(foreign.status, 503, "nobody looks at the token: {}", foreign.text());
        let figures = server.admin_client().get("/metrics").text();
        assert!(figures.contains("homeroom_apis_unserved 2"), "{figures}");
        let applied = place.run(&["gateway", "apply", "apis.toml"]);
        assert_eq!(
            applied.code,
            Some(0),
            "what is published already is not in the way: {applied:?}"
        );
        place.write("secret.txt", "third");
        eventually("it is served", || sent(&server) == value("third"));
        let log = server.stop().stderr;
        assert_eq!(log.matches("an API cannot be served").count(), 2, "one line each: {log}");
        assert!(log.contains("request_headers: the header x-secret"), "{log}");
    });
}

#[test]
fn a_quota_goes_on_counting_after_a_secret_could_not_be_read() {
    Place::on_each_store(|place| {
        let upstream = Upstream::echo();
        let secret = place.write("secret.txt", "first");
        let more = format!(
            "request_headers.set = {{x-secret = 'file:{}'}}\nlimits = {{quota = '3/month'}}",
            secret.display()
        );
        place.write("apis.toml", open("s", &upstream.url(), &more));
        let server = Server::start(place);
        place.done(&["gateway", "apply", "apis.toml"]);
        let mut client = server.client();
        let mut call = || client.get("/apis/s/v1/x").status;
        eventually("it is served", || call() == 200);
        let before = call();

        std::fs::remove_file(&secret).unwrap();
        eventually("it is missed", || server.log().contains("goes on with the secrets"));
        place.write("secret.txt", "rotated");
        std::thread::sleep(Duration::from_millis(1_500));
        upstream.take();
        let after = call();

        assert_eq!(upstream.take()[0].values("x-secret"), ["rotated"]);
        assert_eq!((before, after, call()), (200, 200, 429));
    });
}

#[test]
fn an_answer_that_leads_to_the_upstream_leads_to_the_api() {
    let place = Place::new();
    let server = Server::start(&place);
    let upstream = Upstream::answering(|seen| {
        let to = seen.line().split_once("to=").unwrap().1.to_owned();
        let prefix = seen.values("x-forwarded-prefix").concat();
        let head = format!("HTTP/1.1 302 Found\r\nlocation: {to}\r\nx-prefix: {prefix}\r\n");
        Answered::With(format!("{head}content-length: 0\r\n\r\n").into_bytes())
    });
    let url = upstream.url();
    let base = format!("{url}/base");
    let paths = "request_path = [{from = '/old', to = '/new'}]";
    place
        .write("apis.toml", open("a", &base, paths) + &open("kept", &base, "keep_location = true"));
    place.done(&["gateway", "apply", "apis.toml"]);
    let own = format!("http://{}", server.api);
    let leads = |api: &str, to: &str| {
        let answer = server.client().get(&format!("/apis/{api}/v1/x?to={to}"));
        assert_eq!(answer.header("x-prefix"), Some(&*format!("/apis/{api}/v1")));
        answer.header("location").unwrap().to_owned()
    };

    assert_eq!(leads("a", &format!("{base}/items/7")), format!("{own}/apis/a/v1/items/7"));
    assert_eq!(leads("a", &format!("{base}/new/7")), format!("{own}/apis/a/v1/old/7"));
    assert_eq!(leads("a", "/base/items/7"), "/apis/a/v1/items/7");
    assert_eq!(leads("a", "https://login.example.org/"), "https://login.example.org/");
    assert_eq!(leads("kept", &format!("{base}/items/7")), format!("{base}/items/7"));
}

#[test]
fn an_api_that_leads_to_itself_ends() {
    let place = Place::new();
    let server = Server::start(&place);
    place.write("apis.toml", open("loop", &format!("http://{}/apis/loop/v1", server.api), ""));
    place.done(&["gateway", "apply", "apis.toml"]);

    let answer = server.client().get("/apis/loop/v1/x");

    assert_eq!(answer.status, 502, "{}", answer.text());
    assert!(answer.text().contains("goes round in a circle"), "{}", answer.text());
}

#[test]
fn a_caller_that_says_how_long_it_waits_gets_no_later_answer() {
    let place = Place::new();
    let server = Server::start(&place);
    let upstream = Upstream::answering(|_| {
        std::thread::sleep(Duration::from_secs(4));
        Answered::With(b"HTTP/1.1 204 No Content\r\n\r\n".to_vec())
    });
    place.write("apis.toml", open("slow", &upstream.url(), ""));
    place.done(&["gateway", "apply", "apis.toml"]);
    let begun = Instant::now();

    let answer = server.client().send("GET", "/apis/slow/v1/x", &[("prefer", "wait=1")], None);

    assert_eq!(answer.unwrap().status, 504);
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
}

#[test]
fn a_dead_upstream_is_told_once_in_a_while() {
    let place = Place::new();
    let server = Server::start(&place);
    place.write("apis.toml", open("gone", "http://127.0.0.1:9", "breaker = {failures = 1000}"));
    place.done(&["gateway", "apply", "apis.toml"]);

    for _ in 0..50 {
        assert_eq!(server.client().get("/apis/gone/v1/x").status, 503);
    }

    let log = server.stop().stderr;
    let lines =
        log.lines().filter(|line| line.contains("WARN") || line.contains("\"level\":\"WARN\""));
    let lines = lines.filter(|line| line.contains("upstream")).count();
    assert!((1..10).contains(&lines), "{log}");
}

#[test]
fn a_compressed_body_that_is_to_be_changed_is_of_another_media_type() {
    let place = Place::new();
    let (server, upstream) = (Server::start(&place), Upstream::echo());
    let change = "transform.request = [{op = 'drop', path = '/a'}]";
    place.write("apis.toml", open("t", &upstream.url(), change));
    place.done(&["gateway", "apply", "apis.toml"]);
    let headers = [("content-type", "application/json"), ("content-encoding", "gzip")];

    let refused =
        server.client().send("POST", "/apis/t/v1/x", &headers, Some(b"\x1f\x8b")).unwrap();
    let changed = send(&mut server.client(), "POST", "/apis/t/v1/x", "{\"a\":1,\"b\":2}");

    assert_eq!((refused.status, changed.status), (415, 200), "{}", refused.text());
}

#[test]
fn a_connection_of_websocket_goes_on_while_the_server_drains() {
    let place = Place::new();
    let upstream = Upstream::answering(|_| {
        let head =
            "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n";
        Answered::Endless(head.as_bytes().to_vec(), b"x".to_vec())
    });
    let times = [("HOMEROOM_SERVER__LAME_DUCK", "0s"), ("HOMEROOM_SERVER__DRAIN", "20s")];
    let server = Server::start_with(&place, &times);
    place.write("apis.toml", open("ws", &upstream.url(), ""));
    place.done(&["gateway", "apply", "apis.toml"]);
    let mut wire = server.wire();
    wire.send(
        "GET /apis/ws/v1/x HTTP/1.1\r\nhost: a\r\nconnection: Upgrade\r\n\
         upgrade: websocket\r\nsec-websocket-key: x\r\nsec-websocket-version: 13\r\n\r\n",
    );
    assert_eq!(wire.answer().status, 101);

    server.tell_to_stop();
    let begun = Instant::now();
    let mut bytes = vec![0; 1 << 16];
    while begun.elapsed() < Duration::from_secs(3) {
        wire.read_exactly(&mut bytes);
    }
    drop(wire);

    assert_eq!(server.ended().code, Some(0));
    assert!(begun.elapsed() < Duration::from_secs(15), "it does not wait for more");
}

/// A server before two nodes, as their balancer.
#[test]
fn a_server_is_the_balancer_before_nodes_of_its_own_kind() {
    for database in Database::on_each_server() {
        let (place, front_place) = (Place::with_store(&database.url()), Place::new());
        let key = place.key("FullAccess");
        let trusting = [("HOMEROOM_SERVER__TRUST_FORWARDED", "true")];
        let nodes = [0, 1].map(|_| Server::start_with(&place, &trusting));
        let front = Server::start(&front_place);
        let upstreams = nodes.each_ref().map(|node| format!("'http://{}'", node.api)).join(", ");
        let more = format!(
            "security = 'none'\nupstream = [{upstreams}]\nhealth = {{path = '/readyz', interval = '100ms'}}"
        );
        front_place.write("apis.toml", api("ods", &more));
        front_place.done(&["gateway", "apply", "apis.toml"]);
        let base = format!("http://{}/apis/ods/v1", front.api);
        let path =
            |url: &str| url.strip_prefix(&format!("http://{}", front.api)).unwrap().to_owned();
        let mut client = front.client();

        let links = client.get("/apis/ods/v1/").json();
        assert_eq!(links["urls"]["dataManagementApi"], format!("{base}/data/v3/"), "{links}");
        let asked = json!({
            "grant_type": "client_credentials", "client_id": key.0, "client_secret": key.1,
        });
        let token = client.post(&path(links["urls"]["oauth"].as_str().unwrap()), &asked);
        let token = token.json()["access_token"].as_str().unwrap().to_owned();
        let bearer = format!("Bearer {token}");
        let headers = [("authorization", &*bearer), ("content-type", "application/json")];
        let body = student("1", "Ada").to_string();
        let made = client.send(
            "POST",
            &format!("/apis/ods/v1{STUDENTS}"),
            &headers,
            Some(body.as_bytes()),
        );
        let made = made.unwrap();
        assert_eq!(made.status, 201, "{}", made.text());
        let location = made.header("location").unwrap().to_owned();
        assert!(location.starts_with(&format!("{base}/data/v3/")), "{location}");

        let [killed, kept] = nodes;
        killed.kill();
        for _ in 0..50 {
            let found = client.send("GET", &path(&location), &headers, None).unwrap();
            assert_eq!(found.status, 200, "{}", found.text());
        }
        let found: Value = client.send("GET", &path(&location), &headers, None).unwrap().json();
        assert_eq!(found["firstName"], "Ada");
        drop(kept);
    }
}
