//! Published APIs under attack: what is malformed reaches no upstream, what passes is read by it as it was
//! read here, and nothing that belongs to one side gets to the other.

use crate::support::{Answer, Place, Server, Upstream, Wire, eventually};

/// Publishes an API without security, with these further lines, before an upstream that reports bytes.
fn published(more: &str) -> (Place, Server, Upstream) {
    let (place, upstream) = (Place::new(), Upstream::echo());
    let server = Server::start(&place);
    let file = format!(
        "[[apis]]\nname = 'open'\ncontext = 'open'\nversion = 'v1'\nsecurity = 'none'\n\
         upstream = ['{}']\n{more}",
        upstream.url()
    );
    place.write("apis.toml", file);
    place.done(&["gateway", "apply", "apis.toml"]);
    (place, server, upstream)
}

fn post(headers: &str, body: &str) -> Vec<u8> {
    format!("POST /apis/open/v1/x HTTP/1.1\r\nhost: a\r\n{headers}\r\n\r\n{body}").into_bytes()
}

/// Sends bytes on a new connection. Returns the first answer; the connection must be closed behind it.
fn refused(server: &Server, bytes: &[u8]) -> Option<Answer> {
    let mut wire = server.wire();
    _ = wire.try_send(bytes);
    let answer = wire.try_answer(false).ok();
    let rest = wire.rest();
    let shown = String::from_utf8_lossy(bytes);
    assert!(rest.is_empty(), "{shown:?}: {answer:?}, then {:?}", String::from_utf8_lossy(&rest));
    answer
}

fn is_refusal(answer: Option<&Answer>) -> bool {
    answer.is_none_or(|answer| matches!(answer.status, 400..=499 | 501 | 505))
}

#[test]
fn a_request_with_a_doubtful_end_reaches_no_upstream() {
    let (_place, server, upstream) = published("");
    let next = "GET /apis/open/v1/smuggled HTTP/1.1\r\nhost: a\r\n\r\n";
    let chunked = "transfer-encoding: chunked";
    let bodies = format!("0\r\n\r\n{next}");

    let mut all = vec![];
    for framing in [
        "content-length: 5\r\ntransfer-encoding: chunked",
        "transfer-encoding: chunked\r\ncontent-length: 5",
        "content-length: 5\r\ncontent-length: 6",
        "content-length: 5, 6",
        "content-length: +5",
        "content-length: 0x5",
        "content-length: 5 5",
        "content-length: -1",
        "content-length: 1e1",
        "content-length: 5\r\n 6",
        "content-length : 5",
        "content-length\t: 5",
        " content-length: 5",
        "content-length: 18446744073709551617",
        "transfer-encoding : chunked",
        "transfer-encoding: xchunked",
        "transfer-encoding: chunkedx",
        "transfer-encoding: x, chunked",
        "transfer-encoding: chunked, x",
        "transfer-encoding: chunked, chunked",
        "transfer-encoding: chunked;q=1",
        "transfer-encoding: \"chunked\"",
        "transfer-encoding:\r\n chunked",
        "transfer-encoding: identity, chunked",
        "transfer-encoding: identity\r\ntransfer-encoding: chunked",
        "transfer-encoding: chunked\r\ntransfer-encoding: identity",
        "transfer-encoding: chunked\r\ntransfer-encoding: chunked",
        "transfer-encoding: gzip",
        "transfer-encoding: \u{b}chunked",
        "x: y\ntransfer-encoding: chunked",
        "x: y\rtransfer-encoding: chunked",
        "x: y\0\r\ntransfer-encoding: chunked",
        "x: y\r\n\ttransfer-encoding: chunked",
    ] {
        all.push(post(framing, &bodies));
    }
    for chunks in [
        "x\r\nhello\r\n0\r\n\r\n",
        "0x5\r\nhello\r\n0\r\n\r\n",
        "+5\r\nhello\r\n0\r\n\r\n",
        "-5\r\nhello\r\n0\r\n\r\n",
        " 5\r\nhello\r\n0\r\n\r\n",
        "\r\n5\r\nhello\r\n0\r\n\r\n",
        "5\nhello\r\n0\r\n\r\n",
        "5\rhello\r\n0\r\n\r\n",
        "5;x\nhello\r\n0\r\n\r\n",
        "5\r\nhello0\r\n\r\n",
        "5\r\nhello\n0\r\n\r\n",
        "5\r\nhelloo\r\n0\r\n\r\n",
        "4\r\nhello\r\n0\r\n\r\n",
        "5,\r\nhello\r\n0\r\n\r\n",
        "10000000000000005\r\nhello\r\n0\r\n\r\n",
        "5\r\nhello\r\n0\r\nx: y\n\n",
        "5\r\nhello\r\n0\r\nno trailer\r\n\r\n",
    ] {
        all.push(post(chunked, &format!("{chunks}{next}")));
    }
    all.push(post(chunked, &format!("5;{}\r\nhello\r\n0\r\n\r\n{next}", "x".repeat(100_000))));
    all.push(post(chunked, &format!("5\r\nhello\r\n0\r\nx: {}\r\n\r\n", "x".repeat(100_000))));

    for bytes in all {
        let answer = refused(&server, &bytes);

        let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(300)]).into_owned();
        assert!(is_refusal(answer.as_ref()), "{shown:?}: {answer:?}");
        assert_eq!(upstream.take(), [], "{shown:?}");
    }
    assert_eq!(server.client().get("/apis/open/v1/x").status, 200);
}

