//! Settings by level, tags, filters, and what is visibly not offered.

use homeroom_course::sample_package;
use serde_json::{Value, json};

use crate::support::{API, Learning, Place, Server, registered};

fn setting(name: &str, value: &str) -> Value {
    json!({ "settings": [{ "settingId": name, "value": value }] })
}

/// Returns the value in force of the commit frequency, and where it comes from.
fn in_force(lms: &mut Learning, path: &str) -> (String, String) {
    let all = lms.get(path);
    let items = all["settingItems"].as_array().unwrap();
    let found = items.iter().find(|item| item["id"] == "PlayerCommCommitFrequency").unwrap();
    let text = |name: &str| found[name].as_str().unwrap().to_owned();
    (text("effectiveValue"), text("effectiveValueSource"))
}

fn levels(place: &Place, server: &Server) {
    let mut lms = Learning::of(place, server);
    lms.import("library", &sample_package());
    lms.register("r-1", "library");
    let registration = "/registrations/r-1/configuration";
    assert_eq!(in_force(&mut lms, registration), ("20000".into(), "default".into()));

    for (path, value, source) in [
        ("/appManagement/configuration", "1000", "application"),
        (
            "/appManagement/configuration?learningStandard=SCORM12",
            "2000",
            "learningStandardForApplication",
        ),
        (
            "/appManagement/configuration?learningStandard=SCORM12&singleSco=true",
            "3000",
            "learningStandardForApplication",
        ),
        ("/courses/library/configuration", "4000", "course"),
        ("/courses/library/versions/0/configuration", "5000", "course"),
        ("/registrations/r-1/instances/0/configuration", "6000", "registration"),
    ] {
        let set = lms.post(path, &setting("PlayerCommCommitFrequency", value));
        assert_eq!(set.status, 204, "{path}: {set:?}");
        for path in [path, registration] {
            let found = in_force(&mut lms, path);
            assert_eq!(found, (value.into(), source.into()), "{path}");
        }
    }
    let launch = lms.launch("r-1");
    assert_eq!(lms.boot(&launch)["settings"]["commitSeconds"], 6);
    for (path, left) in [
        ("/registrations/r-1/instances/0/configuration", "5000"),
        ("/courses/library/versions/0/configuration", "4000"),
        ("/courses/library/configuration", "3000"),
    ] {
        let path = format!("{path}/PlayerCommCommitFrequency");
        assert_eq!(lms.send("DELETE", &path, None).status, 204, "{path}");
        assert_eq!(in_force(&mut lms, registration).0, left, "{path}");
    }
    let path = "/appManagement/configuration/PlayerCommCommitFrequency?learningStandard=SCORM12";
    for (path, left) in [
        (format!("{path}&singleSco=true"), "2000"),
        (path.to_owned(), "1000"),
        ("/appManagement/configuration/PlayerCommCommitFrequency".into(), "20000"),
    ] {
        assert_eq!(lms.send("DELETE", &path, None).status, 204, "{path}");
        assert_eq!(in_force(&mut lms, registration).0, left, "{path}");
    }
    for (path, body) in [
        ("/appManagement/configuration", setting("What weather?", "fine")),
        ("/appManagement/configuration", setting("PlayerCommCommitFrequency", "0")),
        ("/appManagement/configuration", setting("PlayerCommCommitFrequency", "often")),
        ("/appManagement/configuration?learningStandard=X", setting("PlayerLaunchType", "x")),
    ] {
        assert_eq!(lms.post(path, &body).status, 400, "{path} {body}");
    }
    let unknown = lms.send("GET", "/registrations/r-1/instances/7/configuration", None);
    assert_eq!(unknown.status, 404, "{unknown:?}");
    let unknown = lms.send("DELETE", "/appManagement/configuration/PlayerShowNavBar", None);
    assert_eq!(unknown.status, 404, "{unknown:?}");

    // What other servers know is kept and shown, for every standard of the API.
    for query in ["", "?learningStandard=AICC&singleSco=true", "?learningStandard=cmi5"] {
        let path = format!("/appManagement/configuration{query}");
        let set = lms.post(&path, &setting("PlayerShowNavBar", "true"));
        assert_eq!(set.status, 204, "{query}: {set:?}");
        let also = if query.is_empty() { "?includeMetadata=true" } else { "&includeMetadata=true" };
        let all = lms.get(&format!("{path}{also}"));
        let items = all["settingItems"].as_array().unwrap();
        let found = items.iter().find(|item| item["id"] == "PlayerShowNavBar").unwrap();
        assert_eq!(found["explicitValue"], "true");
        let about = found["metadata"]["settingDescription"].as_str().unwrap();
        assert!(about.contains("no effect"), "{about}");
    }
    for standard in ["SCORM11", "XAPI", "LTI13"] {
        let path = format!("/appManagement/configuration?learningStandard={standard}");
        assert_eq!(lms.send("GET", &path, None).status, 200, "{standard}");
    }
    let path = "/appManagement/configuration/PlayerShowNavBar";
    assert_eq!(lms.send("DELETE", path, None).status, 204);
    assert_eq!(lms.send("DELETE", path, None).status, 404);
}

