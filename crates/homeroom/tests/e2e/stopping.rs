//! A server that is about to stop tells balancers first; restarted in turn behind one, nodes lose no
//! request.

use std::net::{SocketAddr, TcpListener};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::{Client, Database, Place, STUDENTS, Server, Wire, eventually, student};
use crate::upstreams::{api, publish};

#[test]
fn a_server_told_to_stop_says_so_first_and_still_serves() {
    let place = Place::new();
    let key = place.key("FullAccess");
    let server = Server::start_with(&place, &[("HOMEROOM_SERVER__LAME_DUCK", "30s")]);
    let mut client = server.client_of(&key);
    let mut kept = server.wire();
    kept.send("GET /livez HTTP/1.1\r\nhost: a\r\n\r\n");
    assert_eq!(kept.answer().header("connection"), None);

    server.tell_to_stop();

    eventually("it is not ready", || server.client().get("/readyz").status == 503);
    assert_eq!(
        server.admin_client().get("/readyz").json(),
        json!({"ready": false, "server": "It is stopping."})
    );
    assert_eq!(client.post(STUDENTS, &student("1", "Ada")).status, 201, "requests are answered");
    let mut fresh = Wire::open(server.api);
    fresh.send("GET /livez HTTP/1.1\r\nhost: a\r\n\r\n");
    assert_eq!(fresh.answer().status, 200, "connections are accepted");
    kept.send("GET /livez HTTP/1.1\r\nhost: a\r\n\r\n");
    let last = kept.answer();
    assert_eq!((last.status, last.header("connection")), (200, Some("close")), "{last:?}");
    assert_eq!(kept.rest(), b"", "a kept connection ends with an answer");

    server.tell_to_stop();

    assert_eq!(server.ended().code, Some(0), "the second signal ends the wait");
}

#[test]
fn a_person_at_a_terminal_does_not_wait_for_balancers() {
    let place = Place::new();
    let server = Server::start_with(&place, &[("HOMEROOM_SERVER__LAME_DUCK", "1h")]);
    let pid = server.id().to_string();

    let told = Command::new("sh").args(["-c", "kill -INT \"$0\"", &pid]).status().unwrap();

    assert!(told.success());
    assert_eq!(server.ended().code, Some(0));
}

/// `HAProxy` before two nodes, with the settings of `deploy/haproxy.cfg`.
struct Balancer(Child);

impl Balancer {
    /// Starts it, or says why the test is skipped.
    fn start(place: &Place, listen: SocketAddr, nodes: [SocketAddr; 2]) -> Option<Self> {
        let shipped = std::fs::read_to_string(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../deploy/haproxy.cfg"
        ));
        let configuration = shipped
            .unwrap()
            .replace("bind :8000", &format!("bind {listen}"))
            .replace("10.0.0.11:8080", &nodes[0].to_string())
            .replace("10.0.0.12:8080", &nodes[1].to_string());
        assert!(configuration.contains(&nodes[1].to_string()), "{configuration}");
        let file = place.write("haproxy.cfg", configuration);
        let program = ["/usr/sbin/haproxy", "/usr/local/sbin/haproxy", "/usr/bin/haproxy"];
        let Some(program) = program.iter().find(|path| std::path::Path::new(path).exists()) else {
            println!("skipped: HAProxy is not installed");
            return None;
        };
        let mut command = Command::new(program);
        command.arg("-db").arg("-f").arg(file).stdout(Stdio::null()).stderr(Stdio::null());
        let balancer = Self(command.spawn().unwrap());
        eventually("the balancer has a node", || {
            Wire::try_open(listen).is_ok() && Client::new(listen).get("/readyz").status == 200
        });
        Some(balancer)
    }
}

impl Drop for Balancer {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

fn free_address() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

/// Starts a node that listens at an address.
fn node(place: &Place, listen: SocketAddr) -> Server {
    let listen = listen.to_string();
    let mut command =
        place.command(&["serve", "--listen", &listen, "--admin-listen", "127.0.0.1:0"]);
    command.args(["--content-listen", "127.0.0.1:0"]);
    Server::of(command.env("HOMEROOM_SERVER__LAME_DUCK", "2s"))
}

/// Two nodes of one database, which a balancer knows by their addresses.
struct Nodes {
    place: Place,
    addresses: [SocketAddr; 2],
    running: [Option<Server>; 2],
    authorization: String,
}

impl Nodes {
    fn start(database: &Database) -> Self {
        let place = Place::with_store(&database.url());
        let (key, secret) = place.key("FullAccess");
        let addresses = [free_address(), free_address()];
        let running = addresses.map(|address| Some(node(&place, address)));
        let token = Client::new(addresses[0]).ask_token(&key, &secret).json();
        let authorization = format!("Bearer {}", token["access_token"].as_str().unwrap());
        Self { place, addresses, running, authorization }
    }

