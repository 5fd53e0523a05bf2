//! Courses on the real program: import, register, launch, play without a browser, report.

use std::time::Duration;

use homeroom_course::{packed, sample_package};
use serde_json::json;

use crate::support::{API, Client, Database, Learning, Place, Server, registered};

/// Plays the sample course in two launches.
fn play(place: &Place, server: &Server) {
    let mut lms = Learning::of(place, server);
    assert_eq!(lms.get("/ping")["apiMessage"], "API is alive");
    let imported = lms.import("library", &sample_package());
    assert_eq!(imported["status"], "COMPLETE", "{imported}");
    assert_eq!(imported["importResult"]["course"]["courseLearningStandard"], "SCORM12");
    assert_eq!(lms.get("/courses")["courses"][0]["id"], "library");

    let unknown = lms.post("/registrations", &registered("r-0", "nowhere"));
    assert_eq!(unknown.status, 404, "{unknown:?}");
    assert!(unknown.json()["message"].as_str().unwrap().contains("nowhere"), "{unknown:?}");
    assert_eq!(lms.send("HEAD", "/registrations/r-1", None).status, 404);
    lms.register("r-1", "library");
    lms.register("r-1", "library");
    assert_eq!(lms.send("HEAD", "/registrations/r-1", None).status, 200);

    let first = lms.launch("r-1");
    let page = lms.client.get(&first);
    assert_eq!(page.status, 200, "{page:?}");
    assert!(page.header("content-type").unwrap().starts_with("text/html"), "{page:?}");
    let boot = lms.boot(&first);
    let cmi = &boot["states"]["lesson"]["cmi"];
    assert_eq!(cmi["cmi.core.entry"], "ab-initio");
    assert_eq!(cmi["cmi.core.student_name"], "Lee, Ann");
    assert_eq!(boot["start"], "lesson");
    let saved = json!({ "sequence": 1, "cmi": {
        "cmi.suspend_data": "page=3", "cmi.core.session_time": "00:01:00",
        "cmi.core.lesson_status": "incomplete",
    }});
    assert_eq!(lms.commit(&first, &saved).json()["sequence"], 1);

    // Nobody has said goodbye: the next launch goes on.
    let second = lms.launch("r-1");
    let boot = lms.boot(&second);
    let cmi = &boot["states"]["lesson"]["cmi"];
    assert_eq!(cmi["cmi.core.entry"], "resume");
    assert_eq!(cmi["cmi.suspend_data"], "page=3");
    assert_eq!(cmi["cmi.core.total_time"], "0000:01:00.00");
    let passed = json!({ "session": "page-1", "sequence": 5, "exit": true, "final": true, "cmi": {
        "cmi.core.score.raw": "87", "cmi.core.session_time": "00:02:00",
        "cmi.core.lesson_status": "passed", "cmi.interactions.0.id": "q1",
        "cmi.interactions.0.type": "choice", "cmi.interactions.0.result": "correct",
    }});
    assert_eq!(lms.commit(&second, &passed).status, 200);
    // Repeated and reordered commits change nothing.
    let late = json!({ "session": "page-1", "sequence": 4, "cmi": { "cmi.core.lesson_status": "incomplete" } });
    assert_eq!(lms.commit(&second, &late).json()["sequence"], 5);
    assert_eq!(lms.commit(&second, &passed).json()["sequence"], 5);

    let all = "includeChildResults=true&includeInteractionsAndObjectives=true&includeRuntime=true";
    let report = lms.get(&format!("/registrations/r-1?{all}"));
    assert_eq!(report["registrationCompletion"], "COMPLETED", "{report}");
    assert_eq!(report["registrationSuccess"], "PASSED");
    assert_eq!(report["score"]["scaled"], 87.0);
    assert_eq!(report["totalSecondsTracked"], 180.0);
    let lesson = &report["activityDetails"]["children"][0];
    assert_eq!(lesson["runtime"]["totalTime"], "0000:03:00.00");
    assert_eq!(lesson["runtime"]["runtimeInteractions"][0]["type"], "Choice");
    let history = lms.get("/registrations/r-1/launchHistory");
    assert_eq!(history["launchHistory"].as_array().unwrap().len(), 2);

    assert_eq!(lms.send("DELETE", "/registrations/r-1", None).status, 204);
    assert_eq!(lms.commit(&second, &json!({ "sequence": 9 })).status, 404);
    assert_eq!(lms.send("DELETE", "/courses/library", None).status, 204);
    assert_eq!(lms.send("GET", "/courses/library", None).status, 404);
}

