//! Tests with a disk that is slow, full or broken: waiting clients get an answer, acknowledged
//! writes stay, refused writes never appear, and the server recovers when the disk does.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::support::{
    Answer, Client, Faults, Place, Random, STUDENTS, Server, eventually, metric, student,
};

/// The store's files.
const STORE: &str = "path homeroom.db";
/// Most rounds in which a log grows as far as a test wants.
const ROUNDS_MAX: u32 = 3_000;
/// The one with the tables, without its log.
const FILE: &str = "path homeroom.db$";

/// Checks that an answer is the problem of a temporarily unavailable server.
fn assert_unavailable(answer: &Answer, word: &str) {
    assert_eq!(answer.status, 503, "{answer:?}");
    assert!(answer.header("retry-after").is_some(), "{answer:?}");
    assert_eq!(answer.header("content-type"), Some("application/problem+json"), "{answer:?}");
    let problem = answer.json();
    assert_eq!(problem["type"], "urn:ed-fi:api:service-unavailable", "{problem}");
    assert!(problem["detail"].as_str().unwrap().contains(word), "no `{word}` in {problem}");
}

/// Returns the ids of all students that a server has.
fn stored(client: &mut Client) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    loop {
        let page = client.get(&format!("{STUDENTS}?limit=500&offset={}", found.len())).json();
        let page = page.as_array().unwrap();
        if page.is_empty() {
            return found;
        }
        found.extend(page.iter().map(|one| one["studentUniqueId"].as_str().unwrap().to_owned()));
    }
}