/// Tags are added and taken away; a batch does all or nothing.
fn added_tags(place: &Place, server: &Server) {
    let mut lms = Learning::of(place, server);
    lms.import("library", &sample_package());
    lms.register("r-1", "library");
    lms.register("r-2", "library");
    for (path, batch, id) in [
        ("/courses/library/tags", "/courses/tags", "library"),
        ("/registrations/r-1/tags", "/registrations/tags", "r-1"),
        ("/learner/l-1/tags", "/learner/tags", "l-1"),
    ] {
        let mut put = |path: &str, body: Value| lms.send("PUT", path, Some(&body)).status;
        assert_eq!(put(path, json!({ "tags": ["b"] })), 204);
        assert_eq!(put(path, json!({ "tags": ["a", " b "] })), 204);
        assert_eq!(put(batch, json!({ "ids": [id, id], "tags": ["c"] })), 204);
        let half = json!({ "ids": ["a-nobody", id, "nobody"], "tags": ["d"] });
        let refused = lms.send("PUT", batch, Some(&half));
        assert_eq!(refused.status, 404, "{refused:?}");
        let message = refused.json()["message"].as_str().unwrap().to_owned();
        assert!(message.contains("a-nobody") && message.contains(" nobody"), "{message}");
        assert_eq!(lms.get(path)["tags"], json!(["a", "b", "c"]), "{path}");
        let gone = json!({ "tags": ["b", "unknown"] });
        assert_eq!(lms.send("DELETE", path, Some(&gone)).status, 204);
        assert_eq!(lms.get(path)["tags"], json!(["a", "c"]), "{path}");
    }
    let many: Vec<String> = (0..999).map(|number| format!("r-{number}")).collect();
    let refused =
        lms.send("PUT", "/registrations/tags", Some(&json!({ "ids": many, "tags": ["x"] })));
    assert_eq!(refused.status, 404, "{refused:?}");

    // A registration and a launch add theirs.
    let mut body = registered("r-3", "library");
    body["learnerTags"] = json!(["learns"]);
    body["courseTags"] = json!(["taught"]);
    assert_eq!(lms.post("/registrations", &body).status, 204);
    let asked = json!({
        "redirectOnExitUrl": "message", "learnerTags": ["l"], "courseTags": ["c2"],
        "registrationTags": ["r"],
    });
    assert_eq!(lms.post("/registrations/r-3/launchLink", &asked).status, 200);
    assert_eq!(lms.get("/learner/l-1/tags")["tags"], json!(["a", "c", "l", "learns"]));
    assert_eq!(lms.get("/courses/library/tags")["tags"], json!(["a", "c", "c2", "taught"]));
    assert_eq!(lms.get("/registrations/r-3/tags")["tags"], json!(["r"]));
}

#[test]
fn tags_are_added_to_all_or_to_none() {
    Place::on_each_store(|place| added_tags(place, &Server::start(place)));
}

