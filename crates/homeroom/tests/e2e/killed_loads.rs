//! Loads of records of every kind that are killed, in a process of their own or with their server, and go on.

use std::path::Path;
use std::process::{Child, Stdio};

use homeroom_store::{Answer, Ask, Decision, Options, Plan, Sql, Store, StoreUrl};
use serde_json::Value;

use crate::loads::checkpointed;
use crate::support::{PATIENCE, Place, Server};

/// Parts in which the load is killed.
const PARTS: u64 = 6;

/// Returns the documents of a store by resource, without what depends on when and where they were stored.
fn documents(place: &Place) -> Vec<String> {
    fn bare(value: &mut Value) {
        match value {
            Value::Object(members) => {
                members.retain(|name, _| {
                    !matches!(&**name, "id" | "_etag" | "_lastModifiedDate" | "link")
                });
                members.values_mut().for_each(bare);
            }
            Value::Array(items) => items.iter_mut().for_each(bare),
            _ => {}
        }
    }
    fn read(folder: &Path, all: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                read(&path, all);
            } else if path.extension().is_some_and(|ending| ending == "jsonl") {
                let name = path.file_name().unwrap().to_string_lossy().into_owned();
                for line in std::fs::read_to_string(&path).unwrap().lines() {
                    let mut document: Value = serde_json::from_str(line).unwrap();
                    bare(&mut document);
                    all.push(format!("{name} {document}"));
                }
            }
        }
    }
    let out = place.path("out");
    place.done(&["export", "--out", out.to_str().unwrap(), "--format", "jsonl"]);
    let mut all = vec![];
    read(&out, &mut all);
    all.sort();
    all
}

/// Counts the documents, the edges and the ties of a store that nobody has open.
fn rows(place: &Place) -> [i64; 3] {
    let url: StoreUrl = place.store_url().parse().unwrap();
    let store = Store::open(&Options::new(url)).unwrap();
    let counts = ["doc", "ref", "tie"].map(|table| {
        let text: &'static str = match table {
            "doc" => "SELECT count(*) FROM doc",
            "ref" => "SELECT count(*) FROM ref",
            _ => "SELECT count(*) FROM tie",
        };
        let decide = |found: Vec<Answer>| {
            let Some(Answer::Rows(rows)) = found.into_iter().next() else { panic!("no rows") };
            Decision::<i64, ()>::Write(vec![], rows[0][0].as_integer().unwrap())
        };
        let ask = vec![Ask::Part(Sql::new(text, vec![]))];
        store.run_blocking(Plan { ask, decide }).unwrap().value
    });
    store.close();
    counts
}

/// Starts a load in the background.
fn begun(place: &Place, arguments: &[&str]) -> Child {
    let mut command = place.command(arguments);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Waits until a checkpoint knows of so many documents. Returns whether it does before the load has ended.
fn is_come_to(place: &Place, child: &mut Child, due: u64) -> bool {
    let since = std::time::Instant::now();
    while checkpointed(place) < due {
        if child.try_wait().unwrap().is_some() {
            return false;
        }
        assert!(since.elapsed() < PATIENCE, "it does not come to {due}");
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    true
}

#[test]
fn a_district_whose_load_or_server_is_killed_becomes_the_store_of_one_that_was_not() {
    let whole = Place::new();
    let generate =
        ["generate", "--students", "300", "--seed", "1", "--format", "xml", "--out", "in"];
    whole.done(&generate);
    let files = whole.path("in");
    let files = files.to_str().unwrap();
    let load = ["load", files, "--results", "results.jsonl", "--json"];
    let resumed = [&load[..], &["--resume"]].concat();
    let once: Value = serde_json::from_str(&whole.done(&load)).unwrap();
    let all = once["summary"]["documents"].as_u64().unwrap();
    let (wanted, wanted_rows) = (documents(&whole), rows(&whole));
    assert!(wanted_rows.iter().all(|count| *count > 0), "{wanted_rows:?}");

    Place::on_each_store(|place| {
        let mut kills = vec![];
        for part in 1..PARTS {
            let mut child = begun(place, if kills.is_empty() { &load } else { &resumed });
            assert!(is_come_to(place, &mut child, all * part / PARTS), "{kills:?} of {all}");
            child.kill().unwrap();
            child.wait().unwrap();
            kills.push(checkpointed(place));
        }
        let ended: Value = serde_json::from_str(&place.done(&resumed)).unwrap();

        assert_eq!(ended["summary"]["documents"], all, "{kills:?}: {ended}");
        assert_eq!(ended["summary"]["rejected"], 0, "{kills:?}: {ended}");
        assert!(documents(place) == wanted, "{kills:?}");
        assert_eq!(rows(place), wanted_rows, "{kills:?}");
        place.done(&["doctor"]);
    });
    Place::on_each_store(|place| {
        let server = Server::start(place);
        let mut child = begun(place, &load);
        assert!(is_come_to(place, &mut child, all / 2));
        server.kill();
        assert!(!child.wait().unwrap().success());
        let (server, killed) = (Server::start(place), checkpointed(place));

        let ended: Value = serde_json::from_str(&place.done(&resumed)).unwrap();

        assert_eq!(ended["summary"]["documents"], all, "{killed}: {ended}");
        server.stop();
        assert!(documents(place) == wanted, "{killed}");
        assert_eq!(rows(place), wanted_rows, "{killed}");
        place.done(&["doctor"]);
    });
}