#[test]
fn a_course_is_imported_played_twice_and_reported() {
    let place = Place::new();
    play(&place, &Server::start(&place));
}

#[test]
fn a_course_is_played_on_postgresql_too() {
    for database in Database::on_each_server() {
        let place = Place::with_store(&database.url());
        play(&place, &Server::start(&place));
    }
}

#[test]
fn what_cannot_be_imported_says_why() {
    let place = Place::new();
    let server = Server::start(&place);
    let mut lms = Learning::of(&place, &server);
    let no_href = packed(&[(
        "imsmanifest.xml",
        "<manifest><organizations><organization identifier='o'><item identifier='i' \
         identifierref='r'/></organization></organizations><resources><resource \
         identifier='r'/></resources></manifest>",
    )]);
    let entity = packed(&[(
        "imsmanifest.xml",
        "<!DOCTYPE m [<!ENTITY e SYSTEM 'file:///etc/passwd'>]><manifest>&e;</manifest>",
    )]);
    for (name, package, why) in [
        ("broken", b"PK\x03\x04nothing".to_vec(), "no zip archive"),
        ("none", packed(&[("a.html", "a")]), "no imsmanifest.xml"),
        ("cmi5", packed(&[("cmi5.xml", "<a/>")]), "cmi5"),
        ("xapi", packed(&[("tincan.xml", "<a/>")]), "xAPI"),
        ("aicc", packed(&[("a.crs", "a"), ("a.au", "a")]), "AICC"),
        ("bad", packed(&[("imsmanifest.xml", "<manifest>")]), "not closed"),
        ("entity", entity, "entity"),
        ("no-href", no_href, "nothing"),
        ("path", packed(&[("../x", "a"), ("imsmanifest.xml", "<manifest/>")]), "path"),
        ("text", b"hello".to_vec(), "neither"),
    ] {
        let ended = lms.import(name, &package);

        assert_eq!(ended["status"], "ERROR", "{name}: {ended}");
        let message = ended["message"].as_str().unwrap();
        assert!(message.contains(why) || name == "no-href", "{name}: {ended}");
        assert_eq!(lms.send("GET", &format!("/courses/{name}"), None).status, 404);
    }
}

#[test]
fn no_acknowledged_commit_is_lost_when_the_server_is_killed() {
    Place::on_each_store(no_commit_is_lost);
}

fn no_commit_is_lost(place: &Place) {
    let mut server = Server::start(place);
    let mut lms = Learning::of(place, &server);
    lms.import("library", &sample_package());
    lms.register("r-1", "library");
    let launch = lms.launch("r-1");
    for round in 1..=5 {
        for sequence in round * 10..round * 10 + 8 {
            let data = format!("s{sequence}");
            let commit = json!({ "sequence": sequence, "cmi": { "cmi.suspend_data": data } });
            assert_eq!(lms.commit(&launch, &commit).status, 200);
        }
        server.kill();

        server = Server::start(place);
        lms.client = server.client();
        let boot = lms.boot(&launch);
        let last = round * 10 + 7;
        assert_eq!(boot["sequence"], last);
        let kept = &boot["states"]["lesson"]["cmi"]["cmi.suspend_data"];
        assert_eq!(*kept, format!("s{last}"));
    }
}

#[test]
fn content_has_its_own_listener_with_ranges_and_the_api_is_not_there() {
    let place = Place::new();
    let server = Server::start(&place);
    let mut lms = Learning::of(&place, &server);
    lms.import("library", &sample_package());
    lms.register("r-1", "library");
    let launch = lms.launch("r-1");
    let origin = lms.boot(&launch)["origins"]["content"].as_str().unwrap().to_owned();
    let mut content = Client::new(origin.strip_prefix("http://").unwrap().parse().unwrap());
    let file = format!("{launch}/content/index.html");

    let whole = content.get(&file);
    let tag = whole.header("etag").unwrap().to_owned();
    let part = content.send("GET", &file, &[("range", "bytes=0-14")], None).unwrap();
    let known = content.send("GET", &file, &[("if-none-match", &tag)], None).unwrap();

    assert_eq!(whole.status, 200, "{whole:?}");
    assert!(whole.header("cache-control").unwrap().contains("immutable"), "{whole:?}");
    assert_eq!((part.status, part.text().as_str()), (206, "<!doctype html>"));
    assert_eq!(known.status, 304);
    assert_eq!(content.get(&format!("{launch}/content/none.html")).status, 404);
    assert_eq!(content.get(&format!("{launch}/content/../../x")).status, 404);
    assert_eq!(content.get(&format!("{API}/courses")).status, 404);
    assert_eq!(lms.client.get(&file).status, 404, "the API has no content");
    assert_eq!(content.get("/play/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA/boot").status, 404);
}

