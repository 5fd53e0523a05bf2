//! Management commands work the same with and without a running server, and take effect at once.

use std::collections::HashMap;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::support::{Database, Place, STUDENTS, Server, student};

/// A path at which no store has a document.
const NO_STUDENT: &str = "/data/v3/ed-fi/students/00000000000000000000000000000000";

#[test]
fn commands_answer_the_same_with_and_without_a_server() {
    let with = Place::new();
    let without = Place::new();
    let server = Server::start(&with);
    let mut answers = vec![];

    for place in [&with, &without] {
        let file = place.write("set.json", reads_students().to_string());
        let file = file.to_str().unwrap();
        let mut ran = vec![];
        let mut run = |arguments: &[&str]| {
            let answer = place.run(arguments);
            ran.push((arguments[..2].join(" "), answer.code, answer.stdout.clone(), answer.stderr));
            answer.stdout
        };
        run(&["keys", "create"]);
        run(&["keys", "create", "--claim-set", "SisVendr"]);
        run(&["keys", "create", "--claim-set", "SISVendor", "--scope", "dta"]);
        run(&["claim-sets", "put", "Nightly", "--file", file]);
        let made = run(&[
            "keys",
            "create",
            "--claim-set",
            "sis vendor",
            "--name",
            "trial",
            "--education-organizations",
            "255901,255902",
            "--namespace-prefixes",
            "uri://a.org,uri://b.org",
            "--json",
        ]);
        let made: Value = serde_json::from_str(&made).unwrap();
        let key = made["key"].as_str().unwrap().to_owned();
        run(&["keys", "explain", &key, "GET", "/ed-fi/students", "--json"]);
        run(&["keys", "explain", &key, "GET", NO_STUDENT]);
        run(&["keys", "rotate", &key, "--json"]);
        run(&["keys", "rotate", &key]);
        run(&["keys", "list", "--json"]);
        run(&["keys", "revoke", &key]);
        run(&["keys", "revoke", &key]);
        run(&["keys", "revoke", "nobody"]);
        run(&["keys", "list"]);
        run(&["claim-sets", "list", "--json"]);
        run(&["claim-sets", "put", "SIS Vendor", "--file", file]);
        run(&["claim-sets", "show", "SISVendor", "--json"]);
        run(&["claim-sets", "show", "nightly"]);
        run(&["claim-sets", "remove", "SISVendor"]);
        run(&["claim-sets", "remove", "SISVendor"]);
        run(&["claim-sets", "show", "Nobody"]);
        let plain = |text: &str| masked(&text.replace(&key, "KEY").replace(file, "FILE"));
        answers.push(
            ran.into_iter()
                .map(|(what, code, out, err)| (what, code, plain(&out), plain(&err)))
                .collect::<Vec<_>>(),
        );
    }

    for (with, without) in answers[0].iter().zip(&answers[1]) {
        assert_eq!(with, without);
    }
    let codes: Vec<_> = answers[0].iter().map(|(_, code, ..)| code.unwrap()).collect();
    assert_eq!(
        codes,
        [1, 1, 1, 0, 0, 0, 1, 0, 1, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 1, 1],
        "{:#?}",
        answers[0]
    );
    let (_, _, _, refused) = &answers[0][0];
    let (_, _, _, unknown) = &answers[0][6];
    assert!(unknown.contains("/ed-fi/students has no document"), "{unknown}");
    for name in ["SISVendor", "EdFiSandbox", "RosterVendor", "AssessmentVendor", "FullAccess"] {
        assert!(refused.contains(name), "{refused}");
    }
    drop(server);
}

/// Commands that read, change or remove what is there, and make no store for it.
const MAKING_NO_STORE: &[&[&str]] = &[
    &["backup", "copy.db"],
    &["keys", "list"],
    &["keys", "rotate", "nobody"],
    &["keys", "subscribe", "nobody", "--apis", "*"],
    &["keys", "suspend", "nobody"],
    &["keys", "revoke", "nobody"],
    &["keys", "explain", "nobody", "GET", "/ed-fi/students"],
    &["claim-sets", "list"],
    &["strategies", "list"],
    &["jobs", "list"],
    &["gateway", "export"],
    &["course", "list"],
    &["course", "answers", "nobody"],
    &["course", "trace", "nobody"],
    &["course", "use", "nobody", "0"],
    &["load", "students.jsonl", "--dry-run"],
    &["load", "students.jsonl", "--delete"],
    &["views", "apply"],
    &["counts"],
    &["export", "--out", "out"],
];

