//! What a published API changes on the way, and what it says of it.

use std::io::Write as _;
use std::net::TcpListener;
use std::time::Duration;

use serde_json::json;

use crate::published::{send, subscriber};
use crate::support::{Answered, Place, Server, Upstream, eventually, metric, student};

const ANSWER: &str = "{\"secret\": 1, \"a\": 2}";

/// An upstream whose answers say much of their bytes, and that answers ranges and versions it is asked for.
fn vouching() -> Upstream {
    Upstream::answering(|seen| {
        let about = "content-type: application/json\r\netag: \"7\"\r\nrepr-digest: sha-256=:x:\r\n\
                     content-md5: x\r\naccept-ranges: bytes\r\n";
        let is_range = !seen.values("range").is_empty();
        let (status, body) = match seen.line() {
            _ if seen.values("if-none-match").contains(&"W/\"7\"") => ("304 Not Modified", ""),
            _ if is_range => ("206 Partial Content", "cret\": 1"),
            line if line.starts_with("PUT") && seen.values("if-match") != ["\"7\""] => {
                ("412 Precondition Failed", "{}")
            }
            _ => ("200 OK", ANSWER),
        };
        let is_head = seen.line().starts_with("HEAD");
        let length = if status.starts_with("304") {
            String::new()
        } else {
            format!("content-length: {}\r\n", body.len())
        };
        let body = if is_head { "" } else { body };
        Answered::With(format!("HTTP/1.1 {status}\r\n{about}{length}\r\n{body}").into_bytes())
    })
}

fn publish(place: &Place, upstream: &Upstream) {
    let api = |name: &str, target: &str, more: &str| {
        format!("[[apis]]\nname = '{name}'\ncontext = '{name}'\nversion = 'v1'\n{target}\n{more}\n")
    };
    let url = format!("upstream = ['{}']\nsecurity = 'none'", upstream.url());
    let drop = "transform.response = [{op = 'drop', path = '/secret'}]";
    let drop_each = "transform.response = [{op = 'drop', path = '/*/firstName'}]";
    let file = [
        api("plain", &url, ""),
        api("changed", &url, drop),
        api("keyed", &url.replace("'none'", "'api-key'"), ""),
        api("ods", "part = 'data'", ""),
        api("names", "part = 'data'", drop_each),
        api(
            "gone",
            "upstream = ['http://127.0.0.1:9']\nsecurity = 'none'",
            "limits = {by = 'address', quota = '2/month'}",
        ),
    ];
    place.write("apis.toml", file.concat());
    place.done(&["gateway", "apply", "apis.toml"]);
}

#[test]
fn an_answer_that_is_changed_no_longer_says_what_its_bytes_were() {
    let (place, upstream) = (Place::new(), vouching());
    let server = Server::start(&place);
    publish(&place, &upstream);
    let mut client = server.client();
    let mut ask = |method: &str, headers: &[(&str, &str)]| {
        client.send(method, "/apis/changed/v1/x", headers, None).unwrap()
    };

    let got = ask("GET", &[]);
    let part = ask("GET", &[("range", "bytes=3-10"), ("if-range", "\"7\"")]);
    let again = ask("GET", &[("if-none-match", "W/\"7\"")]);
    let put = ask("PUT", &[("if-match", got.header("etag").unwrap())]);

    assert_eq!((got.status, got.text()), (200, "{\"a\": 2}".to_owned()));
    assert_eq!(got.header("etag"), Some("W/\"7\""));
    for name in ["repr-digest", "content-md5", "accept-ranges"] {
        assert_eq!(got.header(name), None, "{name}");
    }
    assert_eq!(
        (part.status, part.text()),
        (200, "{\"a\": 2}".to_owned()),
        "ranges are not passed on"
    );
    assert_eq!((again.status, again.header("etag")), (304, Some("W/\"7\"")));
    assert_eq!(put.status, 200, "the upstream knows its own version again");
    let plain = client.send("GET", "/apis/plain/v1/x", &[("range", "bytes=3-10")], None).unwrap();
    assert_eq!((plain.status, plain.header("etag")), (206, Some("\"7\"")));
}

