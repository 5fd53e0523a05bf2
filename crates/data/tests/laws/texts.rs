//! No text in a path, a query or a header breaks anything.

use http::Method;
use proptest::prelude::*;
use tokio::runtime::Runtime;

use super::holds;
use crate::app::documents::{on_each_store, student, with};
use crate::app::{Client, encoded};

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "[0-9eE+.-]{0,30}",
        "[A-Za-z0-9_=-]{0,40}",
        "[0-9]{1,4}[-/][0-9]{1,2}[-/][0-9]{1,4}",
        "[ '\"\\\\%_*?$\\[\\](){};|&#\u{0}-\u{1f}]{0,20}",
        ".{0,10}#.{0,10}",
    ]
}

/// Returns the clients with a runtime, because laws are not async.
fn clients() -> (Runtime, Vec<Client>) {
    let runtime = Runtime::new().unwrap();
    let clients = runtime.block_on(on_each_store());
    (runtime, clients)
}

#[test]
fn no_filter_value_makes_the_server_fail() {
    let (runtime, clients) = clients();
    for client in clients {
        let model = client.app.model();
        let strategy = (0..model.resources.len(), any::<prop::sample::Index>(), any_text());

        holds(1_500, &strategy, |(at, field, text)| {
            let resource = &model.resources[at];
            let field = &resource.query_fields[field.index(resource.query_fields.len())];
            let value = encoded(&text);
            let path = format!("{}?{}={value}&totalCount=true", resource.path(), field.name);

            let answer = runtime.block_on(client.get(&path));

            prop_assert!(matches!(answer.status, 200 | 400), "{}: {:?}", path, answer);
            Ok(())
        });
    }
}

#[test]
fn no_paging_value_makes_the_server_fail() {
    const NAMES: [&str; 9] = [
        "limit",
        "offset",
        "pageToken",
        "pageSize",
        "totalCount",
        "minChangeVersion",
        "maxChangeVersion",
        "number",
        "id",
    ];
    let (runtime, clients) = clients();
    for client in clients {
        let pair = (prop::sample::select(&NAMES[..]), any_text());
        let pairs = prop::collection::vec(pair, 1..4);
        let below = prop::sample::select(vec!["", "/partitions", "/deletes", "/keyChanges"]);

        holds(1_500, &(pairs, below), |(pairs, below)| {
            let query: Vec<String> =
                pairs.iter().map(|(name, text)| format!("{name}={}", encoded(text))).collect();
            let path = format!("/ed-fi/students{below}?{}", query.join("&"));

            let answer = runtime.block_on(client.get(&path));

            prop_assert!(matches!(answer.status, 200 | 400), "{}: {:?}", path, answer);
            Ok(())
        });
    }
}

#[test]
fn no_address_makes_the_server_fail() {
    let (runtime, clients) = clients();
    for client in clients {
        let segment = prop_oneof![
            any_text().prop_map(|text| encoded(&text)),
            Just("%ff".to_owned()),
            Just("ed-fi".to_owned()),
            Just("students".to_owned()),
            "[0-9a-fA-F-]{30,38}",
        ];
        let segments = prop::collection::vec(segment, 0..4);
        let method = prop::sample::select(vec![
            Method::GET,
            Method::HEAD,
            Method::POST,
            Method::PUT,
            Method::DELETE,
            Method::PATCH,
            Method::OPTIONS,
        ]);

        holds(1_500, &(method, segments), |(method, segments)| {
            let path = format!("/data/v3/{}", segments.join("/"));

            let answer = runtime.block_on(client.send(method.clone(), &path, &[], "{}"));

            prop_assert!(answer.status < 500, "{} {}: {:?}", method, path, answer);
            Ok(())
        });
    }
}

#[test]
fn no_precondition_makes_the_server_fail() {
    let (runtime, clients) = clients();
    for client in clients {
        let location = runtime.block_on(client.create("/ed-fi/students", &student("1")));
        let name = prop::sample::select(vec!["if-match", "if-none-match"]);
        let method = prop::sample::select(vec![Method::GET, Method::PUT, Method::POST]);
        let tags = "[ -~]{0,30}";

        holds(500, &(name, method, tags), |(name, method, tags)| {
            let path = if method == Method::POST { "/ed-fi/students" } else { &location };
            let body = if method == Method::GET { String::new() } else { student("1").to_string() };

            let answer = runtime.block_on(client.send(method, path, &[(name, &tags)], body));

            prop_assert!(
                matches!(answer.status, 200 | 204 | 304 | 400 | 412),
                "{} {:?}",
                tags,
                answer
            );
            Ok(())
        });
    }
}

#[test]
fn a_stored_text_is_found_by_a_filter_on_it() {
    let (runtime, clients) = clients();
    for client in clients {
        let stored = std::cell::Cell::new(0);

        holds(400, &"\\PC{1,75}", |text| {
            let body = with(student("1"), "firstName", text.clone());
            let answer = runtime.block_on(client.post("/ed-fi/students", &body));
            if answer.status == 400 {
                return Ok(());
            }
            stored.set(stored.get() + 1);

            let path = format!("/ed-fi/students?firstName={}", encoded(&text));
            let found = runtime.block_on(client.get(&path)).json();

            prop_assert_eq!(&found[0]["firstName"], &text);
            Ok(())
        });
        assert!(stored.get() > 200, "only {} were stored", stored.get());
    }
}