#[test]
fn a_malformed_head_reaches_no_upstream() {
    let (_place, server, upstream) = published("");
    let path = "/apis/open/v1/x";

    for head in [
        format!("GET {path}\r\n\r\n"),
        format!("GET  {path} HTTP/1.1\r\nhost: a\r\n\r\n"),
        format!("GET\t{path}\tHTTP/1.1\r\nhost: a\r\n\r\n"),
        format!("GET {path} HTTP/1.1 \r\nhost: a\r\n\r\n"),
        format!("GET {path} HTTP/1.2\r\nhost: a\r\n\r\n"),
        format!("GET {path} http/1.1\r\nhost: a\r\n\r\n"),
        format!("GET {path} HTTP/1.1\nhost: a\n\n"),
        format!("GET {path} HTTP/1.1\r\nhost: a\n\r\n"),
        format!("GET {path} HTTP/1.1\r\nhost: a\r\nx\r\n\r\n"),
        format!("GET {path} HTTP/1.1\r\nhost: a\r\n: x\r\n\r\n"),
        format!("GET {path} HTTP/1.1\r\nhost: a\r\nx y: z\r\n\r\n"),
        format!("GET {path} HTTP/1.1\r\nhost: a\r\nx\0: z\r\n\r\n"),
        format!("GET {path} HTTP/1.1\r\nhost: a\r\nx: \0\r\n\r\n"),
        format!("GET {path} HTTP/1.1\r\nhost: a\r\nx: y\rz\r\n\r\n"),
        format!("GET {path} HTTP/1.1\r\nhost: a\r\nx: y\r\n z\r\n\r\n"),
        format!("GET {path}\0 HTTP/1.1\r\nhost: a\r\n\r\n"),
        format!("GET {path} x HTTP/1.1\r\nhost: a\r\n\r\n"),
        format!("G(T {path} HTTP/1.1\r\nhost: a\r\n\r\n"),
        format!("GET {path} HTTP/1.1\r\n\r\n"),
        format!("GET {path} HTTP/1.1\r\nhost: a\r\nhost: a\r\n\r\n"),
        format!("GET {path} HTTP/1.1\r\nhost: a\r\nHost: evil.example\r\n\r\n"),
        format!("GET {path} HTTP/1.0\r\nhost: a\r\nhost: b\r\n\r\n"),
        format!("GET {path} HTTP/1.1\r\nhost: a, b\r\n\r\n"),
        format!("GET {path} HTTP/1.1\r\nhost: a/b\r\n\r\n"),
        format!("GET {path} HTTP/1.1\r\nhost: x@a\r\n\r\n"),
        format!("GET http://evil.example{path} HTTP/1.1\r\nhost: a\r\n\r\n"),
        format!("GET http://a:81{path} HTTP/1.1\r\nhost: a\r\n\r\n"),
        format!("GET http://a@evil.example{path} HTTP/1.1\r\nhost: evil.example\r\n\r\n"),
        format!("GET ftp://a{path} HTTP/1.1\r\nhost: b\r\n\r\n"),
        format!("GET @evil.example{path} HTTP/1.1\r\nhost: a\r\n\r\n"),
        "CONNECT a:80 HTTP/1.1\r\nhost: a:80\r\n\r\n".to_owned(),
        format!("GET {path} HTTP/1.1\r\nhost: a\r\nx: {}\r\n\r\n", "x".repeat(100_000)),
        format!("GET {path} HTTP/1.1\r\nhost: a\r\n{}\r\n", "x: y\r\n".repeat(5_000)),
        format!("GET {path}{} HTTP/1.1\r\nhost: a\r\n\r\n", "x".repeat(100_000)),
    ] {
        let answer = refused(&server, head.as_bytes());

        let shown = &head[..head.len().min(200)];
        assert!(is_refusal(answer.as_ref()), "{shown:?}: {answer:?}");
        assert_eq!(upstream.take(), [], "{shown:?}");
    }
    assert_eq!(server.client().get(path).status, 200);
}

