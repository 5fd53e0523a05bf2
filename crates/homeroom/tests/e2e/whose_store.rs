//! A command names the store that it is for, and a server with another store refuses it.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::Command;

use serde_json::{Value, json};

use crate::help::commands;
use crate::support::{Place, Ran, STUDENTS, Server, student};

/// Returns a command on the store of this name in the place's folder.
fn on(place: &Place, store: &str, arguments: &[&str]) -> Command {
    let mut command = place.command(arguments);
    let url = format!("sqlite:{}", place.data().join(store).display());
    command.env("HOMEROOM_STORE__URL", url);
    command
}

fn serve(place: &Place, store: &str) -> Server {
    let arguments = ["serve", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"];
    Server::of(&mut on(place, store, &arguments))
}

fn done(place: &Place, store: &str, arguments: &[&str]) -> String {
    let ran = Ran::of(&mut on(place, store, arguments));
    assert_eq!(ran.code, Some(0), "{store} {arguments:?}: {ran:?}");
    ran.stdout
}

fn key(place: &Place, store: &str) -> (String, String) {
    let made = done(place, store, &["keys", "create", "--claim-set", "FullAccess", "--json"]);
    let made: Value = serde_json::from_str(&made).unwrap();
    let text = |name: &str| made[name].as_str().unwrap().to_owned();
    (text("key"), text("secret"))
}

#[test]
fn commands_reach_the_server_of_their_own_store_in_a_shared_folder() {
    let place = Place::new();
    let long = format!("{}.db", "name".repeat(40));
    let stores = ["homeroom.db", "other.db", &long];
    let servers = stores.map(|store| serve(&place, store));

    let keys = stores.map(|store| key(&place, store));

    for (at, server) in servers.iter().enumerate() {
        for (of, (key, secret)) in keys.iter().enumerate() {
            let expected = if at == of { 200 } else { 401 };
            assert_eq!(server.client().ask_token(key, secret).status, expected, "{at} {of}");
        }
        let document = student(&at.to_string(), "Ada");
        assert_eq!(server.client_of(&keys[at]).post(STUDENTS, &document).status, 201);
    }
    for (at, store) in stores.iter().enumerate() {
        let backup = place.path(format!("backup-{at}"));
        done(&place, store, &["backup", backup.to_str().unwrap()]);
        let copy = Place::with_store(&format!("sqlite:{}", backup.display()));
        let restored = Server::start(&copy);
        let found = restored.client_of(&keys[at]).get(STUDENTS).json();
        assert_eq!(found[0]["studentUniqueId"], at.to_string());
    }
    let [first, second, third] = servers;
    first.stop();
    // The sockets of the other stores are unchanged.
    key(&place, stores[1]);
    key(&place, stores[2]);
    second.stop();
    third.stop();
    let left = std::fs::read_dir(place.data()).unwrap();
    let left: Vec<_> =
        left.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert!(!left.iter().any(|name| name.contains("sock") || name.starts_with('.')), "{left:?}");
}

/// The fingerprint of a certificate.
const FINGERPRINT: &str = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

/// The id of a job.
const JOB: &str = "0196e2f05c6b7a418d7c1f5a2b3c4d5e";

/// Commands that ask the server which has the store open, with their other arguments.
const MANAGING: &[&[&str]] = &[
    &["keys", "create", "--claim-set", "FullAccess"],
    &["keys", "list"],
    &["keys", "rotate", "KEY"],
    &["keys", "add-certificate", "KEY", FINGERPRINT],
    &["keys", "remove-certificate", "KEY", FINGERPRINT],
    &["keys", "suspend", "KEY"],
    &["keys", "resume", "KEY"],
    &["keys", "revoke", "KEY"],
    &["keys", "explain", "KEY", "GET", "/ed-fi/students"],
    &["claim-sets", "list"],
    &["claim-sets", "show", "FullAccess"],
    &["claim-sets", "remove", "Nightly"],
    &["claim-sets", "put", "Nightly", "--file", "set.json"],
    &["strategies", "list"],
    &["strategies", "show", "StudentWithAda"],
    &["strategies", "put", "StudentWithAda", "--file", "view.json"],
    &["strategies", "remove", "StudentWithAda"],
    &["load", "students.jsonl"],
    &["gateway", "apply", "apis.toml"],
    &["keys", "create", "--apis", "*"],
    &["keys", "subscribe", "KEY", "--apis", "*"],
    &["gateway", "diff", "apis.toml"],
    &["gateway", "export"],
    &["jobs", "list"],
    &["jobs", "show", JOB],
    &["jobs", "retry", JOB],
    &["jobs", "cancel", JOB],
    &["course", "add", "film.mp4"],
    &["course", "list"],
    &["course", "answers", "nobody"],
    &["course", "trace", "nobody"],
    &["course", "use", "nobody", "0"],
    &["backup", "the.copy"],
    &["views", "apply"],
    &["views", "drop"],
];

/// Commands that open the store's file themselves, if it exists.
const OTHERS: &[&str] = &[
    "demo",
    "serve",
    "upload",
    "generate",
    "counts",
    "export",
    "views sql",
    "restore",
    "doctor",
    "claim-sets import",
    "model import",
    "model check",
    "model show",
    "config show",
    "completion",
    "man",
    "lab quick",
    "lab run",
    "lab capacity",
    "lab compare",
    "lab gate",
    "lab echo",
    "lab gateway",
    "lab learners",
    "lab bulk",
    "gateway lint",
    "course check",
];

#[test]
fn a_server_of_another_store_refuses_every_management_command() {
    let place = Place::new();
    for command in commands(&place, &[]) {
        let words = command.join(" ");
        let is_managing = MANAGING.iter().any(|known| known.join(" ").starts_with(&words));
        let is_other = OTHERS.contains(&words.as_str());
        assert!(is_managing != is_other, "`{words}`: does it ask the server of a store?");
    }
    let (theirs, _) = key(&place, "theirs.db");
    key(&place, "homeroom.db");
    place.write("set.json", json!({"name": "Nightly", "resourceClaims": []}).to_string());
    let view = json!({"where": {"member": "firstName", "in": ["Ada"]}});
    place.write("view.json", view.to_string());
    place.write("students.jsonl", student("1", "Ada").to_string());
    place.write("apis.toml", "");
    place.write("film.mp4", "\0\0\0\x18ftypmp42");
    let server = serve(&place, "theirs.db");
    let sockets = std::fs::read_dir(place.data()).unwrap().map(|entry| entry.unwrap().path());
    let socket = sockets.into_iter().find(|path| path.extension().is_some_and(|e| e == "sock"));
    // However it came about: the server of one store listens where the other's socket should be.
    std::fs::rename(socket.unwrap(), place.data().join("control.sock")).unwrap();
    let state = || {
        let counts = done(&place, "theirs.db", &["counts", "--json"]);
        (counts, server.client().get("/readyz").status)
    };
    let before = state();

    for arguments in MANAGING {
        let arguments: Vec<&str> =
            arguments.iter().map(|word| if *word == "KEY" { &theirs } else { *word }).collect();
        let ran = place.run(&arguments);

        assert_eq!(ran.code, Some(1), "{arguments:?}: {ran:?}");
        assert!(ran.stderr.contains("theirs.db"), "{arguments:?}: {ran:?}");
        assert!(ran.stderr.contains("nothing was done"), "{arguments:?}: {ran:?}");
        assert_eq!(ran.stdout, "", "{arguments:?}");
    }

    assert_eq!(state(), before);
    assert!(!place.path("the.copy").exists());
    let keys = place.data().join("control.sock");
    std::fs::remove_file(keys).unwrap();
    assert_eq!(server.stop().code, Some(0));
    let listed = done(&place, "theirs.db", &["keys", "list", "--json"]);
    let listed: Value = serde_json::from_str(&listed).unwrap();
    assert_eq!(listed["keys"].as_array().unwrap().len(), 1, "{listed}");
    assert_eq!(listed["keys"][0]["status"], "active", "{listed}");
}

#[test]
fn views_of_a_served_file_are_changed_only_through_its_server() {
    let place = Place::new();
    let server = Server::start(&place);
    let socket = place.data().join("control.sock");
    std::fs::remove_file(&socket).unwrap();
    for arguments in [&["views", "apply"], &["views", "drop"]] {
        let ran = place.run(arguments);

        assert_eq!(ran.code, Some(1), "{arguments:?}: {ran:?}");
        assert!(ran.stderr.contains("another process"), "{arguments:?}: {ran:?}");
    }
    server.stop();
    for arguments in [&["views", "apply"], &["views", "drop"]] {
        assert_eq!(place.run(arguments).code, Some(0), "{arguments:?}");
    }
}

#[test]
fn a_stopping_server_does_not_remove_a_foreign_socket() {
    let place = Place::new();
    let server = Server::start(&place);
    let socket = place.data().join("control.sock");
    std::fs::remove_file(&socket).unwrap();
    let listener = UnixListener::bind(&socket).unwrap();

    server.stop();

    assert!(socket.exists());
    drop(listener);
}

#[test]
fn a_file_that_is_not_a_socket_is_not_replaced() {
    let place = Place::new();
    place.key("FullAccess");
    let letter = place.write("data/control.sock", "Dear all");

    let serve = ["serve", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"];
    let ran = Ran::to_its_end(&mut place.command(&serve));

    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("control.sock") && ran.stderr.contains("not a socket"), "{ran:?}");
    assert_eq!(std::fs::read(letter).unwrap(), b"Dear all");
}

#[test]
fn a_version_mismatch_between_command_and_server_is_reported() {
    let place = Place::new();
    place.key("FullAccess");
    let socket = place.data().join("control.sock");
    // The answer of a server that does not know the envelope.
    let older = UnixListener::bind(&socket).unwrap();
    let answering = std::thread::spawn(move || {
        let (stream, _) = older.accept().unwrap();
        let mut line = String::new();
        BufReader::new(&stream).read_line(&mut line).unwrap();
        let said = json!({"failed": "the request is wrong: unknown variant `store`, expected one of \
             `manage`, `backup`, `load` at line 1 column 8"});
        writeln!(&stream, "{said}").unwrap();
    });
    let ran = place.run(&["keys", "list"]);
    answering.join().unwrap();
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("version") && ran.stderr.contains("restart"), "{ran:?}");

    std::fs::remove_file(&socket).unwrap();
    let _server = Server::start(&place);
    let stream = UnixStream::connect(&socket).unwrap();
    let create = json!({"manage": {"create-key": {"claim_set": "FullAccess"}}});
    writeln!(&stream, "{create}").unwrap();
    let mut answer = String::new();
    BufReader::new(&stream).read_line(&mut answer).unwrap();

    let answer: HashMap<String, Value> = serde_json::from_str(&answer).unwrap();
    let failed = answer["failed"].as_str().unwrap();
    assert!(failed.contains("version") && failed.contains("nothing was done"), "{failed}");
}
