//! Strangers and greedy keys: a client that takes as much as it can get does not displace others.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use http::Method;
use serde_json::json;

use crate::support::{
    Client, Database, PATIENCE, Place, STUDENTS, Server, Stream, Streams, Wire, eventually, metric,
    student,
};

const JSON: [(&str, &str); 1] = [("content-type", "application/json")];
/// The streams that a greedy client opens on a connection, if the server allows it.
const STREAMS: usize = 256;

/// Starts a server with a greedy client and another one, each with a key of its own.
fn served(place: &Place) -> (Server, Client, Client) {
    let (greedy, other) = (place.key("FullAccess"), place.key("FullAccess"));
    let server = Server::start(place);
    let clients = (server.client_of(&greedy), server.client_of(&other));
    (server, clients.0, clients.1)
}

fn post_without_end(path: &str, token: Option<&String>) -> Stream {
    let body = Some(b"{".to_vec());
    let length = token.map(|_| 1_000);
    Stream { method: Method::POST, path: path.into(), token: token.cloned(), length, body }
}

fn ordinary_work_is_done(client: &mut Client, of: &str) {
    for number in 0..10 {
        let here = student(&format!("{of}{number}"), "Here");
        let written = client.post(STUDENTS, &here);
        assert_eq!(written.status, 201, "{of}: {written:?}");
        let read = client.get(&written.location());
        assert_eq!(read.status, 200, "{of}: {read:?}");
        let listed = client.get(&format!("{STUDENTS}?limit=5"));
        assert_eq!(listed.status, 200, "{of}: {listed:?}");
    }
}

#[test]
fn strangers_who_withhold_bodies_on_many_streams_do_not_block_token_requests() {
    Place::on_each_store(|place| {
        let key = place.key("FullAccess");
        let server = Server::start(place);
        let stream = post_without_end("/oauth/token", None);

        let strangers = Streams::open(server.api, 64, STREAMS, &stream);

        assert!(strangers.begun > 4_000, "{}", strangers.begun);
        for _ in 0..10 {
            let answer = server.client().ask_token(&key.0, &key.1);
            assert_eq!(answer.status, 200, "{answer:?}");
        }
    });
}

#[test]
fn strangers_bodies_are_limited_in_bytes_and_a_refusal_names_the_budget() {
    let place = Place::new();
    let key = place.key("FullAccess");
    let server = Server::start(&place);
    let mut stream = post_without_end("/oauth/token", None);
    // One byte less than the limit.
    stream.body = Some(vec![b' '; (16 << 10) - 1]);

    let strangers = Streams::open(server.api, 64, STREAMS, &stream);

    let statuses = || strangers.statuses.recv_timeout(PATIENCE).unwrap();
    eventually("some are refused", || statuses() == 503);
    let answer = server.client().ask_token(&key.0, &key.1);
    assert_eq!(answer.status, 200, "{answer:?}");
}

#[test]
fn no_public_route_accepts_a_long_body() {
    let place = Place::new();
    let server = Server::start(&place);

    for path in ["/oauth/token", "/adminapi/connect/token", "/adminapi/connect/register"] {
        let mut wire = server.wire();
        wire.send(server.client().head("POST", path, &JSON, Some((16 << 10) + 1)));
        let answer = wire.answer();

        assert_eq!(answer.status, 413, "{path}: {answer:?}");
    }
}

#[test]
fn a_key_that_withholds_bodies_does_not_block_another_key() {
    Place::on_each_store(|place| {
        let (server, greedy, mut other) = served(place);
        let stream = post_without_end(STUDENTS, greedy.token.as_ref());

        let streams = Streams::open(server.api, 20, STREAMS, &stream);
        let mut wires: Vec<Wire> = (0..100).map(|_| server.wire()).collect();
        for wire in &mut wires {
            wire.send(greedy.head("POST", STUDENTS, &JSON, Some(100)) + "{");
        }

        assert!(streams.begun > 1_000, "{}", streams.begun);
        ordinary_work_is_done(&mut other, "other");
    });
}

#[test]
fn bodies_of_unknown_length_use_budget_only_as_they_arrive() {
    Place::on_each_store(|place| {
        let (server, greedy, other) = served(place);
        let framings = [("transfer-encoding", "chunked"), ("content-length", "10485760")];
        let _idle: Vec<Wire> = (0..80)
            .map(|number| {
                let mut wire = server.wire();
                let framing = framings[number % 2];
                wire.send(greedy.head("POST", STUDENTS, &[JSON[0], framing], None));
                wire.send("1\r\n{\r\n");
                wire
            })
            .collect();
        eventually("all are awaited", || metric(&server, "http_server_active_requests") >= 80);
        let mut document = student("1", "Ada");
        document["ignored"] = "x".repeat(1 << 20).into();
        let body = document.to_string();

        let mut wire = server.wire();
        wire.send(other.head("POST", STUDENTS, &[JSON[0], framings[0]], None));
        wire.send(format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len()));

        let answer = wire.answer();
        assert_eq!(answer.status, 201, "{answer:?}");
    });
}

