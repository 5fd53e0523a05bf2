//! `homeroom jobs` on the real program, beside a server and without one, on each database.

use serde_json::json;

use crate::support::{Database, Place, Server, eventually};

const DEAD: &str = "00000000000070008000000000000001";
const QUEUED: &str = "00000000000070008000000000000002";

/// Adds a dead job and a queued one of a kind that no part has.
fn rows() -> String {
    let row = |id: &str, state: &str, error: &str, expires: &str| {
        format!(
            "INSERT INTO job (id, kind, owner, state, input, attempts, unwanted, error, created, \
             changed, due, expires) VALUES ('{id}', 'import', 'key-1', '{state}', \
             '{{\"file\":7}}', 3, 0, {error}, 1000000, 2000000, 2000000, {expires});"
        )
    };
    row(DEAD, "dead", "'no answer'", "9000000000000000") + &row(QUEUED, "queued", "NULL", "NULL")
}

/// Runs every command of `jobs`.
fn command_all(place: &Place) {
    let listed = place.json(&["jobs", "list", "--json"]);
    let ids: Vec<_> = listed.as_array().unwrap().iter().map(|job| job["id"].clone()).collect();
    assert_eq!(ids, [QUEUED, DEAD], "{listed}");
    let dead = place.json(&["jobs", "list", "--state", "dead", "--json"]);
    assert_eq!(dead[0]["error"], "no answer");
    assert_eq!(dead.as_array().unwrap().len(), 1);

    let shown = place.json(&["jobs", "show", DEAD, "--json"]);
    assert_eq!(shown["input"], json!({ "file": 7 }));
    assert!(place.done(&["jobs", "show", DEAD]).contains("error: no answer"));

    assert_eq!(place.done(&["jobs", "retry", DEAD]), format!("{DEAD} is queued again\n"));
    let again = place.run(&["jobs", "retry", DEAD]);
    assert_eq!(again.code, Some(1), "{again:?}");
    assert!(again.stderr.contains("only a dead or cancelled job"), "{again:?}");

    place.done(&["jobs", "cancel", QUEUED]);
    assert_eq!(place.json(&["jobs", "show", QUEUED, "--json"])["state"], "cancelled");

    let unknown = place.run(&["jobs", "show", "00000000000070008000000000000003"]);
    assert_eq!(unknown.code, Some(1), "{unknown:?}");
    assert!(unknown.stderr.contains("there is no job"), "{unknown:?}");
    assert_eq!(place.run(&["jobs", "show", "seven"]).code, Some(2));
}

#[test]
fn jobs_are_listed_shown_sent_again_and_cancelled_beside_a_server_which_counts_them() {
    let place = Place::new();
    place.key("FullAccess");
    assert_eq!(place.done(&["jobs", "list"]), "no jobs\n");
    let file = place.data().join("homeroom.db");
    rusqlite::Connection::open(&file).unwrap().execute_batch(&rows()).unwrap();
    let server = Server::start(&place);

    command_all(&place);

    let metrics = server.admin_client().get("/metrics").text();
    for line in [
        "homeroom_jobs{kind=\"import\",state=\"cancelled\"} 1\n",
        "homeroom_jobs{kind=\"import\",state=\"queued\"} 1\n",
        "homeroom_jobs_oldest_queued_seconds{kind=\"import\"} ",
        "homeroom_jobs_refused_total{reason=\"full\"} 0\n",
    ] {
        assert!(metrics.contains(line), "{line} in {metrics}");
    }
    assert_eq!(server.stop().code, Some(0));
}

#[test]
fn what_a_killed_server_was_doing_is_taken_over_at_once_where_nobody_else_can_have_the_store() {
    const LEFT: &str = "00000000000070008000000000000003";
    let row = format!(
        "INSERT INTO job (id, kind, owner, state, input, attempts, node, unwanted, created, changed, due) \
         VALUES ('{LEFT}', 'bulk-operation', 'key-1', 'running', '{{}}', 1, 'killed', 0, 1000000, \
         2000000, 9000000000000000);"
    );
    let place = Place::new();
    place.key("FullAccess");
    let file = place.data().join("homeroom.db");
    rusqlite::Connection::open(&file).unwrap().execute_batch(&row).unwrap();
    let server = Server::start(&place);

    eventually("it is taken over", || {
        place.json(&["jobs", "show", LEFT, "--json"])["state"] != "running"
    });
    assert_eq!(server.stop().code, Some(0));
}

#[test]
fn jobs_in_a_database_are_managed_without_a_server() {
    for database in Database::on_each_server() {
        let place = Place::with_store(&database.url());
        place.key("FullAccess");
        assert_eq!(place.done(&["jobs", "list"]), "no jobs\n");
        database.within(&rows());

        command_all(&place);
    }
}