#[test]
fn an_answer_to_head_has_the_length_of_the_one_to_get() {
    let (place, upstream) = (Place::new(), vouching());
    let server = Server::start(&place);
    publish(&place, &upstream);
    let key = subscriber(&place, &["--claim-set", "FullAccess", "--apis", "ods"]);
    let mut client = server.client_of(&key);
    assert_eq!(client.post("/data/v3/ed-fi/students", &student("7", "Ada")).status, 201);
    let token = client.token.clone().unwrap();
    let head = |path: &str| {
        let mut wire = server.wire();
        wire.send(format!(
            "HEAD {path} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer {token}\r\n\r\n"
        ));
        let answer = wire.try_answer(true).unwrap();
        (answer.status, answer.header("content-length").map(str::to_owned))
    };

    let length = |bytes: usize| (200, Some(bytes.to_string()));
    assert_eq!(head("/apis/plain/v1/x"), length(ANSWER.len()));
    assert_eq!(head("/apis/changed/v1/x"), (200, None), "the length of a changed one is not known");
    let data = client.get("/data/v3/ed-fi/students").body.len();
    assert_eq!(head("/data/v3/ed-fi/students"), length(data));
    assert_eq!(head("/apis/ods/v1/ed-fi/students"), length(data));
}

#[test]
fn what_a_part_answers_is_changed_however_it_is_asked() {
    let (place, upstream) = (Place::new(), vouching());
    let server = Server::start(&place);
    publish(&place, &upstream);
    let key = subscriber(&place, &["--claim-set", "FullAccess", "--apis", "names,ods"]);
    let mut client = server.client_of(&key);
    for number in 0..60 {
        let made = student(&number.to_string(), "Ada");
        assert_eq!(client.post("/data/v3/ed-fi/students", &made).status, 201);
    }

    for headers in [&[][..], &[("accept-encoding", "gzip")], &[("range", "bytes=0-9")]] {
        let path = "/apis/names/v1/ed-fi/students?limit=100";
        let answer = client.send("GET", path, headers, None).unwrap();

        assert_eq!(answer.status, 200, "{headers:?}: {}", answer.text());
        let all = answer.json();
        assert_eq!(all.as_array().unwrap().len(), 60);
        assert!(
            all.as_array().unwrap().iter().all(|one| one["firstName"].is_null()),
            "{headers:?}"
        );
    }
}

#[test]
fn what_the_gateway_refuses_counts_with_no_limit() {
    let (place, upstream) = (Place::new(), vouching());
    let server = Server::start(&place);
    publish(&place, &upstream);
    let mut client = server.client();

    for _ in 0..5 {
        let refused = client.get("/apis/gone/v1/x");
        assert_eq!(refused.status, 503, "{}", refused.text());
        let left = refused.header("ratelimit").unwrap();
        assert!(left.contains(";r=2;"), "{left}");
    }
}

#[test]
fn a_caller_without_an_api_key_is_asked_for_one() {
    let (place, upstream) = (Place::new(), vouching());
    let server = Server::start(&place);
    publish(&place, &upstream);
    let mut client = server.client();

    for headers in [&[][..], &[("x-api-key", "a.b")], &[("authorization", "Basic YTpi")]] {
        let refused = client.send("GET", "/apis/keyed/v1/x", headers, None).unwrap();

        let asked = refused.header("www-authenticate").unwrap();
        assert_eq!(
            (refused.status, asked),
            (401, "ApiKey realm=\"homeroom\", header=\"X-API-Key\"")
        );
        assert!(!refused.text().contains("Basic"), "{}", refused.text());
    }
}

#[test]
fn nobody_names_the_caller_but_this_server_and_no_request_is_traced() {
    let (place, upstream) = (Place::new(), Upstream::echo());
    let server = Server::start(&place);
    publish(&place, &upstream);
    let mut client = server.client();
    let names = ["x-real-ip", "true-client-ip", "cf-connecting-ip", "x-client-ip", "x_real_ip"];
    let mut headers: Vec<(&str, &str)> = names.iter().map(|name| (*name, "192.0.2.9")).collect();
    headers.extend([
        ("x-original-url", "/admin"),
        ("forwarded", "for=192.0.2.9"),
        ("via", "1.0 a"),
    ]);

    let passed = client.send("GET", "/apis/plain/v1/x", &headers, None).unwrap();
    let seen = upstream.take();
    let traced = send(&mut client, "TRACE", "/apis/plain/v1/x", "");

    assert_eq!(passed.status, 200);
    assert!(
        !seen[0].head.contains("192.0.2.9") && !seen[0].head.contains("admin"),
        "{}",
        seen[0].head
    );
    assert_eq!(seen[0].values("via"), ["1.0 a", "1.1 homeroom"]);
    assert_eq!(traced.status, 405, "{}", traced.text());
    assert!(traced.header("allow").unwrap().starts_with("GET, HEAD, POST"));
    assert_eq!(upstream.take().len(), 0);
}