#[test]
fn a_dripping_body_is_refused_before_its_end() {
    let place = Place::new();
    let (server, greedy, mut other) = served(&place);
    let mut wire = server.wire();
    wire.send(greedy.head("POST", STUDENTS, &JSON, Some(100_000)));

    let mut sent = 0;
    while !wire.is_closed() && wire.try_send(" ").is_ok() && sent < 150 && !wire.has_answer() {
        std::thread::sleep(std::time::Duration::from_millis(200));
        sent += 1;
    }

    assert!(sent < 150, "it was waited for");
    let answer = wire.answer();
    assert_eq!(answer.status, 408, "{answer:?}");
    assert_eq!(other.get(STUDENTS).status, 200);
}

#[test]
fn a_stranger_who_reads_nothing_does_not_block_public_documents() {
    const DOCUMENT: &str = "/metadata/data/v3/resources/swagger.json";
    Place::on_each_store(|place| {
        let server = Server::start(place);
        let whole = server.client().get(DOCUMENT);
        let deaf = Stream {
            method: Method::GET,
            path: DOCUMENT.into(),
            token: None,
            length: None,
            body: None,
        };

        let streams = Streams::open(server.api, 3, STREAMS, &deaf);

        assert!(streams.begun * whole.body.len() > 128 << 20, "{}", streams.begun);
        eventually("the document is there for others", || {
            server.client().get(DOCUMENT).body == whole.body
        });
    });
}

#[test]
fn a_key_that_hangs_up_at_once_does_not_block_another_key() {
    Place::on_each_store(|place| {
        let (server, greedy, mut other) = served(place);
        for number in 0..100 {
            let here = student(&format!("of all {number}"), "Here");
            assert_eq!(other.post(STUDENTS, &here).status, 201);
        }
        // Without an index, so that it counts as a long query.
        let list = format!("{STUDENTS}?firstName=Nobody&totalCount=true&limit=500");
        let list = greedy.head("GET", &list, &[], None);
        let (number, over) = (AtomicUsize::new(0), AtomicBool::new(false));

        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    while !over.load(Ordering::Relaxed) {
                        let number = number.fetch_add(1, Ordering::Relaxed);
                        let Ok(mut wire) = Wire::try_open(server.api) else { continue };
                        let body = student(&number.to_string(), "Gone").to_string();
                        let write = greedy.head("POST", STUDENTS, &JSON, Some(body.len())) + &body;
                        _ = wire.try_send(if number % 2 == 0 { &list } else { &write });
                    }
                });
            }
            let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                eventually("some have hung up", || number.load(Ordering::Relaxed) > 600);
                ordinary_work_is_done(&mut other, "beside those who hang up");
            }));
            over.store(true, Ordering::Relaxed);
            done.unwrap();
        });

        for budget in ["lists", "writes", "awaited", "bodies"] {
            let used = format!("homeroom_budget_used{{budget=\"{budget}\"}}");
            eventually(budget, || metric(&server, &used) == 0);
        }
    });
}

#[test]
fn strangers_who_name_a_new_host_each_time_do_not_fill_the_memory() {
    const DOCUMENT: &str = "/metadata/data/v3/resources/swagger.json";
    const STRANGERS: usize = 400;
    let place = Place::new();
    let server = Server::start(&place);
    let whole = server.client().get(DOCUMENT).body.len();
    let Some(before) = most_kib(&server) else {
        println!("skipped: this system does not tell a process's most memory");
        return;
    };

    let mut strangers: Vec<Wire> = (0..STRANGERS)
        .map(|number| {
            let mut wire = server.wire();
            wire.send(format!("GET {DOCUMENT} HTTP/1.1\r\nhost: h{number}.example\r\n\r\n"));
            wire
        })
        .collect();
    let mut first = [0; 12];
    for wire in &mut strangers {
        wire.read_exactly(&mut first);
    }

    // The budget of public answers, the requests waiting for it, and what the allocator keeps.
    let taken = (most_kib(&server).unwrap() - before) >> 10;
    assert!((STRANGERS * whole) >> 20 > 800, "the strangers ask for much: {whole}");
    assert!(taken < 480, "{taken} MiB");
}