/// What is said of a learner and of a registration when it is made.
fn said(place: &Place, server: &Server) {
    let mut lms = Learning::of(place, server);
    lms.import("library", &sample_package());
    lms.register("r-1", "library");
    let learner = |lms: &mut Learning| lms.get("/registrations/r-1")["learner"].clone();
    let known = json!({ "id": "l-1", "firstName": "Ann", "lastName": "Lee", "email": "" });
    for (number, body, changed) in [
        (2, json!({ "id": "l-1" }), ("firstName", "Ann")),
        (3, json!({ "id": "l-1", "email": "ann@example.org" }), ("email", "ann@example.org")),
        (4, json!({ "id": "l-1", "lastName": "Low" }), ("lastName", "Low")),
        (5, json!({ "id": "l-1", "email": "" }), ("email", "")),
    ] {
        let before = learner(&mut lms);
        let mut new = registered(&format!("r-{number}"), "library");
        new["learner"] = body;
        assert_eq!(lms.post("/registrations", &new).status, 204);
        let after = learner(&mut lms);
        for name in ["firstName", "lastName", "email"] {
            let wanted = if name == changed.0 { &json!(changed.1) } else { &before[name] };
            assert_eq!(after[name], *wanted, "{name} after r-{number}");
        }
        assert_eq!(after["id"], known["id"]);
    }

    let xapi = "0b8a6d4e-5f3c-4b1a-9c2d-7e6f5a4b3c2d";
    let mut body = registered("r-9", "library");
    body["xapiRegistrationId"] = json!(xapi.to_uppercase());
    assert_eq!(lms.post("/registrations", &body).status, 204);
    assert_eq!(lms.get("/registrations/r-9")["xapiRegistrationId"], xapi);
    let own = lms.get("/registrations/r-1")["xapiRegistrationId"].as_str().unwrap().to_owned();
    assert_eq!(own.len(), 36, "{own}");
    body["registrationId"] = json!("r-10");
    body["xapiRegistrationId"] = json!("no uuid");
    assert_eq!(lms.post("/registrations", &body).status, 400);

    for (exit, status, url, word) in [
        ("closer", 200, Value::Null, json!("closer")),
        ("Blank", 200, Value::Null, json!("blank")),
        ("message", 200, Value::Null, json!("message")),
        ("", 200, Value::Null, Value::Null),
        ("https://lms.example.org/a", 200, json!("https://lms.example.org/a"), Value::Null),
        (" javascript:alert(1)", 400, Value::Null, Value::Null),
        ("data:text/html,x", 400, Value::Null, Value::Null),
    ] {
        let asked = json!({ "redirectOnExitUrl": exit, "expiry": 600 });
        let answer = lms.post("/registrations/r-1/launchLink", &asked);
        assert_eq!(answer.status, status, "{exit}: {answer:?}");
        if status == 200 {
            let link = answer.json()["launchLink"].as_str().unwrap().to_owned();
            let boot = lms.boot(&link[link.find("/play/").unwrap()..]);
            assert_eq!((&boot["exitUrl"], &boot["exit"]), (&url, &word), "{exit}");
        }
    }
    for (name, value) in [
        ("additionalvalues", json!([{ "item": "a", "value": "b" }])),
        ("launchAuth", json!({ "type": "cookies" })),
    ] {
        let mut asked = json!({ "redirectOnExitUrl": "message" });
        asked[name] = value;
        let refused = lms.post("/registrations/r-1/launchLink", &asked);
        assert_eq!(refused.status, 501, "{refused:?}");
        assert!(
            refused.json()["message"]
                .as_str()
                .unwrap()
                .to_lowercase()
                .contains(&name.to_lowercase()),
            "{refused:?}"
        );
    }
    let stranger = lms.client.get("/play/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA/boot");
    assert_eq!(stranger.status, 404, "{stranger:?}");
    assert!(stranger.json()["message"].as_str().unwrap().contains("launch"), "{stranger:?}");
}

#[test]
fn what_a_registration_and_a_launch_say_is_kept_or_refused() {
    Place::on_each_store(|place| said(place, &Server::start(place)));
}

