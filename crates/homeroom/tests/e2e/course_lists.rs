//! Lists of courses, registrations, instances and versions: filters, orders, pages, counts.

use homeroom_course::sample_package;
use serde_json::{Value, json};

use crate::support::{Learning, Place, Server};

/// Items of a page.
const PAGE: usize = 100;

/// Does something on each kind of store, with a course `library`.
fn on_each_store(test: impl Fn(&mut Learning)) {
    Place::on_each_store(|place| {
        let server = Server::start(place);
        let mut lms = Learning::of(place, &server);
        lms.import("library", &sample_package());
        test(&mut lms);
    });
}

fn register(lms: &mut Learning, number: usize, first_name: &str, last_name: &str) {
    let body = json!({
        "courseId": "library", "registrationId": format!("r-{number:03}"),
        "learner": {
            "id": format!("l-{number:03}"), "firstName": first_name, "lastName": last_name,
        },
        "registrationTags": [if number.is_multiple_of(2) { "even" } else { "odd" }],
    });
    assert_eq!(lms.post("/registrations", &body).status, 204);
}

fn ids(page: &Value, list: &str) -> Vec<String> {
    let all = page[list].as_array().unwrap().iter();
    all.map(|one| one["id"].as_str().unwrap().to_owned()).collect()
}

/// Reads all pages of a list; only the first one is asked for with filters.
fn all_pages(lms: &mut Learning, list: &str, query: &str) -> (Vec<Value>, usize) {
    let mut page = lms.get(&format!("/{list}?{query}"));
    let (mut found, mut pages) = (vec![], 1);
    loop {
        found.extend(page[list].as_array().unwrap().iter().cloned());
        let Some(more) = page["more"].as_str() else { return (found, pages) };
        let path = format!("/{list}?more={more}");
        page = lms.get(&path);
        pages += 1;
    }
}

#[test]
fn a_page_keeps_filters_order_and_what_is_included() {
    on_each_store(|lms| {
        for number in 0..2 * PAGE + 10 {
            register(lms, number, "Ann", &format!("L{}", 999 - number));
        }
        let query =
            "courseId=library&tags=even&orderBy=learner_last_name_asc&includeChildResults=true";

        let (found, pages) = all_pages(lms, "registrations", query);

        assert_eq!((found.len(), pages), (PAGE + 5, 2));
        let is_even = |one: &Value| one["tags"] == json!(["even"]);
        assert!(found.iter().all(is_even), "{found:?}");
        let has_children = |one: &Value| one["activityDetails"]["children"].is_array();
        assert!(found.iter().all(has_children), "each page has them");
        let names: Vec<&str> =
            found.iter().map(|one| one["learner"]["lastName"].as_str().unwrap()).collect();
        assert!(names.is_sorted(), "{names:?}");

        let first = lms.send("GET", "/registrations?tags=even&includeTotalCount=true", None);
        assert_eq!(first.header("x-total-count"), Some("105"));
        let more = first.json()["more"].as_str().unwrap().to_owned();
        let second =
            lms.send("GET", &format!("/registrations?more={more}&includeTotalCount=true"), None);
        assert_eq!(second.header("x-total-count"), None, "the count is the first page's");
        for path in [
            format!("/registrations?more={more}&tags=odd"),
            format!("/registrations?more={more}&orderBy=created_asc"),
            format!("/courses?more={more}"),
            format!("/registrations?more={}", more.to_lowercase()),
            "/registrations?more=WzEsInIiLDBd".into(),
        ] {
            let refused = lms.send("GET", &path, None);
            assert_eq!(refused.status, 400, "{path}: {refused:?}");
        }
        for order in ["created_asc", "created_desc", "updated_asc", "updated_desc"] {
            let (found, _) = all_pages(lms, "registrations", &format!("orderBy={order}"));
            let mut numbers: Vec<&str> =
                found.iter().map(|one| one["id"].as_str().unwrap()).collect();
            assert_eq!(numbers.len(), 2 * PAGE + 10, "{order}");
            if order.ends_with("desc") {
                numbers.reverse();
            }
            assert!(numbers.is_sorted(), "{order}: {numbers:?}");
        }
        let newest = &lms.get("/registrations")["registrations"][0]["id"];
        assert_eq!(*newest, "r-209", "the newest come first where nothing is said");
    });
}

