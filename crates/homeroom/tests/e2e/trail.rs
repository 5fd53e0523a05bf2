//! The audit log and the log of requests: a correlation id leads to who, what and when.

use std::path::Path;
use std::process::Command;

use base64::Engine as _;
use serde_json::{Value, json};

use crate::support::{Client, Place, STUDENTS, Server, eventually, student};

const ADMIN: &str = "/adminapi/v2";

/// Returns a server that logs all requests and the audit log into files, with a key that may manage.
fn server_and_admin(place: &Place) -> (Server, Client, String) {
    let server = Server::start_with(
        place,
        &[
            ("HOMEROOM_LOG__AUDIT_FILE", "audit.jsonl"),
            ("HOMEROOM_LOG__REQUESTS", "all"),
            ("HOMEROOM_LOG__REQUESTS_FILE", "requests.jsonl"),
        ],
    );
    let made = place.json(&["keys", "create", "--scope", "admin", "--json"]);
    let key = made["key"].as_str().unwrap().to_owned();
    let admin = server.client_of(&(key.clone(), made["secret"].as_str().unwrap().to_owned()));
    (server, admin, key)
}

/// Returns the lines of the files with a text, as `grep` finds them.
fn found(place: &Place, text: &str, files: &[&str]) -> Vec<Value> {
    let mut grep = Command::new("grep");
    grep.args(["-hF", "-e", text]).args(files.iter().map(|file| place.path(file)));
    let printed = String::from_utf8(grep.output().unwrap().stdout).unwrap();
    printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn entries(place: &Place, file: &str) -> Vec<Value> {
    read(&place.path(file))
}

fn read(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn with_action<'a>(entries: &'a [Value], action: &str) -> Vec<&'a Value> {
    entries.iter().filter(|entry| entry["action"] == action).collect()
}

#[test]
fn one_grep_for_a_correlation_id_finds_who_what_and_when() {
    const ID: &str = "ticket-4711";
    let place = Place::new();
    let (server, mut admin, manager) = server_and_admin(&place);
    let vendor = json!({
        "company": "Acme", "namespacePrefixes": "uri://acme.org",
        "contactName": "Zyxwolf", "contactEmailAddress": "zyxwolf@acme.org",
    });
    let vendor = admin.post(&format!("{ADMIN}/vendors"), &vendor);
    assert_eq!(vendor.status, 201, "{vendor:?}");
    let vendor: i64 = vendor.location().rsplit('/').next().unwrap().parse().unwrap();
    let asked = json!({
        "applicationName": "Gradebook", "vendorId": vendor, "claimSetName": "FullAccess",
        "educationOrganizationIds": [255_901], "odsInstanceIds": [1],
    });
    let headers = [("content-type", "application/json"), ("correlationid", ID)];
    let body = asked.to_string();
    let path = format!("{ADMIN}/applications");

    let made = admin.send("POST", &path, &headers, Some(body.as_bytes())).unwrap();

    assert_eq!(made.status, 201, "{made:?}");
    let files = ["audit.jsonl", "requests.jsonl"];
    eventually("both logs have it", || found(&place, ID, &files).len() >= 3);
    let lines = found(&place, ID, &files);
    let created = with_action(&lines, "key.created");
    assert_eq!(created.len(), 1, "{lines:?}");
    assert_eq!(created[0]["by"], format!("key {manager}"));
    assert_eq!(created[0]["key"], made.json()["key"]);
    assert_eq!(created[0]["claim_set"], "FullAccess");
    assert_eq!(created[0]["outcome"], "done");
    assert_eq!(created[0]["from"], "127.0.0.1");
    assert!(created[0]["timestamp"].as_str().unwrap().starts_with("20"), "{created:?}");
    assert_eq!(with_action(&lines, "application.created").len(), 1, "{lines:?}");
    let request = lines.iter().find(|line| line["message"] == "request").unwrap();
    assert_eq!(request["key"], manager);
    assert_eq!(request["client"], manager, "an application without a name has that of its key");
    assert_eq!((&request["status"], &request["route"]), (&json!(201), &json!(path)));
    assert!(request["ms"].as_f64().unwrap() > 0.0, "{request}");
    assert_eq!(request["request_id"], created[0]["request_id"]);

    let (key, secret) = (made.json()["key"].clone(), made.json()["secret"].clone());
    let secret = secret.as_str().unwrap().to_owned();
    let mut client = server.client_of(&(key.as_str().unwrap().to_owned(), secret.clone()));
    let headers = [("content-type", "application/json"), ("correlationid", "row-9")];
    let body = student("zyxwolf-1", "Zyxwolf").to_string();
    let sent = client.send("POST", STUDENTS, &headers, Some(body.as_bytes())).unwrap();
    assert_eq!(sent.status, 201, "{sent:?}");
    eventually("it is logged", || !found(&place, "row-9", &files).is_empty());
    let lines = found(&place, "row-9", &files);
    assert_eq!(lines[0]["key"], key);
    assert_eq!(lines[0]["client"], "Gradebook");
    assert_eq!(lines[0]["resource"], "ed-fi/students");

    assert_eq!(server.stop().code, Some(0));
    for file in files {
        let text = std::fs::read_to_string(place.path(file)).unwrap().to_lowercase();
        assert!(!text.contains("zyxwolf") && !text.contains(&secret.to_lowercase()), "{text}");
    }
}