/// Runs them where there is no store.
fn assert_no_store_is_made(place: &Place) {
    place.write("students.jsonl", student("1", "Ada").to_string());
    for arguments in MAKING_NO_STORE {
        let ran = place.run(arguments);

        assert_eq!(ran.code, Some(1), "{arguments:?}: {ran:?}");
        assert!(
            ran.stderr.contains("no store") || ran.stderr.contains("no Homeroom store"),
            "{ran:?}"
        );
        assert!(!place.data().exists(), "{arguments:?}");
        assert!(!place.path("copy.db").exists() && !place.path("out").exists(), "{arguments:?}");
    }
    assert_refused_loads_make_nothing(place);
}

/// Runs loads that are refused where there is no store.
fn assert_refused_loads_make_nothing(place: &Place) {
    for folder in ["empty", "used"] {
        std::fs::create_dir_all(place.path(folder)).unwrap();
    }
    place.write("used/own.txt", "mine");
    place.write("bad.json", "{\"name\": \"x\"}");
    place.write("pupils.toml", "no mapping");
    let load = ["load", "students.jsonl"];
    for (arguments, code, reason) in [
        (&[&load[..], &["--rejects", "used"]].concat()[..], 2, "used: contains"),
        (&[&load[..], &["--rejects", "students.jsonl/r"]].concat(), 1, "cannot be written"),
        (&[&load[..], &["--results", "/nope/r"]].concat(), 1, "/nope/r: cannot be written"),
        (&[&load[..], &["--results", "used/own.txt"]].concat(), 2, "already exists"),
        (&[&load[..], &["--rejects", "new/r", "--results", "/nope/r"]].concat(), 1, "/nope/r"),
        (&[&load[..], &["--rejects", "used", "--results", "new.jsonl"]].concat(), 2, "used: c"),
        (&[&load[..], &["--select", "nothings"]].concat(), 2, "no resource nothings"),
        (&[&load[..], &["--map", "pupils.toml"]].concat(), 2, "pupils.toml"),
        (&["load", "empty"], 2, "no file to load"),
    ] {
        let ran = place.run(arguments);

        assert_eq!(ran.code, Some(code), "{arguments:?}: {ran:?}");
        assert!(ran.stderr.contains(reason), "{arguments:?}: {ran:?}");
        assert!(!place.data().exists(), "{arguments:?}: {ran:?}");
        assert!(!place.path("new").exists() && !place.path("new.jsonl").exists(), "{ran:?}");
    }
    assert!(place.run(&["keys", "list"]).stderr.contains("no store"), "nothing was made");
}

