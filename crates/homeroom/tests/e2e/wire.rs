//! HTTP at the socket: a malformed, oversized, slow or interrupted request affects no other client.

use serde_json::json;

use crate::support::{Answer, Client, Place, STUDENTS, Server, eventually, student};

const JSON: [(&str, &str); 1] = [("content-type", "application/json")];
/// The most bytes of a document.
const DOCUMENT_BYTES_MAX: usize = 10 << 20;

fn served() -> (Place, Server, Client) {
    let place = Place::new();
    let server = Server::start(&place);
    let client = server.client_of(&place.key("FullAccess"));
    (place, server, client)
}

/// Sends bytes on a new connection. Checks that at most one answer came and that the connection was
/// closed, and returns the answer.
fn sent_alone(server: &Server, bytes: &[u8]) -> Option<Answer> {
    let mut wire = server.wire();
    _ = wire.try_send(bytes);
    let answer = wire.try_answer(false).ok();
    let rest = wire.rest();
    assert!(rest.is_empty(), "{answer:?}, then {:?}", String::from_utf8_lossy(&rest));
    answer
}

#[test]
fn a_malformed_request_gets_400_or_nothing_and_the_connection_closes() {
    let (_place, server, mut client) = served();

    for bytes in [
        &b"GET\r\n\r\n"[..],
        b"GET /livez\r\n\r\n",
        b"GET /livez HTTP/9.9\r\nhost: a\r\n\r\n",
        b"GET livez HTTP/1.1\r\nhost: a\r\n\r\n",
        b"G\0T /livez HTTP/1.1\r\nhost: a\r\n\r\n",
        b"GET /liv\x01ez HTTP/1.1\r\nhost: a\r\n\r\n",
        b"GET /livez HTTP/1.1\r\nhost a\r\n\r\n",
        b"GET /livez HTTP/1.1\r\nhost : a\r\n\r\n",
        b"GET /livez HTTP/1.1\r\nhost: a\r\n folded: b\r\n\r\n",
        b"GET /livez HTTP/1.1\r\nhost: a\r\nx: \0\r\n\r\n",
        b"GET /livez HTTP/1.1\r\n\r\n",
        b"GET /livez HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n",
        b"POST /oauth/token HTTP/1.1\r\nhost: a\r\ncontent-length: x\r\n\r\n",
        b"POST /oauth/token HTTP/1.1\r\nhost: a\r\ncontent-length: -1\r\n\r\n",
        b"POST /oauth/token HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab",
        b"POST /oauth/token HTTP/1.1\r\nhost: a\r\ncontent-length: 99999999999999999999\r\n\r\n",
        b"POST /oauth/token HTTP/1.1\r\nhost: a\r\ntransfer-encoding: gzip\r\n\r\n",
        b"POST /oauth/token HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked, gzip\r\n\r\n",
        b"POST /oauth/token HTTP/1.0\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 a TLS hello\r\n\r\n",
    ] {
        let answer = sent_alone(&server, bytes);

        let status = answer.as_ref().map(|answer| answer.status);
        let shown = String::from_utf8_lossy(bytes);
        assert!(matches!(status, None | Some(400 | 501 | 505)), "{shown:?}: {answer:?}");
    }

    assert_eq!(client.get(STUDENTS).status, 200);
}