#[test]
fn what_passes_is_read_behind_the_gateway_as_before_it() {
    let (_place, server, upstream) = published("");
    let long = "y".repeat(8_000);

    for (request, body) in [
        (post("content-length: 5", "hello"), "hello"),
        (post("content-length: 0", ""), ""),
        (post("content-length: 05", "hello"), "hello"),
        (post("transfer-encoding: chunked", "5\r\nhello\r\n0\r\n\r\n"), "hello"),
        (post("transfer-encoding: Chunked", "3\r\nhel\r\n02\r\nlo\r\n000\r\n\r\n"), "hello"),
        (post("transfer-encoding: chunked", "5;a=\"b\"\r\nhello\r\n0;c\r\nx: y\r\n\r\n"), "hello"),
        (post("transfer_encoding: chunked\r\ncontent-length: 5", "0\r\n\r\n"), "0\r\n\r\n"),
        (post("x-transfer-encoding: chunked\r\ncontent-length: 2", "{}"), "{}"),
        (post("connection: content-length\r\ncontent-length: 5", "hello"), "hello"),
        (post("te: trailers\r\ntrailer: x\r\ncontent-length: 5", "hello"), "hello"),
        (post(&format!("x: {long}\r\ncontent-length: 5"), "hello"), "hello"),
        (
            b"GET http://A:80/apis/open/v1/x HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\nhi"
                .into(),
            "hi",
        ),
    ] {
        let shown = String::from_utf8_lossy(&request).into_owned();
        // The next request tells whether both sides have found the same end.
        let mut wire = server.wire();
        wire.send(&request);
        wire.send("GET /apis/open/v1/next HTTP/1.1\r\nhost: a\r\n\r\n");

        let (first, next) = (wire.answer(), wire.answer());

        let seen = upstream.take();
        assert_eq!((first.status, next.status, seen.len()), (200, 200, 2), "{shown:?}: {first:?}");
        assert_eq!(String::from_utf8_lossy(&seen[0].body), body, "{shown:?}");
        assert!(seen[0].line().ends_with(" /x") && seen[1].line() == "GET /next", "{seen:?}");
        assert!(seen[0].values("transfer_encoding").is_empty(), "{seen:?}");
    }
}