/// Everything that the door refuses of a known client leads to it, and its secret is nowhere.
#[test]
fn a_correlation_id_of_a_refused_request_leads_to_the_client() {
    let place = Place::new();
    let (server, mut admin, manager) = server_and_admin(&place);
    let named = ["keys", "create", "--claim-set", "FullAccess", "--name", "SIS", "--json"];
    let made = place.json(&named);
    let [key, secret] = ["key", "secret"].map(|name| made[name].as_str().unwrap().to_owned());
    let mut client = server.client_of(&(key.clone(), secret.clone()));
    let ask = |secret: &str, id: &str| {
        let body = format!("grant_type=client_credentials&client_id={key}&client_secret={secret}");
        let form = ("content-type", "application/x-www-form-urlencoded");
        let headers = [form, ("correlationid", id)];
        let mut client = server.client();
        client.send("POST", "/oauth/token", &headers, Some(body.as_bytes())).unwrap().status
    };
    let get = |client: &mut Client, path: &str, id: &str| {
        client.send("GET", path, &[("correlationid", id)], None).unwrap().status
    };
    let basic = base64::engine::general_purpose::STANDARD.encode(format!("{manager}:zyxwolf"));
    let basic = format!("Basic {basic}");
    let courses = "/learning/api/v2/courses";

    assert_eq!(get(&mut admin, STUDENTS, "c-1"), 403);
    assert_eq!(get(&mut client, ADMIN, "c-2"), 404, "no such address");
    assert_eq!(get(&mut client, &format!("{ADMIN}/vendors"), "c-3"), 403);
    let put = client.send("PUT", STUDENTS, &[("correlationid", "c-4")], None).unwrap();
    assert_eq!(put.status, 405);
    assert_eq!(ask("zyxwolf", "c-5"), 401);
    assert_eq!(ask(&secret, "c-6"), 200);
    let headers = [("authorization", &*basic), ("correlationid", "c-7")];
    assert_eq!(server.client().send("GET", courses, &headers, None).unwrap().status, 401);
    place.done(&["keys", "suspend", &key]);
    assert_eq!(get(&mut client, STUDENTS, "c-8"), 401);
    assert_eq!(ask(&secret, "c-9"), 401);
    let headers = [("authorization", "Basic enl4d29sZjp6eXh3b2xm"), ("correlationid", "c-0")];
    assert_eq!(server.client().send("GET", courses, &headers, None).unwrap().status, 401);
    server.stop();

    let expected = [
        ("c-1", Some((&*manager, &*manager))),
        ("c-3", Some((&key, "SIS"))),
        ("c-4", Some((&key, "SIS"))),
        ("c-5", Some((&key, "SIS"))),
        ("c-6", Some((&key, "SIS"))),
        ("c-7", Some((&manager, &manager))),
        ("c-8", Some((&key, "SIS"))),
        ("c-9", Some((&key, "SIS"))),
        ("c-0", None),
    ];
    for (id, who) in expected {
        let lines = found(&place, &format!("\"{id}\""), &["requests.jsonl"]);
        let told = (lines[0]["key"].as_str(), lines[0]["client"].as_str());
        assert_eq!(told, (who.map(|(key, _)| key), who.map(|(_, name)| name)), "{}", lines[0]);
    }
    let text = std::fs::read_to_string(place.path("requests.jsonl")).unwrap();
    assert!(!text.contains("zyxwolf") && !text.contains(&secret), "{text}");
}