#[test]
fn a_body_with_two_framings_is_refused_without_effect() {
    let (_place, server, mut client) = served();
    let token = client.token.clone().unwrap();
    let body = student("1", "Smuggled").to_string();
    let chunked = format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len());

    for framing in [
        format!("content-length: {}\r\ntransfer-encoding: chunked", chunked.len()),
        format!("transfer-encoding: chunked\r\ncontent-length: {}", chunked.len()),
        format!("Transfer-Encoding: chunked\r\nx: y\r\nCONTENT-LENGTH: {}", body.len()),
        "content-length: 0\r\ntransfer-encoding: chunked".into(),
    ] {
        let request = format!(
            "POST {STUDENTS} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer {token}\r\n\
             content-type: application/json\r\n{framing}\r\n\r\n{chunked}"
        );
        // Also after requests whose bodies look like heads.
        let lure = "GET / HTTP/1.1\r\ncontent-length: 9\r\n\r\n";
        let before = format!(
            "POST /oauth/token HTTP/1.1\r\nhost: a\r\ncontent-length: {}\r\n\r\n{lure}",
            lure.len()
        );
        let chunk = format!(
            "POST /oauth/token HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n\
             {:X};a=\"b\"\r\n{lure}\r\n0\r\ncontent-length: 1\r\n\r\n",
            lure.len()
        );
        for (first, answers) in [(String::new(), 0), (before, 1), (chunk, 1)] {
            let mut wire = server.wire();
            wire.send(format!("{first}{request}"));

            for _ in 0..answers {
                assert_eq!(wire.answer().status, 400, "{first}");
            }
            let refused = wire.try_answer(false).map(|answer| answer.status);
            assert!(matches!(refused, Ok(400) | Err(_)), "{framing}: {refused:?}");
            assert_eq!(wire.rest(), b"");
        }
    }

    assert_eq!(client.get(STUDENTS).json(), json!([]));
}

#[test]
fn a_chunked_body_is_read_and_a_bad_chunk_is_not() {
    let (_place, server, mut client) = served();
    let body = student("1", "Ada").to_string();
    let (a, b) = body.split_at(7);
    let head = client.head("POST", STUDENTS, &[JSON[0], ("transfer-encoding", "chunked")], None);
    let right =
        format!("{:x}\r\n{a}\r\n{:X};ext=1\r\n{b}\r\n0\r\nx-trailer: 1\r\n\r\n", a.len(), b.len());

    let mut wire = server.wire();
    for byte in format!("{head}{right}").as_bytes().chunks(3) {
        wire.send(byte);
    }
    let created = wire.answer();
    assert_eq!(created.status, 201, "{created:?}");
    // The connection can still be used.
    wire.send("GET /livez HTTP/1.1\r\nhost: a\r\n\r\n");
    assert_eq!(wire.answer().status, 200);

    for chunks in [
        "xyz\r\n{}\r\n0\r\n\r\n",
        "-2\r\n{}\r\n0\r\n\r\n",
        "2\r\n{}garbage\r\n0\r\n\r\n",
        "ffffffffffffffffff\r\n{}\r\n0\r\n\r\n",
        " 2\r\n{}\r\n0\r\n\r\n",
    ] {
        let answer = sent_alone(&server, format!("{head}{chunks}").as_bytes());

        let status = answer.as_ref().map(|answer| answer.status);
        assert!(matches!(status, None | Some(400)), "{chunks:?}: {answer:?}");
    }
    assert_eq!(client.get(STUDENTS).json().as_array().unwrap().len(), 1);
}

#[test]
fn a_header_that_is_too_long_is_refused() {
    let (_place, server, _client) = served();

    let long = sent_alone(
        &server,
        format!("GET /livez HTTP/1.1\r\nhost: a\r\nx: {}\r\n\r\n", "y".repeat(200_000)).as_bytes(),
    );
    let many = sent_alone(
        &server,
        format!("GET /livez HTTP/1.1\r\nhost: a\r\n{}\r\n", "x: y\r\n".repeat(5_000)).as_bytes(),
    );
    let target = sent_alone(
        &server,
        format!("GET /{} HTTP/1.1\r\nhost: a\r\n\r\n", "y".repeat(200_000)).as_bytes(),
    );

    for answer in [long, many, target] {
        let status = answer.as_ref().map(|answer| answer.status);
        assert!(matches!(status, None | Some(414 | 431)), "{answer:?}");
    }
}

#[test]
fn a_body_that_is_too_long_is_refused_before_it_is_sent() {
    let (_place, server, mut client) = served();
    let mut wire = server.wire();

    wire.send(client.head("POST", STUDENTS, &JSON, Some(DOCUMENT_BYTES_MAX + 1)));

    let answer = wire.answer();
    assert_eq!(answer.status, 413, "{answer:?}");
    assert_eq!(answer.json()["type"], "urn:ed-fi:api:payload-too-large");
    assert_eq!(client.get(STUDENTS).status, 200);
}

