//! A flood of calls to a published API: the upstream gets only as many as it may have, the flooding
//! key is refused beyond its share, and another key's call waits its turn and not the flood's.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};

use crate::support::{Client, Place, Server, Wire, eventually, metric};

/// An upstream that answers nobody until it is released, and keeps who has asked, in order.
#[derive(Clone, Default)]
struct Upstream(Arc<(Mutex<State>, Condvar)>);

#[derive(Default)]
struct State {
    asked: Vec<String>,
    is_released: bool,
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
            drop(released.wait_while(state, |state| !state.is_released).unwrap());
            let answer = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
            if (&mut &*stream).write_all(answer.as_bytes()).is_err() {
                return;
            }
        }
    }

    fn release(&self) {
        let (state, released) = &*self.0;
        state.lock().unwrap().is_released = true;
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

/// Sends a call and does not wait for its answer.
fn begun(server: &Server, client: &Client, who: &str) -> Wire {
    let mut wire = server.wire();
    wire.send(client.head("GET", &format!("/apis/slow/v1/?who={who}"), &[], None));
    wire
}

#[test]
fn a_flood_of_one_key_starves_neither_the_upstream_nor_another_key() {
    let upstream = Upstream::default();
    let url = upstream.start();
    let place = Place::new();
    place.write(
        "apis.toml",
        format!(
            "[[apis]]\nname = 'slow'\ncontext = 'slow'\nversion = 'v1'\nupstream = ['{url}']\n\
             timeout = '60s'\n"
        ),
    );
    place.done(&["gateway", "apply", "apis.toml"]);
    let (flood, other) = (subscriber(&place), subscriber(&place));
    let server = Server::start_with(
        &place,
        &[
            ("HOMEROOM_BUDGETS__UPSTREAM_CALLS", "2"),
            ("HOMEROOM_BUDGETS__UPSTREAM_WAITING", "4"),
            ("HOMEROOM_BUDGETS__UPSTREAM_WAIT", "60s"),
        ],
    );
    let (flood, other) = (server.client_of(&flood), server.client_of(&other));
    let used = |budget: &str| {
        let (server, name) = (&server, format!("homeroom_budget_used{{budget=\"{budget}\"}}"));
        move || metric(server, &name)
    };
    let (calls, waiting) = (used("upstream_calls"), used("upstream_waiting"));

    let mut answered: Vec<Wire> = vec![];
    for number in 1..=2 {
        answered.push(begun(&server, &flood, "flood"));
        eventually("it is called", || calls() == number);
    }
    for number in 1..=2 {
        answered.push(begun(&server, &flood, "flood"));
        eventually("it waits", || waiting() == number);
    }
    let refused = begun(&server, &flood, "flood").answer();
    answered.push(begun(&server, &other, "other"));
    eventually("the other waits, too", || waiting() == 3);
    eventually("two have arrived", || upstream.asked().len() == 2);
    upstream.release();

    assert_eq!(refused.status, 503, "{refused:?}");
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert!(refused.text().contains("budget upstream_waiting"), "{}", refused.text());
    assert_eq!(metric(&server, "homeroom_budget_refused_total{budget=\"upstream_waiting\"}"), 1);
    for mut wire in answered {
        assert_eq!(wire.answer().status, 200);
    }
    let asked = upstream.asked();
    assert_eq!(asked.len(), 5, "what was refused has not reached it");
    let place_of_other = asked.iter().position(|who| who == "other");
    assert!(place_of_other.is_some_and(|place| place <= 3), "{asked:?}");
    eventually("nothing is left", || calls() == 0 && waiting() == 0);
}
