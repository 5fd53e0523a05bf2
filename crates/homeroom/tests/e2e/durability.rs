//! Acknowledged writes survive whatever happens to the process.

use std::collections::HashMap;
use std::time::Duration;

use serde_json::Value;

use crate::support::{Client, Place, Random, STUDENTS, Server, student};

const WRITERS: usize = 64;

/// A writer's knowledge of one student.
#[derive(Debug, Default)]
struct Known {
    path: String,
    /// The first name and `ETag` of the last acknowledged write; [`None`] after a delete.
    acknowledged: Option<(String, String)>,
    /// The request in progress when the server was killed.
    open: Option<Attempt>,
}

#[derive(Debug)]
enum Attempt {
    Write(String),
    Delete,
}

#[test]
fn every_acknowledged_write_survives_kill_9() {
    let is_long = std::env::var_os("HOMEROOM_LONG").is_some();
    let rounds = if is_long { 20 } else { 3 };
    let mut random = Random::seeded();
    let place = Place::new();
    let key = place.key("FullAccess");
    let mut everything: HashMap<String, Known> = HashMap::new();

    for round in 0..rounds {
        let server = Server::start(&place);
        let token = server.client_of(&key).token;
        let moment = Duration::from_millis(50 + random.below(1_000));
        println!("round {round}: kill -9 after {moment:?}");
        let written = write_until_killed(server, token.as_deref(), round, moment, &mut random);
        let count = written.values().filter(|known| known.acknowledged.is_some()).count();
        println!("round {round}: {count} documents acknowledged");
        everything.extend(written);

        let found = place.json(&["doctor", "--json"]);
        assert_eq!(found["problems"], serde_json::json!([]), "round {round}");

        let server = Server::start(&place);
        let mut client = server.client();
        // A token stays valid after the crash, too.
        client.token = token;
        let stored = all_students(&mut client);
        compare(&everything, &stored, round);
        let newest = client.get("/changeQueries/v1/availableChangeVersions").json();
        let newest = newest["newestChangeVersion"].as_i64().unwrap();
        let versions = stored.values().map(|found| found["_etag"].as_str().unwrap());
        assert!(versions.map(|v| v.parse::<i64>().unwrap()).all(|v| v <= newest));
        assert_eq!(server.stop().code, Some(0));
    }
    let count = everything.values().filter(|known| known.acknowledged.is_some()).count();
    assert!(count > WRITERS, "only {count} writes were acknowledged in {rounds} rounds");
}

/// Writes with all writers at once and kills the server at some moment. Returns what the writers
/// know.
fn write_until_killed(
    server: Server,
    token: Option<&str>,
    round: usize,
    moment: Duration,
    random: &mut Random,
) -> HashMap<String, Known> {
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let mut client = server.client();
                client.token = token.map(String::from);
                let random = random.child();
                let prefix = format!("{round}-{writer}");
                scope.spawn(move || write(client, &prefix, random))
            })
            .collect();
        std::thread::sleep(moment);
        server.kill();
        writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect()
    })
}

/// Creates students, and updates and deletes some of them, until the connection breaks.
fn write(mut client: Client, prefix: &str, mut random: Random) -> Vec<(String, Known)> {
    let mut known: Vec<(String, Known)> = vec![];
    for step in 0.. {
        let existing =
            known.iter().rposition(|(_, known)| known.acknowledged.is_some()).filter(|_| step > 0);
        let name = format!("step {step}");
        let (at, answered) = match (random.below(10), existing) {
            (0, Some(at)) => {
                let path = known[at].1.path.clone();
                known[at].1.open = Some(Attempt::Delete);
                (at, client.send("DELETE", &path, &[], None))
            }
            (1..4, Some(at)) => {
                let body = student(&known[at].0, &name);
                known[at].1.open = Some(Attempt::Write(name.clone()));
                (at, client.try_json("POST", STUDENTS, &body))
            }
            _ => {
                let id = format!("{prefix}-{step}");
                let body = student(&id, &name);
                let open = Some(Attempt::Write(name.clone()));
                known.push((id, Known { open, ..Known::default() }));
                (known.len() - 1, client.try_json("POST", STUDENTS, &body))
            }
        };
        let Ok(answer) = answered else { return known };
        let known = &mut known[at].1;
        match answer.status {
            200 | 201 => {
                known.path = answer.location();
                let etag = answer.header("etag").unwrap().trim_matches('"').to_owned();
                known.acknowledged = Some((name, etag));
                known.open = None;
            }
            204 => {
                known.acknowledged = None;
                known.open = None;
            }
            // Nothing was written.
            503 => known.open = None,
            _ => panic!("{answer:?}"),
        }
    }
    known
}

/// Returns all students by their ids.
pub fn all_students(client: &mut Client) -> HashMap<String, Value> {
    let mut found = HashMap::new();
    loop {
        let offset = found.len();
        let page = client.get(&format!("{STUDENTS}?limit=500&offset={offset}")).json();
        let page = page.as_array().unwrap();
        if page.is_empty() {
            return found;
        }
        for document in page {
            let id = document["studentUniqueId"].as_str().unwrap().to_owned();
            assert!(found.insert(id, document.clone()).is_none(), "{document} appears twice");
        }
    }
}

fn compare(known: &HashMap<String, Known>, stored: &HashMap<String, Value>, round: usize) {
    for (id, known) in known {
        let found = stored.get(id);
        let is_right = match (&known.acknowledged, found) {
            (Some((name, etag)), Some(found)) => {
                let is_acknowledged =
                    found == &as_read(found, id, name) && found["_etag"] == **etag;
                is_acknowledged || is_open(known, id, found)
            }
            (None, Some(found)) => is_open(known, id, found),
            (Some(_), None) => matches!(known.open, Some(Attempt::Delete)),
            (None, None) => true,
        };
        assert!(is_right, "round {round}: {id} is {known:?}, but the store has {found:?}");
    }
    let strange: Vec<_> = stored.keys().filter(|id| !known.contains_key(*id)).collect();
    assert!(strange.is_empty(), "round {round}: nobody sent {strange:?}");
}

/// Returns whether a document equals what was being written when the server was killed.
fn is_open(known: &Known, id: &str, found: &Value) -> bool {
    matches!(&known.open, Some(Attempt::Write(name)) if found == &as_read(found, id, name))
}

/// Returns a student as the API answers with it. The server's own additions, such as empty
/// collections, are taken from `found`.
pub fn as_read(found: &Value, id: &str, first_name: &str) -> Value {
    let mut expected = student(id, first_name);
    for added in ["id", "_etag", "_lastModifiedDate"] {
        expected[added] = found[added].clone();
    }
    for (name, value) in found.as_object().into_iter().flatten() {
        if expected.get(name).is_none() && value.as_array().is_some_and(Vec::is_empty) {
            expected[name] = value.clone();
        }
    }
    expected
}
