//! Tests of HTTP/1.1 and HTTP/2, with and without TLS, against an independent server
//! implementation.

use std::sync::Arc;
use std::time::Duration;

use homeroom_load::echo::{self, Echo};
use homeroom_load::engine::{
    Answer, Engine, Options, Protocol, Reaction, Request, Source, StepFacts, Target, Trust, trust,
};
use homeroom_load::outcome::{Outcome, Outcomes};
use homeroom_load::stage::{Arrivals, Stage};
use rustls::ServerConfig;
use rustls::pki_types::PrivatePkcs8KeyDer;

/// Posts a body and expects it back, or a body of another length.
struct Posting {
    steps: Vec<StepFacts>,
    body: Vec<u8>,
    answer_bytes: Option<usize>,
}

impl Posting {
    fn new(bytes: usize, answer_bytes: Option<usize>) -> Self {
        let step = StepFacts {
            name: "post".into(),
            group: String::new(),
            method: "POST".into(),
            keeps_body: true,
        };
        let body = (0..bytes).map(|at| b"abcdefg"[at % 7]).collect();
        Self { steps: vec![step], body, answer_bytes }
    }
}

impl Source for Posting {
    type Client = ();

    fn steps(&self) -> &[StepFacts] {
        &self.steps
    }

    fn client(&mut self, _: u32) {}

    fn next(&mut self, (): &mut (), request: &mut Request) -> usize {
        request.path.extend_from_slice(b"/post?it");
        request.headers.extend_from_slice(b"Content-Type: text/plain\r\n");
        request.body.extend_from_slice(&self.body);
        0
    }

    fn answered(&mut self, (): &mut (), _: usize, answer: &Answer<'_>) -> Reaction {
        let is_whole = match self.answer_bytes {
            Some(bytes) => answer.body.len() == bytes,
            None => {
                answer.body == self.body && answer.header("Content-Type") == Some(b"text/plain")
            }
        };
        let ok = answer.outcome == Outcome::Status(200) && is_whole;
        Reaction { ok, pause: Duration::ZERO }
    }
}

/// Creates a self-signed certificate, for servers and as PEM text for clients that trust it.
fn certificate() -> (Arc<ServerConfig>, String) {
    let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
    let made = rcgen::generate_simple_self_signed(names).unwrap();
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let mut config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key.into())
        .unwrap();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    (Arc::new(config), made.cert.pem())
}

struct Case<'a> {
    protocol: Protocol,
    trust: Option<Trust<'a>>,
    bytes: usize,
}

/// Posts for half a second. Returns how many answers were right, and how all requests ended.
fn post(echo: &Echo, case: &Case<'_>) -> (u64, Outcomes) {
    post_at(100.0, echo, case, None)
}

/// Does the same at another rate, against a server whose answers have this length.
fn post_at(
    rate: f64,
    echo: &Echo,
    case: &Case<'_>,
    answer_bytes: Option<usize>,
) -> (u64, Outcomes) {
    let options = Options {
        target: Target::parse(&echo.url()).unwrap(),
        protocol: case.protocol,
        connections: 4,
        timeout: Duration::from_secs(5),
        drain: Duration::from_secs(5),
        slack: Duration::ZERO,
        spread: false,
        threads: 1,
        from: vec![],
        bins: false,
        tls: case.trust.map(|how| trust(how, case.protocol).unwrap()),
    };
    let source = Posting::new(case.bytes, answer_bytes);
    let mut engine = Engine::new(options, vec![source], Arc::default()).unwrap();
    let stage = Stage::rate(rate, Duration::from_millis(500));
    let observed = engine.run(&[stage], Arrivals::Even, 1, &mut |_| {}).unwrap();
    let counts = &observed.recording.stages[0].counts;
    (counts.requests.ok, counts.outcomes())
}

#[test]
fn bodies_are_transferred_completely_over_either_protocol() {
    let echo = Echo::start(echo::EchoOptions::plain()).unwrap();
    for protocol in [Protocol::Http1, Protocol::Http2] {
        for bytes in [1, 1_000, 300_000] {
            let (ok, outcomes) = post(&echo, &Case { protocol, trust: None, bytes });

            assert_eq!(ok, 50, "{protocol:?} {bytes}: {outcomes:?}");
        }
    }
}

#[test]
fn bodies_are_transferred_completely_with_tls() {
    let (config, pem) = certificate();
    let echo =
        Echo::start(echo::EchoOptions { tls: Some(config), ..echo::EchoOptions::plain() }).unwrap();
    for protocol in [Protocol::Http1, Protocol::Http2] {
        for trust in [Trust::Only(pem.as_bytes()), Trust::Anybody] {
            let case = Case { protocol, trust: Some(trust), bytes: 100_000 };

            let (ok, outcomes) = post(&echo, &case);

            assert_eq!(ok, 50, "{protocol:?} {trust:?}: {outcomes:?}");
        }
    }
}

#[test]
fn an_answer_of_many_flow_control_windows_arrives_completely() {
    let (config, _) = certificate();
    for tls in [None, Some(config)] {
        let trust = tls.is_some().then_some(Trust::Anybody);
        let bytes = 8 * 1024 * 1024;
        let options =
            echo::EchoOptions { tls, body_bytes: Some(bytes), ..echo::EchoOptions::plain() };
        let echo = Echo::start(options).unwrap();
        for protocol in [Protocol::Http1, Protocol::Http2] {
            let case = Case { protocol, trust, bytes: 1 };

            let (ok, outcomes) = post_at(8.0, &echo, &case, Some(bytes));

            assert_eq!(ok, 4, "{protocol:?} {trust:?}: {outcomes:?}");
        }
    }
}

#[test]
fn a_server_whose_certificate_is_not_trusted_gets_no_request() {
    let (config, _) = certificate();
    let (_, other) = certificate();
    let echo =
        Echo::start(echo::EchoOptions { tls: Some(config), ..echo::EchoOptions::plain() }).unwrap();
    for protocol in [Protocol::Http1, Protocol::Http2] {
        let case = Case { protocol, trust: Some(Trust::Only(other.as_bytes())), bytes: 10 };

        let (ok, outcomes) = post(&echo, &case);

        assert_eq!((ok, outcomes.get("refused")), (0, Some(&50)), "{protocol:?} {outcomes:?}");
        assert_eq!(echo.counts()["arrived"], 0);
    }
}
