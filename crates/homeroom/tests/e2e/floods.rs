//! A flood of calls to a published API: the upstream gets only as many as it may have, the flooding caller is
//! refused beyond its share, and another one's call waits its turn and not the flood's. Callers are keys,
//! subjects of another issuer, or addresses.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};

use serde_json::json;

use crate::issuers::{ISSUER, Issuer, claims, public, signed};
use crate::support::{Place, Server, Wire, eventually, metric};

/// An upstream that answers only as many as it is told to, and keeps who has asked, in order.
#[derive(Clone, Default)]
struct Upstream(Arc<(Mutex<State>, Condvar)>);

#[derive(Default)]
struct State {
    asked: Vec<String>,
    /// How many more it answers.
    released: usize,
}

impl Upstream {
    /// Starts it and returns its URL.
    fn start(&self) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let upstream = self.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let upstream = upstream.clone();
                std::thread::spawn(move || upstream.answer(&stream));
            }
        });
        format!("http://{address}")
    }

    fn answer(&self, stream: &TcpStream) {
        let mut reader = BufReader::new(stream);
        loop {
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") {
                if reader.read_line(&mut head).unwrap_or(0) == 0 {
                    return;
                }
            }
            let asked = head.split([' ', '=']).nth(2).unwrap_or_default().to_owned();
            let (state, released) = &*self.0;
            let mut state = state.lock().unwrap();
            state.asked.push(asked);
            let mut state = released.wait_while(state, |state| state.released == 0).unwrap();
            state.released -= 1;
            drop(state);
            let answer = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
            if (&mut &*stream).write_all(answer.as_bytes()).is_err() {
                return;
            }
        }
    }

    fn release(&self, more: usize) {
        let (state, released) = &*self.0;
        state.lock().unwrap().released += more;
        released.notify_all();
    }

    fn asked(&self) -> Vec<String> {
        self.0.0.lock().unwrap().asked.clone()
    }
}

fn subscriber(place: &Place) -> (String, String) {
    let made = place.json(&["keys", "create", "--json", "--apis", "slow"]);
    let text = |name: &str| made[name].as_str().unwrap().to_owned();
    (text("key"), text("secret"))
}

/// Sends a call with a header that says who calls, and does not wait for its answer.
fn begun(server: &Server, header: &str, who: &str) -> Wire {
    let mut wire = server.wire();
    wire.send(format!("GET /apis/slow/v1/?who={who} HTTP/1.1\r\nhost: a\r\n{header}\r\n\r\n"));
    wire
}

/// Publishes the API `slow`, of which two calls may be open and four may wait.
fn published(upstream: &Upstream, more: &str) -> (Place, Server) {
    let url = upstream.start();
    let place = Place::new();
    place.write(
        "apis.toml",
        format!(
            "[[apis]]\nname = 'slow'\ncontext = 'slow'\nversion = 'v1'\nupstream = ['{url}']\n\
             timeout = '60s'\n{more}\n"
        ),
    );
    place.done(&["gateway", "apply", "apis.toml"]);
    let server = Server::start_with(
        &place,
        &[
            ("HOMEROOM_BUDGETS__UPSTREAM_CALLS", "2"),
            ("HOMEROOM_BUDGETS__UPSTREAM_WAITING", "4"),
            ("HOMEROOM_BUDGETS__UPSTREAM_WAIT", "60s"),
            ("HOMEROOM_SERVER__TRUST_FORWARDED", "true"),
        ],
    );
    (place, server)
}

/// One caller floods, and another one calls once; each is a header.
fn flood(upstream: &Upstream, server: &Server, [flood, other]: [&str; 2]) {
    let used = |budget: &str| {
        let name = format!("homeroom_budget_used{{budget=\"{budget}\"}}");
        move || metric(server, &name)
    };
    let (calls, waiting) = (used("upstream_calls"), used("upstream_waiting"));

    let mut answered: Vec<Wire> = vec![];
    for number in 1..=2 {
        answered.push(begun(server, flood, "flood"));
        eventually("it is called", || calls() == number);
    }
    for number in 1..=2 {
        answered.push(begun(server, flood, "flood"));
        eventually("it waits", || waiting() == number);
    }
    let refused = begun(server, flood, "flood").answer();
    answered.push(begun(server, other, "other"));
    eventually("the other waits, too", || waiting() == 3);
    eventually("two have arrived", || upstream.asked().len() == 2);
    // One after the other, since two that arrive together come in any order.
    for number in 3..=4 {
        upstream.release(1);
        eventually("the next has arrived", || upstream.asked().len() == number);
    }
    let asked_by_then = upstream.asked();
    upstream.release(3);

    assert_eq!(refused.status, 503, "{refused:?}");
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert!(refused.text().contains("budget upstream_waiting"), "{}", refused.text());
    assert_eq!(metric(server, "homeroom_budget_refused_total{budget=\"upstream_waiting\"}"), 1);
    for mut wire in answered {
        assert_eq!(wire.answer().status, 200);
    }
    assert_eq!(upstream.asked().len(), 5, "what was refused has not reached it");
    assert!(asked_by_then.iter().any(|who| who == "other"), "{asked_by_then:?}");
    eventually("nothing is left", || calls() == 0 && waiting() == 0);
}

#[test]
fn a_flood_of_one_key_starves_neither_the_upstream_nor_another_key() {
    let upstream = Upstream::default();
    let (place, server) = published(&upstream, "");
    let callers = [(); 2].map(|()| {
        let token = server.client_of(&subscriber(&place)).token.unwrap();
        format!("authorization: Bearer {token}")
    });

    flood(&upstream, &server, callers.each_ref().map(String::as_str));
}

#[test]
fn a_flood_of_one_address_starves_no_other_at_an_api_without_security() {
    let upstream = Upstream::default();
    let (_place, server) = published(&upstream, "security = 'none'");

    flood(&upstream, &server, ["x-forwarded-for: 192.0.2.1", "x-forwarded-for: 192.0.2.2"]);
}

#[test]
fn a_flood_of_one_subject_of_an_issuer_starves_no_other() {
    let (upstream, issuer) = (Upstream::default(), Issuer::start(json!([public(1)])));
    let keys = issuer.keys.url();
    let trusts = format!("issuers = [{{issuer = '{ISSUER}', jwks = '{keys}', audience = 'api'}}]");
    let (_place, server) = published(&upstream, &trusts);
    let callers = ["flood", "other"].map(|subject| {
        format!("authorization: Bearer {}", signed(1, &claims(&json!({"sub": subject}))))
    });

    flood(&upstream, &server, callers.each_ref().map(String::as_str));
}