#[test]
fn a_command_that_is_refused_makes_no_store() {
    let refused = |place: &Place| {
        place.write("set.json", r#"{"name": "Own", "resourceClaims": [{"claim": "none"}]}"#);
        place.write("film.zip", "no package");
        for arguments in [
            &["keys", "create", "--claim-set", "NoSuch"][..],
            &["keys", "create"],
            &["claim-sets", "put", "Own", "--file", "set.json"],
            &["course", "add", "nofile.zip"],
            &["course", "add", "film.zip"],
        ] {
            let ran = place.run(arguments);

            assert_ne!(ran.code, Some(0), "{arguments:?}: {ran:?}");
            assert!(!place.data().exists(), "{arguments:?}: {ran:?}");
        }
    };
    let place = Place::new();
    refused(&place);
    place.key("FullAccess");
    assert_eq!(place.json(&["keys", "list", "--json"])["keys"].as_array().unwrap().len(), 1);

    for database in Database::on_each_server() {
        let place = Place::with_store(&database.url());
        refused(&place);
        assert!(place.run(&["keys", "list"]).stderr.contains("no store"), "nothing was made");
    }
}

#[test]
fn commands_that_only_read_never_make_a_store() {
    let place = Place::new();

    assert_no_store_is_made(&place);
    let nothing = place.run(&["load", "nowhere.jsonl"]);

    assert_eq!(nothing.code, Some(2), "{nothing:?}");
    assert!(!place.data().exists(), "{nothing:?}");
    place.done(&["load", "students.jsonl"]);
    place.done(&["load", "students.jsonl", "--dry-run"]);
    assert!(place.data().exists());
    // Results may be in the folder that is made for the store.
    place.done(&["load", "students.jsonl", "--data-dir", "own", "--results", "own/results.jsonl"]);
    assert!(place.path("own/results.jsonl").exists());
}

#[test]
fn commands_that_only_read_never_make_a_store_in_a_database() {
    for database in Database::on_each_server() {
        let place = Place::with_store(&database.url());

        // The last ones answer this themselves; what they say has the same words.
        assert_no_store_is_made(&place);

        let made = place.done(&["load", "students.jsonl"]);
        assert!(made.contains("The store is new"), "{made}");
        place.done(&["load", "students.jsonl", "--dry-run"]);
    }
}

#[test]
fn a_load_tells_what_its_new_store_holds_already() {
    let place = Place::new();
    place.write("students.jsonl", student("1", "Ada").to_string());

    let first = place.done(&["load", "students.jsonl"]);
    let second = place.done(&["load", "students.jsonl"]);

    let counts = place.json(&["counts", "--json"]);
    let years = &counts["resources"]["ed-fi/schoolYearTypes"]["documents"];
    assert!(first.contains(&format!("{years} ed-fi/schoolYearTypes")), "{first}");
    assert!(!second.contains("schoolYearTypes"), "{second}");
    assert!(first.contains("1 row with"), "{first}");
}

#[test]
fn a_secret_is_shown_once_and_never_again() {
    let place = Place::new();
    let server = Server::start(&place);
    let (key, secret) = place.key("FullAccess");

    let listed = place.done(&["keys", "list", "--json"]);
    let plainly = place.done(&["keys", "list"]);
    let log = server.stop().stderr;
    let file = std::fs::read(place.data().join("homeroom.db")).unwrap();

    assert!(listed.contains(&key) && plainly.contains(&key));
    for text in [listed.as_bytes(), plainly.as_bytes(), log.as_bytes(), &file] {
        assert!(!contains(text, secret.as_bytes()));
    }
}

#[test]
fn creating_and_revoking_keys_takes_effect_at_once_in_a_running_server() {
    let place = Place::new();
    let server = Server::start(&place);
    let key = place.key("FullAccess");
    let mut client = server.client_of(&key);
    assert_eq!(client.get(STUDENTS).status, 200);

    place.done(&["keys", "revoke", &key.0]);

    let refused = client.get(STUDENTS);
    assert_eq!(refused.status, 401, "{refused:?}");
    assert!(refused.header("www-authenticate").is_some(), "{refused:?}");
    assert_eq!(client.ask_token(&key.0, &key.1).status, 401);
}

#[test]
fn a_suspended_key_calls_again_once_it_is_resumed() {
    let place = Place::new();
    let server = Server::start(&place);
    let key = place.key("FullAccess");
    let mut client = server.client_of(&key);

    let suspended = place.done(&["keys", "suspend", &key.0]);
    let refused = client.get(STUDENTS).status;
    let listed = place.done(&["keys", "list"]);
    place.done(&["keys", "resume", &key.0]);

    assert!(suspended.contains("status: suspended") && listed.contains("suspended"), "{listed}");
    assert_eq!((refused, client.get(STUDENTS).status), (401, 200));
    place.done(&["keys", "revoke", &key.0]);
    assert_eq!(place.run(&["keys", "resume", &key.0]).code, Some(1), "a revoked key stays revoked");
}

#[test]
fn a_key_of_every_scope_is_suspended_and_resumed() {
    let place = Place::new();
    let server = Server::start(&place);
    for scope in ["data", "admin", "learning", "apis"] {
        let mut create = vec!["keys", "create", "--scope", scope, "--json"];
        if scope == "data" {
            create.extend(["--claim-set", "FullAccess"]);
        }
        let made = place.json(&create);
        let [key, secret] = ["key", "secret"].map(|name| made[name].as_str().unwrap());
        let mut client = server.client();
        assert_eq!(client.ask_token(key, secret).status, 200, "{scope}");

        let suspended = place.done(&["keys", "suspend", key]);
        let refused = client.ask_token(key, secret).status;
        let resumed = place.done(&["keys", "resume", key]);

        assert!(suspended.contains("status: suspended"), "{scope}: {suspended}");
        assert!(resumed.contains("status: active"), "{scope}: {resumed}");
        assert_eq!((refused, client.ask_token(key, secret).status), (401, 200), "{scope}");
    }
}

#[test]
fn a_rotated_key_has_two_secrets_until_the_old_one_is_revoked() {
    let place = Place::new();
    let server = Server::start(&place);
    let (key, old) = place.key("FullAccess");
    let mut client = server.client_of(&(key.clone(), old.clone()));

    let rotated = place.json(&["keys", "rotate", &key, "--json"]);

    let new = rotated["secret"].as_str().unwrap().to_owned();
    let mut other = server.client();
    assert_eq!(other.ask_token(&key, &old).status, 200);
    assert_eq!(other.ask_token(&key, &new).status, 200);
    assert_eq!(client.get(STUDENTS).status, 200);

    // The message that refuses a third secret names the command that makes room for it.
    let refused = place.run(&["keys", "rotate", &key]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    let advice = refused.stderr.split("homeroom ").last().unwrap();
    let advice = advice.trim().trim_end_matches(')');
    place.done(&advice.split(' ').collect::<Vec<_>>());

    assert_eq!(other.ask_token(&key, &old).status, 401);
    assert_eq!(other.ask_token(&key, &new).status, 200);
    assert_eq!(client.get(STUDENTS).status, 401, "a token of the old secret");
}

#[test]
fn a_claim_set_that_is_put_applies_to_the_next_request() {
    let place = Place::new();
    let server = Server::start(&place);
    let file = place.write("set.json", reads_students().to_string());
    let file = file.to_str().unwrap();
    place.done(&["claim-sets", "put", "Nightly", "--file", file]);
    let mut client = server.client_of(&place.key("Nightly"));
    assert_eq!(client.get(STUDENTS).status, 200);
    assert_eq!(client.post(STUDENTS, &student("1", "Ada")).status, 403);
    assert_eq!(client.get("/data/v3/ed-fi/schools").status, 403);

    let mut wider = reads_students();
    let strategies = wider["resourceClaims"][0]["actions"][0]["authorizationStrategies"].clone();
    let create = json!({"name": "Create", "authorizationStrategies": strategies});
    wider["resourceClaims"][0]["actions"].as_array_mut().unwrap().push(create);
    place.write("set.json", wider.to_string());
    place.done(&["claim-sets", "put", "Nightly", "--file", file]);

    assert_eq!(client.post(STUDENTS, &student("1", "Ada")).status, 201);
}

#[test]
fn a_wrong_claim_set_file_changes_nothing_and_its_faults_are_reported() {
    let place = Place::new();
    let _server = Server::start(&place);
    let before = place.done(&["claim-sets", "list", "--json"]);

    for (content, word) in [
        ("{", "line 1"),
        ("[]", "resourceClaims"),
        (r#"{"name": "N", "resourceClaims": [{"claim": "http://x/nothing"}]}"#, "nothing"),
    ] {
        let file = place.write("wrong.json", content);
        let ran = place.run(&["claim-sets", "put", "N", "--file", file.to_str().unwrap()]);

        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.stderr.contains(word), "no `{word}`: {ran:?}");
    }

    assert_eq!(place.done(&["claim-sets", "list", "--json"]), before);
}

#[test]
fn a_strategy_that_is_put_applies_from_the_next_request_until_it_is_removed() {
    let place = Place::new();
    let server = Server::start(&place);
    let mut set = reads_students();
    set["resourceClaims"][0]["actions"][0]["authorizationStrategies"] = json!(["StudentWithAda"]);
    let file = place.write("set.json", set.to_string());
    place.done(&["claim-sets", "put", "Nightly", "--file", file.to_str().unwrap()]);
    let mut owner = server.client_of(&place.key("FullAccess"));
    let ada = owner.post(STUDENTS, &student("1", "Ada")).location();
    let bo = owner.post(STUDENTS, &student("2", "Bo")).location();
    let mut client = server.client_of(&place.key("Nightly"));
    assert_eq!(client.get(&ada).status, 500);

    let rule = json!({"where": {"member": "firstName", "in": ["Ada"]}});
    let file = place.write("view.json", rule.to_string());
    place.done(&["strategies", "put", "StudentWithAda", "--file", file.to_str().unwrap()]);
    assert_eq!((client.get(&ada).status, client.get(&bo).status), (200, 403));
    let used = place.run(&["strategies", "remove", "StudentWithAda"]);
    assert_eq!(used.code, Some(1), "{used:?}");
    assert!(used.stderr.contains("Nightly"), "{used:?}");

    let file = place.write("set.json", reads_students().to_string());
    place.done(&["claim-sets", "put", "Nightly", "--file", file.to_str().unwrap()]);
    server.stop();
    let shown = place.done(&["strategies", "show", "StudentWithAda"]);
    assert!(shown.contains("/ed-fi/studentSchoolAssociations"), "{shown}");
    place.done(&["strategies", "remove", "StudentWithAda"]);
    assert!(!place.done(&["strategies", "list"]).contains("StudentWithAda"));
}

#[test]
fn a_backup_taken_during_writes_can_be_served_elsewhere() {
    let place = Place::new();
    let server = Server::start(&place);
    let key = place.key("FullAccess");
    let mut client = server.client_of(&key);
    let mut before = HashMap::new();
    for number in 0..50 {
        let path = client.post(STUDENTS, &student(&number.to_string(), "Ada")).location();
        before.insert(path.clone(), client.get(&path).json());
    }
    let backup = place.path("backup.db");
    let backup = backup.to_str().unwrap();

    std::thread::scope(|scope| {
        let (done, stop) = std::sync::mpsc::channel::<()>();
        let mut writer = server.client_of(&key);
        let writing = scope.spawn(move || {
            let mut written = 0;
            while stop.try_recv().is_err() {
                let id = format!("later-{written}");
                assert_eq!(writer.post(STUDENTS, &student(&id, "Bo")).status, 201);
                written += 1;
            }
            written
        });
        assert_eq!(place.done(&["backup", backup]).trim(), backup);
        done.send(()).unwrap();
        assert!(writing.join().unwrap() > 0);
    });

    let again = place.run(&["backup", backup]);
    assert_eq!(again.code, Some(2), "{again:?}");
    assert!(again.stderr.contains("already exists"), "{again:?}");
    let other = Place::new();
    let unconfirmed = other.run(&["restore", backup]);
    assert_eq!(unconfirmed.code, Some(2), "{unconfirmed:?}");
    assert!(unconfirmed.stderr.contains("--yes"), "{unconfirmed:?}");
    other.done(&["restore", backup, "--yes"]);
    assert_eq!(other.json(&["doctor", "--json"])["problems"], json!([]));
    let restored = Server::start(&other);
    // The backup contains the keys, too.
    let mut client = restored.client_of(&key);
    for (path, document) in &before {
        assert_eq!(&client.get(path).json(), document);
    }
    let created = client.post(STUDENTS, &student("after the restore", "Cy"));
    assert_eq!(created.status, 201, "{created:?}");
}

#[test]
fn restore_keeps_the_previous_store_and_refuses_one_that_is_served() {
    let place = Place::new();
    let key = place.key("FullAccess");
    let backup = place.path("backup.db");
    let backup = backup.to_str().unwrap();
    place.done(&["backup", backup]);
    let server = Server::start(&place);
    let path = server.client_of(&key).post(STUDENTS, &student("1", "Ada")).location();

    let refused = place.run(&["restore", backup, "--yes"]);

    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("another process"), "{refused:?}");
    assert_eq!(server.client_of(&key).get(&path).status, 200);

    // Writes that a killed server had only in its log are kept as well.
    server.kill();
    place.done(&["restore", backup, "--yes"]);
    let server = Server::start(&place);
    assert_eq!(server.client_of(&key).get(&path).status, 404);
    server.stop();
    let kept = place.data().join("homeroom.db.before-restore");
    place.done(&["restore", kept.to_str().unwrap(), "--yes"]);
    let server = Server::start(&place);
    assert_eq!(server.client_of(&key).get(&path).status, 200);
}

#[test]
fn restore_replaces_a_store_that_can_no_longer_be_opened() {
    let place = Place::new();
    let key = place.key("FullAccess");
    let backup = place.path("backup.db");
    let backup = backup.to_str().unwrap();
    place.done(&["backup", backup]);
    let file = place.data().join("homeroom.db");
    std::fs::write(&file, b"a cosmic ray".repeat(4_000)).unwrap();
    assert_eq!(place.run(&["doctor", "--json"]).code, Some(6));

    place.done(&["restore", backup, "--yes"]);

    let looked = place.json(&["doctor", "--json"]);
    assert_eq!(looked["problems"], json!([]));
    assert!(looked["freeBytes"].as_u64().unwrap() > 0, "{looked}");
    let server = Server::start(&place);
    assert_eq!(server.client_of(&key).get(STUDENTS).status, 200);
}

#[test]
fn restore_accepts_only_a_backup_and_otherwise_leaves_the_store_unchanged() {
    let place = Place::new();
    let key = place.key("FullAccess");
    let letter = place.write("letter.txt", "Dear all".repeat(400));

    for (from, word) in
        [(letter.to_str().unwrap(), "not a Homeroom store"), ("absent.db", "absent")]
    {
        let ran = place.run(&["restore", from, "--yes"]);

        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.stderr.contains(word), "no `{word}`: {ran:?}");
    }

    let server = Server::start(&place);
    assert_eq!(server.client_of(&key).get(STUDENTS).status, 200);
}

