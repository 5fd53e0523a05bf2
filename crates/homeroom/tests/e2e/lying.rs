//! Upstreams that do not answer as HTTP requires: their callers get 502 or 504, or an answer that is visibly
//! cut off, and nobody else notices.

use crate::support::{Answered, Place, Server, Upstream};

/// Publishes `echo`, an honest upstream, and `lies`, which answers with what the number in the path says.
fn published(answers: Vec<Answered>) -> (Place, Server) {
    let liar = Upstream::answering(move |seen| {
        let number = seen.line().rsplit('/').next().and_then(|number| number.parse().ok());
        match &answers[number.unwrap_or(0usize).min(answers.len() - 1)] {
            Answered::With(bytes) => Answered::With(bytes.clone()),
            Answered::Last(bytes) => Answered::Last(bytes.clone()),
            Answered::Endless(first, again) => Answered::Endless(first.clone(), again.clone()),
        }
    });
    let place = Place::new();
    let server = Server::start(&place);
    let api = |name: &str, upstream: &Upstream, more: &str| {
        format!(
            "[[apis]]\nname = '{name}'\ncontext = '{name}'\nversion = 'v1'\nsecurity = 'none'\n\
             timeout = '1s'\nbreaker = {{failures = 1000}}\nupstream = ['{}']\n{more}",
            upstream.url()
        )
    };
    let changes = "transform.response = [{op = 'drop', path = '/secret'}]\n";
    let echo = Upstream::echo();
    let file = api("echo", &echo, "") + &api("lies", &liar, "") + &api("changed", &liar, changes);
    place.write("apis.toml", file);
    place.done(&["gateway", "apply", "apis.toml"]);
    (place, server)
}

/// Returns everything that comes back on a connection that is to be closed behind the answer.
fn raw(server: &Server, method: &str, path: &str) -> String {
    let mut wire = server.wire();
    wire.send(format!("{method} {path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n"));
    String::from_utf8_lossy(&wire.rest()).into_owned()
}

fn status(answer: &str) -> &str {
    answer.get(9..12).unwrap_or("")
}

#[test]
fn an_answer_that_is_none_is_502() {
    let with = |text: &str| Answered::Last(text.as_bytes().to_vec());
    let headed = |headers: &str| with(&format!("HTTP/1.1 200 OK\r\n{headers}\r\n\r\nhello"));
    let answers = vec![
        with(""),
        with("garbage\r\n\r\n"),
        with("hello"),
        with("HTTP/1.1 OK\r\n\r\n"),
        with("HTTP/9.9 200 OK\r\n\r\n"),
        with("HTTP/1.1 20 OK\r\n\r\n"),
        with("HTTP/1.1 099 OK\r\ncontent-length: 0\r\n\r\n"),
        with("HTTP/1.1 200 OK\r\ncontent-le"),
        headed("content-length: 5\r\ncontent-length: 6"),
        headed("content-length: 5, 6"),
        headed("content-length: +5"),
        headed("content-length: -5"),
        headed("content-length: x"),
        headed("content-length: 99999999999999999999"),
        headed("content-length: 5\r\ntransfer-encoding: chunked"),
        headed("transfer-encoding: chunked\r\ncontent-length: 5"),
        headed("transfer-encoding: gzip"),
        headed("transfer-encoding: gzip, chunked"),
        headed("transfer-encoding: chunked, chunked"),
        headed("x: y\r\n z\r\ncontent-length: 5"),
        headed("x : y\r\ncontent-length: 5"),
        headed("x: \0\r\ncontent-length: 5"),
        headed("x: y\rz: a\r\ncontent-length: 5"),
        headed("x\r\ncontent-length: 5"),
        headed(&format!("x: {}\r\ncontent-length: 5", "y".repeat(1 << 20))),
        headed(&format!("{}content-length: 5", "x: y\r\n".repeat(1_000))),
        with("HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\nhello"),
        Answered::Endless(b"HTTP/1.1 200 OK\r\n".to_vec(), b"x: y\r\n".to_vec()),
        Answered::Endless(b"HTTP/1.1 200 ".to_vec(), b"y".to_vec()),
        Answered::Endless(b"x".to_vec(), b"x".to_vec()),
    ];
    let count = answers.len();
    let (_place, server) = published(answers);

    for number in 0..count {
        let answer = raw(&server, "GET", &format!("/apis/lies/v1/{number}"));

        assert_eq!(status(&answer), "502", "{number}: {answer:?}");
        assert!(answer.contains("urn:ed-fi:api:bad-gateway"), "{number}: {answer:?}");
        assert!(!answer.contains("hello"), "{number}: {answer:?}");
        assert_eq!(status(&raw(&server, "GET", "/apis/echo/v1/x")), "200", "{number}");
    }
}