#[test]
fn content_is_found_as_on_servers_where_case_does_not_count() {
    let place = Place::new();
    let server = Server::start(&place);
    let mut lms = Learning::of(&place, &server);
    let manifest = "<manifest><metadata><schemaversion>1.2</schemaversion></metadata><organizations>\
        <organization identifier='o'><title>T</title><item identifier='i' identifierref='r'/>\
        </organization></organizations><resources><resource identifier='r' href='index.html'/>\
        </resources></manifest>";
    let package = packed(&[
        ("imsmanifest.xml", manifest),
        ("index.html", "the page"),
        ("Images/Logo.PNG", "the logo"),
        ("scripts/my script.js", "the script"),
        ("100%20.txt", "the text"),
        ("data.unknown", "<p>what is it?</p>"),
        ("part/index.htm", "the part"),
    ]);
    assert_eq!(lms.import("odd", &package)["status"], "COMPLETE");
    lms.register("r-1", "odd");
    let launch = lms.launch("r-1");
    let origin = lms.boot(&launch)["origins"]["content"].as_str().unwrap().to_owned();
    let mut content = Client::new(origin.strip_prefix("http://").unwrap().parse().unwrap());
    for (path, text, media) in [
        ("index.html", "the page", Some("text/html")),
        ("INDEX.html", "the page", Some("text/html")),
        ("images/logo.png", "the logo", Some("image/png")),
        ("scripts/my%20script.js?v=1", "the script", Some("text/javascript")),
        ("100%2520.txt", "the text", Some("text/plain")),
        ("100%20.txt", "the text", Some("text/plain")),
        ("data.unknown", "<p>what is it?</p>", None),
        ("part/", "the part", Some("text/html")),
        ("./part//index.htm", "the part", Some("text/html")),
    ] {
        let answer = content.get(&format!("{launch}/content/{path}"));
        assert_eq!((answer.status, answer.text().as_str()), (200, text), "{path}");
        assert_eq!(answer.header("content-type"), media, "{path}");
    }
    for path in ["none.html", "..%2f..%2fetc%2fpasswd", "%ff", "part/none"] {
        assert_eq!(content.get(&format!("{launch}/content/{path}")).status, 404, "{path}");
    }
}

#[test]
fn a_link_ends_when_it_says() {
    let place = Place::new();
    let server = Server::start(&place);
    let mut lms = Learning::of(&place, &server);
    lms.import("library", &sample_package());
    lms.register("r-1", "library");
    let asked = json!({ "redirectOnExitUrl": "/", "expiry": 1 });
    let answer = lms.post("/registrations/r-1/launchLink", &asked).json();
    let link = answer["launchLink"].as_str().unwrap();
    let path = link[link.find("/play/").unwrap()..].to_owned();

    assert_eq!(lms.client.get(&path).status, 200);
    std::thread::sleep(Duration::from_millis(1_100));

    let ended = lms.client.get(&path);
    assert_eq!(ended.status, 404, "{ended:?}");
    assert!(ended.text().contains("This link has ended"), "{ended:?}");
    assert_eq!(lms.client.get(&format!("{path}/boot")).status, 404);
}