#[test]
fn long_bodies_are_changed_one_after_the_other_and_others_are_answered_meanwhile() {
    let (place, upstream) = (Place::new(), Upstream::echo());
    let server = Server::start(&place);
    let url = upstream.url();
    place.write(
        "apis.toml",
        format!(
            "[[apis]]\nname = 'long'\ncontext = 'long'\nversion = 'v1'\nsecurity = 'none'\n\
             upstream = ['{url}']\nmax_body = '20MiB'\n\
             transform.request = [{{op = 'rename', path = '/items/*/a', to = 'b'}}]\n\
             [[apis]]\nname = 'other'\ncontext = 'other'\nversion = 'v1'\nsecurity = 'none'\n\
             upstream = ['{url}']\n"
        ),
    );
    place.done(&["gateway", "apply", "apis.toml"]);
    let items: Vec<_> = (0..200_000).map(|number| json!({"a": number, "c": "text"})).collect();
    let body = json!({ "items": items }).to_string();

    std::thread::scope(|scope| {
        let long: Vec<_> = (0..4)
            .map(|_| {
                let (server, body) = (&server, &body);
                scope.spawn(move || send(&mut server.client(), "POST", "/apis/long/v1/x", body))
            })
            .collect();
        let mut client = server.client();
        while !long.iter().all(std::thread::ScopedJoinHandle::is_finished) {
            assert_eq!(client.get("/apis/other/v1/x").status, 200);
        }
        for long in long {
            let answer = long.join().unwrap();
            assert_eq!(answer.status, 200, "{}", &answer.text()[..200]);
            assert!(answer.text().contains("{\"b\":199999,"));
        }
    });
    let metrics = server.admin_client().get("/metrics").text();
    for name in ["transforms", "transform_bytes"] {
        assert!(metrics.contains(&format!("\"{name}\"")), "{metrics}");
    }
}

/// An upstream that states a long answer, sends the beginning of it and then hardly anything.
fn trickling(begin: usize) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let mut out = &stream;
                let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\
                            content-length: 33554432\r\n\r\n";
                let mut sent = out.write_all(head.as_bytes());
                sent = sent.and_then(|()| out.write_all(&vec![b' '; begin]));
                while sent.is_ok() {
                    std::thread::sleep(Duration::from_millis(100));
                    sent = out.write_all(&[b' '; 10]);
                }
            });
        }
    });
    url
}

#[test]
fn an_api_whose_answers_are_slow_leaves_room_for_those_of_others() {
    let place = Place::new();
    let server = Server::start(&place);
    let long = format!("{{\"secret\": 1, \"a\": \"{}\"}}", "x".repeat(100_000));
    let answers = Upstream::answering(move |_| {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";
        Answered::With(format!("{head}content-length: {}\r\n\r\n{long}", long.len()).into())
    });
    let api = |name: &str, url: &str| {
        format!(
            "[[apis]]\nname = '{name}'\ncontext = '{name}'\nversion = 'v1'\nsecurity = 'none'\n\
             upstream = ['{url}']\ntransform.response = [{{op = 'drop', path = '/secret'}}]\n"
        )
    };
    let file = [
        api("slow", &trickling(1_000)),
        api("stuck", &trickling(20 << 20)),
        api("well", &answers.url()),
    ];
    place.write("apis.toml", file.concat());
    place.done(&["gateway", "apply", "apis.toml"]);
    let used = || metric(&server, "homeroom_budget_used{budget=\"transform_bytes\"}");

    for name in ["slow", "stuck"] {
        let mut wires: Vec<_> = (0..6).map(|_| server.wire()).collect();
        for wire in &mut wires {
            wire.send(format!("GET /apis/{name}/v1/x HTTP/1.1\r\nhost: a\r\n\r\n"));
        }
        match name {
            "slow" => std::thread::sleep(Duration::from_millis(500)),
            _ => eventually("it has its share", || used() >= 60 << 20),
        }

        let answer = server.client().get("/apis/well/v1/x");

        assert_eq!(answer.status, 200, "{name}: {}", answer.text());
        assert!(answer.text().starts_with("{\"a\""));
    }
}