fn links(place: &Place, server: &Server) {
    let mut lms = Learning::of(place, server);
    lms.import("library", &sample_package());
    lms.register("r-1", "library");
    let all = "includeChildResults=true&includeInteractionsAndObjectives=true&includeRuntime=true";
    let path = format!("/registrations/r-1?{all}");
    let commit = json!({ "sequence": 1, "final": true, "exit": true, "cmi": {
        "cmi.suspend_data": "page=3", "cmi.core.lesson_status": "passed", "cmi.interactions.0.id": "q1",
    }});
    let opened = |link: &Value| {
        let link = link["launchLink"].as_str().unwrap();
        link[link.find("/play/").unwrap()..].to_owned()
    };
    let before = lms.get(&path);

    let asked = json!({ "redirectOnExitUrl": "message", "tracking": false });
    let untracked = opened(&lms.post("/registrations/r-1/launchLink", &asked).json());

    assert_eq!(lms.client.get(&untracked).status, 200);
    let boot = lms.boot(&untracked);
    assert_eq!(
        (&boot["tracking"], &boot["credit"], &boot["registration"]["id"]),
        (&json!(false), &json!("no-credit"), &json!("r-1"))
    );
    let answer = lms.commit(&untracked, &commit);
    assert_eq!((answer.status, &answer.json()["recorded"]), (200, &json!(false)), "{answer:?}");
    assert_eq!(lms.get(&path), before, "nothing is stored");

    // Registered and linked in one call; what is said there is kept.
    let asked = json!({
        "registration": registered("r-2", "library"),
        "launchLink": { "redirectOnExitUrl": "https://lms.example.org/a", "expiry": 600 },
    });
    let answer = lms.post("/registrations/withLaunchLink", &asked);
    assert_eq!(answer.status, 200, "{answer:?}");
    let launch = opened(&answer.json());
    let page = lms.client.get(&launch);
    assert_eq!(page.status, 200, "{page:?}");
    assert!(page.header("content-type").unwrap().starts_with("text/html"), "{page:?}");
    let boot = lms.boot(&launch);
    assert_eq!(
        (&boot["registration"]["id"], &boot["tracking"], &boot["exitUrl"]),
        (&json!("r-2"), &json!(true), &json!("https://lms.example.org/a"))
    );
    assert_eq!(lms.commit(&launch, &commit).json()["recorded"], true);
    let report = lms.get(&path.replace("r-1", "r-2"));
    assert_eq!(report["registrationCompletion"], "COMPLETED", "{report}");
    let runtime = &report["activityDetails"]["children"][0]["runtime"];
    assert_eq!(runtime["suspendData"], "page=3", "{report}");
    let unknown = json!({ "registration": registered("r-3", "nowhere"), "launchLink": {} });
    let refused = lms.post("/registrations/withLaunchLink", &unknown);
    assert_eq!(refused.status, 404, "{refused:?}");
}

#[test]
fn a_link_that_tracks_nothing_stores_nothing_and_one_may_come_with_its_registration() {
    Place::on_each_store(|place| links(place, &Server::start(place)));
}

fn tags(place: &Place, server: &Server) {
    let mut lms = Learning::of(place, server);
    for (course, tags) in [
        ("a", "red,big one"),
        ("b", "blue"),
        ("c", "Red"),
        ("d_e", "green"),
        ("f", r#"x"y,back\slash"#),
    ] {
        lms.import(course, &sample_package());
        let tags: Vec<&str> = tags.split(',').collect();
        let body = json!({ "ids": [course], "tags": tags });
        assert_eq!(lms.send("PUT", "/courses/tags", Some(&body)).status, 204);
        lms.register(&format!("r-{course}"), course);
        let body = json!({ "ids": [format!("r-{course}")], "tags": tags });
        assert_eq!(lms.send("PUT", "/registrations/tags", Some(&body)).status, 204);
    }
    for (query, wanted) in [
        ("tags=red", "a"),
        ("tags=nothing,blue,green", "b d_e"),
        ("tags=big%20one,red", "a"),
        ("tags=big", ""),
        ("tags=_ed", ""),
        ("tags=y", ""),
        ("tags=x%22y", "f"),
        ("tags=back%5Cslash", "f"),
        ("filterBy=tags&filter=X%22Y", "f"),
        ("filter=D_E", "d_e"),
        ("filter=%25", ""),
    ] {
        for (list, begin) in [("courses", ""), ("registrations", "r-")] {
            let order = "includeTotalCount=true&orderBy=created_asc";
            let found = lms.get(&format!("/{list}?{query}&{order}"));
            let ids = found[list].as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap());
            let ids: Vec<_> = ids.map(|id| id.strip_prefix(begin).unwrap()).collect();
            assert_eq!(ids.join(" "), wanted, "{list}?{query}");
        }
    }
    assert_eq!(lms.send("GET", "/courses?tags=1,2,3,4,5,6,7,8,9", None).status, 400);
    let body = json!({ "ids": ["l-1"], "tags": ["first year"] });
    assert_eq!(lms.send("PUT", "/learner/tags", Some(&body)).status, 204);
    assert_eq!(lms.get("/learner/l-1/tags")["tags"], json!(["first year"]));
    let body = json!({ "ids": ["nobody"], "tags": ["x"] });
    assert_eq!(lms.send("PUT", "/learner/tags", Some(&body)).status, 404);
}