#[test]
fn commands_check_add_and_list_courses() {
    let place = Place::new();
    let file = place.write("library.zip", sample_package());
    let file = file.to_str().unwrap();
    let broken = place.write("broken.zip", b"PK\x03\x04");

    let checked = place.json(&["course", "check", file, "--json"]);
    assert_eq!(checked["playable"], true, "{checked}");
    assert_eq!(checked["standard"], "SCORM12");
    let refused = place.run(&["course", "check", broken.to_str().unwrap()]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stdout.contains("fail"), "{refused:?}");
    // What an import would refuse, a check finds: here a wrong checksum.
    let mut damaged = sample_package();
    let listed = damaged.windows(4).rposition(|window| window == b"PK\x01\x02").unwrap();
    damaged[listed + 16] ^= 0xff;
    let damaged = place.write("damaged.zip", damaged);
    let damaged = damaged.to_str().unwrap();
    let refused = place.run(&["course", "check", damaged]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stdout.contains("fail  a file of the archive"), "{refused:?}");
    assert_eq!(place.run(&["course", "add", damaged]).code, Some(1));

    let added = place.json(&["course", "add", file, "--json"]);
    assert_eq!((&added["course"], &added["version"]), (&json!("library"), &json!(0)), "{added}");
    let server = Server::start(&place);
    let again = place.json(&["course", "add", file, "--id", "library", "--json"]);
    assert_eq!(again["version"], 1);
    let back = place.json(&["course", "use", "library", "0", "--json"]);
    assert_eq!((&back["course"], &back["version"]), (&json!("library"), &json!(0)), "{back}");
    assert_eq!(place.json(&["course", "list", "--json"])[0]["version"], 0);
    let unknown = place.run(&["course", "use", "library", "7"]);
    assert!(unknown.stderr.contains("no version 7 of course library"), "{unknown:?}");
    let listed = place.json(&["course", "list", "--json"]);
    assert_eq!(listed[0]["title"], "Finding a book in the library", "{listed}");
    let unknown = place.run(&["course", "trace", "nobody"]);
    assert!(unknown.stderr.contains("no registration nobody"), "{unknown:?}");

    let mut lms = Learning::of(&place, &server);
    lms.register("r-1", "library");
    assert_eq!(place.json(&["course", "trace", "r-1", "--json"]), json!([]));
    let launch = lms.launch("r-1");
    let refused = json!([1_000, "LMSSetValue", "cmi.core.lesson_status", "great", "false", 405]);
    let set = json!([1_001, "LMSSetValue", "cmi.suspend_data", "x", "true", 0]);
    let commit =
        json!({ "sequence": 1, "cmi": { "cmi.suspend_data": "x" }, "calls": [refused, set] });
    assert_eq!(lms.commit(&launch, &commit).status, 200);
    let launches = place.json(&["course", "trace", "r-1", "--json"]);
    assert_eq!(launches.as_array().unwrap().len(), 1, "{launches}");
    let id = launches[0]["launch"].as_str().unwrap();
    let traced = place.json(&["course", "trace", "r-1", "--launch", id, "--json"]);
    assert_eq!(traced[0]["calls"], json!([refused, set]), "{traced}");
    let values = json!({ "lesson": { "cmi.suspend_data": "x" } });
    assert_eq!(traced[0]["values"], values, "{traced}");
    let printed = place.done(&["course", "trace", "r-1", "--launch", id]);
    assert!(printed.contains("LMSSetValue") && printed.contains("405"), "{printed}");
    drop(server);
}

fn token(place: &Place, server: &Server) {
    let client = |more: &[&str]| {
        let key = place.json(&[&["keys", "create", "--json"], more].concat());
        let [key, secret] = ["key", "secret"].map(|name| key[name].as_str().unwrap().to_owned());
        server.client_of(&(key, secret))
    };
    let ping = format!("{API}/ping");

    let mut own = client(&["--scope", "learning"]);
    let answer = own.get(&ping);
    let refused = client(&["--claim-set", "FullAccess"]).get(&ping);

    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.json()["apiMessage"], "API is alive");
    assert_eq!(refused.status, 403, "{refused:?}");
    own.token = Some("no-token".into());
    assert_eq!(own.get(&ping).status, 401);
}

#[test]
fn the_token_of_a_key_for_courses_is_accepted_and_that_of_a_key_for_data_is_not() {
    Place::on_each_store(|place| token(place, &Server::start(place)));
}

#[test]
fn a_node_without_places_for_jobs_queues_as_many_as_are_set_and_leaves_them_to_others() {
    let databases = Database::on_each_server();
    let places = databases.iter().map(|database| Place::with_store(&database.url()));
    for place in std::iter::once(Place::new()).chain(places) {
        let settings =
            [("HOMEROOM_JOBS__RUNNING_MAX", "0"), ("HOMEROOM_JOBS__QUEUED_OF_OWNER_MAX", "1")];
        let server = Server::start_with(&place, &settings);
        let mut lms = Learning::of(&place, &server);

        let queued = lms.upload("library", &sample_package());
        let refused = lms.upload("another", &sample_package());

        assert_eq!(queued.status, 200, "{queued:?}");
        assert_eq!(refused.status, 503, "{refused:?}");
        assert!(refused.header("retry-after").is_some(), "{refused:?}");
        let jobs = place.json(&["jobs", "list", "--json"]);
        assert_eq!((&jobs[0]["state"], &jobs[0]["attempts"]), (&json!("queued"), &json!(0)));
        assert_eq!(server.stop().code, Some(0));
        let server = Server::start(&place);
        lms.client = server.client();
        let ended = lms.ended(queued.json()["result"].as_str().unwrap());
        assert_eq!(ended["status"], "COMPLETE", "{ended}");
        assert_eq!(server.stop().code, Some(0));
    }
}