/// Sends students at the same time, each on a connection of its own. Returns the answers.
fn send_at_once(server: &Server, token: Option<&String>, ids: &[String]) -> Vec<Answer> {
    std::thread::scope(|scope| {
        let each = ids.iter().map(|id| {
            let mut client = server.client();
            client.token = token.cloned();
            scope.spawn(move || client.post(STUDENTS, &student(id, "Ada")))
        });
        let each: Vec<_> = each.collect();
        each.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

fn ids(prefix: &str, count: usize) -> Vec<String> {
    (0..count).map(|number| format!("{prefix}-{number}")).collect()
}

#[test]
fn a_full_queue_refuses_writes_at_once_while_queued_writes_and_reads_continue() {
    let place = Place::new();
    let key = place.key("FullAccess");
    let faults = Faults::none(&place);
    let [preload, control] = faults.environment();
    let server = Server::start_with(&place, &[preload, control, ("HOMEROOM_STORE__QUEUE", "4")]);
    let mut client = server.client_of(&key);
    let first = client.post(STUDENTS, &student("first", "Ada")).location();
    faults.order(&[STORE, "sync_millis 500"]);
    let (reads, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));

    let answers = std::thread::scope(|scope| {
        let mut reader = server.client();
        reader.token.clone_from(&client.token);
        let (reads, is_over, first) = (&reads, &is_over, &first);
        scope.spawn(move || {
            while !is_over.load(Ordering::Acquire) {
                assert_eq!(reader.get(first).status, 200);
                assert_eq!(reader.get(&format!("{STUDENTS}?limit=5")).status, 200);
                reads.fetch_add(1, Ordering::Relaxed);
            }
        });
        let answers = send_at_once(&server, client.token.as_ref(), &ids("w", 40));
        is_over.store(true, Ordering::Release);
        answers
    });

    let (written, refused): (Vec<_>, Vec<_>) = answers.iter().partition(|a| a.status == 201);
    for answer in &refused {
        assert_unavailable(answer, "budget writes");
        assert_eq!(answer.header("retry-after"), Some("1"));
    }
    assert!(!written.is_empty() && !refused.is_empty(), "{} written", written.len());
    assert!(reads.into_inner() > 0);
    faults.end();
    assert_eq!(stored(&mut client).len(), written.len() + 1);
    assert_eq!(metric(&server, "homeroom_store_writes_waiting"), 0);
}

/// Faults of a disk, and the word that the client's answer must contain.
const FAULTS: &[(&[&str], &str)] = &[
    (&[STORE, "write enospc"], "full"),
    (&[STORE, "write enospc", "room 7000"], "full"),
    (&[STORE, "write eio"], "failing"),
    (&[STORE, "sync eio"], "failing"),
    (&[STORE, "sync_millis 50", "sync eio"], "failing"),
];

#[test]
fn a_failing_disk_refuses_writes_until_it_recovers_and_reads_continue() {
    let place = Place::new();
    let key = place.key("FullAccess");
    let faults = Faults::none(&place);
    let server = Server::start_with(&place, &faults.environment());
    let mut client = server.client_of(&key);
    let mut acknowledged: BTreeSet<String> = BTreeSet::new();

    for (round, (orders, word)) in FAULTS.iter().enumerate() {
        for answer in send_at_once(&server, client.token.as_ref(), &ids(&format!("a{round}"), 3)) {
            assert_eq!(answer.status, 201, "{orders:?}: {answer:?}");
        }
        acknowledged.extend(ids(&format!("a{round}"), 3));
        faults.order(orders);

        let refused = send_at_once(&server, client.token.as_ref(), &ids(&format!("r{round}"), 9));

        for answer in &refused {
            assert_unavailable(answer, word);
        }
        assert_eq!(stored(&mut client), acknowledged, "{orders:?}");
        let ready = client.get("/readyz");
        assert_eq!((ready.status, &ready.json()["ready"]), (503, &false.into()), "{ready:?}");
        assert!(ready.text().contains("disk"), "{ready:?}");
        assert_eq!(client.get("/livez").status, 200);

        faults.end();
        // No client writes: the store itself notices that the disk has recovered.
        eventually("the server is ready again", || client.get("/readyz").status == 200);
        assert_eq!(client.post(STUDENTS, &student(&format!("b{round}"), "Ada")).status, 201);
        acknowledged.insert(format!("b{round}"));
    }

    server.kill();
    assert_eq!(place.json(&["doctor", "--json"])["problems"], serde_json::json!([]));
    let server = Server::start(&place);
    assert_eq!(stored(&mut server.client_of(&key)), acknowledged);
}

#[test]
fn after_a_failed_sync_of_the_file_the_log_is_kept_until_the_next_start() {
    let place = Place::new();
    let key = place.key("FullAccess");
    let faults = Faults::none(&place);
    let [preload, control] = faults.environment();
    let server = Server::start_with(&place, &[preload, control, ("HOMEROOM_STORE__LOG_MIB", "4")]);
    let client = server.client_of(&key);
    let log_mib = || metric(&server, "homeroom_store_log_bytes") >> 20;
    let mut number = 0;
    let mut written = BTreeSet::new();
    let mut write_until = |is_over: &dyn Fn() -> bool| {
        for _ in 0..ROUNDS_MAX {
            if is_over() {
                return;
            }
            let ids = ids(&format!("w{number}"), 8);
            for answer in send_at_once(&server, client.token.as_ref(), &ids) {
                assert_eq!(answer.status, 201, "the log can be synced: {answer:?}");
            }
            written.extend(ids);
            number += 1;
        }
        panic!("{} MiB in the log: {}", log_mib(), server.log());
    };

    faults.order(&[FILE, "sync eio"]);
    write_until(&|| server.log().contains("could not be synced"));
    faults.end();
    write_until(&|| log_mib() >= 10);

    server.kill();
    let server = Server::start(&place);
    let mut client = server.client_of(&key);
    assert_eq!(stored(&mut client), written);
    eventually("the log is short again", || metric(&server, "homeroom_store_log_bytes") <= 4 << 20);
    server.stop();
    assert_eq!(place.json(&["doctor", "--json"])["problems"], serde_json::json!([]));
}

#[test]
fn after_a_disk_failure_and_kill_9_exactly_the_acknowledged_writes_are_stored() {
    let place = Place::new();
    let key = place.key("FullAccess");
    let mut acknowledged: BTreeSet<String> = BTreeSet::new();

    for (round, (orders, word)) in FAULTS.iter().enumerate() {
        let faults = Faults::none(&place);
        faults.end();
        let server = Server::start_with(&place, &faults.environment());
        let mut client = server.client_of(&key);
        assert_eq!(client.post(STUDENTS, &student(&format!("a{round}"), "Ada")).status, 201);
        acknowledged.insert(format!("a{round}"));
        faults.order(orders);
        // A single write, then several in one transaction.
        for count in [1, 6] {
            let asked = ids(&format!("r{round}-{count}"), count);
            for answer in send_at_once(&server, client.token.as_ref(), &asked) {
                assert_unavailable(&answer, word);
            }
        }

        server.kill();

        let problems = place.json(&["doctor", "--json"]);
        assert_eq!(problems["problems"], serde_json::json!([]), "{orders:?}");
        let server = Server::start(&place);
        assert_eq!(stored(&mut server.client_of(&key)), acknowledged, "{orders:?}");
        assert_eq!(server.stop().code, Some(0));
    }
}

#[test]
fn writers_on_an_unreliable_disk_lose_no_acknowledged_write() {
    const WRITERS: usize = 8;
    let mut random = Random::seeded();
    let place = Place::new();
    let key = place.key("FullAccess");
    let rounds = if std::env::var_os("HOMEROOM_LONG").is_some() { 20 } else { 3 };
    let mut acknowledged: BTreeSet<String> = BTreeSet::new();

    for round in 0..rounds {
        let faults = Faults::none(&place);
        faults.end();
        let server = Server::start_with(&place, &faults.environment());
        let token = server.client_of(&key).token;
        let written: Vec<String> = std::thread::scope(|scope| {
            let writers: Vec<_> = (0..WRITERS)
                .map(|writer| {
                    let mut client = server.client();
                    client.token.clone_from(&token);
                    scope.spawn(move || {
                        let mut written = vec![];
                        for number in 0.. {
                            let id = format!("{round}-{writer}-{number}");
                            let sent = client.try_json("POST", STUDENTS, &student(&id, "Ada"));
                            match sent.map(|answer| answer.status) {
                                Ok(201) => written.push(id),
                                Ok(503) => {}
                                Ok(other) => panic!("{other}"),
                                Err(_) => return written,
                            }
                        }
                        written
                    })
                })
                .collect();
            for _ in 0..6 {
                let room = format!("room {}", random.below(60_000));
                let at = usize::try_from(random.below(4)).unwrap();
                faults.order(&[STORE, ["write enospc", "write eio", "sync eio", ""][at], &room]);
                std::thread::sleep(std::time::Duration::from_millis(30 + random.below(150)));
                faults.end();
                std::thread::sleep(std::time::Duration::from_millis(30 + random.below(150)));
            }
            let at = usize::try_from(random.below(3)).unwrap();
            faults.order(&[STORE, ["write enospc", "sync eio", ""][at]]);
            std::thread::sleep(std::time::Duration::from_millis(random.below(50)));
            server.kill();
            writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect()
        });
        acknowledged.extend(written);

        assert_eq!(place.json(&["doctor", "--json"])["problems"], serde_json::json!([]));
        let server = Server::start(&place);
        let found = stored(&mut server.client_of(&key));
        let lost: Vec<_> = acknowledged.difference(&found).collect();
        assert!(lost.is_empty(), "round {round}: lost {lost:?}");
        // A write that was in progress when the server was killed may be stored or not.
        assert!(
            found.len() - acknowledged.len() <= WRITERS,
            "round {round}: refused ones came back"
        );
        acknowledged = found;
        assert_eq!(server.stop().code, Some(0));
    }
    assert!(acknowledged.len() > rounds * WRITERS, "{} written", acknowledged.len());
}

#[test]
fn a_full_disk_leaves_no_partial_backup_and_no_partial_restore() {
    let place = Place::new();
    let key = place.key("FullAccess");
    let faults = Faults::none(&place);
    let server = Server::start_with(&place, &faults.environment());
    let mut client = server.client_of(&key);
    assert_eq!(client.post(STUDENTS, &student("1", "Ada")).status, 201);
    let (good, full) = (place.path("good.copy"), place.path("full.copy"));
    place.done(&["backup", good.to_str().unwrap()]);
    faults.order(&["path full.copy", "write enospc", "room 100000"]);

    let backup = place.run(&["backup", full.to_str().unwrap()]);

    assert_eq!(backup.code, Some(1), "{backup:?}");
    assert!(backup.stderr.contains("full"), "{backup:?}");
    assert_eq!(client.get("/readyz").status, 200, "the store's own disk is well");
    assert_eq!(client.post(STUDENTS, &student("2", "Ada")).status, 201);
    assert_eq!(server.stop().code, Some(0));
    faults.order(&["path .restored", "write enospc", "room 100000"]);
    let mut restore = place.command(&["restore", good.to_str().unwrap(), "--yes"]);
    let restore = crate::support::Ran::of(restore.envs(faults.environment()));
    assert_eq!(restore.code, Some(1), "{restore:?}");
    let left = |folder: std::path::PathBuf| -> Vec<String> {
        let entries = std::fs::read_dir(folder).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    };
    let left: Vec<String> = [place.path(""), place.data()].map(left).concat();
    assert!(
        left.iter().all(|name| !name.contains("full") && !name.contains("restore")),
        "{left:?}"
    );
    let server = Server::start(&place);
    assert_eq!(stored(&mut server.client_of(&key)).len(), 2);
}