#[test]
fn each_level_overrides_those_above() {
    Place::on_each_store(|place| levels(place, &Server::start(place)));
}

#[test]
fn a_list_is_filtered_by_any_of_several_tags() {
    Place::on_each_store(|place| tags(place, &Server::start(place)));
}

#[test]
fn what_the_api_v2_has_and_this_server_does_not_is_answered_501_with_a_message() {
    let place = Place::new();
    let server = Server::start(&place);
    let mut lms = Learning::of(&place, &server);
    for (method, path) in [
        ("GET", "/appManagement/applications"),
        ("DELETE", "/appManagement/applications/a"),
        ("GET", "/appManagement/applicationList"),
        ("POST", "/appManagement/token"),
        ("POST", "/oauth/authenticate/application/token?scope=read"),
        ("POST", "/registrations/ltiBasicOutcomes"),
        ("GET", "/lti/platforms"),
        ("GET", "/courses/a/xAPIStatements"),
        ("GET", "/courses/a/versions/0/xAPIStatements"),
        ("GET", "/registrations/a/xAPIStatements"),
        ("GET", "/registrations/a/instances/0/xAPIStatements"),
        ("GET", "/xapi/statementPipes"),
        ("PUT", "/xapi/credentials/a"),
        ("POST", "/contentConnectors"),
        ("DELETE", "/contentConnectors/a"),
        ("GET", "/dispatch/destinations"),
        ("PUT", "/dispatch/dispatches/a/enabled"),
        ("GET", "/invitations"),
        ("POST", "/invitations/private"),
        ("GET", "/reporting/accountInfo"),
    ] {
        let answer = lms.send(method, path, None);
        assert_eq!(answer.status, 501, "{method} {path}: {answer:?}");
        assert!(answer.json()["message"].as_str().unwrap().len() > 10, "{path}: {answer:?}");
    }
    let stranger = server.client().get(&format!("{API}/dispatch/destinations"));
    assert_eq!(stranger.status, 401, "{stranger:?}");
}

/// Returns the operations that the example of a published client has, if there is one.
fn published() -> Option<Vec<(String, String)>> {
    let folder = std::env::var("HOMEROOM_REFERENCE").ok().filter(|folder| !folder.is_empty());
    let Some(folder) = folder else {
        println!("skipped: HOMEROOM_REFERENCE names no folder of examples");
        return None;
    };
    let file =
        std::path::Path::new(&folder).join("learning/api/cloud-v2-endpoints-and-models.json");
    let list: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let text = |one: &Value, name: &str| one[name].as_str().unwrap().to_owned();
    let all = list["endpoints"].as_array().unwrap().iter();
    Some(all.map(|one| (text(one, "method"), text(one, "path"))).collect())
}

#[test]
fn every_operation_of_the_api_v2_has_an_address_here() {
    let Some(operations) = published() else { return };
    let place = Place::new();
    let server = Server::start(&place);
    let mut lms = Learning::of(&place, &server);
    for (method, path) in operations {
        let filled: Vec<&str> =
            path.split('/').map(|part| if part.starts_with('{') { "0" } else { part }).collect();
        let path = filled.join("/");

        let answer = lms.send(&method, &path, (method != "GET").then_some(&json!({})));

        assert_ne!(answer.status, 405, "{method} {path}");
        assert!(answer.status < 500 || answer.status == 501, "{method} {path}: {answer:?}");
        if answer.status == 404 && method != "HEAD" {
            let message = answer.json()["message"].as_str().unwrap().to_owned();
            assert!(message.starts_with("There is no"), "{method} {path}: {message}");
        }
    }
}