#[test]
fn both_logs_may_be_moved_away_while_the_server_runs() {
    let place = Place::new();
    let (server, mut admin, _) = server_and_admin(&place);
    let files = ["audit.jsonl", "requests.jsonl"];
    let moved = ["audit.jsonl.1", "requests.jsonl.1"];
    let vendor = |admin: &mut Client, id: &str| {
        let headers = [("content-type", "application/json"), ("correlationid", id)];
        let body = json!({
            "company": id, "namespacePrefixes": "uri://acme.org",
            "contactName": "A", "contactEmailAddress": "a@acme.org",
        });
        let path = format!("{ADMIN}/vendors");
        let made = admin.send("POST", &path, &headers, Some(body.to_string().as_bytes())).unwrap();
        assert_eq!(made.status, 201, "{made:?}");
    };
    vendor(&mut admin, "before-1");
    eventually("it is logged", || found(&place, "before-1", &files).len() == 2);

    for (file, moved) in files.iter().zip(moved) {
        std::fs::rename(place.path(file), place.path(moved)).unwrap();
    }
    vendor(&mut admin, "after-1");
    assert_eq!(server.stop().code, Some(0));

    assert_eq!(found(&place, "before-1", &moved).len(), 2);
    assert_eq!(found(&place, "after-1", &moved).len(), 0);
    assert_eq!(found(&place, "after-1", &files).len(), 2);
}

#[test]
fn what_is_published_over_http_is_audited_with_its_key_and_request() {
    let place = Place::new();
    let (server, mut admin, manager) = server_and_admin(&place);
    let headers = [("content-type", "application/json"), ("correlationid", "plan-1")];
    let plan = r#"{"name": "few", "requests_per_second": 1, "burst": 3}"#;
    let path = "/adminapi/gateway/v1/plans/few";

    let put = admin.send("PUT", path, &headers, Some(plan.as_bytes())).unwrap();
    let got = admin.send("GET", path, &headers, None).unwrap();
    let removed = admin.send("DELETE", path, &headers, None).unwrap();

    assert!(matches!((put.status, got.status, removed.status), (200 | 201, 200, 204)), "{put:?}");
    server.stop();
    let entries = found(&place, "plan-1", &["audit.jsonl"]);
    let told: Vec<_> = entries
        .iter()
        .map(|e| (e["action"].as_str().unwrap(), e["by"].as_str().unwrap()))
        .collect();
    let by = format!("key {manager}");
    assert_eq!(told, [("gateway.plan-put", &*by), ("gateway.plan-removed", &*by)]);
    assert!(entries.iter().all(|entry| entry["item"] == "few"), "{entries:?}");
}

#[test]
fn a_refused_login_is_in_the_audit_log_without_what_was_sent() {
    let place = Place::new();
    let key = place.key("FullAccess");
    let (server, ..) = server_and_admin(&place);
    let mut client = server.client();

    assert_eq!(client.ask_token(&key.0, "zyxwolf-wrong").status, 401);
    assert_eq!(client.ask_token("zyxwolf-nobody", &key.1).status, 401);
    let basic = [("authorization", "Basic enl4d29sZjp6eXh3b2xm")];
    assert_eq!(client.send("GET", "/learning/api/v2/courses", &basic, None).unwrap().status, 401);
    client.token = Some("zyxwolf.zyxwolf.zyxwolf".into());
    assert_eq!(client.get(STUDENTS).status, 401);
    let mut revoked = server.client_of(&key);
    place.done(&["keys", "revoke", &key.0]);
    assert_eq!(revoked.get(STUDENTS).status, 401);
    client.token = None;
    assert_eq!(client.get(STUDENTS).status, 401, "nobody tried to log in");

    let entries = entries(&place, "audit.jsonl");
    let refused = with_action(&entries, "login.refused");
    let by: Vec<&str> = refused.iter().map(|entry| entry["by"].as_str().unwrap()).collect();
    let own = format!("key {}", key.0);
    assert_eq!(by, [&*own, "unknown", "unknown", "unknown", &*own], "{refused:?}");
    for entry in &refused {
        assert_eq!(entry["from"], "127.0.0.1", "{entry}");
        assert!(entry["reason"].is_string() && entry["correlation_id"].is_string(), "{entry}");
    }
    assert_eq!(refused[0]["route"], "/oauth/token");
    assert_eq!(with_action(&entries, "key.revoked")[0]["key"], key.0);
    let metrics = server.admin_client().get("/metrics").text();
    for line in ["homeroom_tokens_refused_total 2\n", "homeroom_credentials_refused_total 3\n"] {
        assert!(metrics.contains(line), "{line}: {metrics}");
    }
    server.stop();
    let text = std::fs::read_to_string(place.path("audit.jsonl")).unwrap();
    assert!(!text.contains("zyxwolf") && !text.contains(&key.1), "{text}");
}