#[test]
fn a_path_that_could_lead_elsewhere_is_refused_and_every_other_passes_unchanged() {
    let (_place, server, upstream) = published("");
    let get = |target: &str| {
        let mut wire = server.wire();
        wire.send(format!("GET {target} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n"));
        wire.answer().status
    };

    for rest in [
        "/..",
        "/../v2/x",
        "/a/../../v2",
        "/./a",
        "/%2e%2e/a",
        "/.%2E/a",
        "/..%2fa",
        "/a%2f..%2f..%2fb",
        "/..%5ca",
        "/a%5c..%5cb",
        "/..;/a",
        "/..;x=y/a",
        "/%252e%252e/a",
        "/%252e%252e%252fa",
        "/a%00",
        "/a%2500",
        "/a\\b",
    ] {
        assert_eq!(get(&format!("/apis/open/v1{rest}")), 400, "{rest}");
        assert_eq!(upstream.take(), [], "{rest}");
    }
    for target in [
        "/apis/open/v1/../v1/x",
        "/apis/../apis/open/v1/x",
        "//apis/open/v1/x",
        "/apis//open/v1/x",
        "/%61pis/open/v1/x",
        "/apis/open%2fv1/x",
        "/apis/open/v1;x/x",
        "/apis/open/v1%2fx",
    ] {
        assert!(matches!(get(target), 400 | 404), "{target}");
        assert_eq!(upstream.take(), [], "{target}");
    }
    for rest in
        ["/a%2Fb", "//a//", "/a;b=c", "/%C3%BC?x=%2e%2e/&y=a+b", "/...", "/a%20b", "/A?", "?a=/../"]
    {
        assert_eq!(get(&format!("/apis/open/v1{rest}")), 200, "{rest}");
        let seen = upstream.take();
        let expected = if rest.starts_with('?') { format!("/{rest}") } else { rest.to_owned() };
        let expected = expected.strip_suffix('?').unwrap_or(&expected);
        assert_eq!(seen[0].line().trim_end_matches('?'), format!("GET {expected}"), "{rest}");
    }
}

#[test]
fn a_spelling_does_not_lead_to_an_operation_for_which_the_key_has_no_scope() {
    let (place, server, upstream) = published("");
    place.write(
        "guarded.json",
        r#"{"openapi": "3.0.0", "paths": {
            "/items/{id}": {"get": {"security": [{"o": ["items.read"]}]}},
            "/items/{id}/secret": {"get": {"security": [{"o": ["items.admin"]}]}},
            "/{any}": {"get": {"security": [{"o": ["items.read"]}]}},
            "/admin": {"get": {"security": [{"o": ["items.admin"]}]}}}}"#,
    );
    let file = format!(
        "[[apis]]\nname = 'guarded'\ncontext = 'guarded'\nversion = 'v1'\n\
         upstream = ['{}']\nopenapi = 'guarded.json'\n",
        upstream.url()
    );
    place.write("guarded.toml", file);
    place.done(&["gateway", "apply", "guarded.toml"]);
    let made = place.json(&[
        "keys",
        "create",
        "--json",
        "--apis",
        "guarded",
        "--api-scopes",
        "items.read",
    ]);
    let text = |name: &str| made[name].as_str().unwrap().to_owned();
    let mut client = server.client_of(&(text("key"), text("secret")));

    for (path, status) in [
        ("/items/7", 200),
        ("/items/a%2Fb", 200),
        ("/items/7/secret", 403),
        ("/items/7%2Fsecret", 400),
        ("/items/7%2fsecret", 400),
        ("/items/7/secret/", 403),
        ("/admin", 403),
        ("/%61dmin", 403),
        ("/admin%2F", 400),
        ("/admin;x=y", 400),
        ("/other;x=y", 200),
        ("//admin", 404),
    ] {
        let answer = client.get(&format!("/apis/guarded/v1{path}"));

        assert_eq!(answer.status, status, "{path}: {}", answer.text());
        let passed = upstream.take().len();
        assert_eq!(passed, usize::from(status == 200), "{path}");
    }
}