#[test]
fn paths_and_queries_are_changed_and_everything_else_stays() {
    let (place, upstream) = (Place::new(), Upstream::echo());
    let server = Server::start(&place);
    let file = |more: &str| {
        format!(
            "[[apis]]\nname = 'a'\ncontext = 'a'\nversion = 'v1'\nsecurity = 'none'\n\
             upstream = ['{}/base']\n{more}",
            upstream.url()
        )
    };
    let changes = "request_path = [{from = '/old', to = '/new/deep'}]\n\
                   request_query = {set = {tenant = 'seven & more'}, remove = ['debug']}\n";
    place.write("apis.toml", file(changes));
    place.done(&["gateway", "apply", "apis.toml"]);
    let mut client = server.client();

    for (sent, seen) in [
        (
            "/old/a%2Fb?x=%20&debug=1&tenant=9",
            "/base/new/deep/a%2Fb?x=%20&tenant=seven%20%26%20more",
        ),
        ("/older?%64ebug", "/base/older?tenant=seven%20%26%20more"),
    ] {
        assert_eq!(client.get(&format!("/apis/a/v1{sent}")).status, 200, "{sent}");
        assert_eq!(upstream.take()[0].line(), format!("GET {seen}"));
    }
    let wrong = "request_path = [{from = 'old', to = '/../x'}]\n\
                 request_query.set = {key = 'env:SECRET'}\n";
    place.write("wrong.toml", file(wrong));
    let refused = place.run(&["gateway", "lint", "wrong.toml"]);
    for told in ["request_path[0].from", "request_path[0].to", "request_query.set.key"] {
        assert!(refused.stderr.contains(told), "{told}: {refused:?}");
    }
}

const ASKS_FOR_WEBSOCKET: &str = "host: a\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\
     sec-websocket-key: x\r\nsec-websocket-version: 13\r\naccept-encoding: gzip\r\n\r\n";

#[test]
fn the_answer_of_an_upstream_that_stays_with_http_is_changed_as_any_other() {
    let place = Place::new();
    let server = Server::start(&place);
    let upstream = Upstream::answering(|seen| {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nlocation: /items/7\r\n\
                    x-inside: yes\r\n";
        let body = if seen.values("accept-encoding").is_empty() { ANSWER } else { "packed" };
        let length = body.len();
        Answered::With(format!("{head}content-length: {length}\r\n\r\n{body}").into_bytes())
    });
    let file = format!(
        "[[apis]]\nname = 'a'\ncontext = 'a'\nversion = 'v1'\nsecurity = 'none'\n\
         upstream = ['{}']\ntransform.response = [{{op = 'drop', path = '/secret'}}]\n\
         response_headers.remove = ['x-inside']\n",
        upstream.url()
    );
    place.write("apis.toml", file);
    place.done(&["gateway", "apply", "apis.toml"]);
    let mut wire = server.wire();

    wire.send(format!("GET /apis/a/v1/x HTTP/1.1\r\n{ASKS_FOR_WEBSOCKET}"));
    let answer = wire.answer();

    assert_eq!((answer.status, answer.text()), (200, "{\"a\": 2}".to_owned()));
    assert_eq!(answer.header("x-inside"), None);
    assert_eq!(answer.header("location"), Some("/apis/a/v1/items/7"));
    assert_eq!(upstream.take()[0].values("upgrade"), ["websocket"]);
}

#[test]
fn the_answer_of_an_upstream_that_stays_with_http_has_a_place_until_it_ends_and_ends_in_time() {
    let place = Place::new();
    let server = Server::start(&place);
    let upstream = Upstream::answering(|_| {
        Answered::With(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhello".to_vec())
    });
    let file = format!(
        "[[apis]]\nname = 'a'\ncontext = 'a'\nversion = 'v1'\nsecurity = 'none'\n\
         upstream = ['{}']\ntimeouts.idle = '2s'\n",
        upstream.url()
    );
    place.write("apis.toml", file);
    place.done(&["gateway", "apply", "apis.toml"]);
    let used = || metric(&server, "homeroom_budget_used{budget=\"upstream_streams\"}");
    let mut wire = server.wire();

    wire.send(format!("GET /apis/a/v1/x HTTP/1.1\r\n{ASKS_FOR_WEBSOCKET}"));
    eventually("the call has a place", || used() == 1);
    std::thread::sleep(Duration::from_millis(500));
    let while_it_streams = used();
    let broken = wire.try_answer(false);

    assert_eq!(while_it_streams, 1);
    assert!(broken.is_err(), "it is shorter than it says: {broken:?}");
    eventually("the place is free", || used() == 0);
}