#[test]
fn changes_by_commands_are_audited_with_the_user_whether_or_not_a_server_runs() {
    let place = Place::new();
    let run = |arguments: &[&str]| {
        let mut command = place.command(arguments);
        let ran = crate::support::Ran::of(command.env("HOMEROOM_LOG__AUDIT_FILE", "audit.jsonl"));
        assert_eq!(ran.code, Some(0), "{arguments:?}: {ran:?}");
        assert_eq!(ran.stderr, "", "{arguments:?}");
        serde_json::from_str::<Value>(&ran.stdout).unwrap_or_default()
    };
    place.write("own.json", r#"{"name": "Nightly", "resourceClaims": []}"#);
    place.write("apis.toml", "[[plans]]\nname = 'few'\nrequests_per_second = 1\nburst = 3\n");
    let user = String::from_utf8(Command::new("id").arg("-u").output().unwrap().stdout).unwrap();
    let user = format!("user {}", user.trim());

    let made = run(&["keys", "create", "--scope", "learning", "--json"]);
    let key = made["key"].as_str().unwrap();
    run(&["claim-sets", "put", "Nightly", "--file", "own.json"]);
    let environment = [("HOMEROOM_LOG__AUDIT_FILE", "audit.jsonl")];
    let server = Server::start_with(&place, &environment);
    run(&["claim-sets", "put", "Nightly", "--file", "own.json"]);
    run(&["claim-sets", "remove", "Nightly"]);
    run(&["keys", "rotate", key]);
    run(&["gateway", "apply", "apis.toml"]);
    run(&["keys", "list"]);
    assert_eq!(server.stop().code, Some(0));

    let entries = entries(&place, "audit.jsonl");
    let actions: Vec<&str> = entries.iter().map(|e| e["action"].as_str().unwrap()).collect();
    let expected = [
        "key.created",
        "claim-set.created",
        "claim-set.changed",
        "claim-set.removed",
        "key.secret-added",
        "gateway.applied",
    ];
    let told: Vec<_> = actions.iter().filter(|action| expected.contains(action)).collect();
    assert_eq!(told, expected.iter().collect::<Vec<_>>(), "{actions:?}");
    for action in expected {
        let by = with_action(&entries, action)[0]["by"].as_str().unwrap();
        assert!(by.starts_with(&user), "{action}: {by}");
    }
    assert_eq!(with_action(&entries, "claim-set.removed")[0]["claim_set"], "Nightly");
    let text = std::fs::read_to_string(place.path("audit.jsonl")).unwrap();
    assert!(!text.contains(made["secret"].as_str().unwrap()));
}

#[test]
fn without_a_file_the_audit_log_is_in_the_log_whatever_its_level_unless_it_is_off() {
    for (audit, expected) in [("true", true), ("false", false)] {
        let place = Place::new();
        let server = Server::start_with(
            &place,
            &[("HOMEROOM_LOG__AUDIT", audit), ("HOMEROOM_LOG__LEVEL", "error,homeroom=info")],
        );

        place.key("FullAccess");

        assert_eq!(server.stop().stderr.contains("key.created"), expected);
    }
    let alone = Place::new().run(&["keys", "create", "--scope", "learning", "--json"]);
    assert_eq!((alone.code, &*alone.stderr), (Some(0), ""), "nobody expects it there");
}

#[test]
fn a_server_whose_audit_log_cannot_be_written_does_not_start() {
    let place = Place::new();
    let mut command = place.command(&["serve", "--listen", "127.0.0.1:0"]);
    command.env("HOMEROOM_SERVER__ADMIN_LISTEN", "127.0.0.1:0");
    command.env("HOMEROOM_LOG__AUDIT_FILE", "no/such/folder/audit.jsonl");

    let ran = crate::support::Ran::to_its_end(&mut command);

    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("log.audit_file: no/such/folder/audit.jsonl"), "{ran:?}");
    assert!(!place.data().exists(), "nothing was made");
}