#[test]
fn files_and_socket_are_accessible_to_their_owner_only() {
    let place = Place::new();
    let server = Server::start(&place);
    let mut client = server.client_of(&place.key("FullAccess"));
    assert_eq!(client.post(STUDENTS, &student("1", "Ada")).status, 201);
    let backup = place.path("backup.db");
    place.done(&["backup", backup.to_str().unwrap()]);

    let mut modes = HashMap::new();
    for file in std::fs::read_dir(place.data()).unwrap() {
        let file = file.unwrap();
        let mode = file.metadata().unwrap().permissions().mode() & 0o777;
        modes.insert(file.file_name().into_string().unwrap(), mode);
    }

    assert_eq!(modes["control.sock"], 0o600);
    // The store contains student data and the keys that sign tokens.
    for name in ["homeroom.db", "homeroom.db-wal", "homeroom.db-shm"] {
        assert_eq!(modes[name], 0o600, "{name}");
    }
    assert_eq!(backup.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    server.stop();
    assert!(!place.data().join("control.sock").exists());
}

#[test]
fn a_control_socket_left_by_a_killed_server_does_no_harm() {
    let place = Place::new();
    Server::start(&place).kill();
    assert!(place.data().join("control.sock").exists());

    let key = place.key("FullAccess");

    let server = Server::start(&place);
    assert_eq!(server.client_of(&key).get(STUDENTS).status, 200);
    place.done(&["keys", "list"]);
}

/// Returns a claim set that may read students and nothing else.
fn reads_students() -> Value {
    json!({
        "name": "Nightly",
        "resourceClaims": [{
            "claim": "http://ed-fi.org/identity/claims/ed-fi/student",
            "actions": [{
                "name": "Read",
                "authorizationStrategies": ["NoFurtherAuthorizationRequired"],
            }],
        }],
    })
}

/// Replaces the parts of a text that differ each time: times and secrets.
fn masked(text: &str) -> String {
    let is_word = |c: char| c.is_ascii_alphanumeric() || "-:.".contains(c);
    let mut out = String::new();
    for piece in text.split_inclusive(|c: char| !is_word(c)) {
        let word = piece.trim_end_matches(|c: char| !is_word(c));
        let is_moment = word.len() > 18 && word.as_bytes()[10] == b'T' && word.contains(':');
        let is_secret = word.len() == 52 && word.chars().all(|c| c.is_ascii_alphanumeric());
        out += if is_moment || is_secret { "…" } else { word };
        out += &piece[word.len()..];
    }
    out
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}