#[test]
fn headers_of_one_connection_stay_on_it_and_nobody_can_imitate_the_gateway() {
    let (_place, server, upstream) = published("");
    let mut wire = server.wire();
    wire.send(
        "GET /apis/open/v1/x HTTP/1.1\r\nhost: api.example.org\r\n\
         connection: keep-alive, x-named, Keep-Alive\r\nconnection: \u{fc}, x-other\r\n\
         x-named: 1\r\nx-other: 1\r\nkeep-alive: timeout=5\r\nte: trailers, deflate\r\n\
         trailer: x\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABk\r\nproxy: http://evil.example\r\n\
         proxy-connection: keep-alive\r\nproxy-authorization: Basic eDp5\r\n\
         x-forwarded-for: 1.2.3.4\r\nX_Forwarded_For: 1.2.3.4\r\nx-forwarded-host: evil.example\r\n\
         x-forwarded-proto: https\r\nforwarded: for=1.2.3.4\r\nx-kept: 1\r\n\r\n",
    );

    let answer = wire.answer();

    let seen = upstream.take();
    assert_eq!((answer.status, seen.len()), (200, 1));
    let names: Vec<String> = seen[0]
        .head
        .lines()
        .filter_map(|line| Some(line.split_once(": ")?.0.to_ascii_lowercase()))
        .collect();
    for gone in [
        "connection",
        "x-named",
        "x-other",
        "keep-alive",
        "te",
        "trailer",
        "upgrade",
        "http2-settings",
        "proxy",
        "proxy-connection",
        "proxy-authorization",
        "x_forwarded_for",
    ] {
        assert!(!names.iter().any(|name| name == gone), "{gone}: {}", seen[0].head);
    }
    assert_eq!(seen[0].values("x-forwarded-for"), ["127.0.0.1"]);
    assert_eq!(seen[0].values("x-forwarded-host"), ["api.example.org"]);
    assert_eq!(seen[0].values("x-forwarded-proto"), ["http"]);
    assert_eq!(seen[0].values("host"), [upstream.address.to_string()]);
    assert_eq!(seen[0].values("forwarded"), ["for=127.0.0.1;host=\"api.example.org\";proto=http"]);
    assert_eq!(seen[0].values("x-kept"), ["1"]);
}

#[test]
fn bodies_and_headers_beyond_what_an_api_takes_are_refused() {
    let (_place, server, upstream) = published("max_body = '1KiB'\nmax_header = '1KiB'\n");
    let body = "x".repeat(2_000);
    let fits = "x".repeat(1_024);

    let declared = refused_or_kept(&server, &post("content-length: 2000", &body));
    let chunks = format!("7d0\r\n{body}\r\n0\r\n\r\n");
    let chunked = refused_or_kept(&server, &post("transfer-encoding: chunked", &chunks));
    let header = refused_or_kept(&server, &post(&format!("x: {body}\r\ncontent-length: 0"), ""));
    let fitting = refused_or_kept(&server, &post("content-length: 1024", &fits));

    assert_eq!([declared, chunked, header, fitting], [413, 413, 431, 200]);
    assert_eq!(upstream.take().len(), 1);
}

fn refused_or_kept(server: &Server, bytes: &[u8]) -> u16 {
    let mut wire = server.wire();
    wire.send(bytes);
    wire.answer().status
}

#[test]
fn callers_who_send_slowly_keep_no_other_from_being_answered() {
    let (place, upstream) = (Place::new(), Upstream::echo());
    let server = Server::start_with(&place, &[("HOMEROOM_SERVER__HEADER_TIME", "2s")]);
    let file = format!(
        "[[apis]]\nname = 'open'\ncontext = 'open'\nversion = 'v1'\nsecurity = 'none'\n\
         upstream = ['{}']\n",
        upstream.url()
    );
    place.write("apis.toml", file);
    place.done(&["gateway", "apply", "apis.toml"]);
    let slow = |bytes: &str| -> Vec<Wire> {
        (0..300)
            .map(|_| {
                let mut wire = server.wire();
                wire.send(bytes);
                wire
            })
            .collect()
    };

    let heads = slow("GET /apis/open/v1/x HTTP/1.1\r\nhost: a\r\nx: ");
    let bodies = slow("POST /apis/open/v1/x HTTP/1.1\r\nhost: a\r\ncontent-length: 9000\r\n\r\nx");
    let chunks = slow(
        "POST /apis/open/v1/x HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n9\r\nx",
    );

    let mut client = server.client();
    for _ in 0..100 {
        assert_eq!(client.get("/apis/open/v1/x").status, 200);
    }
    assert_eq!(upstream.take().len(), 100, "nothing that is not whole is passed on");
    eventually("heads that do not end are given up", || heads.iter().all(Wire::is_closed));
    let is_given_up = |wire: &Wire| wire.has_answer() || wire.is_closed();
    eventually("so are bodies", || bodies.iter().chain(&chunks).all(is_given_up));
    assert_eq!(client.get("/apis/open/v1/x").status, 200);
}

