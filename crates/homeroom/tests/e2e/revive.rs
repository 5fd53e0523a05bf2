//! Keys that were revoked since a backup, and ids that were already issued.

use serde_json::{Value, json};

use crate::support::{Place, STUDENTS, Server};

type Key = (String, String);

/// A stopped store whose keys were revoked, removed, suspended and rotated since its backup.
struct Since {
    place: Place,
    backup: String,
    stays: Key,
    revoked: Key,
    removed: Key,
    suspended: Key,
    rotated: Key,
    new_secret: String,
    late: Key,
}

fn since_a_backup() -> Since {
    let place = Place::new();
    let key = || place.key("FullAccess");
    let [stays, revoked, removed, suspended, rotated] = [(); 5].map(|()| key());
    let backup = place.path("backup.db").to_str().unwrap().to_owned();
    place.done(&["backup", &backup]);
    place.done(&["keys", "revoke", &revoked.0]);
    let again = place.json(&["keys", "rotate", &rotated.0, "--json"]);
    place.done(&["keys", "revoke", &rotated.0, "--old-secrets"]);
    let late = key();
    let connection = rusqlite::Connection::open(place.data().join("homeroom.db")).unwrap();
    let tell = |text: &str, key: &str| assert_eq!(connection.execute(text, [key]).unwrap(), 1);
    tell("UPDATE application_client SET approved = 0 WHERE api_key = ?1", &suspended.0);
    tell("DELETE FROM api_client WHERE api_key = ?1", &removed.0);
    drop(connection);
    let new_secret = again["secret"].as_str().unwrap().to_owned();
    Since { place, backup, stays, revoked, removed, suspended, rotated, new_secret, late }
}

/// Returns the statuses of token requests with these keys.
fn statuses(place: &Place, keys: &[(&str, &str)]) -> Vec<u16> {
    let server = Server::start(place);
    let mut client = server.client();
    let all = keys.iter().map(|(key, secret)| client.ask_token(key, secret).status).collect();
    assert_eq!(server.stop().code, Some(0));
    all
}

fn names(report: &Value, list: &str) -> Vec<String> {
    let names = report[list].as_array().unwrap_or_else(|| panic!("{report}"));
    names.iter().map(|name| name.as_str().unwrap().to_owned()).collect()
}

impl Since {
    fn tried(&self) -> Vec<u16> {
        let old = [&self.stays, &self.revoked, &self.removed, &self.suspended, &self.rotated];
        let mut all: Vec<_> = old.map(|(key, secret)| (key.as_str(), secret.as_str())).into();
        all.push((&self.rotated.0, &self.new_secret));
        statuses(&self.place, &all)
    }
}

#[test]
fn keys_removed_since_the_backup_stay_removed_and_are_reported() {
    let since = since_a_backup();

    let report = since.place.json(&["restore", &since.backup, "--yes", "--json"]);

    let mut gone = vec![since.revoked.0.clone(), since.removed.0.clone()];
    gone.sort();
    assert_eq!(names(&report, "stayRevoked"), gone);
    assert_eq!(names(&report, "staySuspended"), [since.suspended.0.as_str()]);
    assert_eq!(names(&report, "secretsKept"), [since.rotated.0.as_str()]);
    assert_eq!(names(&report, "lostKeys"), [since.late.0.as_str()]);
    assert_eq!(names(&report, "activeAgain"), [""; 0]);
    assert_eq!(names(&report, "activeKeys").len(), 2);
    assert_eq!(report["notCompared"], Value::Null);
    let tried = since.tried();
    assert_eq!((tried[0], tried[5]), (200, 200), "the one that stays, and the newest secret");
    assert!(tried[1..5].iter().all(|status| *status != 200), "{tried:?}");
}

#[test]
fn a_key_without_an_application_that_was_suspended_since_the_backup_stays_suspended() {
    let place = Place::new();
    let made = place.json(&["keys", "create", "--scope", "learning", "--json"]);
    let key = made["key"].as_str().unwrap().to_owned();
    let backup = place.path("backup.db").to_str().unwrap().to_owned();
    place.done(&["backup", &backup]);
    place.done(&["keys", "suspend", &key]);

    let report = place.json(&["restore", &backup, "--yes", "--json"]);

    assert_eq!(names(&report, "staySuspended"), [key.as_str()]);
    let listed = place.json(&["keys", "list", "--json"]);
    assert_eq!(listed["keys"][0]["status"], "suspended");
}

#[test]
fn a_certificate_that_was_removed_since_the_backup_stays_removed() {
    let place = Place::new();
    let (key, _) = place.key("FullAccess");
    let [kept, removed] = ["ab", "cd"].map(|pair| pair.repeat(32));
    for sha256 in [&kept, &removed] {
        place.done(&["keys", "add-certificate", &key, sha256]);
    }
    let backup = place.path("backup.db").to_str().unwrap().to_owned();
    place.done(&["backup", &backup]);
    place.done(&["keys", "remove-certificate", &key, &removed]);

    let report = place.json(&["restore", &backup, "--yes", "--json"]);

    assert_eq!(names(&report, "secretsKept"), [key.as_str()]);
    let listed = place.json(&["keys", "list", "--json"]);
    assert_eq!(listed["keys"][0]["certificates"], json!([kept]));
    assert_eq!(listed["keys"][0]["secrets"].as_array().unwrap().len(), 1);
}

