//! A store that is put back to an earlier state, by whatever means, never issues a version twice.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::{Client, Database, Place, STUDENTS, Server, student};

/// The number of changes of a document after the copy was made, each with its own version.
const LOST: usize = 6;

/// What clients have seen of a store before it was put back.
struct Seen {
    place: Place,
    key: (String, String),
    /// The path of the student `x`, which the copy contains.
    location: String,
    /// Every ETag of `x` since the copy.
    etags: BTreeSet<String>,
    newest: i64,
}

fn newest(client: &mut Client) -> i64 {
    let answer = client.get("/changeQueries/v1/availableChangeVersions").json();
    answer["newestChangeVersion"].as_i64().unwrap()
}

fn put(
    client: &mut Client,
    location: &str,
    name: &str,
    condition: &[(&str, &str)],
) -> (u16, String) {
    let headers = [&[("content-type", "application/json")], condition].concat();
    let body = student("x", name).to_string();
    let answer = client.send("PUT", location, &headers, Some(body.as_bytes())).unwrap();
    (answer.status, answer.header("etag").unwrap_or_default().to_owned())
}

/// Runs a server whose store is copied by `copy`, then changed, then stopped.
fn used(place: Place, copy: impl Fn(&Place)) -> Seen {
    let key = place.key("FullAccess");
    let server = Server::start(&place);
    let location = server.client_of(&key).post(STUDENTS, &student("x", "Ada")).location();
    assert_eq!(server.stop().code, Some(0));
    copy(&place);
    let server = Server::start(&place);
    let mut client = server.client_of(&key);
    let names = (0..LOST).map(|at| format!("Lost {at}"));
    let etags = names.map(|name| put(&mut client, &location, &name, &[]).1).collect();
    let newest = newest(&mut client);
    assert_eq!(server.stop().code, Some(0));
    Seen { place, key, location, etags, newest }
}

/// Uses the store that was put back, with what clients remember of the one before it.
fn nothing_repeats(seen: &Seen, how: &str) {
    let server = Server::start(&seen.place);
    let mut client = server.client_of(&seen.key);
    assert_eq!(client.get(&seen.location).json()["firstName"], "Ada", "{how}");
    let since = client.get(&seen.location).header("etag").unwrap().to_owned();
    for at in 0..LOST * 2 {
        let (status, etag) = put(&mut client, &seen.location, &format!("New {at}"), &[]);
        assert_eq!(status, 204, "{how}");
        assert!(!seen.etags.contains(&etag), "{how}: {etag} was given out before");
        for stale in &seen.etags {
            let known = [("if-none-match", stale.as_str())];
            let fresh = client.send("GET", &seen.location, &known, None).unwrap();
            assert_eq!(fresh.status, 200, "{how}: {stale}");
            let condition = [("if-match", stale.as_str())];
            assert_eq!(put(&mut client, &seen.location, "Mallory", &condition).0, 412, "{how}");
        }
    }
    assert!(!seen.etags.contains(&since));
    // A client that has read up to a version requests the changes after it.
    let window = format!("{STUDENTS}?minChangeVersion={}", seen.newest + 1);
    let changed = client.get(&window).json();
    assert_eq!(changed.as_array().map(Vec::len), Some(1), "{how}");
    let now = newest(&mut client);
    assert!(now > seen.newest, "{how}");
    assert!(now < 1 << 53, "{how}: JSON clients read doubles");
    let restored = put(&mut client, &seen.location, "By the right tag", &[("if-match", "*")]);
    assert_eq!(restored.0, 204);
    assert_eq!(server.stop().code, Some(0));
    assert_eq!(seen.place.json(&["doctor", "--json"])["problems"], json!([]), "{how}");
}

fn database(place: &Place) -> std::path::PathBuf {
    place.data().join("homeroom.db")
}

/// Replaces a file with another, as `mv` does.
fn replace(from: &Path, to: &Path) {
    for ending in ["-wal", "-shm"] {
        _ = std::fs::remove_file(format!("{}{ending}", to.display()));
    }
    let beside = to.with_extension("new");
    std::fs::copy(from, &beside).unwrap();
    std::fs::rename(beside, to).unwrap();
}