#[test]
fn no_key_and_no_token_is_in_a_log_or_an_answer() {
    let (place, upstream) = (Place::new(), Upstream::echo());
    let server = Server::start_with(
        &place,
        &[
            ("HOMEROOM_LOG__REQUESTS", "all"),
            ("HOMEROOM_LOG__LEVEL", "debug"),
            ("PLANTED", "planted-secret"),
        ],
    );
    let url = upstream.url();
    let file = format!(
        "[[apis]]\nname = 'a'\ncontext = 'a'\nversion = 'v1'\nupstream = ['{url}']\n\
         request_headers.set = {{x-upstream-key = 'env:PLANTED'}}\n\
         [[apis]]\nname = 'k'\ncontext = 'k'\nversion = 'v1'\nsecurity = 'api-key'\n\
         upstream = ['http://127.0.0.1:9']\n"
    );
    place.write("apis.toml", file);
    place.done(&["gateway", "apply", "apis.toml"]);
    let made = place.json(&["keys", "create", "--json", "--apis", "a,k"]);
    let (key, secret) = (made["key"].as_str().unwrap(), made["secret"].as_str().unwrap());
    let mut client = server.client_of(&(key.to_owned(), secret.to_owned()));
    let token = client.token.clone().unwrap();
    let api_key = format!("{key}.{secret}");
    let spoilt = format!("{}x", &token[..token.len() - 1]);

    let mut answers = vec![client.get("/apis/a/v1/x?access_token=query-secret")];
    assert_eq!(answers[0].status, 200);
    answers.pop();
    client.token = None;
    for (path, headers) in [
        ("/apis/a/v1/x?token=query-secret", vec![("authorization", format!("Bearer {spoilt}"))]),
        ("/apis/a/v1/x", vec![("authorization", format!("Basic {token}"))]),
        ("/apis/a/v1/x", vec![("x-api-key", api_key.clone())]),
        ("/apis/k/v1/x", vec![("x-api-key", api_key.clone())]),
        ("/apis/k/v1/x", vec![("x-api-key", format!("{api_key}x"))]),
        ("/apis/k/v1/x/../y?query-secret", vec![("x-api-key", api_key.clone())]),
        ("/data/v3/ed-fi/students", vec![("authorization", format!("Bearer {token}"))]),
    ] {
        let headers: Vec<(&str, &str)> = headers.iter().map(|(n, v)| (*n, v.as_str())).collect();
        let answer = client.send("GET", path, &headers, None).unwrap();
        assert!(answer.status >= 400, "{path}: {answer:?}");
        answers.push(answer);
    }
    eventually("the requests are logged", || server.log().matches("\"/apis/").count() >= 6);
    let log = server.stop().stderr;

    place.done(&["gateway", "export", "exported.toml"]);
    let exported = std::fs::read_to_string(place.path("exported.toml")).unwrap();
    for secret in
        [secret, &*token, &spoilt, "query-secret", "planted-secret", &token[token.len() - 40..]]
    {
        assert!(!log.contains(secret), "the log has {secret}");
        assert!(!exported.contains(secret), "the export has {secret}");
        for answer in &answers {
            assert!(!format!("{answer:?}{}", answer.text()).contains(secret), "{answer:?}");
        }
    }
}
