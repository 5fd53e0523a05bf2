//! Counts and exports of a store, with and without a running server.

use serde_json::{Value, json};

use crate::support::{Place, STUDENTS, Server, student};

#[test]
fn counts_are_exact_whether_or_not_a_server_has_the_store_open() {
    let place = Place::new();
    let server = Server::start(&place);
    let mut client = server.client_of(&place.key("FullAccess"));
    let first = client.post(STUDENTS, &student("1", "Ada"));
    assert_eq!(client.post(STUDENTS, &student("2", "Bo")).status, 201);
    let path = first.location();
    assert_eq!(client.send("DELETE", &path, &[], None).unwrap().status, 204);

    let in_use = place.json(&["counts", "students", "schools", "--json"]);
    server.stop();
    let alone = place.json(&["counts", "Student", "ed-fi/schools", "--json"]);

    assert_eq!(in_use["resources"]["ed-fi/students"], json!({ "documents": 1, "deletes": 1 }));
    assert_eq!(in_use["resources"]["ed-fi/schools"], json!({ "documents": 0, "deletes": 0 }));
    assert_eq!(in_use["documents"], 1);
    assert_eq!(alone, in_use);
}

#[test]
fn counts_since_a_change_version_include_only_changed_documents() {
    let place = Place::new();
    let server = Server::start(&place);
    let mut client = server.client_of(&place.key("FullAccess"));
    client.post(STUDENTS, &student("1", "Ada"));
    let before = place.json(&["counts", "--json"])["changeVersion"].to_string();
    client.post(STUDENTS, &student("2", "Bo"));

    let since = place.json(&["counts", "--since", &before, "--json"]);

    assert_eq!(since["resources"], json!({ "ed-fi/students": { "documents": 1, "deletes": 0 } }));
    let text = place.done(&["counts", "--since", &before]);
    assert!(text.contains("1        0  ed-fi/students\n"), "{text}");
}

#[test]
fn an_export_of_a_served_store_names_the_version_for_the_next_export() {
    let place = Place::new();
    let server = Server::start(&place);
    let mut client = server.client_of(&place.key("FullAccess"));
    client.post(STUDENTS, &student("1", "Ada"));

    let first = place.json(&["export", "--out", "whole", "--format", "csv", "--json"]);
    client.post(STUDENTS, &student("2", "Bo"));
    let next = first["changeVersion"].to_string();
    let second = place.json(&["export", "--out", "part", "--since", &next, "--json"]);

    assert_eq!(first["resources"]["ed-fi/students"], 1);
    assert_eq!(second["documents"], 1);
    let part = std::fs::read_to_string(place.path("part/ed-fi/students.jsonl")).unwrap();
    let document: Value = serde_json::from_str(part.trim()).unwrap();
    assert_eq!(document["firstName"], "Bo");
    assert_eq!(document["_etag"], second["changeVersion"].to_string());
}

#[test]
fn a_stream_of_one_store_is_loaded_into_another() {
    let (from, to) = (Place::new(), Place::new());
    let server = Server::start(&from);
    let mut client = server.client_of(&from.key("FullAccess"));
    client.post(STUDENTS, &student("1", "Ada"));

    let lines = from.done(&["export", "--out", "-", "--resource", "students"]);

    let file = to.write("lines.jsonl", &lines);
    to.done(&["load", file.to_str().unwrap()]);
    assert_eq!(to.json(&["counts", "students", "--json"])["documents"], 1);
}

#[test]
fn a_failed_export_is_reported_with_its_exit_code() {
    let place = Place::new();
    let absent = place.run(&["export", "--out", "out"]);
    place.key("FullAccess");
    place.write("letter.txt", "Dear all");

    let unknown = place.run(&["export", "--out", "out", "--resource", "pupils"]);
    let full = place.run(&["export", "--out", "."]);
    let stream = place.run(&["export", "--out", "-", "--format", "parquet"]);

    assert_eq!(absent.code, Some(1), "{absent:?}");
    assert!(absent.stderr.contains("there is no store"), "{absent:?}");
    for (ran, word) in [(unknown, "pupils"), (full, "not empty"), (stream, "JSON lines")] {
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains(word), "{ran:?}");
    }
    assert!(!place.path("out").exists());
}

#[test]
fn views_can_be_created_in_a_served_store_and_survive_a_restart() {
    let place = Place::new();
    let server = Server::start(&place);
    let mut client = server.client_of(&place.key("FullAccess"));
    client.post(STUDENTS, &student("1", "Ada"));

    let applied = place.json(&["views", "apply", "--json"]);
    assert_eq!(client.post(STUDENTS, &student("2", "Bo")).status, 201);
    server.stop();
    let server = Server::start(&place);

    assert!(applied["views"].as_u64().unwrap() > 600, "{applied}");
    let mut client = server.client_of(&place.key("FullAccess"));
    assert_eq!(client.get(STUDENTS).json().as_array().unwrap().len(), 2);
    assert_eq!(place.json(&["doctor", "--json"])["problems"], json!([]));
    place.done(&["views", "drop"]);
    let script = place.done(&["views", "sql", "--resource", "students"]);
    assert!(script.starts_with("CREATE TEMPORARY VIEW \"edfi_Student\" AS SELECT "), "{script}");
    assert_eq!(place.run(&["views", "sql", "--resource", "pupils"]).code, Some(2));
}