#[test]
fn a_list_is_filtered_by_the_field_that_is_named() {
    on_each_store(|lms| {
        for (number, first_name, last_name) in
            [(0, "Eve", "Stone"), (1, "Steve", "\u{c9}mile"), (2, "Bob", "Eve%")]
        {
            register(lms, number, first_name, last_name);
        }
        for (query, wanted) in [
            ("filterBy=learner_first_name&filter=Eve", "r-001 r-000"),
            ("filterBy=LEARNER_FIRST_NAME&filter=EVE", "r-001 r-000"),
            ("filterBy=learner_last_name&filter=eve%25", "r-002"),
            ("filterBy=learner_last_name&filter=%C3%89mile", "r-001"),
            ("filterBy=course_title&filter=finding", "r-002 r-001 r-000"),
            ("filterBy=course_title&filter=losing", ""),
            ("filterBy=registration_id&filter=001", "r-001"),
            ("filter=Eve", ""),
            ("filterBy=tags&filter=VEN", "r-002 r-000"),
            ("filterBy=tags&filter=[", ""),
            ("filter=r-&orderBy=learner_first_name_desc", "r-001 r-000 r-002"),
            ("orderBy=learner_last_name_asc", "r-002 r-000 r-001"),
            ("since=2020-01-01&until=2020-01-02&datetimeFilter=created", ""),
            ("since=2020-01-01&datetimeFilter=updated", "r-002 r-001 r-000"),
        ] {
            let path = format!("/registrations?{query}&includeTotalCount=true");
            let answer = lms.send("GET", &path, None);
            assert_eq!(answer.status, 200, "{query}: {answer:?}");
            let found = ids(&answer.json(), "registrations");
            assert_eq!(found.join(" "), wanted, "{query}");
            let count = answer.header("x-total-count").unwrap().to_owned();
            assert_eq!(count, found.len().to_string(), "{query}");
        }
        lms.import("atlas", &sample_package());
        let title = json!({ "title": "zebra" });
        assert_eq!(lms.send("PUT", "/courses/atlas/title", Some(&title)).status, 204);
        for (query, wanted) in [
            ("", "atlas library"),
            ("orderBy=created_asc", "library atlas"),
            ("orderBy=title_asc", "library atlas"),
            ("orderBy=title_desc", "atlas library"),
            ("orderBy=updated_desc", "atlas library"),
            ("filter=LIB", "library"),
            ("filterBy=title&filter=Zeb", "atlas"),
            ("filterBy=title&filter=lib", "library"),
            ("filterBy=course_id&filter=zeb", ""),
        ] {
            let found = lms.get(&format!("/courses?{query}"));
            assert_eq!(ids(&found, "courses").join(" "), wanted, "{query}");
        }
        for path in [
            "/courses?orderBy=weather",
            "/courses?filterBy=learner_first_name&filter=x",
            "/courses?datetimeFilter=bogus",
            "/registrations?orderBy=title_asc",
            "/registrations?filterBy=weather",
            "/registrations?datetimeFilter=bogus",
            "/registrations/r-000/instances?datetimeFilter=bogus",
            "/courses/library/versions?datetimeFilter=bogus",
            "/courses/library/versions?since=yesterday",
        ] {
            let refused = lms.send("GET", path, None);
            assert_eq!(refused.status, 400, "{path}: {refused:?}");
            assert!(refused.json()["message"].is_string(), "{refused:?}");
        }
    });
}

#[test]
fn instances_and_versions_are_filtered_by_time_and_only_the_newest_instance_counts() {
    on_each_store(|lms| {
        register(lms, 0, "Ann", "Lee");
        assert_eq!(lms.import("library", &sample_package())["status"], "COMPLETE");
        let path = "/registrations/r-000/instances";
        // Moments are shown in milliseconds.
        std::thread::sleep(std::time::Duration::from_millis(5));
        for _ in 0..PAGE + 2 {
            assert_eq!(lms.send("POST", path, None).status, 204);
        }

        let counted = lms.send("GET", "/registrations?includeTotalCount=true", None);
        assert_eq!(counted.header("x-total-count"), Some("1"));
        let created = lms.get(&format!("{path}/0"))["createdDate"].as_str().unwrap().to_owned();
        // Only an older instance was created by then.
        let answer = lms.send(
            "GET",
            &format!(
                "/registrations?includeTotalCount=true&until={created}&datetimeFilter=created"
            ),
            None,
        );
        assert_eq!(answer.json()["registrations"], json!([]));
        assert_eq!(answer.header("x-total-count"), Some("0"));

        let first = lms.get(&format!("{path}?includeChildResults=true&since={created}"));
        assert_eq!(first["registrations"].as_array().unwrap().len(), PAGE);
        let more = first["more"].as_str().unwrap();
        let second = lms.get(&format!("{path}?more={more}"));
        let rest = second["registrations"].as_array().unwrap();
        assert_eq!((rest.len(), &rest[2]["instance"]), (3, &json!(PAGE + 2)));
        assert!(rest[0]["activityDetails"]["children"].is_array(), "{second}");
        let only = lms.get(&format!("{path}?until={created}"));
        assert_eq!(only["registrations"].as_array().unwrap().len(), 1, "{only}");
        let none = lms.get(&format!("{path}?until=2020-01-01"));
        assert_eq!(none["registrations"], json!([]));

        let versions = lms.get("/courses/library/versions");
        let changed = versions["courses"][0]["updated"].as_str().unwrap();
        let until = lms.get(&format!("/courses/library/versions?until={changed}"));
        assert_eq!(until["courses"].as_array().unwrap().len(), 1, "{until}");
        let since = lms.get("/courses/library/versions?since=2020-01-01");
        assert_eq!(since["courses"].as_array().unwrap().len(), 2);
        let later = lms.get("/courses/library/versions?since=2200-01-01");
        assert_eq!(later["courses"], json!([]));

        let history = "/registrations/r-000/launchHistory?includeHistoryLog=true";
        let refused = lms.send("GET", history, None);
        assert_eq!(refused.status, 501, "{refused:?}");
        assert!(refused.json()["message"].as_str().unwrap().contains("trace"), "{refused:?}");
    });
}