#[test]
fn keys_as_in_the_backup_are_revived_and_reported_on_request() {
    let since = since_a_backup();

    let arguments = ["restore", &since.backup, "--yes", "--keys-as-in-backup"];
    let told = since.place.done(&arguments);

    for key in [&since.revoked, &since.removed, &since.suspended] {
        assert!(told.contains(&key.0), "{told}");
    }
    assert_eq!(told.matches("VALID AGAIN").count(), 2, "{told}");
    assert_eq!(since.tried(), [200, 200, 200, 200, 200, 401]);
}

#[test]
fn every_active_key_is_reported_if_the_previous_store_cannot_be_compared() {
    let cosmic_ray = |since: &Since| {
        std::fs::write(since.place.data().join("homeroom.db"), b"a cosmic ray".repeat(900))
            .unwrap();
    };
    // A new machine replaces a lost one.
    let fresh = |since: &Since| {
        std::fs::remove_dir_all(since.place.data()).unwrap();
        since.place.key("FullAccess");
    };
    let none = |since: &Since| std::fs::remove_dir_all(since.place.data()).unwrap();
    let all: [&dyn Fn(&Since); 3] = [&cosmic_ray, &fresh, &none];
    for replaced in all {
        let since = since_a_backup();
        replaced(&since);

        let report = since.place.json(&["restore", &since.backup, "--yes", "--json"]);

        assert!(report["notCompared"].is_string(), "{report}");
        assert_eq!(report["replacedStore"], Value::Null);
        let active = names(&report, "activeKeys");
        assert_eq!(active.len(), 5, "{report}");
        assert!(active.contains(&since.revoked.0));
        assert_eq!(since.tried(), [200, 200, 200, 200, 200, 401]);
    }
}

#[test]
fn a_restore_counts_the_changes_that_it_undoes() {
    let place = Place::new();
    let key = place.key("FullAccess");
    let backup = place.path("backup.db").to_str().unwrap().to_owned();
    let server = Server::start(&place);
    let mut client = server.client_of(&key);
    let first = client.post(STUDENTS, &crate::support::student("1", "Ada")).location();
    place.done(&["backup", &backup]);
    for id in ["2", "3"] {
        client.post(STUDENTS, &crate::support::student(id, "Bo"));
    }
    assert_eq!(client.send("DELETE", &first, &[], None).unwrap().status, 204);
    assert_eq!(server.stop().code, Some(0));

    let report = place.json(&["restore", &backup, "--yes", "--json"]);

    let replaced = &report["replacedStore"];
    assert_eq!(replaced["documentsWrittenSince"], 2, "{report}");
    assert_eq!(replaced["deletionsUndone"], 1, "{report}");
    let next = report["goesOnAfter"].as_i64().unwrap();
    assert!(next > replaced["changeVersion"].as_i64().unwrap(), "{report}");
    // An export from a version that the restore lost is refused instead of being incomplete.
    let out = place.path("night");
    let lost = replaced["changeVersion"].as_i64().unwrap().to_string();
    let export = ["export", "--out", out.to_str().unwrap(), "--since", &lost];
    assert_eq!(place.run(&export).code, Some(2));
}

#[test]
fn an_id_of_the_admin_api_is_not_reused() {
    let place = Place::new();
    let made = place.json(&["keys", "create", "--scope", "admin", "--json"]);
    let key = ["key", "secret"].map(|name| made[name].as_str().unwrap().to_owned());
    let vendor = |company: &str| -> i64 {
        let server = Server::start(&place);
        let mut client = server.client();
        let form = format!(
            "client_id={}&client_secret={}&grant_type=client_credentials\
             &scope=edfi_admin_api/full_access",
            key[0], key[1]
        );
        let headers = [("content-type", "application/x-www-form-urlencoded")];
        let token = client.send("POST", "/adminapi/connect/token", &headers, Some(form.as_bytes()));
        let token = token.unwrap().json()["access_token"].as_str().unwrap().to_owned();
        client.token = Some(token);
        let body = json!({
            "company": company, "namespacePrefixes": "uri://acme.org",
            "contactName": "Ada", "contactEmailAddress": "ada@acme.org",
        });
        let location = client.post("/adminapi/v2/vendors", &body).location();
        assert_eq!(server.stop().code, Some(0));
        location.rsplit('/').next().unwrap().parse().unwrap()
    };
    let backup = place.path("backup.db").to_str().unwrap().to_owned();
    place.done(&["backup", &backup]);
    let lost = vendor("Lost");

    place.done(&["restore", &backup, "--yes"]);

    let next = vendor("Next");
    assert!(next > lost && next < 1 << 31, "{next} after {lost}");
}
