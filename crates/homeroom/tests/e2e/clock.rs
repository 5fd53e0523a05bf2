//! The wall clock is set forward and back: versions still increase, and nothing waits for the
//! clock.

use crate::support::{Faults, Place, STUDENTS, Server, student};

/// The successive offsets of the clock, in seconds.
const STEPS: &[i64] = &[-3_600, 3_600, -86_400, 86_400, 0];

#[test]
fn change_versions_and_times_of_a_document_never_go_back_even_if_the_clock_does() {
    let place = Place::new();
    let key = place.key("FullAccess");
    let faults = Faults::none(&place);
    let server = Server::start_with(&place, &faults.environment());
    let mut client = server.client_of(&key);
    let path = client.post(STUDENTS, &student("1", "0")).location();
    let before = client.get(&path).json();
    let (mut version, mut moment) = (text(&before, "_etag"), text(&before, "_lastModifiedDate"));

    for (round, step) in STEPS.iter().enumerate() {
        faults.order(&[&format!("clock {step}")]);
        let mut client = server.client_of(&key);
        let name = (round + 1).to_string();
        let put = client.post(STUDENTS, &student("1", &name));

        let after = client.get(&path).json();

        assert_eq!((put.status, &after["firstName"]), (200, &name.into()), "{step}: {put:?}");
        let newer: i64 = text(&after, "_etag").parse().unwrap();
        assert!(newer > version.parse().unwrap(), "{step}: {version} and then {newer}");
        assert!(text(&after, "_lastModifiedDate") >= moment, "{step}: {moment}, then {after}");
        (version, moment) = (text(&after, "_etag"), text(&after, "_lastModifiedDate"));
        let newest = client.get("/changeQueries/v1/availableChangeVersions").json();
        assert_eq!(newest["newestChangeVersion"].to_string(), version, "{step}");
    }
}

#[test]
fn a_token_expires_by_the_wall_clock_and_can_always_be_renewed() {
    let place = Place::new();
    let key = place.key("FullAccess");
    let faults = Faults::none(&place);
    let server = Server::start_with(&place, &faults.environment());
    let mut first = server.client_of(&key);

    for (step, status) in [(-3_600, 200), (3_600, 401), (0, 200), (86_400, 401), (-86_400, 200)] {
        faults.order(&[&format!("clock {step}")]);

        let answer = first.get(STUDENTS);

        assert_eq!(answer.status, status, "{step}: {answer:?}");
        assert_eq!(server.client_of(&key).get(STUDENTS).status, 200, "{step}: a new token");
    }
}

#[test]
fn time_limits_ignore_a_clock_that_is_set_back() {
    let place = Place::new();
    let key = place.key("FullAccess");
    let faults = Faults::none(&place);
    let [preload, control] = faults.environment();
    let limits = [preload, control, ("HOMEROOM_SERVER__HEADER_TIME", "300ms")];
    let server = Server::start_with(&place, &limits);
    let mut client = server.client_of(&key);
    let mut slow = server.wire();
    slow.send("GET /livez HT");

    faults.order(&["clock -86400"]);

    // Time limits, background work on the store and the drain use a monotonic clock.
    assert_eq!(slow.rest(), b"", "a header that never ends is given up in time");
    assert_eq!(client.post(STUDENTS, &student("1", "Ada")).status, 201);
    assert_eq!(client.get(&format!("{STUDENTS}?totalCount=true")).status, 200);
    place.done(&["keys", "list"]);
    assert_eq!(server.stop().code, Some(0));
}

fn text(document: &serde_json::Value, member: &str) -> String {
    document[member].as_str().unwrap().to_owned()
}