    /// Stops and starts one after the other.
    fn restart_in_turn(&mut self) {
        for (number, address) in self.addresses.into_iter().enumerate() {
            let stopped = self.running[number].take().unwrap().stop();
            assert_eq!(stopped.code, Some(0), "{stopped:?}");
            self.running[number] = Some(node(&self.place, address));
            // Time for the balancer to find that it is back, before the other one goes.
            std::thread::sleep(Duration::from_secs(2));
        }
    }

    /// Restarts them while clients read and write through a balancer, at the path where it has them. Returns how many
    /// requests were sent, and those that failed.
    fn restart_under_load(&mut self, balancer: SocketAddr, path: &str) -> (usize, Vec<String>) {
        const SENDERS: usize = 10;
        /// Of each sender: 50 requests a second in all.
        const PAUSE: Duration = Duration::from_millis(200);
        let (is_over, count) = (AtomicBool::new(false), AtomicUsize::new(0));
        let authorization = self.authorization.clone();
        let send = |sender: usize| {
            let mut client = Client::new(balancer);
            let headers =
                [("authorization", &*authorization), ("content-type", "application/json")];
            let students = format!("{path}{STUDENTS}");
            let mut failed = vec![];
            let begun = Instant::now() + PAUSE.mul_f64(sender as f64 / SENDERS as f64);
            for at in 0_u32.. {
                if is_over.load(Ordering::Acquire) {
                    break;
                }
                let due = begun + PAUSE * at;
                std::thread::sleep(due.saturating_duration_since(Instant::now()));
                let answer = if at % 5 == 0 {
                    let body = student(&format!("{sender}-{at}"), "Ada").to_string();
                    client.send("POST", &students, &headers, Some(body.as_bytes()))
                } else {
                    client.send("GET", &format!("{students}?limit=1"), &headers, None)
                };
                count.fetch_add(1, Ordering::Relaxed);
                match answer {
                    Ok(answer) if matches!(answer.status, 200 | 201) => {}
                    other => failed.push(format!("{other:?}")),
                }
            }
            failed
        };
        let failed = std::thread::scope(|scope| {
            let send = &send;
            let senders: Vec<_> =
                (0..SENDERS).map(|sender| scope.spawn(move || send(sender))).collect();
            std::thread::sleep(Duration::from_secs(1));
            self.restart_in_turn();
            is_over.store(true, Ordering::Release);
            senders.into_iter().flat_map(|sender| sender.join().unwrap()).collect()
        });
        (count.into_inner(), failed)
    }
}

#[test]
fn two_nodes_behind_a_balancer_are_restarted_in_turn_without_a_failed_request() {
    for database in Database::on_each_server() {
        let mut nodes = Nodes::start(&database);
        let listen = free_address();
        let Some(balancer) = Balancer::start(&nodes.place, listen, nodes.addresses) else { return };

        let (sent, failed) = nodes.restart_under_load(listen, "");

        assert_eq!(failed, [] as [String; 0], "of {sent}");
        assert!(sent >= 200, "{sent}");
        drop(balancer);
    }
}

#[test]
fn two_nodes_behind_a_server_of_their_own_kind_are_restarted_so_as_well() {
    for database in Database::on_each_server() {
        let mut nodes = Nodes::start(&database);
        let front_place = Place::new();
        let front = Server::start(&front_place);
        let urls = nodes.addresses.map(|address| format!("http://{address}"));
        let probed = "health = {path = '/readyz', interval = '100ms'}";
        publish(&front_place, &api("ods", &urls, probed));
        eventually("the balancer has a node", || {
            front.client().get("/apis/ods/v1/livez").status == 200
        });

        let (sent, failed) = nodes.restart_under_load(front.api, "/apis/ods/v1");

        assert_eq!(failed, [] as [String; 0], "of {sent}");
        assert!(sent >= 200, "{sent}");
    }
}