#[test]
fn a_restored_store_reuses_no_version() {
    let backup = |place: &Place| _ = place.done(&["backup", place.path("b.db").to_str().unwrap()]);
    let seen = used(Place::new(), backup);

    seen.place.done(&["restore", seen.place.path("b.db").to_str().unwrap(), "--yes"]);

    nothing_repeats(&seen, "restore");
}

#[test]
fn a_database_restored_from_a_backup_of_another_reuses_no_version() {
    let backup = |place: &Place| _ = place.done(&["backup", place.path("b.db").to_str().unwrap()]);
    let pairs = Database::on_each_server().into_iter().zip(Database::on_each_server());
    for (first, second) in pairs {
        let mut seen = used(Place::with_store(&first.url()), backup);
        let other = Place::with_store(&second.url());

        other.done(&["restore", seen.place.path("b.db").to_str().unwrap(), "--yes"]);

        seen.place = other;
        nothing_repeats(&seen, "a backup of another database");
    }
}

#[test]
fn a_backup_restored_repeatedly_reuses_no_version() {
    let backup = |place: &Place| _ = place.done(&["backup", place.path("b.db").to_str().unwrap()]);
    let mut seen = used(Place::new(), backup);
    for _ in 0..3 {
        // How far the replaced store had come can no longer be read from it.
        std::fs::write(database(&seen.place), "a cosmic ray".repeat(900)).unwrap();
        seen.place.done(&["restore", seen.place.path("b.db").to_str().unwrap(), "--yes"]);
        nothing_repeats(&seen, "restore again");
        let server = Server::start(&seen.place);
        let mut client = server.client_of(&seen.key);
        seen.newest = newest(&mut client);
        seen.etags.insert(client.get(&seen.location).header("etag").unwrap().to_owned());
        assert_eq!(server.stop().code, Some(0));
    }
}

#[test]
fn a_store_copied_by_other_means_reuses_no_version() {
    let backup = |place: &Place| _ = place.done(&["backup", place.path("b.db").to_str().unwrap()]);
    let copy = |place: &Place| _ = std::fs::copy(database(place), place.path("b.db")).unwrap();
    for how in ["a backup put there by hand", "cp"] {
        let take: &dyn Fn(&Place) = if how == "cp" { &copy } else { &backup };
        let seen = used(Place::new(), take);

        replace(&seen.place.path("b.db"), &database(&seen.place));

        nothing_repeats(&seen, how);
    }
}

#[test]
fn restoring_the_previous_store_reuses_no_version() {
    let backup = |place: &Place| _ = place.done(&["backup", place.path("b.db").to_str().unwrap()]);
    let seen = used(Place::new(), backup);
    let back = seen.place.path("b.db");
    seen.place.done(&["restore", back.to_str().unwrap(), "--yes"]);
    let server = Server::start(&seen.place);
    let mut client = server.client_of(&seen.key);
    let given = put(&mut client, &seen.location, "Meanwhile", &[]).1;
    assert_eq!(server.stop().code, Some(0));
    let kept = seen.place.data().join("homeroom.db.before-restore");

    // The original file comes back, as by `mv`.
    std::fs::rename(kept, database(&seen.place)).unwrap();

    let server = Server::start(&seen.place);
    let mut client = server.client_of(&seen.key);
    let number = |etag: &str| etag.trim_matches('"').parse::<i64>().unwrap();
    let again = put(&mut client, &seen.location, "Back", &[]).1;
    assert!(number(&again) > number(&given), "{again} {given}");
    assert_eq!(server.stop().code, Some(0));
}

#[test]
fn restore_already_copied_raises_the_version_of_an_overwritten_store() {
    let copy = |place: &Place| _ = std::fs::copy(database(place), place.path("b.db")).unwrap();
    let seen = used(Place::new(), copy);
    // The same file with earlier content, which nothing else reveals.
    std::fs::copy(seen.place.path("b.db"), database(&seen.place)).unwrap();

    let said = seen.place.json(&["restore", "--already-copied", "--yes", "--json"]);

    assert!(said["goesOnAfter"].as_i64().unwrap() > seen.newest, "{said}");
    assert_eq!(said["replacedStore"], Value::Null, "{said}");
    assert_eq!(said["activeKeys"].as_array().map(Vec::len), Some(1), "{said}");
    nothing_repeats(&seen, "said so");
}

