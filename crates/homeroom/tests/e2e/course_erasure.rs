//! Erasure: what is left of a learner in the store's files and tables.

use std::path::Path;

use homeroom_course::sample_package;
use serde_json::json;

use crate::support::{Database, Learning, PATIENCE, Place, Receiver, Server};

/// What must be gone: id, names, address, registration, values, calls, and what the receiver's address has.
const GONE: [&str; 24] = [
    "erased-id-7731",
    "Firstname7731",
    "Lastname7731",
    "mail7731@example.org",
    "registration-7731",
    "suspended-7731",
    "called-7731",
    "answered-7731",
    "saved-7731",
    "refused-7731",
    "tag-7731",
    "exit-7731",
    "erased-id-7730",
    "Firstname7730",
    "Lastname7730",
    "mail7730@example.org",
    "registration-7730",
    "suspended-7730",
    "called-7730",
    "answered-7730",
    "saved-7730",
    "refused-7730",
    "tag-7730",
    "exit-7730",
];

fn register(lms: &mut Learning, number: usize, post_back: &str) {
    let body = json!({
        "courseId": "library", "registrationId": format!("registration-{number}"),
        "learner": {
            "id": format!("erased-id-{number}"), "firstName": format!("Firstname{number}"),
            "lastName": format!("Lastname{number}"), "email": format!("mail{number}@example.org"),
        },
        "learnerTags": [format!("tag-{number}")],
        "postBack": { "url": post_back },
    });
    assert_eq!(lms.post("/registrations", &body).status, 204);
}

fn learn(lms: &mut Learning, number: usize, rounds: usize) {
    let asked = json!({ "redirectOnExitUrl": format!("https://a/exit-{number}"), "expiry": 600 });
    let path = format!("/registrations/registration-{number}/launchLink");
    let link = lms.post(&path, &asked).json()["launchLink"].as_str().unwrap().to_owned();
    let launch = link[link.find("/play/").unwrap()..].to_owned();
    for round in 1..=rounds {
        // Of many sizes: within a page, and over several.
        let data = format!("suspended-{number} ").repeat(round * round * 3);
        let call = json!([1, "LMSSetValue", "cmi.suspend_data", format!("called-{number}"), "", 0]);
        let commit = json!({ "sequence": round, "cmi": {
            "cmi.suspend_data": data, "cmi.core.lesson_status": "incomplete",
            format!("cmi.interactions.{}.id", round - 1): format!("answered-{number}"),
            format!("cmi.objectives.{}.id", round - 1): format!("answered-{number}"),
        }, "calls": [call] });
        assert_eq!(lms.commit(&launch, &commit).status, 200);
    }
    // Without calls the trace has what was saved, and the names of what was not.
    let commit = json!({ "sequence": rounds + 1, "cmi": {
        "cmi.comments": format!("saved-{number}"), format!("cmi.refused-{number}"): "x",
    } });
    assert_eq!(lms.commit(&launch, &commit).status, 200);
    let id = lms.boot(&launch)["launch"].as_str().unwrap().to_owned();
    let trace = lms.get(&format!("/registrations/registration-{number}/launches/{id}/trace"));
    let last = trace["commits"].as_array().unwrap().last().unwrap().to_string();
    for kept in ["saved", "refused"] {
        assert!(last.contains(&format!("{kept}-{number}")), "{trace}");
    }
}

/// Returns which of the words are in the files of a folder.
fn found(folder: &Path, words: &[&str]) -> Vec<String> {
    let mut all = vec![];
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(found(&path, words));
        } else if let Ok(bytes) = std::fs::read(&path) {
            for word in words {
                if bytes.windows(word.len()).any(|window| window == word.as_bytes()) {
                    all.push(format!("{word} in {}", path.display()));
                }
            }
        }
    }
    all
}