#[test]
fn a_client_that_sends_all_of_a_body_that_is_too_long_reads_the_refusal() {
    let (_place, server, mut client) = served();
    let body = format!("{{\"firstName\": \"{}\"}}", "x".repeat(DOCUMENT_BYTES_MAX + (1 << 20)));

    let send_all = |head: String| {
        let mut wire = server.wire();
        wire.send(head);
        wire.send(&body);
        wire.answer().status
    };

    for round in 0..3 {
        let head = client.head("POST", STUDENTS, &JSON, Some(body.len()));
        assert_eq!(send_all(head), 413, "length, round {round}");

        let mut wire = server.wire();
        let framing = [JSON[0], ("transfer-encoding", "chunked")];
        wire.send(client.head("POST", STUDENTS, &framing, None));
        wire.send(format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len()));
        assert_eq!(wire.answer().status, 413, "chunked, round {round}");
    }

    let token = client.token.take();
    let head = client.head("POST", STUDENTS, &JSON, Some(body.len()));
    assert_eq!(send_all(head), 401, "a stranger's body is not waited for");
    client.token = token;
    assert_eq!(client.get(STUDENTS).json(), json!([]));
}

#[test]
fn a_document_of_almost_ten_megabytes_is_read() {
    let (_place, _server, mut client) = served();
    let mut document = student("1", "Ada");
    document["ignored"] = "x".repeat(DOCUMENT_BYTES_MAX - 1_000).into();

    let answer = client.post(STUDENTS, &document);

    assert_eq!(answer.status, 201, "{answer:?}");
}

#[test]
fn expect_100_continue_is_answered_before_the_body() {
    let (_place, server, client) = served();
    let body = student("1", "Ada").to_string();
    let headers = [JSON[0], ("expect", "100-continue")];
    let mut wire = server.wire();

    wire.send(client.head("POST", STUDENTS, &headers, Some(body.len())));
    let mut interim = vec![0; "HTTP/1.1 100 Continue\r\n\r\n".len()];
    wire.read_exactly(&mut interim);
    wire.send(&body);

    assert_eq!(interim, b"HTTP/1.1 100 Continue\r\n\r\n");
    assert_eq!(wire.answer().status, 201);
}

#[test]
fn clients_that_disconnect_midway_do_no_harm() {
    let place = Place::new();
    let key = place.key("FullAccess");
    let server = Server::start_with(&place, &[("HOMEROOM_SERVER__IN_FLIGHT_MAX", "4")]);
    let mut client = server.client_of(&key);
    let body = student("1", "Gone").to_string();
    let head = client.head("POST", STUDENTS, &JSON, Some(body.len()));

    for cut in 0..40 {
        // Cut in the head, in the body, and right after the request without reading the answer.
        let whole = format!("{head}{body}");
        let end = if cut % 4 == 3 { whole.len() } else { whole.len() * cut / 40 };
        let mut wire = server.wire();
        wire.send(&whole[..end]);
        drop(wire);
    }

    for number in 0..10 {
        let here = student(&format!("n{number}"), "Here");
        // 503 only until the server has noticed the closed connections.
        eventually("a write is taken", || client.post(STUDENTS, &here).status == 201);
    }
    eventually("no request is in flight any more", || {
        let metrics = server.admin_client().get("/metrics").text();
        metrics.lines().any(|line| line == "http_server_active_requests 0")
    });
    let stored = client.get(STUDENTS).json();
    let gone = stored.as_array().unwrap().iter().filter(|s| s["firstName"] == "Gone");
    assert!(gone.count() <= 1, "{stored}");
}

#[test]
fn head_has_the_headers_of_get_and_no_body() {
    let (_place, _server, mut client) = served();
    let path = client.post(STUDENTS, &student("1", "Ada")).location();

    for path in [&*path, STUDENTS, "/livez", "/", "/data/v3/ed-fi/nothings"] {
        let mut wire_like = |method: &str| client.send(method, path, &[], None).unwrap();
        let (get, head, again) = (wire_like("GET"), wire_like("HEAD"), wire_like("GET"));

        assert_eq!(head.status, get.status, "{path}");
        for name in ["content-length", "content-type", "etag"] {
            assert_eq!(head.header(name), get.header(name), "{path}: {name}");
        }
        // The connection was kept and no body followed the head.
        assert_eq!(again.status, get.status, "{path}");
    }
}