#[test]
fn an_upstream_that_never_comes_to_its_answer_is_504_at_the_time_out() {
    let early = b"HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n".to_vec();
    let (_place, server) = published(vec![
        Answered::Endless(early.clone(), early),
        Answered::With(b"HTTP/1.1 100 Continue\r\n\r\n".to_vec()),
        Answered::With(b"HTTP/1.1 200 OK\r\n".to_vec()),
        Answered::With(vec![]),
    ]);

    std::thread::scope(|scope| {
        let waiting: Vec<_> = (0..4)
            .map(|number| {
                let server = &server;
                scope.spawn(move || raw(server, "GET", &format!("/apis/lies/v1/{number}")))
            })
            .collect();
        for _ in 0..20 {
            assert_eq!(status(&raw(&server, "GET", "/apis/echo/v1/x")), "200");
        }
        for (number, waiting) in waiting.into_iter().enumerate() {
            let answer = waiting.join().unwrap();
            assert_eq!(status(&answer), "504", "{number}: {answer:?}");
        }
    });
}

#[test]
fn an_answer_that_ends_early_is_visibly_cut_off() {
    let head = "HTTP/1.1 200 OK\r\n";
    let chunked = "transfer-encoding: chunked\r\n\r\n";
    let last = |text: String| Answered::Last(text.into_bytes());
    let answers = vec![
        last(format!("{head}content-length: 100\r\n\r\nhello")),
        last(format!("{head}{chunked}5\r\nhello\r\n")),
        last(format!("{head}{chunked}5\r\nhello\r\n7\r\nwor")),
        last(format!("{head}{chunked}5\r\nhello\r\nxyz\r\nworld\r\n0\r\n\r\n")),
        last(format!("{head}{chunked}5\r\nhelloworld\r\n0\r\n\r\n")),
        last(format!("{head}{chunked}5\r\nhello\r\n0\r\n")),
    ];
    let count = answers.len();
    let (_place, server) = published(answers);

    for number in 0..count {
        let answer = raw(&server, "GET", &format!("/apis/lies/v1/{number}"));

        // Either it had not begun, or its end is missing.
        let is_whole_502 = status(&answer) == "502";
        let is_cut = answer.contains("content-length: 100") || !answer.ends_with("0\r\n\r\n");
        assert!(is_whole_502 || (is_cut && !answer.contains("world\r\n0")), "{number}: {answer:?}");
    }
    assert_eq!(status(&raw(&server, "GET", "/apis/echo/v1/x")), "200");
}

#[test]
fn bytes_behind_an_answer_are_nobody_elses_answer() {
    let honest = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nfirst";
    let poison = "HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\npoison";
    let without = "HTTP/1.1 204 No Content\r\ncontent-length: 57\r\n\r\n";
    let (_place, server) = published(vec![
        Answered::With(format!("{honest}{poison}").into_bytes()),
        Answered::With(format!("{without}{poison}").into_bytes()),
        Answered::With(format!("{honest}poison").into_bytes()),
    ]);
    let mut client = server.client();

    for round in 0..60 {
        let (number, method) = [(0, "GET"), (1, "GET"), (0, "HEAD"), (2, "POST")][round % 4];
        let path = format!("/apis/lies/v1/{number}");
        let answer = client.send(method, &path, &[], None).unwrap();

        // A connection with bytes too many may be found broken, which a POST is told.
        assert!(matches!(answer.status, 200 | 204 | 502), "{round}: {answer:?}");
        assert!(!answer.text().contains("poison"), "{round}: {answer:?}");
    }
}

#[test]
fn what_is_to_be_changed_and_cannot_be_is_not_passed_on() {
    let json = "content-type: application/json\r\n";
    let answered = |headers: &str, body: &[u8]| {
        let head =
            format!("HTTP/1.1 200 OK\r\n{json}{headers}content-length: {}\r\n\r\n", body.len());
        Answered::With([head.as_bytes(), body].concat())
    };
    let long = format!("{{\"secret\": \"{}\"}}", "x".repeat(40 << 20));
    let (_place, server) = published(vec![
        answered("content-encoding: gzip\r\n", b"\x1f\x8b secret"),
        answered("", b"{\"secret\": 1"),
        answered("", long.as_bytes()),
        answered("", b"{\"secret\": 1, \"a\": 2}"),
    ]);

    for number in 0..3 {
        let answer = raw(&server, "GET", &format!("/apis/changed/v1/{number}"));
        assert_eq!(status(&answer), "502", "{number}: {}", &answer[..answer.len().min(500)]);
        assert!(!answer.contains("secret"), "{number}");
    }
    assert!(raw(&server, "GET", "/apis/changed/v1/3").ends_with("{\"a\": 2}"));
}