/// Returns the peak resident memory of a server, in KiB.
fn most_kib(server: &Server) -> Option<usize> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.id())).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[test]
fn idle_strangers_do_not_exhaust_open_files() {
    let place = Place::new();
    let key = place.key("FullAccess");
    // The number of open files that a small container allows.
    let program = place.command(&[]);
    let mut command = std::process::Command::new("sh");
    command
        .arg("-c")
        .arg("ulimit -n 256; exec \"$0\" serve --listen 127.0.0.1:0 --admin-listen 127.0.0.1:0");
    command.arg(program.get_program()).current_dir(program.get_current_dir().unwrap());
    command.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let server = Server::of(&mut command);

    let strangers: Vec<Wire> = (0..400)
        .filter_map(|number| {
            let mut wire = Wire::try_open(server.api).ok()?;
            let said = match number % 3 {
                0 => "",
                1 => "GET /livez HTTP/1.1\r\nhost: a\r\n\r\n",
                _ => "POST /oauth/token HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\na",
            };
            wire.try_send(said).ok()?;
            Some(wire)
        })
        .collect();
    let mut client = server.client_of(&key);
    ordinary_work_is_done(&mut client, "few files");
    let path = client.post(STUDENTS, &student("durable", "Ada")).location();
    server.kill();

    assert!(strangers.len() > 300);
    let server = Server::start(&place);
    assert_eq!(server.client_of(&key).get(&path).json()["studentUniqueId"], json!("durable"));
}

/// The names in the guide's table of budgets that the metrics of a store in a file have, and those of
/// a database only.
fn documented() -> (BTreeSet<String>, BTreeSet<String>) {
    let guide = include_str!("../../../../docs/guides/overload.md");
    let (_, table) = guide.split_once("## All budgets").unwrap();
    let (table, _) = table.split_once("\n## ").unwrap();
    let rows = table.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` | "));
    for (name, row) in rows.clone() {
        let is_set = ["budgets", "server", "store", "jobs"];
        let is_set = is_set.iter().any(|section| row.contains(&format!("`{section}.")));
        assert!(is_set, "the guide names no setting for the size of {name}");
    }
    let (of_database, of_file): (Vec<_>, Vec<_>) =
        rows.partition(|(_, row)| row.starts_with("on PostgreSQL only"));
    let names = |rows: Vec<(&str, &str)>| rows.iter().map(|(name, _)| (*name).to_owned()).collect();
    (names(of_file), names(of_database))
}

#[test]
fn the_guide_lists_every_budget_and_the_metrics_have_size_use_and_refusals_of_each() {
    let (of_file, of_database) = documented();
    let of_both = of_file.union(&of_database).cloned().collect();
    expect_budgets(&Place::new(), &of_file);
    for database in Database::on_each_server() {
        expect_budgets(&Place::with_store(&database.url()), &of_both);
    }
}

#[test]
fn budgets_have_the_sizes_that_the_configuration_states() {
    const STATED: [(&str, i64); 10] = [
        ("key_lookups", 11),
        ("batch_checks", 12),
        ("large_bodies", 13),
        ("compressed_lists", 14),
        ("held_refusals", 15),
        ("entrance", 16),
        ("waiting_requests", 18),
        ("store_list_connections", 3),
        ("store_scan_connections", 1),
        ("store_probes", 17),
    ];
    Place::on_each_store(|place| {
        let stated = STATED.map(|(name, size)| {
            (format!("HOMEROOM_BUDGETS__{}", name.to_ascii_uppercase()), size.to_string())
        });
        let environment: Vec<_> = stated.iter().map(|(name, size)| (&**name, &**size)).collect();

        let server = Server::start_with(place, &environment);
        let mut client = server.client_of(&place.key("FullAccess"));
        ordinary_work_is_done(&mut client, "small");

        let is_file = !place.store_url().starts_with("postgres");
        for (name, size) in STATED {
            if !(is_file && name.starts_with("store_")) {
                let name = format!("homeroom_budget_size{{budget=\"{name}\"}}");
                assert_eq!(metric(&server, &name), size, "{name}");
            }
        }
    });
}

fn expect_budgets(place: &Place, expected: &BTreeSet<String>) {
    let server = Server::start(place);

    let metrics = server.admin_client().get("/metrics").text();

    for figure in ["size", "used", "refused_total"] {
        let begin = format!("homeroom_budget_{figure}{{budget=\"");
        let found: BTreeSet<String> = metrics
            .lines()
            .filter_map(|line| Some(line.strip_prefix(&begin)?.split_once('"')?.0.to_owned()))
            .collect();
        assert_eq!(&found, expected, "{figure}");
    }
}