#[test]
fn a_moved_or_restarted_store_continues_its_versions() {
    let seen = used(Place::new(), |_| {});
    let server = Server::start(&seen.place);
    let mut client = server.client_of(&seen.key);

    let next = put(&mut client, &seen.location, "Next", &[]).1;

    assert_eq!(next, format!("\"{}\"", seen.newest + 1));
    assert_eq!(server.stop().code, Some(0));
}

#[test]
fn a_restored_database_reuses_no_version() {
    for database in Database::on_each_server() {
        // All rows as they were, in new tables, as restoring a dump makes them.
        let copied = |_: &Place| database.copy_to("kept");
        let seen = used(Place::with_store(&database.url()), copied);

        database.replace_by("kept");

        nothing_repeats(&seen, "new tables");
    }
}

#[test]
fn restore_already_copied_raises_the_version_of_a_database() {
    for database in Database::on_each_server() {
        let seen = used(Place::with_store(&database.url()), |_: &Place| database.copy_to("kept"));
        database.fill_from("kept");

        let said = seen.place.json(&["restore", "--already-copied", "--yes", "--json"]);

        assert!(said["goesOnAfter"].as_i64().unwrap() > seen.newest, "{said}");
        nothing_repeats(&seen, "said so");
    }
}

/// A server on a database, a client of it, and the path of a student that it has stored.
struct Node {
    server: Server,
    client: Client,
    location: String,
    /// Dropped after the server.
    _place: Place,
}

impl Node {
    fn on(database: &Database) -> Self {
        let place = Place::with_store(&database.url());
        let key = place.key("FullAccess");
        let server = Server::start(&place);
        let mut client = server.client_of(&key);
        let location = client.post(STUDENTS, &student("x", "Ada")).location();
        Self { server, client, location, _place: place }
    }
}

#[test]
fn a_node_whose_database_is_put_back_reuses_no_version() {
    for database in Database::on_each_server() {
        let Node { server, mut client, location, _place } = Node::on(&database);
        database.copy_to("kept");
        let lost: BTreeSet<String> =
            (0..LOST).map(|at| put(&mut client, &location, &format!("Lost {at}"), &[]).1).collect();
        let seen = newest(&mut client);

        database.fill_from("kept");

        for at in 0..LOST * 2 {
            let (status, etag) = put(&mut client, &location, &format!("New {at}"), &[]);
            assert_eq!(status, 204);
            assert!(!lost.contains(&etag), "{etag} was given out before");
        }
        assert!(newest(&mut client) > seen);
        assert_eq!(server.stop().code, Some(0));
    }
}

#[test]
fn a_node_that_reconnects_to_another_server_reuses_no_version() {
    for fact in ["system", "timeline", "database", "table"] {
        for database in Database::on_each_server() {
            let Node { server, mut client, location, _place } = Node::on(&database);
            let seen = newest(&mut client);

            // As after a failover: facts recorded about the server no longer hold, and nobody knows
            // which versions the lost server issued beyond those that this one has.
            database.within(&format!(
                "UPDATE place SET value = 'another' WHERE name = '{fact}'; \
                 SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                 WHERE datname = current_database() AND pid <> pg_backend_pid()"
            ));

            let (status, etag) = put(&mut client, &location, "Eve", &[]);
            assert_eq!(status, 204, "{fact}");
            let version: i64 = etag.trim_matches('"').parse().unwrap();
            assert!(version > seen + (1 << 32), "{fact}: {version} after {seen}");
            let next = put(&mut client, &location, "Ada", &[]).1;
            assert_eq!(next, format!("\"{}\"", version + 1), "{fact}: once is enough");
            assert_eq!(server.stop().code, Some(0));
        }
    }
}

#[test]
fn a_database_without_system_functions_is_served_and_a_copy_is_noticed() {
    for database in Database::on_each_server() {
        // Functions that related databases lack.
        database.within(
            "ALTER FUNCTION pg_control_system() RENAME TO no_control_system; \
             ALTER FUNCTION pg_current_wal_lsn() RENAME TO no_current_wal_lsn",
        );
        let seen = used(Place::with_store(&database.url()), |_: &Place| database.copy_to("kept"));

        database.replace_by("kept");

        nothing_repeats(&seen, "a database that tells little");
    }
}