/// Waits until something is so, and says what is not.
fn eventually_said(what: &str, mut is_so: impl FnMut() -> (bool, String)) {
    let begun = std::time::Instant::now();
    loop {
        let (is_done, said) = is_so();
        if is_done {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "{what}: {said}");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}

/// Lets several learners learn, and erases one.
fn erase(place: &Place, server: &Server) {
    let mut lms = Learning::of(place, server);
    lms.import("library", &sample_package());
    let receiver = Receiver::start(&[500; 200], b"");
    for number in (7_720..7_740).chain([7_731]) {
        register(&mut lms, number, &receiver.url(&format!("/erased-id-{number}")));
        learn(&mut lms, number, if number == 7_731 { 12 } else { 5 });
    }
    receiver.nth(1);

    // Another instance of it goes first, and the last one of another registration with all of that.
    let instance = "/registrations/registration-7731/instances";
    assert_eq!(lms.send("POST", instance, None).status, 204);
    learn(&mut lms, 7_731, 3);
    assert_eq!(lms.send("DELETE", &format!("{instance}/1"), None).status, 204);
    let last = "/registrations/registration-7730/instances/0";
    assert_eq!(lms.send("DELETE", last, None).status, 204);
    assert_eq!(lms.send("GET", "/registrations/registration-7730", None).status, 404);
    assert_eq!(lms.send("DELETE", last, None).status, 404);

    // The address is that of the person who asks, and selects nobody.
    for number in [7_731, 7_730] {
        let path = format!(
            "/learner/erased-id-{number}/delete-information?userEmail=mail7732@example.org"
        );
        let erased = lms.send("POST", &path, None);
        assert_eq!(erased.status, 204, "{erased:?}");
    }
    assert_eq!(lms.send("GET", "/registrations/registration-7731", None).status, 404);
    assert_eq!(lms.send("GET", "/learner/erased-id-7731/tags", None).status, 404);
    assert_eq!(lms.get("/registrations/registration-7732")["id"], "registration-7732");
    let log = server.log();
    assert!(GONE.iter().all(|word| !log.contains(word)), "{log}");
}

#[test]
fn no_byte_of_an_erased_learner_is_left_in_the_files() {
    let place = Place::new();
    let server = Server::start_with(&place, &[("HOMEROOM_COURSES__PRIVATE_ADDRESSES", "true")]);

    erase(&place, &server);

    let others = ["erased-id-7732", "suspended-7732"];
    assert!(found(&place.data(), &others).len() >= 2, "the test looks where data is");
    eventually_said("no byte is left, once no reader uses the log", || {
        let left = found(&place.data(), &GONE);
        (left.is_empty(), left.join(", "))
    });
    server.stop();
    assert_eq!(found(&place.data(), &GONE), [""; 0]);
}

#[test]
fn no_row_of_an_erased_learner_is_left_in_postgresql() {
    for database in Database::on_each_server() {
        let place = Place::with_store(&database.url());
        let server = Server::start_with(&place, &[("HOMEROOM_COURSES__PRIVATE_ADDRESSES", "true")]);

        erase(&place, &server);

        for word in GONE {
            // Fails where any row of any table has the word.
            database.within(&format!(
                "DO $$ DECLARE t text; n bigint; BEGIN \
                 FOR t IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' LOOP \
                 EXECUTE format('SELECT count(*) FROM public.%I x WHERE x::text LIKE %L', t, '%{word}%') \
                 INTO n; IF n > 0 THEN RAISE EXCEPTION '{word} is in %', t; END IF; \
                 END LOOP; END $$"
            ));
        }
        assert_eq!(found(&place.path(""), &GONE), [""; 0]);

        // What the guide tells the operator to do removes the bytes from the files of the tables.
        let Some(folder) = database.folder() else {
            println!(
                "skipped: the files of the database are not on this machine, or not to be read"
            );
            continue;
        };
        database.within("CHECKPOINT");
        assert!(found(&folder, &["erased-id-7732"]) != [""; 0], "the test looks where data is");
        eventually_said("no byte is left in the files of tables", || {
            // Statistics have values, too, and their former rows go with the others.
            for statement in ["ANALYZE", "VACUUM FULL", "CHECKPOINT"] {
                database.within(statement);
            }
            let left = found(&folder, &GONE);
            (left.is_empty(), left.join(", "))
        });
    }
}