#[test]
fn requests_sent_at_once_are_answered_in_order() {
    let (_place, server, client) = served();
    let mut all = String::new();
    for number in 0..100 {
        let body = student(&number.to_string(), "Ada").to_string();
        all += &client.head("POST", STUDENTS, &JSON, Some(body.len()));
        all += &body;
        let id = format!("/data/v3/ed-fi/students?studentUniqueId={number}");
        all += &client.head("GET", &id, &[], None);
    }
    let mut wire = server.wire();

    wire.send(all);

    for number in 0..100 {
        assert_eq!(wire.answer().status, 201, "{number}");
        let found = wire.answer().json();
        assert_eq!(found[0]["studentUniqueId"], number.to_string());
    }
}

#[test]
fn a_pipelined_answer_does_not_wait_for_the_next_request() {
    let (_place, server, _client) = served();
    let mut wire = server.wire();

    wire.send("GET /livez HTTP/1.1\r\nhost: a\r\n\r\nGET /ver");

    assert_eq!(wire.answer().json(), json!({"live": true}));
    wire.send("sion HTTP/1.1\r\nhost: a\r\n\r\nnonsense\r\n\r\n");
    assert_eq!(wire.answer().json()["name"], "homeroom");
    assert_eq!(wire.answer().status, 400);
    assert_eq!(wire.rest(), b"");
}

#[test]
fn a_percent_encoded_path_is_equivalent_except_for_an_encoded_slash() {
    let (_place, _server, mut client) = served();
    let path = client.post(STUDENTS, &student("1", "Ada")).location();
    let id = path.rsplit('/').next().unwrap();

    for (path, status) in [
        (format!("/data/v3/ed%2Dfi/%73tudents/{id}"), 200),
        (format!("/data/v3/ed-fi/students%2F{id}"), 404),
        ("/data/v3/ed-fi/students/../students".into(), 404),
        ("/data/v3/ed-fi/students/%ff".into(), 400),
        ("/data/v3/ed-fi/students/%00".into(), 400),
        ("/data/v3/ed-fi/%zz".into(), 404),
        ("/data/v3/ed-fi/students?limit=%ff".into(), 400),
    ] {
        let answer = client.get(&path);

        assert_eq!(answer.status, status, "{path}: {answer:?}");
    }
}

#[test]
fn an_http_1_0_client_is_answered_and_its_connection_closed() {
    let (_place, server, _client) = served();
    let mut wire = server.wire();

    wire.send("GET /livez HTTP/1.0\r\n\r\n");

    assert_eq!(wire.answer().json(), json!({"live": true}));
    assert_eq!(wire.rest(), b"");
}

#[test]
fn a_304_answer_to_head_has_no_content_length() {
    let place = Place::new();
    let key = place.key("FullAccess");
    let server = Server::start(&place);
    let mut client = server.client_of(&key);
    let path = client.post(STUDENTS, &student("1", "Ada")).location();
    let etag = client.get(&path).header("etag").unwrap().to_owned();

    let known = client.send("HEAD", &path, &[("if-none-match", &etag)], None).unwrap();
    let unknown = client.send("HEAD", &path, &[], None).unwrap();

    assert_eq!((known.status, known.header("content-length")), (304, None), "{known:?}");
    assert_eq!(unknown.status, 200);
    assert_ne!(unknown.header("content-length"), Some("0"));
}

#[test]
fn only_the_trusted_hop_decides_the_servers_address() {
    let place = Place::new();
    let server = Server::start_with(&place, &[("HOMEROOM_SERVER__TRUST_FORWARDED", "true")]);
    let sent = [
        ("x-forwarded-host", "first.example"),
        ("x-forwarded-host", "second.example, api.example.org"),
        ("x-forwarded-proto", "http, https"),
    ];

    let answer = server.client().send("GET", "/", &sent, None).unwrap().text();

    assert!(answer.contains("https://api.example.org/"), "{answer}");
    assert!(!answer.contains("first.example") && !answer.contains("second.example"), "{answer}");
}
