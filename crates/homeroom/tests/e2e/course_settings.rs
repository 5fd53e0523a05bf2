//! Settings by level, tags, filters, and what is visibly not offered.

use homeroom_course::sample_package;
use serde_json::{Value, json};

use crate::support::{API, Database, Learning, Place, Server};

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
        ("/appManagement/configuration", setting("Weather", "fine")),
        ("/appManagement/configuration", setting("PlayerCommCommitFrequency", "often")),
        ("/appManagement/configuration?learningStandard=X", setting("PlayerLaunchType", "x")),
    ] {
        assert_eq!(lms.post(path, &body).status, 400, "{path} {body}");
    }
    let unknown = lms.send("GET", "/registrations/r-1/instances/7/configuration", None);
    assert_eq!(unknown.status, 404, "{unknown:?}");
    let unknown = lms.send("DELETE", "/appManagement/configuration/Weather", None);
    assert_eq!(unknown.status, 404, "{unknown:?}");
}

fn tags(place: &Place, server: &Server) {
    let mut lms = Learning::of(place, server);
    for (course, tags) in [("a", "red,big one"), ("b", "blue"), ("c", "Red"), ("d_e", "green")] {
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
        ("filter=D_E", "d_e"),
        ("filter=%25", ""),
    ] {
        for (list, begin) in [("courses", ""), ("registrations", "r-")] {
            let found = lms.get(&format!("/{list}?{query}&includeTotalCount=true"));
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
    let place = Place::new();
    levels(&place, &Server::start(&place));
    for database in Database::on_each_server() {
        let place = Place::with_store(&database.url());
        levels(&place, &Server::start(&place));
    }
}

#[test]
fn a_list_is_filtered_by_any_of_several_tags() {
    let place = Place::new();
    tags(&place, &Server::start(&place));
    for database in Database::on_each_server() {
        let place = Place::with_store(&database.url());
        tags(&place, &Server::start(&place));
    }
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
